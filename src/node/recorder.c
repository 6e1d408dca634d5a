/* SPDX-License-Identifier: Apache-2.0 */
/* Two sets of records: one is filled under the lock while the other is handed on without. */
#include "node/recorder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "monitor/monitor.h"

struct sh_recorder {
    sh_recorder_options options;
    sh_monitor *monitor;
    atomic_bool closing;
    uint64_t handed_ns; /* the monitor's thread, as the next */
    sh_records *handing;

    pthread_mutex_t lock;
    sh_records *filling; /* guarded by lock, as all below */
    sh_channel_stats stats;
    bool counted; /* the stats are known */
};

static void count_network(void *context, sh_sample *sample)
{
    sh_recorder *recorder = context;
    pthread_mutex_lock(&recorder->lock);
    const sh_channel_stats stats = recorder->stats;
    const bool counted = recorder->counted;
    pthread_mutex_unlock(&recorder->lock);
    if (!counted)
        return;
    const sh_socket_traffic *traffic = &stats.traffic;
    sample->figures[SH_FIGURE_network_sent_bytes] = (double)stats.sent_bytes;
    sample->figures[SH_FIGURE_network_received_bytes] = (double)stats.received_bytes;
    if (traffic->sent_segments == 0) /* the system does not say */
        return;
    sample->figures[SH_FIGURE_network_sent_packets] = (double)traffic->sent_segments;
    sample->figures[SH_FIGURE_network_received_packets] = (double)traffic->received_segments;
    sample->figures[SH_FIGURE_network_busy_seconds] = (double)traffic->busy_ns * 1e-9;
}

/* Puts a sample to the others; whether it is time to hand them on. */
static bool keep(sh_recorder *recorder, const sh_sample *sample, uint64_t now_ns)
{
    pthread_mutex_lock(&recorder->lock);
    sh_records *records = recorder->filling;
    if (records->sample_count < SH_RECORDS_SAMPLES)
        records->samples[records->sample_count++] = *sample;
    else
        records->dropped++;
    const bool due = now_ns - recorder->handed_ns >= SH_RECORDER_PERIOD_NS ||
                     records->step_count >= SH_RECORDER_STEPS_SOON ||
                     atomic_load(&recorder->closing);
    if (due) {
        recorder->filling = recorder->handing;
        recorder->handing = records;
    }
    pthread_mutex_unlock(&recorder->lock);
    return due;
}

static void on_sample(void *context, const sh_sample *sample)
{
    sh_recorder *recorder = context;
    const uint64_t now_ns = sh_clock_now_ns(sh_clock_system());
    if (!keep(recorder, sample, now_ns))
        return;
    sh_records *records = recorder->handing;
    recorder->handed_ns = records->now_ns = now_ns;
    recorder->options.sink(recorder->options.context, records);
    records->dropped = records->sample_count = records->step_count = 0;
}

static void recorder_free(sh_recorder *recorder)
{
    pthread_mutex_destroy(&recorder->lock);
    free(recorder->filling);
    free(recorder->handing);
    free(recorder);
}

sh_status sh_recorder_open(sh_recorder **recorder, const sh_recorder_options *options)
{
    sh_recorder *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the recorder");
    fresh->options = *options;
    fresh->handed_ns = sh_clock_now_ns(sh_clock_system());
    pthread_mutex_init(&fresh->lock, NULL);
    fresh->filling = calloc(1, sizeof *fresh->filling);
    fresh->handing = calloc(1, sizeof *fresh->handing);
    sh_status status = fresh->filling != NULL && fresh->handing != NULL
                           ? SH_OK
                           : sh_fail_memory(sizeof *fresh->filling, "the recorder");
    if (status == SH_OK)
        status = sh_monitor_start(
            &fresh->monitor,
            &(sh_monitor_options){.sampler = {.network = count_network, .context = fresh},
                                  .sink = on_sample,
                                  .context = fresh});
    if (status != SH_OK) {
        recorder_free(fresh);
        return status;
    }
    *recorder = fresh;
    return SH_OK;
}

void sh_recorder_close(sh_recorder *recorder)
{
    if (recorder == NULL)
        return;
    atomic_store(&recorder->closing, true);
    sh_monitor_stop(recorder->monitor); /* takes a last sample */
    recorder_free(recorder);
}

void sh_recorder_step(sh_recorder *recorder, const sh_step_times *times)
{
    pthread_mutex_lock(&recorder->lock);
    sh_records *records = recorder->filling;
    if (records->step_count < SH_RECORDS_STEPS)
        records->steps[records->step_count++] = *times;
    else
        records->dropped++;
    pthread_mutex_unlock(&recorder->lock);
}

void sh_recorder_network(sh_recorder *recorder, const sh_channel_stats *stats)
{
    pthread_mutex_lock(&recorder->lock);
    recorder->stats = *stats;
    recorder->counted = true;
    pthread_mutex_unlock(&recorder->lock);
}
