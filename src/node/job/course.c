/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without an agent (alone, or as a rank), a device stays in one view, and an aborted stage ends the
 * course. An agent repairs the cause of an aborted stage; only this device's own fault ends the
 * course.
 */
#include "node/job/course.h"

#include <stdio.h>
#include <string.h>

#include "train/aftermath.h"

static const sh_schedule *schedule_of(const sh_course *course)
{
    return sh_trainer_schedule(course->bench->trainer);
}

static sh_progress_report report_of(const sh_course *course)
{
    const sh_replica *replica = course->bench->replica;
    const sh_schedule *schedule = schedule_of(course);
    return (sh_progress_report){
        .batch = sh_schedule_batch(schedule, replica->steps > 0 ? replica->steps - 1 : 0),
        .schedule = schedule,
        .steps = replica->steps,
        .epoch = replica->epoch,
        .scale = course->bench->scale,
        .devices = course->devices,
        .view = course->view,
    };
}

/* ---- one stage ------------------------------------------------------------------------------- */

static bool is_over(const sh_course *course)
{
    const sh_replica *replica = course->bench->replica;
    const bool due = replica->phase == SH_PHASE_VALIDATION;
    return !due && (course->stopped || sh_trainer_is_over(course->bench->trainer));
}

/* Runs one stage; *next_view comes from the trailer. */
static sh_status run_stage(sh_course *course, const sh_task *task, sh_engine *engine,
                           uint32_t *next_view)
{
    sh_trainer *trainer = course->bench->trainer;
    if (!task->keep)
        sh_trainer_forget(trainer);
    if (engine == NULL)
        return sh_fail(SH_ABORTED, "the ring is closed");
    const sh_part part = {
        .share = task->share,
        .of = sh_job_grains(&course->bench->job),
        .engine = engine,
        .stop = sh_stop_requested(course->stop),
        .work = task->dealt ? &task->work : NULL,
        .announce = course->announce,
        .hurry = course->hurry,
        .context = course->context,
    };
    if (course->bench->replica->phase != task->position.phase) {
        sh_trainer_set_phase(trainer, task->position.phase);
        sh_agent_restarted(course->agent);
    }
    if (course->bench->flip.armed)
        sh_flip_when_due(&course->bench->flip, course->bench->replica);
    *next_view = 0;
    if (course->view != task->view) { /* another view, or the same with other devices */
        course->view = task->view;
        course->devices = task->devices;
        course->views++;
        if (course->on_view != NULL)
            course->on_view(course->context, task->view, task->devices);
    }
    if (task->position.phase == SH_PHASE_VALIDATION) {
        sh_sum_totals totals;
        SH_TRY(sh_trainer_evaluate(trainer, &part, &totals));
        *next_view = totals.next_view;
        const sh_progress_report report = report_of(course);
        return course->on_validated == NULL
                   ? SH_OK
                   : course->on_validated(course->context, &report, &totals);
    }
    sh_step_result result;
    const uint64_t before = course->bench->replica->steps;
    SH_TRY(sh_trainer_step(trainer, &part, &result));
    course->redone_steps += result.redone;
    course->stopped = result.totals.stops > 0;
    *next_view = result.totals.next_view;
    sh_progress_report report = report_of(course);
    report.totals = result.totals;
    report.redone = result.redone;
    report.applied = (uint32_t)(report.steps - before);
    return course->on_step == NULL ? SH_OK : course->on_step(course->context, &report);
}

/* ---- with others ----------------------------------------------------------------------------- */

static void tell(sh_course *course, sh_participant_event_kind kind, uint32_t next_view)
{
    const sh_replica *replica = course->bench->replica;
    const sh_schedule *schedule = schedule_of(course);
    const bool trains =
        replica->phase != SH_PHASE_VALIDATION && !sh_trainer_is_over(course->bench->trainer);
    const bool passed = kind == SH_PARTICIPANT_PASSED;
    const sh_aftermath after = sh_trainer_aftermath(course->bench->trainer);
    if (after.by_this) /* others compute it */
        sh_trainer_forget(course->bench->trainer);
    const sh_participant_event event = {
        .kind = kind,
        .said = after.said,
        .total = after.total,
        .by_this = after.by_this,
        .position = sh_replica_position(replica),
        .grains = trains ? sh_schedule_batch(schedule, replica->steps).grains : 0,
        .next_view = next_view,
        .finished = passed && is_over(course),
        .speed = sh_trainer_speed(course->bench->trainer),
        .held = passed ? NULL : sh_trainer_held(course->bench->trainer),
    };
    sh_agent_tell(course->agent, &event);
}

static sh_status do_stage(sh_course *course, const sh_task *task)
{
    uint32_t next_view;
    sh_engine *engine =
        task->devices == 1 ? sh_engine_solo() : sh_agent_engine(course->agent, task->ring);
    const sh_status status = run_stage(course, task, engine, &next_view);
    switch (status) {
    case SH_OK:
        tell(course, SH_PARTICIPANT_PASSED, next_view);
        return SH_OK;
    case SH_ABORTED:
    case SH_PEER_LOST:
        tell(course, SH_PARTICIPANT_STOPPED, 0);
        return SH_OK;
    case SH_DIVERGED:
        tell(course, SH_PARTICIPANT_DIFFERED, 0);
        return SH_OK;
    case SH_NUMERIC: /* another device may have other numbers */
        if (task->devices == 1 || !sh_trainer_aftermath(course->bench->trainer).not_finite)
            return status;
        snprintf(course->not_finite, sizeof course->not_finite, "%s", sh_message());
        tell(course, SH_PARTICIPANT_NOT_FINITE, 0);
        return SH_OK;
    default:
        return status;
    }
}

static sh_status do_tasks(sh_course *course)
{
    bool over = false;
    while (!over) {
        const sh_task task = sh_agent_take(course->agent);
        switch (task.kind) {
        case SH_TASK_WAIT:
            SH_TRY(course->on_idle(course->context, true, &over));
            break;
        case SH_TASK_FETCH: /* the loop fetches it */
            break;
        case SH_TASK_CHECK:
            sh_agent_tell(course->agent, &(sh_participant_event){
                                             SH_PARTICIPANT_CHECKED,
                                             .check = sh_replica_check(course->bench->replica)});
            break;
        case SH_TASK_RUN:
            SH_TRY(do_stage(course, &task));
            SH_TRY(course->on_idle(course->context, false, &over));
            break;
        case SH_TASK_END:
            over = true;
            break;
        }
    }
    return SH_OK;
}

/* ---- the whole course ------------------------------------------------------------------------ */

sh_status sh_course_run(sh_course *course, sh_ending *ending)
{
    const bool fixed = course->agent == NULL;
    sh_status status = fixed ? SH_OK : do_tasks(course);
    if (!fixed && status == SH_NUMERIC && course->not_finite[0] != '\0')
        status = sh_fail(status, "%s", course->not_finite); /* names step and tensor */
    while (fixed && status == SH_OK && !is_over(course)) {
        uint32_t next_view;
        const sh_task task = {
            .kind = SH_TASK_RUN,
            .view = 1,
            .devices = course->engine->devices,
            .position = sh_replica_position(course->bench->replica),
            .share = course->share,
        };
        status = run_stage(course, &task, course->engine, &next_view);
    }
    course->whole = fixed || sh_agent_settle(course->agent);
    *ending = !course->whole || !is_over(course) ? SH_ENDING_DISMISSED
              : course->stopped                  ? SH_ENDING_STOPPED
                                                 : SH_ENDING_COMPLETE;
    return status;
}
