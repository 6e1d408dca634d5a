/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts stages at arbitrary points, with real rings on the loopback. The remaining devices
 * continue with their held units and must reach the weights of an undisturbed run. A device that is
 * ahead after the failure copies its replica to the others, as a transfer would.
 */
#include "train/trainer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/test.h"
#include "net/key.h"
#include "net/listener.h"
#include "reduce/engines.h"
#include "train/snapshot.h"

#define TENSORS_MAX 16
#define DEVICES 3
#define STEPS 6 /* with 4 per epoch: two validations */
#define TRIALS 8
#define NEVER UINT32_MAX
#define OUTGROWING 40.0f /* a learning rate whose gradients exceed their exponents */
#define ANNOUNCED 100    /* the view announced after `steps` steps is this + steps */

typedef struct world world;

typedef struct site {
    world *of;
    uint32_t index, rank;
    bool alive;
    sh_pipeline *pipeline;
    sh_replica *replica;
    sh_trainer *trainer;
    sh_loop *loop;
    sh_listener *listener;
    uint16_t port;
    sh_engine *ring;  /* guarded by the world's lock */
    uint32_t view;    /* whose links are accepted; only for the loop */
    sh_engine engine; /* forwards to the ring and can fail */
    pthread_t thread;
    sh_part part;
    sh_ranges work; /* of the first step after a failure */
    sh_position before;
    uint32_t passed;
    uint32_t outgrown; /* redos after the first step */
    uint32_t reduced;  /* attempts at steps started in this view */
} site;

struct world {
    pthread_mutex_t lock;
    sh_job job;
    site sites[DEVICES];
    uint32_t devices, view; /* of the current view */
    unsigned char key[SH_KEY_BYTES];
    atomic_uint events; /* of all devices of this view */
    uint32_t break_at;
    const site *late; /* does not complete attempt `late_at` (from 1) of the view, or NULL */
    uint32_t late_at;
    sh_position front;                    /* the highest position in this view */
    pthread_cond_t passing;               /* `front` changed; `lock` guards both */
    sh_sum_totals validations[STEPS + 1]; /* by steps; of the undisturbed run */
    bool learns;                          /* this is the undisturbed run of one device */
    char hash[SH_DIGEST_TEXT];
    uint32_t held_kept, held_redone, brought_along, outgrown;
};

/* ---- a ring that fails at a chosen event ----------------------------------------------------- */

static site *site_of(sh_engine *engine)
{
    return (site *)(void *)((char *)engine - offsetof(site, engine));
}

/* The caller holds the lock. */
static void break_rings(world *w)
{
    for (uint32_t i = 0; i < DEVICES; i++)
        if (w->sites[i].ring != NULL)
            sh_engine_abort(w->sites[i].ring, SH_ABORTED, "broken off by the test");
}

static void count_event(world *w)
{
    if (atomic_fetch_add(&w->events, 1) != w->break_at)
        return;
    pthread_mutex_lock(&w->lock);
    break_rings(w);
    pthread_mutex_unlock(&w->lock);
}

static bool stays_behind(const site *self)
{
    return self->of->late == self && self->reduced == self->of->late_at;
}

/* Fails after another device has completed the round. The ring's loop keeps running. */
static sh_status stay_behind(site *self)
{
    world *w = self->of;
    const sh_position here = sh_replica_position(self->replica);
    pthread_mutex_lock(&w->lock);
    while (!sh_position_before(here, w->front))
        pthread_cond_wait(&w->passing, &w->lock);
    break_rings(w);
    pthread_mutex_unlock(&w->lock);
    return sh_fail(SH_ABORTED, "broken off by the test, behind others");
}

static void note_passing(world *w, sh_position after)
{
    pthread_mutex_lock(&w->lock);
    if (sh_position_before(w->front, after))
        w->front = after;
    pthread_cond_signal(&w->passing);
    pthread_mutex_unlock(&w->lock);
}

