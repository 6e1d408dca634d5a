/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/words.h"

#include "base/test.h"

static void parts_follow_each_other_and_are_equal(void **state)
{
    (void)state;
    uint64_t own[1], total[1];
    for (size_t count = 0; count < 40; count++)
        for (uint32_t parts = 1; parts < 12; parts++)
            for (size_t k = 0; k < 4; k++) {
                static const sh_word kinds[] = {SH_WORD_I8, SH_WORD_I16, SH_WORD_I32, SH_WORD_U64};
                const sh_span span = {.own = own, .total = total, .count = count, .word = kinds[k]};
                const size_t bytes = sh_words_bytes(span.word);
                size_t next = 0;
                assert_int_equal(bytes, 1 << k);
                for (uint32_t i = 0; i < parts; i++) {
                    const sh_stretch part = sh_words_part(&span, i, parts);
                    assert_ptr_equal(part.own, (const unsigned char *)own + next);
                    assert_ptr_equal(part.total, (unsigned char *)total + next);
                    assert_in_range(part.bytes, count / parts * bytes,
                                    (count + parts - 1) / parts * bytes);
                    next += part.bytes;
                }
                assert_int_equal(next, count * bytes);
                assert_true(count == 0 || sh_words_part(&span, 0, parts).bytes > 0);
            }
}

static void what_arrives_is_stored_or_added(void **state)
{
    (void)state;
    const uint32_t own[3] = {1, 2, UINT32_MAX}, wire[3] = {10, 20, 2};
    uint32_t total[3] = {5, 5, 5};
    const sh_span span = {.own = own, .total = total, .count = 3, .word = SH_WORD_I32};
    const sh_stretch part = sh_words_part(&span, 0, 1);
    sh_sink sink = sh_words_add(&part, span.word, part.own);
    sh_sink_add(&sink, 0, (const unsigned char *)wire, sizeof wire);
    assert_memory_equal(total, ((uint32_t[]){11, 22, 1}), sizeof total);
    sink = sh_words_add(&part, span.word, part.total);
    sh_sink_add(&sink, 0, (const unsigned char *)wire, sizeof wire);
    assert_memory_equal(total, ((uint32_t[]){21, 42, 3}), sizeof total);
    sink = sh_words_store(&part);
    assert_int_equal(sink.adds, 0);
    assert_ptr_equal(sink.data, total);
    assert_int_equal(sink.bytes, sizeof total);
    const uint64_t wide_own[1] = {UINT64_MAX}, wide_wire[1] = {3};
    uint64_t wide_total[1];
    const sh_span wide = {.own = wide_own, .total = wide_total, .count = 1, .word = SH_WORD_U64};
    const sh_stretch all = sh_words_part(&wide, 0, 1);
    sink = sh_words_add(&all, wide.word, all.own);
    sh_sink_add(&sink, 0, (const unsigned char *)wide_wire, sizeof wide_wire);
    assert_true(wide_total[0] == 2);
    const uint16_t two_own[1] = {UINT16_MAX};
    const uint8_t one_own[1] = {UINT8_MAX}, narrow_wire[2] = {3, 0};
    uint16_t two_total[1];
    uint8_t one_total[1];
    const sh_span two = {.own = two_own, .total = two_total, .count = 1, .word = SH_WORD_I16};
    const sh_span one = {.own = one_own, .total = one_total, .count = 1, .word = SH_WORD_I8};
    const sh_stretch of_two = sh_words_part(&two, 0, 1), of_one = sh_words_part(&one, 0, 1);
    sink = sh_words_add(&of_two, two.word, of_two.own);
    sh_sink_add(&sink, 0, narrow_wire, sizeof *two_own);
    sink = sh_words_add(&of_one, one.word, of_one.own);
    sh_sink_add(&sink, 0, narrow_wire, sizeof *one_own);
    assert_int_equal(two_total[0], 2);
    assert_int_equal(one_total[0], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_follow_each_other_and_are_equal),
        cmocka_unit_test(what_arrives_is_stored_or_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
