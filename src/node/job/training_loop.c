/* SPDX-License-Identifier: Apache-2.0 */
/* Without an agent (alone, or as a rank), an aborted stage ends the training loop. An agent repairs
 * the cause of an aborted stage; only this device's own fault ends the training loop. */
#include "node/job/training_loop.h"

#include <stdio.h>
#include <string.h>

#include "train/audited_step.h"
#include "train/failed_stage.h"

static const sh_schedule *schedule_of(const sh_training_loop *training_loop)
{
    return sh_trainer_schedule(training_loop->session->trainer);
}

static sh_progress_report report_of(const sh_training_loop *training_loop)
{
    const sh_replica *replica = training_loop->session->replica;
    const sh_schedule *schedule = schedule_of(training_loop);
    return (sh_progress_report){
        .batch = sh_schedule_batch(schedule, replica->steps > 0 ? replica->steps - 1 : 0),
        .schedule = schedule,
        .steps = replica->steps,
        .epoch = replica->epoch,
        .scale = training_loop->session->scale,
        .devices = training_loop->devices,
        .view = training_loop->view,
    };
}

/* ---- one stage ------------------------------------------------------------------------------- */

static bool is_over(const sh_training_loop *training_loop)
{
    const sh_replica *replica = training_loop->session->replica;
    const bool due = replica->phase == SH_PHASE_VALIDATION;
    return !due && (training_loop->stopped || sh_trainer_is_over(training_loop->session->trainer));
}

/* *next_view comes from the trailer. *audit: the audit that the step waits for, or 0. */
static sh_status run_stage(sh_training_loop *training_loop, const sh_task *task, sh_engine *engine,
                           uint32_t *next_view, uint32_t *audit)
{
    sh_trainer *trainer = training_loop->session->trainer;
    *audit = 0;
    if (!task->keep && !task->resume)
        sh_trainer_forget(trainer);
    if (engine == NULL)
        return sh_fail(SH_ABORTED, "the ring is closed");
    const sh_part part = {
        .share = task->share,
        .of = sh_job_grains(&training_loop->session->job),
        .engine = engine,
        .stop = sh_stop_requested(training_loop->stop),
        .lies =
            sh_bit_flip_lies(&training_loop->session->flip, training_loop->session->replica->steps),
        .resume = task->resume,
        .work = task->dealt ? &task->work : NULL,
        .announce = training_loop->announce,
        .end_early = training_loop->end_early,
        .context = training_loop->context,
    };
    if (training_loop->session->replica->phase != task->position.phase) {
        sh_trainer_set_phase(trainer, task->position.phase);
        sh_agent_restarted(training_loop->agent);
    }
    if (training_loop->session->flip.armed)
        sh_bit_flip_when_due(&training_loop->session->flip, training_loop->session->replica);
    *next_view = 0;
    if (training_loop->view != task->view) { /* another view, or the same with other devices */
        training_loop->view = task->view;
        training_loop->devices = task->devices;
        training_loop->views++;
        if (training_loop->on_view != NULL)
            training_loop->on_view(training_loop->context, task->view, task->devices);
    }
    if (task->position.phase == SH_PHASE_VALIDATION) {
        sh_sum_totals totals;
        SH_TRY(sh_trainer_evaluate(trainer, &part, &totals));
        *next_view = totals.next_view;
        const sh_progress_report report = report_of(training_loop);
        return training_loop->on_validated == NULL
                   ? SH_OK
                   : training_loop->on_validated(training_loop->context, &report, &totals);
    }
    sh_step_result result;
    const uint64_t before = training_loop->session->replica->steps;
    SH_TRY(sh_trainer_step(trainer, &part, &result));
    *audit = result.audit;
    if (result.audit != 0)
        return SH_OK;
    training_loop->redone_steps += result.redone;
    training_loop->stopped = result.totals.stops > 0;
    *next_view = result.totals.next_view;
    sh_progress_report report = report_of(training_loop);
    report.totals = result.totals;
    report.redone = result.redone;
    report.applied = (uint32_t)(report.steps - before);
    return training_loop->on_step == NULL ? SH_OK
                                          : training_loop->on_step(training_loop->context, &report);
}

/* ---- with others ----------------------------------------------------------------------------- */

static void tell(sh_training_loop *training_loop, sh_participant_event_kind kind,
                 uint32_t next_view)
{
    const sh_replica *replica = training_loop->session->replica;
    const sh_schedule *schedule = schedule_of(training_loop);
    const bool trains = replica->phase != SH_PHASE_VALIDATION &&
                        !sh_trainer_is_over(training_loop->session->trainer);
    const bool passed = kind == SH_PARTICIPANT_PASSED;
    const sh_failed_stage after = sh_trainer_failed_stage(training_loop->session->trainer);
    if (after.own_not_finite) /* others compute it */
        sh_trainer_forget(training_loop->session->trainer);
    const sh_participant_event event = {
        .kind = kind,
        .own_check = after.own_check,
        .total = after.total,
        .own_not_finite = after.own_not_finite,
        .position = sh_replica_position(replica),
        .grains = trains ? sh_schedule_batch(schedule, replica->steps).grains : 0,
        .next_view = next_view,
        .finished = passed && is_over(training_loop),
        .speed = sh_trainer_speed(training_loop->session->trainer),
        .held = passed ? NULL : sh_trainer_held(training_loop->session->trainer),
    };
    sh_agent_notify(training_loop->agent, &event);
}

