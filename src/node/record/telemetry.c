/* SPDX-License-Identifier: Apache-2.0 */
/* One batch is filled under the lock while the other is sent without it. */
#include "node/record/telemetry.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/monitor.h"
#include "node/protocol/sample_message.h"

_Static_assert(SH_FIGURE_COUNT <= 64, "a bit for each figure");

struct sh_telemetry {
    sh_telemetry_options options;
    sh_monitor *monitor;
    atomic_bool closing;
    uint64_t handed_ns; /* of the monitor's thread, like the next */
    sh_telemetry_batch *handing;

    pthread_mutex_t lock;
    sh_telemetry_batch *filling; /* guarded by lock, like all below */
    sh_channel_stats stats;
    bool counted;
};

/* ---- measuring ------------------------------------------------------------------------------- */

static void count_network(void *context, sh_sample *sample)
{
    sh_telemetry *telemetry = context;
    pthread_mutex_lock(&telemetry->lock);
    const sh_channel_stats stats = telemetry->stats;
    const bool counted = telemetry->counted;
    pthread_mutex_unlock(&telemetry->lock);
    if (!counted)
        return;
    const sh_socket_traffic *traffic = &stats.traffic;
    sample->figures[SH_FIGURE_network_sent_bytes] = (double)stats.sent_bytes;
    sample->figures[SH_FIGURE_network_received_bytes] = (double)stats.received_bytes;
    if (traffic->sent_segments == 0) /* unknown to the system */
        return;
    sample->figures[SH_FIGURE_network_sent_packets] = (double)traffic->sent_segments;
    sample->figures[SH_FIGURE_network_received_packets] = (double)traffic->received_segments;
    sample->figures[SH_FIGURE_network_busy_seconds] = (double)traffic->busy_ns * 1e-9;
}

static void on_sample(void *context, const sh_sample *sample)
{
    sh_telemetry *telemetry = context;
    const uint64_t now_ns = sh_clock_now_ns(sh_clock_system());
    pthread_mutex_lock(&telemetry->lock);
    sh_telemetry_batch *batch = telemetry->filling;
    if (batch->sample_count < SH_TELEMETRY_SAMPLES)
        batch->samples[batch->sample_count++] = *sample;
    else
        batch->dropped++;
    const bool due = now_ns - telemetry->handed_ns >= SH_TELEMETRY_PERIOD_NS ||
                     batch->step_count >= SH_TELEMETRY_STEPS_SOON ||
                     atomic_load(&telemetry->closing);
    if (due) {
        telemetry->filling = telemetry->handing;
        telemetry->handing = batch;
    }
    pthread_mutex_unlock(&telemetry->lock);
    if (!due)
        return;
    telemetry->handed_ns = batch->now_ns = now_ns;
    telemetry->options.sink(telemetry->options.context, batch);
    batch->dropped = batch->sample_count = batch->step_count = 0;
}

sh_status sh_telemetry_open(sh_telemetry **telemetry, const sh_telemetry_options *options)
{
    sh_status status = SH_OK;
    sh_telemetry *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the telemetry");
    fresh->options = *options;
    fresh->handed_ns = sh_clock_now_ns(sh_clock_system());
    pthread_mutex_init(&fresh->lock, NULL);
    fresh->filling = calloc(1, sizeof *fresh->filling);
    fresh->handing = calloc(1, sizeof *fresh->handing);
    if (fresh->filling == NULL || fresh->handing == NULL)
        SH_TRY_DONE(sh_fail_memory(sizeof *fresh->filling, "the telemetry"));
    SH_TRY_DONE(sh_monitor_start(&fresh->monitor,
                                 &(sh_monitor_options){
                                     .sampler = {.network = count_network, .context = fresh},
                                     .sink = on_sample,
                                     .context = fresh,
                                 }));
    *telemetry = fresh;
    return SH_OK;
done:
    sh_telemetry_close(fresh);
    return status;
}

void sh_telemetry_close(sh_telemetry *telemetry)
{
    if (telemetry == NULL)
        return;
    atomic_store(&telemetry->closing, true);
    sh_monitor_stop(telemetry->monitor); /* takes a last sample */
    pthread_mutex_destroy(&telemetry->lock);
    free(telemetry->filling);
    free(telemetry->handing);
    free(telemetry);
}

