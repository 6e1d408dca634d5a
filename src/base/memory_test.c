/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/test.h"

static bool is_zero(const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *)data)[i] != 0)
            return false;
    return true;
}

static const unsigned char constants[1 << 20] = {[4095] = 1, [(1 << 20) - 1] = 2};

static unsigned sum_of_constants(void)
{
    const volatile unsigned char *bytes = constants;
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof constants; i++)
        sum += bytes[i];
    return sum;
}

static void constants_leave_memory_and_come_back(void **state)
{
    (void)state;
    const unsigned sum = sum_of_constants();
    const uint64_t before = sh_process_rss_bytes();
    sh_memory_trim();
    assert_in_range(sh_process_rss_bytes(), 1, before - sizeof constants / 2);
    assert_int_equal(sum_of_constants(), sum);
}

static void sizes_round_up(void **state)
{
    (void)state;
    static const size_t known[][2] = {{0, 0}, {1, 64}, {63, 64}, {64, 64}, {65, 128}, {1000, 1024}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(sh_align_up(known[i][0]), known[i][1]);
}

static void products_that_do_not_fit_are_told(void **state)
{
    (void)state;
    size_t product = 7;
    assert_true(sh_size_mul(SIZE_MAX / 3, 3, &product));
    assert_int_equal(product, SIZE_MAX / 3 * 3);
    assert_true(sh_size_mul(0, SIZE_MAX, &product));
    assert_int_equal(product, 0);
    assert_false(sh_size_mul(SIZE_MAX / 2 + 1, 2, &product));
    assert_false(sh_size_mul(SIZE_MAX, SIZE_MAX, &product));
}

static void blocks_are_aligned_and_zero(void **state)
{
    (void)state;
    static const size_t sizes[] = {100000, 0, 1, 63, 64, 65, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *block = NULL;
        assert_ok(sh_block_new(&block, sizes[i], "a test"));
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % SH_ALIGNMENT, 0);
        assert_true(is_zero(block, sizes[i]));
        memset(block, 0xff, sizes[i]);
        free(block);
    }
}

static void large_blocks_begin_with_a_huge_page(void **state)
{
    (void)state;
    const size_t huge = (size_t)2 << 20, sizes[] = {2 * huge, 3 * huge + 4097};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *block = NULL;
        assert_ok(sh_block_new(&block, sizes[i], "a test"));
        assert_int_equal((uintptr_t)block % huge, 0);
        assert_true(is_zero(block, sizes[i]));
        memset(block, 0xff, sizes[i]);
        free(block);
    }
}

static void blocks_beyond_all_memory_are_refused(void **state)
{
    (void)state;
    int mark;
    void *block = &mark;
    for (size_t less = 0; less < SH_ALIGNMENT; less++)
        assert_fails(sh_block_new(&block, SIZE_MAX - less, "dreams"), SH_NO_MEMORY,
                     "bytes for dreams");
    assert_ptr_equal(block, &mark);
}

static void arrays_keep_their_items_and_double(void **state)
{
    (void)state;
    int *items = NULL;
    size_t capacity = 0, moves = 0;
    for (size_t count = 0; count < 10000; count++) {
        const size_t before = capacity;
        assert_ok(sh_array_grow((void **)&items, &capacity, count + 1, sizeof *items));
        assert_in_range(capacity, count + 1, 2 * count + 8);
        moves += capacity != before;
        items[count] = (int)count;
    }
    assert_in_range(moves, 1, 12);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(items[i], i);
    assert_ok(sh_array_grow((void **)&items, &capacity, 100000, sizeof *items));
    assert_int_equal(capacity, 100000);
    assert_int_equal(items[9999], 9999);

    const int *before = items;
    assert_fails(sh_array_grow((void **)&items, &capacity, SIZE_MAX / 2, sizeof *items),
                 SH_NO_MEMORY, "a growing list");
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, 100000);
    free(items);
}

typedef struct item {
    unsigned char *data;
    size_t bytes;
} item;

static void arena_items_are_zero_aligned_and_apart(void **state)
{
    (void)state;
    enum { COUNT = 600 };
    static item items[COUNT];
    sh_arena arena;
    sh_arena_init(&arena);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            const size_t bytes = i % 50 == 49 ? 40000 : i * 7 % 201; /* some larger than a chunk */
            items[i] = (item){sh_arena_take(&arena, bytes, 1), bytes};
            assert_non_null(items[i].data);
            assert_int_equal((uintptr_t)items[i].data % _Alignof(max_align_t), 0);
            assert_true(is_zero(items[i].data, bytes));
            memset(items[i].data, (int)(i % 255) + 1, bytes);
        }
        for (size_t i = 0; i < COUNT; i++)
            for (size_t j = 0; j < items[i].bytes; j++)
                assert_int_equal(items[i].data[j], i % 255 + 1);
        sh_arena_release(&arena);
    }
}

static void arenas_refuse_what_does_not_fit(void **state)
{
    (void)state;
    sh_arena arena;
    sh_arena_init(&arena);
    assert_null(sh_arena_take(&arena, SIZE_MAX / 2 + 1, 2)); /* the product wraps */
    assert_null(sh_arena_take(&arena, SIZE_MAX / 4, 5));
    assert_null(sh_arena_take(&arena, SIZE_MAX, 1));
    assert_null(sh_arena_take(&arena, SIZE_MAX - 8, 1));
    assert_non_null(sh_arena_take(&arena, 3, 5));
    sh_arena_release(&arena);
    sh_arena_release(&arena);
}

static void arenas_copy_texts(void **state)
{
    (void)state;
    sh_arena arena;
    char name[] = "conv1.weight";
    sh_arena_init(&arena);
    const char *copy = sh_arena_text(&arena, name), *empty = sh_arena_text(&arena, "");
    memset(name, 'x', sizeof name - 1);
    assert_string_equal(copy, "conv1.weight");
    assert_string_equal(empty, "");
    sh_arena_release(&arena);
}

static void pages_are_zero_and_go_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *pages = NULL;
        assert_ok(sh_pages_new(&pages, sizes[i], "a test"));
        assert_int_equal((uintptr_t)pages % SH_ALIGNMENT, 0);
        for (size_t j = 0; j < sizes[i]; j++)
            assert_int_equal(((unsigned char *)pages)[j], 0);
        sh_pages_free(pages, sizes[i]);
    }
    void *untouched = NULL;
    assert_fails(sh_pages_new(&untouched, SIZE_MAX - 4095, "a whale"), SH_NO_MEMORY, "a whale");
    assert_null(untouched);
    sh_pages_free(NULL, 7);
    sh_memory_trim();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_leave_memory_and_come_back),
        cmocka_unit_test(sizes_round_up),
        cmocka_unit_test(products_that_do_not_fit_are_told),
        cmocka_unit_test(blocks_are_aligned_and_zero),
        cmocka_unit_test(large_blocks_begin_with_a_huge_page),
        cmocka_unit_test(blocks_beyond_all_memory_are_refused),
        cmocka_unit_test(pages_are_zero_and_go_back),
        cmocka_unit_test(arrays_keep_their_items_and_double),
        cmocka_unit_test(arena_items_are_zero_aligned_and_apart),
        cmocka_unit_test(arenas_refuse_what_does_not_fit),
        cmocka_unit_test(arenas_copy_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