static sh_engine *set_ring(site *self, sh_engine *ring)
{
    pthread_mutex_lock(&self->of->lock);
    sh_engine *former = self->ring;
    self->ring = ring;
    pthread_mutex_unlock(&self->of->lock);
    return former;
}

static sh_engine *ring_of(site *self)
{
    pthread_mutex_lock(&self->of->lock);
    sh_engine *ring = self->ring;
    pthread_mutex_unlock(&self->of->lock);
    return ring;
}

static sh_status break_begin(sh_engine *engine, const sh_span *spans, uint32_t count)
{
    site *self = site_of(engine);
    count_event(self->of);
    self->reduced += self->replica->phase != SH_PHASE_VALIDATION;
    return sh_engine_begin(ring_of(self), spans, count);
}

static void break_ready(sh_engine *engine, uint32_t span)
{
    site *self = site_of(engine);
    count_event(self->of);
    sh_engine_ready(ring_of(self), span);
}

static bool says_that_it_waits(const site *self)
{
    return sh_lanes_are_waiting(sh_trainer_lanes(self->trainer));
}

static sh_status break_gathered(sh_engine *engine, size_t have, size_t *words)
{
    sh_engine *ring = ring_of(site_of(engine));
    assert_true(says_that_it_waits(site_of(engine)));
    return ring->ops->gathered(ring, have, words);
}

static sh_status break_wait(sh_engine *engine)
{
    site *self = site_of(engine);
    assert_true(says_that_it_waits(self));
    if (stays_behind(self))
        return stay_behind(self);
    return sh_engine_wait(ring_of(self));
}

static void on_span(void *context, uint32_t index, const sh_span *span)
{
    (void)index;
    (void)span;
    count_event(((site *)context)->of);
}

/* Some views gather factors (train/factors.h). */
static const sh_engine_ops break_ops[] = {
    {.name = "breaking", .begin = break_begin, .ready = break_ready, .wait = break_wait},
    {.name = "breaking",
     .begin = break_begin,
     .ready = break_ready,
     .gathered = break_gathered,
     .wait = break_wait},
};

/* ---- links ----------------------------------------------------------------------------------- */

static void link_name(char name[32], uint32_t view)
{
    snprintf(name, 32, "link/%u", view);
}

static void accept_previous(void *context, sh_channel *channel, const char *identity)
{
    site *self = context;
    char name[32];
    link_name(name, self->view);
    if (self->view == 0 || strcmp(identity, name) != 0)
        sh_channel_close(channel); /* of a view that failed before it was connected */
    else
        assert_ok(self->ring->ops->take(self->ring, 0, channel));
}

static void open_door(void *context)
{
    site *self = context;
    assert_ok(sh_listener_open(&self->listener, self->loop,
                               &(sh_listener_options){.host = "127.0.0.1",
                                                      .on_accept = accept_previous,
                                                      .context = self}));
    self->port = sh_listener_port(self->listener);
}

static void shut_door(void *context)
{
    sh_listener_close(((site *)context)->listener);
}

static site *site_at(world *w, uint32_t rank)
{
    for (uint32_t i = 0; i < DEVICES; i++)
        if (w->sites[i].alive && w->sites[i].rank == rank % w->devices)
            return &w->sites[i];
    return NULL;
}

static void make_ring(void *context)
{
    site *self = context;
    sh_engine *ring;
    char name[32];
    self->view = self->of->view;
    link_name(name, self->view);
    assert_ok(sh_listener_allow(self->listener, name, self->of->key));
    assert_ok(sh_engine_ring.make(&ring, &(sh_engine_options){.loop = self->loop,
                                                              .view = self->view,
                                                              .rank = self->rank,
                                                              .devices = self->of->devices}));
    self->engine = (sh_engine){&break_ops[self->of->view % 3 > 0], ring->devices};
    assert_true(sh_engine_watch(ring, &(sh_engine_watcher){.on_span = on_span, .context = self}));
    set_ring(self, ring);
}

