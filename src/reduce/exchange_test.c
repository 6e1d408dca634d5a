/* SPDX-License-Identifier: Apache-2.0 */
/* Update u adds u + 1 times a factor to every weight and 1 to a second array. */
#include "reduce/exchange.h"

#include "reduce/engine_fixture.h"

#define ELEMENTS 1003
#define UPDATES 40
#define LAPS 3
#define FACTOR 3
#define NARROW 500 /* later elements have words of one byte */

static size_t offset_of(const void *context, size_t element)
{
    (void)context;
    return element < NARROW ? 4 * element : 4 * NARROW + (element - NARROW);
}

typedef struct trainee {
    rank *at;
    sh_exchange *exchange;
    uint32_t bound, stop_at; /* the take that asks for an end; 0: never */
    uint32_t flees_at;       /* the take after which it leaves; 0: never */
    bool reduces;
    uint32_t updates; /* as this device assumes */
    pthread_t thread;
    float arrays[2][ELEMENTS], weights[ELEMENTS];
    float *array[2];
    unsigned char words[4 * NARROW + ELEMENTS - NARROW];
    uint32_t factor, state, counts[LAPS];
    uint32_t made[LAPS][UPDATES];
    sh_status status;
    char message[SH_MESSAGE_BYTES];
} trainee;

static void apply(void *context, size_t first, size_t end, const void *numbers, const void *words)
{
    trainee *self = context;
    uint32_t factor;
    memcpy(&factor, numbers, sizeof factor);
    for (size_t i = first; i < end; i++) {
        const unsigned char *at =
            (const unsigned char *)words + offset_of(NULL, i) - offset_of(NULL, first);
        int32_t wide = 0;
        if (i < NARROW)
            memcpy(&wide, at, sizeof wide);
        self->arrays[0][i] += (float)((i < NARROW ? wide : *at) * (int32_t)factor);
        self->arrays[1][i] += 1;
    }
}

static sh_status begin(trainee *self)
{
    self->array[0] = self->arrays[0];
    self->array[1] = self->arrays[1];
    memset(self->arrays, 0, sizeof self->arrays);
    return sh_exchange_begin(self->exchange, &(sh_exchange_lap){.updates = self->updates,
                                                                .bound = self->bound,
                                                                .elements = ELEMENTS,
                                                                .arrays = self->array,
                                                                .array_count = 2,
                                                                .weights = self->weights,
                                                                .words = self->words,
                                                                .word_offset = offset_of,
                                                                .numbers = &self->factor,
                                                                .numbers_bytes = sizeof(uint32_t),
                                                                .apply = apply,
                                                                .state = &self->state,
                                                                .state_bytes = sizeof self->state,
                                                                .context = self});
}

static void write_update(trainee *self, uint32_t update)
{
    const int32_t value = (int32_t)update + 1;
    self->factor = FACTOR;
    for (size_t i = 0; i < ELEMENTS; i++)
        if (i < NARROW)
            memcpy(self->words + 4 * i, &value, sizeof value);
        else
            self->words[offset_of(NULL, i)] = (unsigned char)value;
}

static sh_status make_updates(trainee *self, uint32_t lap)
{
    for (uint32_t taken = 1, update;; taken++) {
        SH_TRY(sh_exchange_take(self->exchange, taken == self->stop_at, &update));
        if (update == SH_EXCHANGE_OVER)
            return SH_OK;
        self->made[lap][update]++;
        SH_TRY(sh_exchange_settle(self->exchange));
        if (taken == self->flees_at)
            return sh_fail(SH_STOPPED, "away");
        write_update(self, update);
        SH_TRY(sh_exchange_push(self->exchange));
    }
}

static void check_end(const trainee *self, uint32_t count)
{
    const uint32_t expected = FACTOR * count * (count + 1) / 2;
    for (size_t i = 0; i < ELEMENTS; i++) {
        assert_int_equal((int)self->arrays[0][i], expected);
        assert_int_equal((int)self->arrays[1][i], count);
    }
}

