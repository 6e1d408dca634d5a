/* SPDX-License-Identifier: Apache-2.0 */
#include "data/order.h"

#include <stdlib.h>

#include "data/classes_fixture.h"

static void each_sample_comes_exactly_once(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 7, 10, 16, 17, 100, 1000, 9999, 60000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (uint32_t epoch = 0; epoch < 3; epoch++) {
            sh_order order;
            sh_order_init(&order, 42 + i, epoch, counts[i]);
            unsigned char *seen = calloc(counts[i], 1);
            assert_non_null(seen);
            for (uint32_t position = 0; position < counts[i]; position++) {
                const uint32_t sample = sh_order_at(&order, position);
                assert_true(sample < counts[i]);
                assert_int_equal(seen[sample], 0);
                seen[sample] = 1;
            }
            free(seen);
        }
}

static void the_largest_counts_stay_in_range(void **state)
{
    (void)state;
    static const uint32_t counts[] = {UINT32_MAX, UINT32_MAX - 1, 0xfffe0001u, 0xfffe0000u,
                                      1u << 31};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        sh_order order;
        sh_order_init(&order, 5, 0, counts[i]);
        for (uint32_t k = 0; k < 1000; k++)
            assert_true(sh_order_at(&order, counts[i] - 1 - k * 4093) < counts[i]);
    }
}

static uint32_t places_in_common(const sh_order *a, const sh_order *b)
{
    uint32_t common = 0;
    for (uint32_t position = 0; position < a->count; position++)
        common += sh_order_at(a, position) == sh_order_at(b, position);
    return common;
}

static void seeds_and_epochs_have_orders_of_their_own(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed;
        uint32_t epoch;
    } others[] = {{1, 1}, {2, 0}, {1 | 1ull << 32, 0}, {0, 0}, {1, UINT32_MAX}};
    sh_order first, again;
    sh_order_init(&first, 1, 0, 10000);
    sh_order_init(&again, 1, 0, 10000);
    assert_int_equal(places_in_common(&first, &again), 10000);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        sh_order other;
        sh_order_init(&other, others[i].seed, others[i].epoch, 10000);
        assert_true(places_in_common(&first, &other) < 10); /* 1 expected */
    }
}

static void two_samples_swap_in_half_of_the_epochs(void **state)
{
    (void)state;
    int swapped = 0;
    for (uint32_t epoch = 0; epoch < 1000; epoch++) {
        sh_order order;
        sh_order_init(&order, 9, epoch, 2);
        swapped += sh_order_at(&order, 0) == 1;
    }
    assert_in_range(swapped, 430, 570); /* 4.4 sigma */
}

static void positions_tell_nothing_about_samples(void **state)
{
    (void)state;
    enum { SIDE = 20, COUNT = 60000 };
    for (uint32_t epoch = 0; epoch < 5; epoch++) {
        sh_order order;
        sh_order_init(&order, 3, epoch, COUNT);
        uint32_t cells[SIDE][SIDE] = {0};
        double products = 0, neighbours = 0;
        uint32_t last = sh_order_at(&order, COUNT - 1);
        const double middle = (COUNT - 1) / 2.0, variance = ((double)COUNT * COUNT - 1) / 12;
        for (uint32_t position = 0; position < COUNT; position++) {
            const uint32_t sample = sh_order_at(&order, position);
            cells[position / (COUNT / SIDE)][sample / (COUNT / SIDE)]++;
            products += (position - middle) * (sample - middle);
            neighbours += (last - middle) * (sample - middle);
            last = sample;
        }
        double chi = 0;
        const double expected = (double)COUNT / (SIDE * SIDE);
        for (int i = 0; i < SIDE; i++)
            for (int k = 0; k < SIDE; k++)
                chi += (cells[i][k] - expected) * (cells[i][k] - expected) / expected;
        assert_true(chi > 250 && chi < 490); /* 19 * 19 = 361 degrees of freedom, 4 to 5 sigma */
        const double correlation = products / (COUNT * variance);
        const double serial = neighbours / (COUNT * variance);
        assert_true(correlation > -0.018 && correlation < 0.018); /* 4.4 sigma */
        assert_true(serial > -0.018 && serial < 0.018);
    }
}

/* A change here changes every run. */
static void golden_order(void **state)
{
    (void)state;
    static const struct {
        uint32_t epoch, count, samples[8];
    } golden[] = {
        {0, 60000, {59440, 34855, 8627, 41532, 10806, 19501, 48077, 59601}},
        {7, 10, {0, 4, 9, 7, 1, 8, 2, 3}},
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        sh_order order;
        sh_order_init(&order, 1, golden[i].epoch, golden[i].count);
        for (uint32_t position = 0; position < 8; position++)
            assert_int_equal(sh_order_at(&order, position), golden[i].samples[position]);
    }
}