static void leave_view(void *context)
{
    ((site *)context)->view = 0;
}

static void link_up(void *context)
{
    site *self = context;
    char name[32];
    link_name(name, self->of->view);
    assert_ok(self->ring->ops->connect(
        self->ring, 0,
        &(sh_channel_target){.host = "127.0.0.1",
                             .port = site_at(self->of, self->rank + 1)->port,
                             .identity = name,
                             .key = self->of->key}));
}

/* ---- a device -------------------------------------------------------------------------------- */

static bool announce(void *context, bool last, uint64_t *view)
{
    *view = last ? ANNOUNCED + ((site *)context)->replica->steps : 0;
    return last;
}

static void on_passed(void *context, const sh_stage_outcome *outcome)
{
    site *self = context;
    assert_true(sh_position_before(outcome->before, outcome->after));
    assert_true(sh_position_same(outcome->after, sh_replica_position(self->replica)));
    assert_int_not_equal(pthread_mutex_trylock(&self->replica->lock), 0);
    assert_false(says_that_it_waits(self));
    self->passed++;
    self->outgrown += outcome->passed == SH_PASSED_REDO && outcome->before.steps > 0;
    note_passing(self->of, outcome->after);
}

static void open_site(world *w, uint32_t index)
{
    site *self = &w->sites[index];
    const sh_kernels *kernels;
    *self = (site){.of = w, .index = index, .rank = index, .alive = true};
    assert_ok(sh_pipeline_open(&self->pipeline, w->job.data, &(sh_pipeline_options){.resize = 0}));
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(
        sh_replica_new(&self->replica, &w->job, &(sh_problem){1, 28, 28, 10, SH_TARGET_CLASS}));
    assert_ok(sh_trainer_new(&self->trainer, &(sh_trainer_options){.job = &w->job,
                                                                   .pipeline = self->pipeline,
                                                                   .kernels = kernels,
                                                                   .replica = self->replica,
                                                                   .lanes = 1 + index % 2,
                                                                   .shared = w->devices > 1,
                                                                   .on_passed = on_passed,
                                                                   .context = self}));
    assert_ok(sh_loop_start(&self->loop));
    sh_loop_call(self->loop, open_door, self);
}

static void close_site(site *self)
{
    sh_loop_call(self->loop, shut_door, self);
    sh_loop_stop(self->loop);
    sh_trainer_free(self->trainer);
    sh_replica_free(self->replica);
    sh_pipeline_close(self->pipeline);
    self->alive = false;
}

static sh_status next_stage(site *self)
{
    sh_step_result result;
    sh_sum_totals *known = &self->of->validations[self->replica->steps];
    if (self->replica->phase == SH_PHASE_VALIDATION) {
        sh_sum_totals totals;
        SH_TRY(sh_trainer_evaluate(self->trainer, &self->part, &totals));
        if (self->of->learns)
            *known = totals;
        assert_memory_equal(&totals.loss, &known->loss, sizeof totals.loss); /* may be NaN */
        assert_int_equal(totals.score, known->score);
        return SH_OK;
    }
    const sh_schedule *schedule = sh_trainer_schedule(self->trainer);
    const sh_batch batch = sh_schedule_batch(schedule, self->replica->steps);
    const sh_status status = sh_trainer_step(self->trainer, &self->part, &result);
    self->part.work = NULL;
    SH_TRY(status);
    assert_int_equal(result.totals.samples, batch.samples.count);
    assert_int_equal(result.totals.next_view, ANNOUNCED + self->replica->steps - 1);
    return SH_OK;
}

static void *live(void *argument)
{
    site *self = argument;
    while (self->replica->steps < STEPS || self->replica->phase == SH_PHASE_VALIDATION) {
        const sh_status status = next_stage(self);
        if (status == SH_OK)
            continue;
        if (status != SH_ABORTED)
            fail_msg("%s", sh_message());
        return NULL;
    }
    return NULL;
}