/* Commits to what this device added to the summed step. */
static void commit(sh_training_loop *training_loop, uint32_t key)
{
    const sh_trainer *trainer = training_loop->session->trainer;
    sh_audit_report report = {.key = key};
    report.grains = *sh_trainer_commit(trainer, &report.own, &report.total);
    sh_agent_notify(training_loop->agent, &(sh_participant_event){.kind = SH_PARTICIPANT_AWAITS,
                                                                  .held = sh_trainer_held(trainer),
                                                                  .audit = &report});
}

static sh_status do_audit(sh_training_loop *training_loop, const sh_task *task)
{
    sh_sum_check answer;
    const sh_status status =
        sh_trainer_recompute(training_loop->session->trainer, &task->work, &answer);
    if (status == SH_ABORTED) { /* the coordinator is lost, and its audit with it */
        tell(training_loop, SH_PARTICIPANT_STOPPED, 0);
        return SH_OK;
    }
    SH_TRY(status);
    sh_agent_notify(training_loop->agent,
                    &(sh_participant_event){.kind = SH_PARTICIPANT_AUDITED, .answer = &answer});
    return SH_OK;
}

static sh_status do_stage(sh_training_loop *training_loop, const sh_task *task)
{
    uint32_t next_view, audit;
    sh_engine *engine =
        task->devices == 1 ? sh_engine_solo() : sh_agent_engine(training_loop->agent, task->ring);
    const sh_status status = run_stage(training_loop, task, engine, &next_view, &audit);
    switch (status) {
    case SH_OK:
        if (audit != 0)
            commit(training_loop, audit);
        else
            tell(training_loop, SH_PARTICIPANT_PASSED, next_view);
        return SH_OK;
    case SH_ABORTED:
    case SH_PEER_LOST:
        tell(training_loop, SH_PARTICIPANT_STOPPED, 0);
        return SH_OK;
    case SH_DIVERGED:
        tell(training_loop, SH_PARTICIPANT_DIFFERED, 0);
        return SH_OK;
    case SH_NUMERIC: /* another device may have other numbers */
        if (task->devices == 1 ||
            !sh_trainer_failed_stage(training_loop->session->trainer).not_finite)
            return status;
        snprintf(training_loop->not_finite, sizeof training_loop->not_finite, "%s", sh_message());
        tell(training_loop, SH_PARTICIPANT_NOT_FINITE, 0);
        return SH_OK;
    default:
        return status;
    }
}

static sh_status do_tasks(sh_training_loop *training_loop)
{
    bool over = false;
    while (!over) {
        const sh_task task = sh_agent_take(training_loop->agent);
        switch (task.kind) {
        case SH_TASK_WAIT:
            SH_TRY(training_loop->on_idle(training_loop->context, true, &over));
            break;
        case SH_TASK_FETCH: /* the loop fetches it */
            break;
        case SH_TASK_CHECK:
            sh_agent_notify(training_loop->agent,
                            &(sh_participant_event){
                                SH_PARTICIPANT_CHECKED,
                                .check = sh_replica_check(training_loop->session->replica)});
            break;
        case SH_TASK_RUN:
            SH_TRY(do_stage(training_loop, &task));
            SH_TRY(training_loop->on_idle(training_loop->context, false, &over));
            break;
        case SH_TASK_AUDIT:
            SH_TRY(do_audit(training_loop, &task));
            break;
        case SH_TASK_END:
            over = true;
            break;
        }
    }
    return SH_OK;
}

/* ---- the whole training loop ----------------------------------------------------------------- */

sh_status sh_training_loop_run(sh_training_loop *training_loop, sh_outcome *outcome)
{
    const bool fixed = training_loop->agent == NULL;
    sh_status status = fixed ? SH_OK : do_tasks(training_loop);
    if (!fixed && status == SH_NUMERIC && training_loop->not_finite[0] != '\0')
        status = sh_fail(status, "%s", training_loop->not_finite);
    while (fixed && status == SH_OK && !is_over(training_loop)) {
        uint32_t next_view, audit;
        const sh_task task = {
            .kind = SH_TASK_RUN,
            .view = 1,
            .devices = training_loop->engine->devices,
            .position = sh_replica_position(training_loop->session->replica),
            .share = training_loop->share,
        };
        status = run_stage(training_loop, &task, training_loop->engine, &next_view, &audit);
    }
    training_loop->whole = fixed || sh_agent_stop(training_loop->agent);
    *outcome = !training_loop->whole || !is_over(training_loop) ? SH_OUTCOME_DISMISSED
               : training_loop->stopped                         ? SH_OUTCOME_STOPPED
                                                                : SH_OUTCOME_COMPLETE;
    return status;
}