static sh_status reduce(trainee *self)
{
    uint64_t own[3] = {0, 1, self->at->index}, total[3];
    const sh_span span = {.own = own, .total = total, .count = 3, .word = SH_WORD_U64};
    sh_engine *engine = self->at->engine;
    sh_engine_watch(engine, &(sh_engine_watcher){0});
    SH_TRY(sh_engine_begin(engine, &span, 1));
    sh_engine_ready(engine, 0);
    SH_TRY(sh_engine_wait(engine));
    assert_int_equal(total[1], engine->devices);
    return SH_OK;
}

static bool no_word(void *context, bool last, uint64_t *word)
{
    (void)context;
    (void)last;
    *word = 0;
    return true;
}

static sh_status run_laps(trainee *self)
{
    sh_engine_decide(self->at->engine, &(sh_engine_decider){.decide = no_word});
    for (uint32_t lap = 0; lap < LAPS; lap++) {
        self->state = 100 + self->at->index;
        SH_TRY(begin(self));
        SH_TRY(make_updates(self, lap));
        self->counts[lap] = sh_exchange_count(self->exchange);
        check_end(self, self->counts[lap]);
        if (self->reduces)
            SH_TRY(reduce(self));
    }
    return SH_OK;
}

static void *trainee_main(void *context)
{
    trainee *self = context;
    self->status = run_laps(self);
    snprintf(self->message, sizeof self->message, "%s", sh_message());
    if (self->status == SH_STOPPED) {
        sh_engine_close(self->at->engine);
        self->at->engine = NULL;
    }
    return NULL;
}

static trainee trainees[MAX_DEVICES];

static void open_world(world *w)
{
    w->spans = 1;
    w->lengths[0] = 10;
    w->rounds = 1;
    w->deserter = UINT32_MAX;
    run_world(w);
    memset(trainees, 0, sizeof trainees);
    for (uint32_t i = 0; i < w->devices; i++) {
        assert_ok(w->ranks[i].status);
        trainees[i].at = &w->ranks[i];
        trainees[i].updates = UPDATES;
        trainees[i].exchange = sh_exchange_of(w->ranks[i].engine);
    }
}

static void run_trainees(const world *w)
{
    for (uint32_t i = 0; i < w->devices; i++)
        pthread_create(&trainees[i].thread, NULL, trainee_main, &trainees[i]);
    for (uint32_t i = 0; i < w->devices; i++)
        pthread_join(trainees[i].thread, NULL);
}

static void check_laps(const world *w, uint32_t dealer)
{
    for (uint32_t i = 0; i < w->devices; i++)
        if (trainees[i].status != SH_OK)
            print_message("rank %u of %u: %s\n", i, w->devices, trainees[i].message);
    for (uint32_t i = 0; i < w->devices; i++) {
        if (trainees[i].status != SH_OK)
            fail_msg("rank %u of %u: %s", i, w->devices, trainees[i].message);
        assert_int_equal(trainees[i].state, 100 + dealer);
    }
    for (uint32_t lap = 0; lap < LAPS; lap++)
        for (uint32_t u = 0; u < UPDATES; u++) {
            uint32_t made = 0;
            for (uint32_t i = 0; i < w->devices; i++)
                made += trainees[i].made[lap][u];
            assert_int_equal(made, u < trainees[0].counts[lap]);
        }
}

