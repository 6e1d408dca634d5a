/* SPDX-License-Identifier: Apache-2.0 */
#include "node/course.h"

static sh_status validate(sh_course *course, const sh_progress_report *report)
{
    sh_sum_totals totals;
    SH_TRY(sh_trainer_evaluate(course->bench->trainer, &course->part, &totals));
    return course->on_validated == NULL ? SH_OK
                                        : course->on_validated(course->context, report, &totals);
}

/* One step and what follows it; *stopped when somebody asked to end. */
static sh_status advance(sh_course *course, bool *stopped)
{
    const sh_replica *replica = course->bench->replica;
    const sh_schedule *schedule = sh_trainer_schedule(course->bench->trainer);
    sh_step_result result;
    const sh_batch batch = sh_schedule_batch(schedule, replica->steps);
    course->part.stop = sh_stop_requested(course->stop);
    SH_TRY(sh_trainer_step(course->bench->trainer, &course->part, &result));
    course->redone_steps += result.redone;
    *stopped = result.totals.stops > 0;

    const sh_progress_report report = {batch, schedule, replica->steps, replica->epoch};
    if (course->on_step != NULL)
        course->on_step(course->context, &report);
    const bool epoch_ends = batch.step + 1 == schedule->epoch_steps;
    const bool job_ends = replica->steps >= schedule->total_steps;
    return epoch_ends || job_ends ? validate(course, &report) : SH_OK;
}

sh_status sh_course_run(sh_course *course, sh_ending *ending)
{
    const sh_schedule *schedule = sh_trainer_schedule(course->bench->trainer);
    const uint64_t steps = course->bench->replica->steps;
    bool stopped = false;
    if (steps > 0 && steps >= schedule->total_steps) { /* the job is complete: how good is it? */
        const sh_progress_report report = {sh_schedule_batch(schedule, steps - 1), schedule, steps,
                                           course->bench->replica->epoch};
        SH_TRY(validate(course, &report));
    }
    while (!stopped && course->bench->replica->steps < schedule->total_steps)
        SH_TRY(advance(course, &stopped));
    *ending = course->bench->replica->steps < schedule->total_steps ? SH_ENDING_STOPPED
                                                                    : SH_ENDING_COMPLETE;
    return SH_OK;
}