/* ---- work of the coordinator ----------------------------------------------------------------- */

static void run_view(world *w)
{
    const uint32_t grains = sh_job_grains(&w->job);
    w->view++;
    w->front = (sh_position){0};
    atomic_store(&w->events, 0);
    assert_ok(sh_key_make(w->key));
    for (uint32_t r = 0; r < w->devices; r++) {
        site *self = site_at(w, r);
        const uint32_t first = grains * r / w->devices;
        self->part.share = (sh_range){first, grains * (r + 1) / w->devices - first};
        self->part.of = grains;
        self->part.engine = w->devices > 1 ? &self->engine : sh_engine_solo();
        self->part.announce = r == 0 ? announce : NULL;
        self->part.context = self;
        self->reduced = 0;
        if (w->devices > 1)
            sh_loop_call(self->loop, make_ring, self);
    }
    for (uint32_t r = 0; r < w->devices; r++) {
        if (w->devices > 1)
            sh_loop_call(site_at(w, r)->loop, link_up, site_at(w, r));
        pthread_create(&site_at(w, r)->thread, NULL, live, site_at(w, r));
    }
    for (uint32_t r = 0; r < w->devices; r++)
        pthread_join(site_at(w, r)->thread, NULL);
    for (uint32_t r = 0; r < w->devices; r++) {
        site *self = site_at(w, r);
        sh_loop_call(self->loop, leave_view, self);
        sh_engine *ring = set_ring(self, NULL);
        if (ring != NULL)
            sh_engine_close(ring);
    }
}

static void bring_along(site *receiver, const site *sender)
{
    const sh_replica *from = sender->replica;
    sh_replica *to = receiver->replica;
    float envelopes[TENSORS_MAX];
    int32_t exponents[TENSORS_MAX];
    assert_true(from->summed <= TENSORS_MAX);
    memcpy(to->weights, from->weights, from->weight_count * sizeof *from->weights);
    for (uint32_t i = 0; i < from->slot_count; i++)
        memcpy(to->slots[i], from->slots[i], from->summed_count * sizeof *from->slots[i]);
    sh_sum_state_get(from->sum, envelopes, exponents);
    assert_ok(sh_sum_state_set(to->sum, envelopes, exponents));
    to->steps = from->steps;
    to->phase = from->phase;
    to->epoch = from->epoch;
    sh_trainer_forget(receiver->trainer);
    receiver->of->brought_along++;
}

/* Brings all devices to the highest position, or to its validation if that is due on any device. */
static sh_position gather(world *w)
{
    const site *leader = site_at(w, 0);
    for (uint32_t r = 1; r < w->devices; r++)
        if (sh_position_before(sh_replica_position(leader->replica),
                               sh_replica_position(site_at(w, r)->replica)))
            leader = site_at(w, r);
    const sh_position highest = sh_replica_position(leader->replica);
    sh_position target = highest;
    for (uint32_t r = 0; r < w->devices; r++) {
        const sh_position at = sh_replica_position(site_at(w, r)->replica);
        if (at.steps == highest.steps && at.phase == SH_PHASE_VALIDATION)
            target.phase = SH_PHASE_VALIDATION;
    }
    for (uint32_t r = 0; r < w->devices; r++) {
        site *self = site_at(w, r);
        if (target.phase != SH_PHASE_VALIDATION || self->replica->steps < target.steps)
            if (sh_position_before(sh_replica_position(self->replica), highest))
                bring_along(self, leader);
        if (target.phase == SH_PHASE_VALIDATION)
            sh_trainer_set_phase(self->trainer, SH_PHASE_VALIDATION);
    }
    return target;
}