static void every_update_is_in_all_weights_once(void **state)
{
    (void)state;
    static const uint32_t cases[][3] = {
        {2, 3, 0}, {2, 1, 1}, {2, 2, 0}, {3, 7, 0}, {3, 7, 1}, {3, 2, 2}, {3, 5, 0}, {5, 0x1f, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int reduces = 0; reduces < 2; reduces++) {
            world w = world_of(cases[i][0], cases[i][1]);
            open_world(&w);
            for (uint32_t d = 0; d < w.devices; d++) {
                trainees[d].bound = cases[i][2];
                trainees[d].reduces = reduces;
            }
            run_trainees(&w);
            check_laps(&w, (uint32_t)__builtin_ctz(cases[i][1]));
            assert_int_equal(trainees[0].counts[LAPS - 1], UPDATES);
            end_world(&w);
        }
}

/* The dealer makes all updates of all laps before the other device begins its first lap. */
static void a_device_may_be_laps_behind(void **state)
{
    (void)state;
    world w = world_of(2, 2);
    open_world(&w);
    trainees[1].status = run_laps(&trainees[1]);
    assert_ok(trainees[1].status);
    for (uint32_t lap = 0; lap <= LAPS; lap++) {
        sh_sink sink = {0};
        const sh_frame want = {.kind = SH_FRAME_UPDATE, .step = lap, .hop = 0};
        assert_int_equal(sh_exchange_on_frame(trainees[1].exchange, 0, &want, &sink), SH_FLOW_TAKE);
    }
    trainees[0].status = run_laps(&trainees[0]);
    check_laps(&w, 1);
    end_world(&w);
}

static void a_bound_of_one_is_lock_step(void **state)
{
    (void)state;
    world w = world_of(4, 0xf);
    open_world(&w);
    for (uint32_t d = 0; d < w.devices; d++)
        trainees[d].bound = 1;
    run_trainees(&w);
    check_laps(&w, 0);
    for (uint32_t d = 0; d < w.devices; d++)
        for (uint32_t lap = 0; lap < LAPS; lap++) {
            uint32_t made = 0;
            for (uint32_t u = 0; u < UPDATES; u++)
                made += trainees[d].made[lap][u];
            assert_int_equal(made, UPDATES / 4);
        }
    end_world(&w);
}

static void a_lap_ends_soon_where_one_asks_for_it(void **state)
{
    (void)state;
    for (uint32_t stop_at = 1; stop_at <= 3; stop_at += 2) {
        world w = world_of(3, 7);
        open_world(&w);
        trainees[2].stop_at = stop_at;
        run_trainees(&w);
        check_laps(&w, 0);
        for (uint32_t lap = 0; lap < LAPS; lap++)
            assert_in_range(trainees[1].counts[lap], 1, UPDATES);
        end_world(&w);
    }
}

static void a_lost_device_ends_the_lap(void **state)
{
    (void)state;
    static const uint32_t cases[][3] = {{2, 3, 1}, {3, 7, 0}, {3, 7, 2}, {3, 2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world w = world_of(cases[i][0], cases[i][1]);
        const uint32_t lost = cases[i][2];
        open_world(&w);
        trainees[lost].flees_at = 3;
        for (uint32_t d = 0; d < w.devices; d++)
            trainees[d].bound = 2;
        run_trainees(&w);
        for (uint32_t d = 0; d < w.devices; d++)
            assert_int_equal(trainees[d].status, d == lost ? SH_STOPPED : SH_PEER_LOST);
        end_world(&w);
    }
}

static void an_update_beyond_the_lap_is_refused(void **state)
{
    (void)state;
    world w = world_of(2, 3);
    open_world(&w);
    trainees[1].updates = 1;
    run_trainees(&w);
    for (uint32_t d = 0; d < 2; d++)
        assert_int_equal(trainees[d].status, SH_PEER_LOST);
    for (uint32_t u = 1; u < UPDATES; u++)
        assert_int_equal(trainees[1].made[0][u], 0);
    end_world(&w);
}

static void *abort_it(void *context)
{
    sh_engine_abort(context, SH_ABORTED, "enough");
    return NULL;
}

static void an_abort_ends_the_wait(void **state)
{
    (void)state;
    pthread_t thread;
    uint32_t update;
    world w = world_of(2, 2);
    open_world(&w);
    assert_ok(begin(&trainees[0]));
    pthread_create(&thread, NULL, abort_it, w.ranks[0].engine);
    assert_fails(sh_exchange_take(trainees[0].exchange, false, &update), SH_ABORTED, "enough");
    pthread_join(thread, NULL);
    end_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_update_is_in_all_weights_once),
        cmocka_unit_test(a_device_may_be_laps_behind),
        cmocka_unit_test(a_bound_of_one_is_lock_step),
        cmocka_unit_test(a_lap_ends_soon_where_one_asks_for_it),
        cmocka_unit_test(a_lost_device_ends_the_lap),
        cmocka_unit_test(an_update_beyond_the_lap_is_refused),
        cmocka_unit_test(an_abort_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
