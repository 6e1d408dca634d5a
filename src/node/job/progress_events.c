/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/progress_events.h"

#include <math.h>

void sh_progress_pace_start(sh_progress_pace *pace, uint64_t now_ns)
{
    *pace = (sh_progress_pace){.start_ns = now_ns};
}

static double seconds_between(uint64_t start_ns, uint64_t end_ns)
{
    return end_ns > start_ns ? (double)(end_ns - start_ns) * 1e-9 : 0;
}

sh_event sh_progress_event(sh_event_kind kind, const sh_progress_report *report,
                           const sh_progress_pace *pace, uint64_t now_ns)
{
    const sh_epoch_totals *epoch = &report->epoch;
    const sh_schedule *schedule = report->schedule;
    const sh_figures figures =
        sh_figures_of(&report->scale, epoch->loss, epoch->score, epoch->samples);
    return (sh_event){
        .kind = kind,
        .devices = report->devices,
        .epoch = report->batch.epoch + 1,
        .epochs =
            (uint32_t)((schedule->total_steps + schedule->epoch_steps - 1) / schedule->epoch_steps),
        .step = report->batch.step + 1,
        .epoch_steps = schedule->epoch_steps,
        .total_step = report->steps,
        .total_steps = schedule->total_steps,
        .samples = epoch->samples,
        .seconds = seconds_between(pace->start_ns, now_ns),
        .loss = figures.loss,
        .accuracy = figures.accuracy,
        .numbers = isnan(figures.accuracy),
        .mae = figures.mae,
    };
}

sh_event sh_progress_validated(const sh_progress_report *report, const sh_sum_totals *validation,
                               const sh_progress_pace *pace, uint64_t now_ns)
{
    const sh_figures figures =
        sh_figures_of(&report->scale, validation->loss, validation->score, validation->samples);
    sh_event event = sh_progress_event(SH_EVENT_EPOCH, report, pace, now_ns);
    event.val_loss = figures.loss;
    event.val_accuracy = figures.accuracy;
    event.val_mae = figures.mae;
    return event;
}

double sh_progress_rate(sh_progress_pace *pace, uint32_t samples, uint64_t now_ns)
{
    const uint64_t seen = pace->steps_seen++;
    const uint64_t window = seen < SH_RATE_STEPS ? seen : SH_RATE_STEPS;
    const uint64_t since =
        window == 0 ? pace->start_ns : pace->step_ns[(seen - window) % SH_RATE_STEPS];
    pace->step_ns[seen % SH_RATE_STEPS] = now_ns;
    const double steps = window == 0 ? 1 : (double)window;
    return now_ns > since ? steps * samples / seconds_between(since, now_ns) : 0;
}
