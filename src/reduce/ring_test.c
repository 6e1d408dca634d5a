/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/engine_fixture.h"

static void sums_are_exact_for_every_size(void **state)
{
    (void)state;
    for (uint32_t devices = 2; devices <= MAX_DEVICES; devices++)
        check_all_sizes(&(world){.kind = &sh_engine_ring, .devices = devices});
}

static void bytes_on_the_wire_are_near_the_least(void **state)
{
    (void)state;
    world w = {.kind = &sh_engine_ring,
               .devices = 4,
               .spans = 1,
               .lengths = {400000},
               .rounds = 1,
               .deserter = UINT32_MAX};
    run_world(&w);
    const sh_channel_stats stats = bytes_of(&w.ranks[0]);
    const double least = 2.0 * 3 / 4 * (400000 * 4 + 400003 * 8);
    assert_true((double)stats.sent_bytes > least);
    assert_true((double)stats.sent_bytes < 1.01 * least + 4096);
    end_world(&w);
}

#define LARGE_WORDS ((size_t)32768)
#define STILL 100

static void wait_for_silence(world *w)
{
    uint64_t before = 0;
    wait_for_others(w, 0);
    for (uint32_t still = 0; still < STILL;) {
        uint64_t sent = 0;
        for (uint32_t r = 0; r < w->devices; r++)
            sent += bytes_of(&w->ranks[r]).sent_bytes;
        still = sent == before ? still + 1 : 0;
        before = sent;
    }
}

/* The spans are too large for the sockets' buffers. */
static void *many_main(void *argument)
{
    rank *self = argument;
    world *w = self->of;
    const bool late = self->index + 1 == w->late;
    static const uint32_t own[LARGE_WORDS] = {1};
    sh_span *spans = calloc(SH_ENGINE_MAX_SPANS, sizeof *spans + sizeof own);
    uint32_t *totals = (uint32_t *)(spans + SH_ENGINE_MAX_SPANS);
    for (size_t s = 0; s < SH_ENGINE_MAX_SPANS; s++)
        spans[s] = (sh_span){.own = own,
                             .total = totals + s * LARGE_WORDS,
                             .count = LARGE_WORDS,
                             .word = SH_WORD_I32};
    sh_engine_watch(self->engine, &(sh_engine_watcher){0});
    sh_engine_decide(self->engine, &(sh_engine_decider){0});
    self->status = sh_engine_begin(self->engine, spans, SH_ENGINE_MAX_SPANS);
    if (late)
        wait_for_silence(w);
    for (uint32_t s = 0; s < SH_ENGINE_MAX_SPANS; s++)
        sh_engine_ready(self->engine, s);
    if (!late)
        have_come(w);
    if (self->status == SH_OK)
        self->status = sh_engine_wait(self->engine);
    snprintf(self->message, sizeof self->message, "%s", sh_message());
    for (uint32_t r = 0; r < w->devices && self->status != SH_OK; r++)
        sh_engine_abort(w->ranks[r].engine, SH_ABORTED, self->message);
    for (size_t s = 0; s < SH_ENGINE_MAX_SPANS && self->status == SH_OK; s++)
        assert_int_equal(totals[s * LARGE_WORDS], w->devices);
    free(self->wide);
    self->wide = (uint64_t *)spans; /* until the engine is closed */
    return NULL;
}

static size_t words_of(const rank *self, uint32_t index)
{
    static const size_t words[] = {70001, 0, 1, 5};
    return words[(index + self->of->devices) % 4];
}

