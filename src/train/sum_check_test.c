/* SPDX-License-Identifier: Apache-2.0 */
#include "train/sum_check.h"

#include <string.h>

#include "base/random.h"
#include "base/test.h"

#define COUNT 1003
#define KEY 0x12345679U

static void fill(unsigned char *bytes, size_t count, uint32_t stream)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, stream, 0);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)sh_random_next(&random);
}

static sh_sum_check check_of(uint32_t key, uint64_t first, const void *integers, uint64_t count,
                             uint32_t bytes)
{
    sh_sum_check check = {0};
    sh_sum_check_add(&check, key, first, integers, count, bytes);
    return check;
}

/* Adds modulo the width of `bytes` bytes, as an engine does. */
static void add(unsigned char *sum, const unsigned char *part, size_t count, uint32_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        unsigned carry = 0;
        for (uint32_t b = 0; b < bytes; b++) {
            carry += (unsigned)sum[i * bytes + b] + part[i * bytes + b];
            sum[i * bytes + b] = (unsigned char)carry;
            carry >>= 8;
        }
    }
}

static void checks_of_parts_add_up_although_sums_wrap(void **state)
{
    (void)state;
    static unsigned char sum[COUNT * 8], part[COUNT * 8];
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2) {
        sh_sum_check parts = {0};
        memset(sum, 0, sizeof sum);
        for (uint32_t i = 0; i < 5; i++) {
            fill(part, sizeof part, i);
            add(sum, part, COUNT, bytes);
            sh_sum_check_add(&parts, KEY, 7, part, COUNT, bytes);
        }
        const sh_sum_check whole = check_of(KEY, 7, sum, COUNT, bytes);
        assert_true(sh_sum_check_equal(&parts, &whole));
    }
}

static void a_range_may_be_divided(void **state)
{
    (void)state;
    unsigned char words[COUNT * 4];
    fill(words, sizeof words, 0);
    const sh_sum_check whole = check_of(KEY, 100, words, COUNT, 4);
    sh_sum_check first = check_of(KEY, 100, words, 257, 4);
    const sh_sum_check rest = check_of(KEY, 357, words + 4 * (size_t)257, COUNT - 257, 4);
    sh_sum_check_merge(&first, &rest);
    assert_true(sh_sum_check_equal(&whole, &first));
}

/* A change of only the highest bit is missed once in 256. */
static void changes_show(void **state)
{
    (void)state;
    unsigned char words[COUNT * 4];
    uint32_t missed = 0;
    fill(words, sizeof words, 0);
    const sh_sum_check before = check_of(KEY, 0, words, COUNT, 4);
    for (size_t bit = 0; bit < sizeof words * 8; bit += bit % 32 == 31 ? 1 : 31) {
        words[bit / 8] ^= (unsigned char)(1 << bit % 8);
        const sh_sum_check after = check_of(KEY, 0, words, COUNT, 4);
        words[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_true(bit % 32 == 31 || !sh_sum_check_equal(&before, &after));
        missed += sh_sum_check_equal(&before, &after);
    }
    assert_true(missed < 12);
    const sh_sum_check other = check_of(KEY + 2, 0, words, COUNT, 4);
    assert_false(sh_sum_check_equal(&before, &other));
    const sh_sum_check moved = check_of(KEY, 1, words, COUNT, 4);
    assert_false(sh_sum_check_equal(&before, &moved));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_of_parts_add_up_although_sums_wrap),
        cmocka_unit_test(a_range_may_be_divided),
        cmocka_unit_test(changes_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
