/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the job's devices for a client with the token (shoal devices). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "cluster/member_state.h"
#include "node/coordinator/coordinator_impl.h"
#include "node/protocol/roster_message.h"
#include "plan/device_list.h"

static double known(double number)
{
    return number > 0 ? number : (double)NAN;
}

static bool describe(sh_device_info *to, sh_coordinator *coordinator, uint32_t device)
{
    sh_member_state state;
    const sh_job *job = &coordinator->options.session->job;
    sh_device_info_clear(to);
    pthread_mutex_lock(&coordinator->lock);
    const bool is_member = sh_membership_member(&state, coordinator->membership, device);
    pthread_mutex_unlock(&coordinator->lock);
    if (!is_member)
        return false;
    snprintf(to->name, sizeof to->name, "%s",
             sh_device_reports_name(&coordinator->reports, device));
    snprintf(to->why, sizeof to->why, "%s", state.why);
    to->state = state.state;
    to->grains = state.grains;
    to->samples_per_second = known(state.rate * job->grain);
    to->flops_per_second = known(state.rate * job->grain * coordinator->sample_flops);
    to->in_bytes_per_second = known(state.link.in);
    to->out_bytes_per_second = known(state.link.out);
    to->delay_seconds = known(state.link.delay_s);
    return true;
}

static const client *next_client(const sh_coordinator *coordinator, uint32_t after)
{
    const client *found = NULL;
    for (const client *each = coordinator->clients; each != NULL; each = each->next)
        if (each->device != NO_DEVICE && each->device > after &&
            (found == NULL || each->device < found->device))
            found = each;
    return found;
}

/* Device 0, then the others in order of joining. */
static size_t list_devices(sh_device_info *devices, const sh_sample **samples, sh_sample *own,
                           sh_coordinator *coordinator)
{
    const sh_session *session = coordinator->options.session;
    size_t count = 0;
    if (describe(&devices[count], coordinator, 0)) {
        if (coordinator->ready) /* else there may be no trainer */
            devices[count].lanes = sh_lanes_count(sh_trainer_lanes(session->trainer));
        samples[count++] = sh_run_journal_newest(coordinator->options.journal, own) ? own : NULL;
    }
    /* Searches for each next number, because the list of clients begins with the newest. Does not
     * count up, because numbers are not reused, so they may be many. */
    uint32_t after = 0;
    for (const client *one; (one = next_client(coordinator, after)) != NULL;) {
        after = one->device;
        if (!describe(&devices[count], coordinator, one->device))
            continue;
        devices[count].lanes = one->lanes;
        samples[count++] = one->newest.at_ns != 0 ? &one->newest : NULL;
    }
    return count;
}

static sh_status send_roster(client *to)
{
    sh_coordinator *coordinator = to->of;
    const sh_job *job = &coordinator->options.session->job;
    const size_t most = coordinator->client_count + 1;
    sh_device_list list = {
        .batch_size = job->batch_size, .grain = job->grain, .steps = coordinator->steps};
    sh_roster_message *roster = NULL;
    sh_sample own;
    sh_status status;
    snprintf(list.model, sizeof list.model, "%s", job->model);
    snprintf(list.data, sizeof list.data, "%s", job->data);
    list.devices = calloc(most, sizeof *list.devices);
    const sh_sample **samples = calloc(most, sizeof *samples);
    if (list.devices == NULL || samples == NULL)
        SH_TRY_DONE(sh_fail_memory(most * sizeof *list.devices, "the list of devices"));
    list.count = list_devices(list.devices, samples, &own, coordinator);
    SH_TRY_DONE(sh_roster_message_new(&roster, &list, samples));
    Shoal__Message message = SH_MESSAGE_INIT(ROSTER, roster, &roster->body);
    message.job = coordinator->job;
    status = sh_message_send(to->channel, &message);
done:
    free(roster);
    free(samples);
    sh_device_list_release(&list);
    return status;
}

void sh_client_tell_roster(client *to)
{
    sh_coordinator *coordinator = to->of;
    if (coordinator->sample_flops == 0)
        coordinator->sample_flops = sh_session_sample_flops(coordinator->options.session);
    if (send_roster(to) != SH_OK)
        sh_log(SH_LOG_WARN, "devices.unsent", "reason=\"%s\"", sh_message());
    to->close_when_sent = true;
    sh_channel_flush_close(to->channel);
}