/* ---- balanced -------------------------------------------------------------------------------- */

enum { FEW = 1, SOME = 5, MANY = 94, ALL = FEW + SOME + MANY, BALANCED_CLASSES = 3 };

static sh_class_index *uneven_index(void)
{
    static int32_t classes[ALL];
    classes_set set;
    sh_class_index *index;
    for (int i = 0; i < ALL; i++)
        classes[i] = i == 50 ? 0 : i % 20 == 7 ? 1 : 3;
    classes_init(&set, classes, ALL, 4);
    assert_ok(sh_class_index_new(&index, &set.base));
    assert_int_equal(sh_class_index_count(index, 1), SOME);
    return index;
}

static void count_samples(uint32_t times[ALL], const sh_order *order)
{
    memset(times, 0, ALL * sizeof *times);
    for (uint32_t position = 0; position < ALL; position++)
        times[sh_order_at(order, position)]++;
}

static void all_classes_are_seen_alike(void **state)
{
    (void)state;
    sh_class_index *index = uneven_index();
    uint32_t seen[BALANCED_CLASSES] = {0}, of_many[MANY] = {0}, never = 0;
    for (uint32_t epoch = 0; epoch < 12; epoch++) {
        sh_order order;
        uint32_t times[ALL];
        sh_order_init(&order, 3, epoch, ALL);
        sh_order_balance(&order, index);
        count_samples(times, &order);
        for (uint32_t k = 0; k < BALANCED_CLASSES; k++) {
            const uint32_t count = sh_class_index_count(index, k);
            uint32_t sum = 0;
            for (uint32_t i = 0; i < count; i++) {
                const uint32_t own = times[sh_class_index_sample(index, k, i)];
                sum += own;
                of_many[i] += k == 2 ? own : 0;
                assert_in_range(own, ALL / BALANCED_CLASSES / count,
                                ALL / BALANCED_CLASSES / count + 1);
            }
            assert_in_range(sum, ALL / BALANCED_CLASSES, ALL / BALANCED_CLASSES + 1);
            seen[k] += sum;
        }
    }
    for (uint32_t k = 0; k < BALANCED_CLASSES; k++)
        assert_int_equal(seen[k], 12 * ALL / BALANCED_CLASSES);
    for (uint32_t i = 0; i < MANY; i++)
        never += of_many[i] == 0;
    assert_in_range(never, 0, 4); /* 94 * (2 / 3)^12 = 0.7 */
    sh_class_index_free(index);
}

static void balanced_orders_are_shuffled(void **state)
{
    (void)state;
    sh_class_index *index = uneven_index();
    uint32_t common = 0, turns = 0;
    sh_order first, second;
    sh_order_init(&first, 3, 0, ALL);
    sh_order_init(&second, 3, 1, ALL);
    sh_order_balance(&first, index);
    sh_order_balance(&second, index);
    for (uint32_t position = 0; position < ALL; position++) {
        common += sh_order_at(&first, position) == sh_order_at(&second, position);
        turns += position > 0 &&
                 (sh_order_at(&first, position) == 50) != (sh_order_at(&first, position - 1) == 50);
    }
    assert_in_range(common, 0, 30); /* 11 by the single sample */
    assert_in_range(turns, 25, 60); /* 44 by chance, 66 if alternating */
    sh_class_index_free(index);
}

static void keys_stand_for_single_positions(void **state)
{
    (void)state;
    sh_class_index *index = uneven_index();
    for (int balanced = 0; balanced < 2; balanced++) {
        sh_order order;
        bool used[ALL] = {false};
        sh_order_init(&order, 3, 2, ALL);
        if (balanced)
            sh_order_balance(&order, index);
        for (uint32_t position = 0; position < ALL; position++) {
            const uint32_t key = sh_order_key(&order, position);
            assert_in_range(key, 0, ALL - 1);
            assert_false(used[key]);
            used[key] = true;
            assert_int_equal(sh_order_of_key(&order, key), sh_order_at(&order, position));
            assert_true(balanced || key == sh_order_at(&order, position));
        }
    }
    sh_class_index_free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sample_comes_exactly_once),
        cmocka_unit_test(the_largest_counts_stay_in_range),
        cmocka_unit_test(seeds_and_epochs_have_orders_of_their_own),
        cmocka_unit_test(two_samples_swap_in_half_of_the_epochs),
        cmocka_unit_test(positions_tell_nothing_about_samples),
        cmocka_unit_test(golden_order),
        cmocka_unit_test(all_classes_are_seen_alike),
        cmocka_unit_test(balanced_orders_are_shuffled),
        cmocka_unit_test(keys_stand_for_single_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
