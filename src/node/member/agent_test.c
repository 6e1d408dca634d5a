/* SPDX-License-Identifier: Apache-2.0 */
/* An agent without orders on a real loop. */
#include "node/member/agent.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/test.h"

static struct scene {
    sh_loop *loop;
    sh_mailbox *mailbox;
    sh_session *session;
    sh_agent *agent;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    sh_activity activity;
    uint32_t told; /* heartbeats since the activity changed */
} scene;

static void on_heartbeat(void *context, const sh_heartbeat *heartbeat)
{
    (void)context;
    pthread_mutex_lock(&scene.lock);
    const bool same = heartbeat->notice.doing.activity == scene.activity;
    scene.told = same ? scene.told + 1 : 1;
    scene.activity = heartbeat->notice.doing.activity;
    pthread_cond_broadcast(&scene.changed);
    pthread_mutex_unlock(&scene.lock);
}

static void hear(sh_activity activity, uint32_t times)
{
    pthread_mutex_lock(&scene.lock);
    while (scene.activity != activity || scene.told < times)
        pthread_cond_wait(&scene.changed, &scene.lock);
    pthread_mutex_unlock(&scene.lock);
}

static int open_scene(void **state)
{
    (void)state;
    sh_job job;
    memset(&scene, 0, sizeof scene);
    pthread_mutex_init(&scene.lock, NULL);
    pthread_cond_init(&scene.changed, NULL);
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:h8");
    snprintf(job.data, sizeof job.data, "digits:30/10");
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_session_open(&scene.session, &job, NULL));
    assert_ok(sh_session_start(scene.session, 1, 0));
    assert_ok(sh_loop_start(&scene.loop));
    assert_ok(sh_mailbox_new(&scene.mailbox));
    assert_ok(sh_agent_new(&scene.agent, &(sh_agent_options){.loop = scene.loop,
                                                             .mailbox = scene.mailbox,
                                                             .on_heartbeat = on_heartbeat}));
    sh_agent_watch(scene.agent, scene.session);
    sh_agent_begin(scene.agent, 1, scene.session, true);
    return 0;
}

static int close_scene(void **state)
{
    (void)state;
    sh_agent_close(scene.agent);
    sh_loop_stop(scene.loop);
    sh_mailbox_free(scene.mailbox);
    sh_session_close(scene.session);
    pthread_cond_destroy(&scene.changed);
    pthread_mutex_destroy(&scene.lock);
    return 0;
}

/* The thread never checks for a new task. */
static void a_thread_that_hangs_while_it_waits_does_not_count_as_waiting(void **state)
{
    (void)state;
    assert_int_equal(sh_agent_take(scene.agent).kind, SH_TASK_WAIT);
    hear(SH_ACTIVITY_COMPUTES, 3);
}

static void *wait_for_a_task(void *argument)
{
    sh_mail mail;
    (void)argument;
    return sh_agent_wait(scene.agent, &mail, NULL) == SH_OK && mail.kind == SH_MAIL_TASK ? &scene
                                                                                         : NULL;
}

static void a_thread_that_waits_answers_calls_until_there_is_a_task(void **state)
{
    (void)state;
    pthread_t thread;
    void *found;
    assert_int_equal(sh_agent_take(scene.agent).kind, SH_TASK_WAIT);
    hear(SH_ACTIVITY_COMPUTES, 1);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_a_task, NULL), 0);
    hear(SH_ACTIVITY_WAITS, 20);
    sh_mailbox_post_text(scene.mailbox, SH_MAIL_TASK, SH_OK, "");
    assert_int_equal(pthread_join(thread, &found), 0);
    assert_ptr_equal(found, &scene);
}

static void abandon(void *context)
{
    sh_agent_abandon(context);
}

static sh_status begin_round(sh_engine *engine, const sh_span *spans, uint32_t count)
{
    (void)engine;
    (void)spans;
    (void)count;
    return SH_OK;
}

/* In the backward pass of the last grain. */
static void abandon_when_ready(sh_engine *engine, uint32_t span)
{
    (void)engine;
    if (span == 0)
        sh_loop_call(scene.loop, abandon, scene.agent);
}

static void an_abandoned_agent_interrupts_the_step(void **state)
{
    (void)state;
    static const sh_engine_ops ops = {
        .name = "abandoning", .begin = begin_round, .ready = abandon_when_ready};
    sh_engine engine = {&ops, 1};
    sh_trainer *trainer = scene.session->trainer;
    const sh_replica *replica = scene.session->replica;
    const uint32_t grains = sh_job_grains(&scene.session->job);
    sh_part part = {.share = {0, grains}, .of = grains, .engine = &engine};
    char before[SH_DIGEST_TEXT], after[SH_DIGEST_TEXT], alone[SH_DIGEST_TEXT];
    sh_step_result result;
    sh_sum_totals totals;
    assert_ok(sh_replica_hash(replica, before));
    assert_fails(sh_trainer_step(trainer, &part, &result), SH_ABORTED, "interrupted");
    assert_int_equal(sh_ranges_total(sh_trainer_held(trainer)), 0);
    part.engine = sh_engine_solo();
    assert_fails(sh_trainer_step(trainer, &part, &result), SH_ABORTED, "interrupted");
    assert_fails(sh_trainer_evaluate(trainer, &part, &totals), SH_ABORTED, "interrupted");
    assert_ok(sh_replica_hash(replica, after));
    assert_string_equal(after, before);
    (void)sh_agent_stop(scene.agent);
    sh_loop_call(scene.loop, abandon, scene.agent);
    assert_ok(sh_trainer_step(trainer, &part, &result));
    assert_ok(sh_replica_hash(replica, after));

    sh_session *other;
    assert_ok(sh_session_open(&other, &scene.session->job, NULL));
    assert_ok(sh_session_start(other, 1, 0));
    assert_ok(sh_trainer_step(other->trainer, &part, &result));
    assert_ok(sh_replica_hash(other->replica, alone));
    assert_string_equal(after, alone);
    assert_string_not_equal(after, before);
    sh_session_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_thread_that_hangs_while_it_waits_does_not_count_as_waiting, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_thread_that_waits_answers_calls_until_there_is_a_task,
                                        open_scene, close_scene),
        cmocka_unit_test_setup_teardown(an_abandoned_agent_interrupts_the_step, open_scene,
                                        close_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
