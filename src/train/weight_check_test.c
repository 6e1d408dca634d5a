/* SPDX-License-Identifier: Apache-2.0 */
#include "train/weight_check.h"

#include <string.h>

#include "base/random.h"
#include "base/test.h"

#define COUNT ((size_t)1003)

static void fill(uint32_t *words)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < COUNT; i++)
        words[i] = sh_random_next(&random);
}

static uint64_t reference(const uint32_t *words, size_t first, size_t count)
{
    uint64_t check = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t step = (first + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        check += ((step ^ step >> 31) | 1) * words[i];
    }
    return check;
}

static void every_variant_gives_the_definition(void **state)
{
    (void)state;
    static const size_t firsts[] = {0, 1, 4096, (size_t)1 << 31};
    uint32_t words[COUNT];
    fill(words);
    for (unsigned v = 0; v < SH_VARIANT_COUNT; v++)
        for (size_t f = 0; f < 4 && sh_variant_runs((sh_variant)v); f++)
            for (size_t count = 0; count <= COUNT; count += count < 40 ? 1 : 107)
                assert_true(sh_weight_check_kernels[v](words, firsts[f], count) ==
                            reference(words, firsts[f], count));
}

static void it_is_the_sum_of_its_ranges(void **state)
{
    (void)state;
    uint32_t words[COUNT];
    fill(words);
    const uint64_t whole = sh_weight_check(words, 0, COUNT);
    for (size_t cut = 0; cut <= COUNT; cut += 59)
        assert_true(sh_weight_check(words, 0, cut) +
                        sh_weight_check(words + cut, cut, COUNT - cut) ==
                    whole);
}

static void every_flipped_bit_shows(void **state)
{
    (void)state;
    uint32_t words[COUNT];
    fill(words);
    const uint64_t whole = sh_weight_check(words, 0, COUNT);
    for (size_t i = 0; i < COUNT; i += 17)
        for (uint32_t bit = 0; bit < 32; bit++) {
            words[i] ^= (uint32_t)1 << bit;
            assert_true(sh_weight_check(words, 0, COUNT) != whole);
            words[i] ^= (uint32_t)1 << bit;
        }
}

/* A wrong update may cause regular differences or swap neighbours. */
static void regular_differences_show(void **state)
{
    (void)state;
    static const int32_t patterns[][4] = {{1, -1}, {1, -2, 1}, {1, -3, 3, -1}, {1, 1, -1, -1}};
    uint32_t words[COUNT], other[COUNT];
    fill(words);
    const uint64_t whole = sh_weight_check(words, 0, COUNT);
    for (size_t p = 0; p < 4; p++)
        for (size_t at = 0; at + 4 <= COUNT; at++) {
            memcpy(other, words, sizeof words);
            for (size_t i = 0; i < 4; i++)
                other[at + i] += (uint32_t)patterns[p][i];
            assert_true(sh_weight_check(other, 0, COUNT) != whole);
        }
    for (size_t at = 0; at + 1 < COUNT; at++) {
        memcpy(other, words, sizeof words);
        other[at] = words[at + 1];
        other[at + 1] = words[at];
        assert_true(sh_weight_check(other, 0, COUNT) != whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_gives_the_definition),
        cmocka_unit_test(it_is_the_sum_of_its_ranges),
        cmocka_unit_test(every_flipped_bit_shows),
        cmocka_unit_test(regular_differences_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
