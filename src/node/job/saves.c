/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/saves.h"

#include <stdio.h>

#include "base/log.h"
#include "train/snapshot.h"

#define LOCK_MS 500 /* longest time that a healthy thread holds the replica */

void sh_saves_init(sh_saves *saves)
{
    *saves = (sh_saves){.folder = NULL};
    pthread_mutex_init(&saves->lock, NULL);
}

void sh_saves_release(sh_saves *saves)
{
    pthread_mutex_destroy(&saves->lock);
}

sh_status sh_saves_write(sh_saves *saves, bool in_haste)
{
    const sh_workbench *bench = saves->bench;
    const sh_replica *replica = bench->replica;
    sh_status status = SH_OK;
    if (saves->folder == NULL)
        return SH_OK;
    pthread_mutex_lock(&saves->lock);
    if (!in_haste || !saves->is_saved ||
        !sh_position_same(saves->saved, sh_replica_position(replica)))
        status = sh_snapshot_save(
            saves->folder, &bench->job,
            &(sh_snapshot_data){sh_pipeline_about(bench->pipeline)->fingerprint, bench->trained},
            replica);
    if (status == SH_OK) {
        saves->saved = sh_replica_position(replica);
        saves->is_saved = true;
    }
    pthread_mutex_unlock(&saves->lock);
    return status;
}

void sh_saves_write_now(sh_saves *saves)
{
    sh_replica *replica = saves->bench->replica;
    sh_replica_lock(replica);
    const sh_status status = sh_saves_write(saves, true);
    const uint64_t steps = replica->steps;
    sh_replica_unlock(replica);
    if (status == SH_OK)
        sh_log(SH_LOG_INFO, "checkpoint.written", "step=%llu reason=\"told to end\"",
               (unsigned long long)steps);
    else
        sh_log(SH_LOG_ERROR, "checkpoint.failed", "reason=\"%s\"", sh_message());
}

void sh_saves_rescue(sh_saves *saves, sh_agent *agent, sh_rescue *rescue)
{
    sh_replica *replica = saves->bench->replica;
    sh_status status = SH_LIMIT;
    const char *why = "the weights are being changed";
    uint64_t steps = 0;
    if (saves->folder == NULL)
        return;
    if (sh_replica_lock_within(replica, LOCK_MS)) {
        steps = replica->steps;
        why = "the weights were being received from other devices";
        if (agent == NULL || sh_agent_is_whole(agent)) {
            status = sh_saves_write(saves, true);
            why = sh_message();
        }
        sh_replica_unlock(replica);
    }
    if (status == SH_OK) {
        rescue->steps = steps;
        snprintf(rescue->text, sizeof rescue->text, "a checkpoint of step %llu was written",
                 (unsigned long long)steps);
    } else {
        snprintf(rescue->text, sizeof rescue->text,
                 "no checkpoint could be written (%.150s); those on the disk stay", why);
    }
    sh_log(SH_LOG_WARN, "job.hangs", "step=%llu text=\"%s\"", (unsigned long long)steps,
           rescue->text);
}
