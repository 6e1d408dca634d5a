/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/ring.h"

#include "reduce/engine_fixture.h"

static void make_ring(rank *self)
{
    sh_ring *ring;
    assert_ok(sh_ring_new(&ring, &(sh_ring_options){.loop = self->loop,
                                                    .view = 7,
                                                    .rank = self->index,
                                                    .devices = self->of->devices}));
    self->links = ring;
    self->engine = sh_ring_engine(ring);
}

static void link_ring(rank *self)
{
    char identity[32];
    const sh_channel_target next = target_of(self, (self->index + 1) % self->of->devices, identity);
    assert_ok(sh_ring_connect(self->links, &next));
}

static sh_status accept_previous(rank *self, uint32_t from, sh_channel *channel)
{
    assert_int_equal((from + 1) % self->of->devices, self->index);
    return sh_ring_take_previous(self->links, channel);
}

static void abort_ring(rank *self, const char *reason)
{
    sh_ring_abort(self->links, SH_ABORTED, reason);
}

static bool decides(const rank *self)
{
    return self->index == 0;
}

static const engine_kind ring_kind = {
    .make = make_ring,
    .link = link_ring,
    .accept = accept_previous,
    .abort = abort_ring,
    .decides = decides,
};

static void sums_are_exact_for_every_size(void **state)
{
    (void)state;
    for (uint32_t devices = 2; devices <= MAX_DEVICES; devices++)
        check_all_sizes(&(world){.kind = &ring_kind, .devices = devices});
}

/* Twice (N - 1) / N of the payload, and little more, goes over each link. */
static void bytes_on_the_wire_are_near_the_least(void **state)
{
    (void)state;
    world w = {.kind = &ring_kind,
               .devices = 4,
               .spans = 1,
               .lengths = {400000},
               .rounds = 1,
               .deserter = UINT32_MAX};
    run_world(&w);
    const sh_channel_stats stats = sh_ring_stats(w.ranks[0].links);
    const double least = 2.0 * 3 / 4 * (400000 * 4 + 400003 * 8);
    assert_true((double)stats.sent_bytes > least);
    assert_true((double)stats.sent_bytes < 1.01 * least + 4096);
    end_world(&w);
}

static void a_lost_device_ends_the_round_for_its_neighbours(void **state)
{
    (void)state;
    world w = {.kind = &ring_kind,
               .devices = 2,
               .spans = 1,
               .lengths = {1000},
               .rounds = 2,
               .deserter = 1};
    run_world(&w);
    assert_int_equal(w.ranks[0].status, SH_PEER_LOST);
    assert_non_null(strstr(w.ranks[0].message, "the link "));
    for (uint32_t r = 0; r < 2; r++) /* rank 1 has not begun the last round */
        check_own(&w.ranks[r], w.rounds - 1 - r);
    end_world(&w);
}

static void an_abort_ends_the_wait(void **state)
{
    (void)state;
    check_abort(&(world){.kind = &ring_kind, .devices = 2, .spans = 1, .lengths = {10}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_for_every_size),
        cmocka_unit_test(bytes_on_the_wire_are_near_the_least),
        cmocka_unit_test(a_lost_device_ends_the_round_for_its_neighbours),
        cmocka_unit_test(an_abort_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
