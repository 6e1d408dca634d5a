/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/memory_plan.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/test.h"

#define MAX_BLOCKS 48

static const struct {
    const char *what;
    size_t count;
    sh_block_plan blocks[4];
    size_t arena;
} known[] = {
    {"nothing", 0, {{0}}, 0},
    {"one block, rounded up", 1, {{.bytes = 100, .first = 0, .last = 2}}, 128},
    {"one after the other: one place", 2, {{64, 0, 1, 0}, {64, 2, 3, 0}}, 64},
    {"an instruction's input and output", 2, {{64, 0, 1, 0}, {64, 1, 2, 0}}, 128},
    {"a chain needs two places",
     4,
     {{64, 0, 1, 0}, {64, 1, 2, 0}, {64, 2, 3, 0}, {64, 3, 4, 0}},
     128},
    {"the small ones under the large one's place",
     3,
     {{10, 0, 1, 0}, {10, 0, 1, 0}, {128, 2, 3, 0}},
     128},
    {"into the gap between two", 3, {{64, 0, 9, 0}, {256, 0, 3, 0}, {64, 4, 9, 0}}, 320},
    {"to the end of time", 2, {{64, 0, UINT32_MAX, 0}, {64, UINT32_MAX, UINT32_MAX, 0}}, 128},
    {"blocks of nothing take no place", 3, {{0, 0, 9, 0}, {64, 0, 9, 0}, {0, 0, 9, 0}}, 64},
    {"only blocks of nothing", 2, {{0, 0, 9, 0}, {0, 0, 9, 0}}, 0},
};

static void known_plans_come_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sh_block_plan blocks[4];
        memcpy(blocks, known[i].blocks, sizeof blocks);
        size_t arena;
        assert_ok(sh_memory_plan(&arena, blocks, known[i].count));
        if (arena != known[i].arena)
            fail_msg("%s: %zu bytes, expected %zu", known[i].what, arena, known[i].arena);
    }
}

static bool live_at(const sh_block_plan *block, uint32_t time)
{
    return block->first <= time && time <= block->last;
}

/* The most bytes that are alive at one time. */
static size_t least_arena(const sh_block_plan *blocks, size_t count, uint32_t times)
{
    size_t least = 0;
    for (uint32_t time = 0; time < times; time++) {
        size_t live = 0;
        for (size_t i = 0; i < count; i++)
            live += live_at(&blocks[i], time) ? blocks[i].bytes : 0;
        least = live > least ? live : least;
    }
    return least;
}

static void expect_apart(const sh_block_plan *a, const sh_block_plan *b)
{
    const bool together = a->first <= b->last && b->first <= a->last;
    if (!together || a->bytes == 0 || b->bytes == 0)
        return;
    if (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
        fail_msg("[%zu, +%zu) at %u..%u overlaps [%zu, +%zu) at %u..%u", a->offset, a->bytes,
                 a->first, a->last, b->offset, b->bytes, b->first, b->last);
}

static void random_blocks_never_overlap_while_they_live(void **state)
{
    (void)state;
    enum { TIMES = 24 };
    size_t planned = 0, apart = 0;
    for (uint32_t round = 0; round < 400; round++) {
        sh_random random = sh_random_for(round, SH_RANDOM_TEST, 0, 0);
        sh_block_plan blocks[MAX_BLOCKS];
        const size_t count = 1 + sh_random_below(&random, MAX_BLOCKS);
        for (size_t i = 0; i < count; i++) {
            const uint32_t first = sh_random_below(&random, TIMES);
            blocks[i] = (sh_block_plan){
                .bytes = sh_random_below(&random, 5) == 0 ? 0 : sh_random_below(&random, 5000),
                .first = first,
                .last = first + sh_random_below(&random, TIMES - first),
                .offset = 12345, /* previous offsets are ignored */
            };
        }
        size_t arena, end = 0, sum = 0;
        assert_ok(sh_memory_plan(&arena, blocks, count));
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(blocks[i].offset % SH_ALIGNMENT, 0);
            for (size_t j = 0; j < i; j++)
                expect_apart(&blocks[i], &blocks[j]);
            if (blocks[i].offset + blocks[i].bytes > end)
                end = blocks[i].offset + blocks[i].bytes;
            sum += sh_align_up(blocks[i].bytes);
        }
        assert_int_equal(arena, sh_align_up(end));
        assert_in_range(arena, least_arena(blocks, count, TIMES), sum);
        planned += arena;
        apart += sum;
    }
    assert_in_range(planned, 1, apart * 3 / 4); /* blocks share memory */
}

/* Ordered by size or by first or last use, these take 448 bytes; by lifetime, the minimum. */
static void the_best_of_several_orders_counts(void **state)
{
    (void)state;
    size_t arena;
    sh_block_plan blocks[] = {{128, 1, 3, 0}, {128, 1, 1, 0}, {192, 3, 3, 0}, {128, 0, 2, 0}};
    assert_ok(sh_memory_plan(&arena, blocks, 4));
    assert_int_equal(arena, 384);
}

static void many_blocks_are_placed_at_once(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    static sh_block_plan blocks[COUNT];
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    for (uint32_t i = 0; i < COUNT; i++)
        blocks[i] = (sh_block_plan){.bytes = 64 * (1 + sh_random_below(&random, 1000)),
                                    .first = i,
                                    .last = i % 3 == 0 ? 2 * COUNT - i : i + 3};
    size_t arena;
    assert_ok(sh_memory_plan(&arena, blocks, COUNT));
    const size_t least = least_arena(blocks, COUNT, 2 * COUNT);
    assert_in_range(arena, least, least + least / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_plans_come_out),
        cmocka_unit_test(the_best_of_several_orders_counts),
        cmocka_unit_test(many_blocks_are_placed_at_once),
        cmocka_unit_test(random_blocks_never_overlap_while_they_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
