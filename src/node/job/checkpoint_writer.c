/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/checkpoint_writer.h"

#include <stdio.h>

#include "base/log.h"
#include "train/snapshot.h"

#define LOCK_MS 500 /* longest time that a healthy thread holds the replica */

void sh_checkpoint_writer_init(sh_checkpoint_writer *writer)
{
    *writer = (sh_checkpoint_writer){.folder = NULL};
    pthread_mutex_init(&writer->lock, NULL);
}

void sh_checkpoint_writer_release(sh_checkpoint_writer *writer)
{
    pthread_mutex_destroy(&writer->lock);
}

sh_status sh_checkpoint_writer_write(sh_checkpoint_writer *writer, bool in_haste)
{
    const sh_session *session = writer->session;
    const sh_replica *replica = session->replica;
    sh_status status = SH_OK;
    if (writer->folder == NULL)
        return SH_OK;
    pthread_mutex_lock(&writer->lock);
    if (!in_haste || !writer->is_saved ||
        !sh_position_same(writer->saved, sh_replica_position(replica)))
        status =
            sh_snapshot_save(writer->folder, &session->job,
                             &(sh_snapshot_data){sh_pipeline_about(session->pipeline)->fingerprint,
                                                 session->trained},
                             replica);
    if (status == SH_OK) {
        writer->saved = sh_replica_position(replica);
        writer->is_saved = true;
    }
    pthread_mutex_unlock(&writer->lock);
    return status;
}

void sh_checkpoint_writer_write_now(sh_checkpoint_writer *writer)
{
    sh_replica *replica = writer->session->replica;
    sh_replica_lock(replica);
    const sh_status status = sh_checkpoint_writer_write(writer, true);
    const uint64_t steps = replica->steps;
    sh_replica_unlock(replica);
    if (status == SH_OK)
        sh_log(SH_LOG_INFO, "checkpoint.written", "step=%llu reason=\"told to end\"",
               (unsigned long long)steps);
    else
        sh_log(SH_LOG_ERROR, "checkpoint.failed", "reason=\"%s\"", sh_message());
}

void sh_checkpoint_writer_rescue(sh_checkpoint_writer *writer, sh_agent *agent, sh_rescue *rescue)
{
    sh_replica *replica = writer->session->replica;
    sh_status status = SH_LIMIT;
    const char *why = "the weights are being changed";
    uint64_t steps = 0;
    if (writer->folder == NULL)
        return;
    if (sh_replica_lock_within(replica, LOCK_MS)) {
        steps = replica->steps;
        why = "the weights were being received from other devices";
        if (agent == NULL || sh_agent_is_whole(agent)) {
            status = sh_checkpoint_writer_write(writer, true);
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