void sh_telemetry_step(sh_telemetry *telemetry, const sh_step_times *times)
{
    if (telemetry == NULL)
        return;
    pthread_mutex_lock(&telemetry->lock);
    sh_telemetry_batch *batch = telemetry->filling;
    if (batch->step_count < SH_TELEMETRY_STEPS)
        batch->steps[batch->step_count++] = *times;
    else
        batch->dropped++;
    pthread_mutex_unlock(&telemetry->lock);
}

void sh_telemetry_network(sh_telemetry *telemetry, const sh_channel_stats *stats)
{
    if (telemetry == NULL)
        return;
    pthread_mutex_lock(&telemetry->lock);
    telemetry->stats = *stats;
    telemetry->counted = true;
    pthread_mutex_unlock(&telemetry->lock);
}

/* ---- batches as messages --------------------------------------------------------------------- */

sh_telemetry_message *sh_telemetry_batch_write(const sh_telemetry_batch *batch)
{
    sh_telemetry_message *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return NULL;
    shoal__figures__init(&fresh->body);
    fresh->body.now_ns = batch->now_ns;
    fresh->body.dropped = batch->dropped;
    fresh->body.samples = fresh->sample_list;
    fresh->body.steps = fresh->step_list;
    fresh->body.n_samples = batch->sample_count;
    fresh->body.n_steps = batch->step_count;
    for (uint32_t i = 0; i < batch->sample_count; i++) {
        fresh->sample_list[i] = &fresh->samples[i];
        sh_sample_message_write(&fresh->samples[i], fresh->values[i], &batch->samples[i]);
    }
    for (uint32_t i = 0; i < batch->step_count; i++) {
        const sh_step_times *from = &batch->steps[i];
        Shoal__StepTimes *to = fresh->step_list[i] = &fresh->steps[i];
        shoal__step_times__init(to);
        to->step = from->step;
        to->ends_ns = from->ends_ns;
        to->grains = from->grains;
        to->samples = from->samples;
        to->attempts = from->attempts;
        to->wall_ns = from->wall_ns;
        to->parts_ns = (uint64_t *)(uintptr_t)from->ns;
        to->n_parts_ns = SH_PART_COUNT;
    }
    return fresh;
}

sh_status sh_telemetry_batch_read(sh_telemetry_batch *batch, const Shoal__Figures *body)
{
    if (body->n_samples > SH_TELEMETRY_SAMPLES || body->n_steps > SH_TELEMETRY_STEPS)
        return sh_fail(SH_FORMAT,
                       "%zu samples and %zu steps at once; at most %d and %d are allowed",
                       body->n_samples, body->n_steps, SH_TELEMETRY_SAMPLES, SH_TELEMETRY_STEPS);
    batch->now_ns = body->now_ns;
    batch->dropped = body->dropped;
    batch->sample_count = (uint32_t)body->n_samples;
    batch->step_count = (uint32_t)body->n_steps;
    for (uint32_t i = 0; i < batch->sample_count; i++)
        SH_TRY(sh_sample_message_read(&batch->samples[i], body->samples[i]));
    for (uint32_t i = 0; i < batch->step_count; i++) {
        const Shoal__StepTimes *from = body->steps[i];
        if (from->n_parts_ns != SH_PART_COUNT)
            return sh_fail(SH_FORMAT, "a step's time in %zu parts instead of %d", from->n_parts_ns,
                           (int)SH_PART_COUNT);
        batch->steps[i] = (sh_step_times){
            .step = from->step,
            .ends_ns = from->ends_ns,
            .grains = from->grains,
            .samples = from->samples,
            .attempts = from->attempts,
            .wall_ns = from->wall_ns,
        };
        memcpy(batch->steps[i].ns, from->parts_ns, sizeof batch->steps[i].ns);
    }
    return SH_OK;
}

void sh_telemetry_batch_move(sh_telemetry_batch *batch, uint64_t here_ns)
{
    const uint64_t by = here_ns - batch->now_ns; /* in either direction, modulo 2^64 */
    for (uint32_t i = 0; i < batch->sample_count; i++)
        batch->samples[i].at_ns += by;
    for (uint32_t i = 0; i < batch->step_count; i++)
        batch->steps[i].ends_ns += by;
    batch->now_ns = here_ns;
}
