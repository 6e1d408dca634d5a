/* SPDX-License-Identifier: Apache-2.0 */
#include "train/sum_layout.h"

#include "base/test.h"

#define MOST 4

typedef struct layout_case {
    uint32_t wire, wide;
    size_t bucket_bytes;
    uint32_t buckets;
    sh_sum_bucket bucket[MOST];
    size_t offsets[MOST + 1]; /* of each tensor, and of the end */
} layout_case;

static const size_t sizes[MOST] = {10, 20, 30, 40};

static const layout_case cases[] = {
    {32,
     0,
     0,
     4,
     {{60, 40, 3, 1, SH_WORD_I32},
      {30, 30, 2, 1, SH_WORD_I32},
      {10, 20, 1, 1, SH_WORD_I32},
      {0, 10, 0, 1, SH_WORD_I32}},
     {0, 40, 120, 240, 400}},
    {0,
     2,
     160,
     3,
     {{60, 40, 3, 1, SH_WORD_I32}, {10, 50, 1, 2, SH_WORD_I32}, {0, 10, 0, 1, SH_WORD_I32}},
     {0, 40, 120, 240, 400}},
    {32,
     4,
     161,
     2,
     {{30, 70, 2, 2, SH_WORD_I32}, {0, 30, 0, 2, SH_WORD_I32}},
     {0, 40, 120, 240, 400}},
    {32, 0, SIZE_MAX, 1, {{0, 100, 0, 4, SH_WORD_I32}}, {0, 40, 120, 240, 400}},
    {16,
     0,
     81,
     2,
     {{30, 70, 2, 2, SH_WORD_I16}, {0, 30, 0, 2, SH_WORD_I16}},
     {0, 20, 60, 120, 200}},
    {8,
     0,
     40,
     3,
     {{60, 40, 3, 1, SH_WORD_I8}, {10, 50, 1, 2, SH_WORD_I8}, {0, 10, 0, 1, SH_WORD_I8}},
     {0, 10, 30, 60, 100}},
    /* Tensors of different widths do not share a bucket. */
    {8,
     1,
     SIZE_MAX,
     2,
     {{10, 90, 1, 3, SH_WORD_I8}, {0, 10, 0, 1, SH_WORD_I32}},
     {0, 40, 60, 90, 130}},
    {16,
     3,
     SIZE_MAX,
     2,
     {{60, 40, 3, 1, SH_WORD_I16}, {0, 60, 0, 3, SH_WORD_I32}},
     {0, 40, 120, 240, 320}},
    {8, 4, SIZE_MAX, 1, {{0, 100, 0, 4, SH_WORD_I32}}, {0, 40, 120, 240, 400}},
};

static void assert_same_bucket(const sh_sum_bucket *a, const sh_sum_bucket *b)
{
    assert_int_equal(a->first_element, b->first_element);
    assert_int_equal(a->elements, b->elements);
    assert_int_equal(a->first_tensor, b->first_tensor);
    assert_int_equal(a->tensors, b->tensors);
    assert_int_equal(a->word, b->word);
}

static void tensors_and_buckets_have_their_places(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const layout_case *each = &cases[c];
        sh_sum_layout layout;
        assert_ok(sh_layout_init(&layout, &(sh_sum_options){.tensor_elements = sizes,
                                                            .tensors = MOST,
                                                            .bucket_bytes = each->bucket_bytes,
                                                            .wire = each->wire,
                                                            .wide = each->wide}));
        assert_int_equal(layout.elements, 100);
        assert_int_equal(layout.bucket_count, each->buckets);
        for (uint32_t i = 0; i < each->buckets; i++)
            assert_same_bucket(&layout.buckets[i], &each->bucket[i]);
        for (uint32_t t = 0; t < MOST; t++) {
            const sh_sum_place *place = &layout.places[t];
            const uint32_t wire = each->wire == 0 ? 32 : each->wire;
            assert_int_equal(place->elements, sizes[t]);
            assert_int_equal(sh_layout_offset(&layout, place->first_element), each->offsets[t]);
            assert_int_equal(place->form->wire, t < each->wide ? 32 : wire);
            assert_int_equal(sh_words_bytes(place->form->word) * 8, place->form->wire);
        }
        assert_int_equal(sh_layout_offset(&layout, 100), each->offsets[MOST]);
        sh_layout_release(&layout);
    }
}

static void integers_of_any_width_are_read(void **state)
{
    (void)state;
    static const uint32_t wires[] = {32, 16, 8};
    const size_t two[] = {3, SH_SUM_ROOM};
    static unsigned char block[4 * (3 + SH_SUM_ROOM)];
    static int32_t room[SH_SUM_ROOM];
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (unsigned char)(i * 37 + 128);
    for (size_t w = 0; w < sizeof wires / sizeof *wires; w++) {
        sh_sum_layout layout;
        assert_ok(sh_layout_init(
            &layout,
            &(sh_sum_options){.tensor_elements = two, .tensors = 2, .wire = wires[w], .wide = 1}));
        assert_ptr_equal(sh_layout_integers(&layout, block, 1, 2, room), block + 4);
        const int32_t *got = sh_layout_integers(&layout, block, 3, SH_SUM_ROOM, room);
        assert_true((got == room) == (wires[w] < 32));
        for (size_t i = 0; i < SH_SUM_ROOM; i++) {
            const unsigned char *place = block + sh_layout_offset(&layout, 3 + i);
            int32_t word;
            int16_t half;
            memcpy(&word, place, wires[w] == 32 ? sizeof word : sizeof half);
            memcpy(&half, place, sizeof half);
            assert_int_equal(got[i], wires[w] == 32   ? word
                                     : wires[w] == 16 ? half
                                                      : (int8_t)*place);
        }
        sh_layout_release(&layout);
    }
}

static void what_cannot_be_laid_out_is_refused(void **state)
{
    (void)state;
    sh_sum_layout layout;
    const size_t most[] = {UINT32_MAX};
    assert_fails(sh_layout_init(&layout, &(sh_sum_options){.tensors = 0}), SH_INVALID,
                 "at least one tensor");
    sh_layout_release(&layout);
    assert_fails(
        sh_layout_init(&layout,
                       &(sh_sum_options){.tensor_elements = sizes, .tensors = 1, .wire = 12}),
        SH_INVALID, "cannot be summed in 12 bits");
    sh_layout_release(&layout);
    assert_fails(sh_layout_init(
                     &layout, &(sh_sum_options){.tensor_elements = most, .tensors = 1, .wire = 8}),
                 SH_NO_MEMORY, "the sum of gradients");
    sh_layout_release(&layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_and_buckets_have_their_places),
        cmocka_unit_test(integers_of_any_width_are_read),
        cmocka_unit_test(what_cannot_be_laid_out_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