/* The gathered span is between two summed ones. */
static void *gathering_main(void *argument)
{
    rank *self = argument;
    const uint32_t devices = self->of->devices;
    size_t room = 0, own_words = words_of(self, self->index);
    for (uint32_t r = 0; r < devices; r++)
        room += r == self->index ? 0 : words_of(self, r);
    uint32_t *own = calloc(own_words + room + 1, sizeof *own), *total = own + own_words;
    uint32_t one = 1, sums[2] = {0, 0};
    self->spans[0] = (sh_span){.own = &one, .total = &sums[0], .count = 1, .word = SH_WORD_I32};
    self->spans[1] = (sh_span){.own = own,
                               .total = total,
                               .count = own_words,
                               .word = SH_WORD_I32,
                               .gathered = true,
                               .room = room};
    self->spans[2] = (sh_span){.own = &one, .total = &sums[1], .count = 1, .word = SH_WORD_I32};
    sh_engine_watch(self->engine, &(sh_engine_watcher){0});
    sh_engine_decide(self->engine, &(sh_engine_decider){0});
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < own_words; i++)
            own[i] = self->index << 24 | (uint32_t)(i + round);
        assert_ok(sh_engine_begin(self->engine, self->spans, 3));
        for (uint32_t s = 3; s-- > 0;)
            sh_engine_ready(self->engine, s);
        for (size_t words = 0, before = 0; words < room; before = words) {
            assert_ok(self->engine->ops->gathered(self->engine, before, &words));
            assert_true(words > before && words <= room);
        }
        assert_ok(sh_engine_wait(self->engine));
        assert_int_equal(sums[0], devices);
        assert_int_equal(sums[1], devices);
        bool seen[MAX_DEVICES] = {false};
        for (size_t at = 0; at < room;) {
            const uint32_t from = total[at] >> 24;
            assert_true(from < devices && from != self->index && !seen[from]);
            seen[from] = true;
            for (size_t i = 0; i < words_of(self, from); i++)
                assert_int_equal(total[at + i], from << 24 | (uint32_t)(i + round));
            at += words_of(self, from);
        }
    }
    free(own);
    return NULL;
}

static void parts_are_gathered_whole(void **state)
{
    (void)state;
    for (uint32_t devices = 2; devices <= MAX_DEVICES; devices++) {
        world w = {.kind = &sh_engine_ring, .devices = devices, .main = gathering_main};
        run_world(&w);
        end_world(&w);
    }
}

static void *odd_main(void *argument)
{
    rank *self = argument;
    static uint32_t own[2][4], total[2][4];
    self->spans[0] = (sh_span){.own = own[self->index],
                               .total = total[self->index],
                               .count = 2,
                               .word = SH_WORD_I32,
                               .gathered = true,
                               .room = self->index == 0 ? self->of->late : 2};
    sh_engine_watch(self->engine, &(sh_engine_watcher){0});
    sh_engine_decide(self->engine, &(sh_engine_decider){0});
    self->status = sh_engine_begin(self->engine, self->spans, 1);
    sh_engine_ready(self->engine, 0);
    if (self->status == SH_OK && self->index == 0)
        self->status = sh_engine_wait(self->engine);
    return NULL;
}

static void parts_of_another_size_are_refused(void **state)
{
    (void)state;
    for (uint32_t room = 1; room <= 3; room++) {
        world w = {.kind = &sh_engine_ring, .devices = 2, .main = odd_main, .late = room};
        run_world(&w);
        assert_int_equal(w.ranks[0].status, room == 2 ? SH_OK : SH_PEER_LOST);
        end_world(&w);
    }
}

static void many_spans_wait_for_a_late_device(void **state)
{
    (void)state;
    world w = {.kind = &sh_engine_ring, .devices = 4, .late = 1, .main = many_main};
    run_world(&w);
    end_world(&w);
    for (uint32_t r = 0; r < w.devices; r++)
        if (w.ranks[r].status != SH_OK)
            fail_msg("rank %u: %s", r, w.ranks[r].message);
}

static void a_lost_device_ends_the_round_for_its_neighbours(void **state)
{
    (void)state;
    world w = {.kind = &sh_engine_ring,
               .devices = 2,
               .spans = 1,
               .lengths = {1000},
               .rounds = 2,
               .deserter = 1};
    run_world(&w);
    assert_int_equal(w.ranks[0].status, SH_PEER_LOST);
    assert_non_null(strstr(w.ranks[0].message, "the link "));
    for (uint32_t r = 0; r < 2; r++)
        check_own(&w.ranks[r], w.rounds - 1 - r);
    end_world(&w);
}

static void an_abort_ends_the_wait(void **state)
{
    (void)state;
    check_abort(&(world){.kind = &sh_engine_ring, .devices = 2, .spans = 1, .lengths = {10}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_for_every_size),
        cmocka_unit_test(bytes_on_the_wire_are_near_the_least),
        cmocka_unit_test(parts_are_gathered_whole),
        cmocka_unit_test(parts_of_another_size_are_refused),
        cmocka_unit_test(many_spans_wait_for_a_late_device),
        cmocka_unit_test(a_lost_device_ends_the_round_for_its_neighbours),
        cmocka_unit_test(an_abort_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