/* Assigns the step's grains that no device holds to random devices. */
static void deal_out(world *w, sh_random *random)
{
    const sh_schedule *schedule = sh_trainer_schedule(site_at(w, 0)->trainer);
    const sh_batch batch = sh_schedule_batch(schedule, site_at(w, 0)->replica->steps);
    for (uint32_t r = 0; r < w->devices; r++) {
        site_at(w, r)->part.work = &site_at(w, r)->work;
        site_at(w, r)->work = (sh_ranges){0};
        const bool held = sh_trainer_held(site_at(w, r)->trainer)->count > 0;
        w->held_kept += held;
        w->held_redone += held && site_at(w, r)->replica->phase > SH_PHASE_FIRST;
    }
    for (uint32_t g = 0; g < batch.grains; g++) {
        bool is_held = false;
        for (uint32_t r = 0; r < w->devices; r++)
            is_held = is_held || sh_ranges_intersect(sh_trainer_held(site_at(w, r)->trainer),
                                                     (sh_range){g, 1});
        site *to = site_at(w, sh_random_next(random) % w->devices);
        if (!is_held)
            assert_true(sh_ranges_add(&to->work, (sh_range){g, 1}));
    }
}

static void set_job(world *w, float lr, uint32_t wire, bool workers)
{
    *w = (world){.lock = PTHREAD_MUTEX_INITIALIZER,
                 .passing = PTHREAD_COND_INITIALIZER,
                 .break_at = NEVER,
                 .devices = DEVICES};
    sh_job_init(&w->job);
    snprintf(w->job.model, sizeof w->job.model, "mlp:784-40-1300-10"); /* two buckets */
    snprintf(w->job.data, sizeof w->job.data, "digits:56/20");
    w->job.batch_size = 16; /* 56 samples: steps of 16, 16, 16 and 8 */
    w->job.grain = 3;
    if (workers) { /* the same steps, each of 4 workers with 2 local steps */
        snprintf(w->job.strategy, sizeof w->job.strategy, "local:2");
        w->job.batch_size = 8;
        w->job.workers = 4;
        w->job.grain = 1;
        w->job.outer_momentum = 0.5f;
    }
    w->job.lr = lr;
    w->job.wire = wire;
    w->job.steps = STEPS;
    assert_ok(sh_job_complete(&w->job));
}

static void end_world(world *w)
{
    for (uint32_t r = 0; r < w->devices; r++) {
        char hash[SH_DIGEST_TEXT];
        assert_int_equal(site_at(w, r)->replica->steps, STEPS);
        assert_ok(sh_replica_hash(site_at(w, r)->replica, hash));
        assert_true(r == 0 || strcmp(hash, w->hash) == 0);
        memcpy(w->hash, hash, sizeof hash);
        assert_true(site_at(w, r)->passed > 0);
        w->outgrown += site_at(w, r)->outgrown;
    }
    for (uint32_t i = 0; i < DEVICES; i++)
        if (w->sites[i].alive)
            close_site(&w->sites[i]);
}

static uint32_t run_quietly(world *w, float lr, uint32_t wire, uint32_t devices, const world *quiet,
                            bool workers)
{
    set_job(w, lr, wire, workers);
    w->devices = devices;
    w->learns = quiet == NULL;
    if (quiet != NULL)
        memcpy(w->validations, quiet->validations, sizeof w->validations);
    for (uint32_t i = 0; i < devices; i++)
        open_site(w, i);
    run_view(w);
    end_world(w);
    return atomic_load(&w->events);
}

/* Fails at a random event, or where one device has completed a stage and another has not. In trial
 * 1 that stage is the job's first attempt, which calibrates. */
static void choose_break(world *w, uint32_t trial, uint32_t number, uint32_t moments,
                         sh_random *random)
{
    if ((trial + number) % 2 == 0) {
        w->break_at = sh_random_next(random) % (moments / 2);
        return;
    }
    w->late = site_at(w, sh_random_next(random) % w->devices);
    w->late_at = 1 + trial / 2 % (STEPS - 1);
}

/* Removes a random device, but none after a late device's failure in trials 1, 5, 9 ..., which thus
 * always copy a replica. */
static void lose_one(world *w, uint32_t trial, sh_random *random)
{
    if (w->devices == (trial % 2 == 0 ? 1 : 2) || (w->late != NULL && trial % 4 == 1))
        return;
    close_site(site_at(w, sh_random_next(random) % w->devices));
    w->devices--;
    for (uint32_t i = 0, rank = 0; i < DEVICES; i++)
        if (w->sites[i].alive)
            w->sites[i].rank = rank++;
}

static void disturb(const world *quiet, float lr, uint32_t trial, uint32_t moments, world *seen)
{
    sh_random random = sh_random_for(4, SH_RANDOM_TEST, trial, 0);
    const uint32_t breaks = 1 + trial % 3;
    world w;
    set_job(&w, lr, quiet->job.wire, quiet->job.workers > 0);
    w.view = trial; /* so that the first view gathers factors in some trials */
    memcpy(w.validations, quiet->validations, sizeof w.validations);
    for (uint32_t i = 0; i < DEVICES; i++)
        open_site(&w, i);
    for (uint32_t number = 0; number <= breaks; number++) {
        w.break_at = NEVER;
        w.late = NULL;
        if (number < breaks)
            choose_break(&w, trial, number, moments, &random);
        run_view(&w);
        if (number < breaks)
            lose_one(&w, trial, &random);
        if (gather(&w).phase != SH_PHASE_VALIDATION && site_at(&w, 0)->replica->steps < STEPS)
            deal_out(&w, &random);
    }
    end_world(&w);
    if (strcmp(w.hash, quiet->hash) != 0)
        fail_msg("trial %u: other weights than in the quiet run", trial);
    seen->held_kept += w.held_kept;
    seen->held_redone += w.held_redone;
    seen->brought_along += w.brought_along;
}

/* In some trial units were held at a redo, and in some trial a replica was copied. */
static void disturb_often(world *quiet, float lr, uint32_t wire, uint32_t trials, world *seen,
                          bool workers)
{
    world three;
    *seen = (world){0};
    run_quietly(quiet, lr, wire, 1, NULL, workers);
    const uint32_t moments = run_quietly(&three, lr, wire, DEVICES, quiet, workers);
    assert_string_equal(three.hash, quiet->hash);
    for (uint32_t trial = 0; trial < trials; trial++)
        disturb(quiet, lr, trial, moments, seen);
    assert_true(seen->held_redone > 0);
    assert_true(seen->brought_along > 0);
}

static void what_is_held_is_gone_on_with(void **state)
{
    (void)state;
    world quiet, seen;
    disturb_often(&quiet, 0.05f, 32, TRIALS, &seen, false);
    assert_true(seen.held_kept > TRIALS);
}

/* Gradients exceed their exponents. */
static void redone_attempts_as_well(void **state)
{
    (void)state;
    world quiet, seen;
    disturb_often(&quiet, OUTGROWING, 32, TRIALS / 2, &seen, false);
    assert_true(quiet.outgrown > 0);
}

static void what_workers_have_come_to_as_well(void **state)
{
    (void)state;
    world quiet, seen;
    disturb_often(&quiet, 0.05f, 32, TRIALS, &seen, true);
    assert_true(seen.held_kept > TRIALS);
}

/* Another device that recomputes a grain rounds it equally. */
static void on_narrow_wires_too(void **state)
{
    (void)state;
    world quiet, seen;
    disturb_often(&quiet, 0.05f, 8, TRIALS / 2, &seen, false);
    disturb_often(&quiet, 0.05f, 16, TRIALS / 4, &seen, false);
    disturb_often(&quiet, 0.05f, 8, TRIALS / 4, &seen, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_is_gone_on_with),
        cmocka_unit_test(redone_attempts_as_well),
        cmocka_unit_test(what_workers_have_come_to_as_well),
        cmocka_unit_test(on_narrow_wires_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
