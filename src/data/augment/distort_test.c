/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/distort.h"

#include <math.h>

#include "base/test.h"

enum { CHANNELS = 3, HEIGHT = 5, WIDTH = 12, COUNT = CHANNELS * HEIGHT * WIDTH };

static float value(uint32_t i)
{
    return (float)(i + 1) / 8;
}

static void distort(float seen[COUNT], const char *list, uint64_t seed, uint32_t epoch,
                    uint32_t index)
{
    sh_augment augment;
    const sh_recording recording = {seen, CHANNELS, HEIGHT, WIDTH};
    assert_ok(sh_augment_parse(&augment, list));
    assert_true(sh_augment_distorts(&augment));
    assert_false(sh_augment_retouches(&augment) || sh_augment_moves(&augment));
    assert_ok(sh_distort_check(&augment, "speech", HEIGHT, WIDTH));
    for (uint32_t i = 0; i < COUNT; i++)
        seen[i] = value(i);
    sh_distort(&recording, &augment, seed, epoch, index);
}

static bool is_moved(const float seen[COUNT], int32_t rows, int32_t columns)
{
    bool same = true;
    for (int32_t i = 0; i < COUNT && same; i++) {
        const int32_t y = i / WIDTH % HEIGHT - rows, x = i % WIDTH - columns;
        const int32_t from_y = y < 0 ? 0 : y >= HEIGHT ? HEIGHT - 1 : y;
        const int32_t from_x = x < 0 ? 0 : x >= WIDTH ? WIDTH - 1 : x;
        const int32_t first = i - i % (HEIGHT * WIDTH);
        same = seen[i] == value((uint32_t)(first + from_y * WIDTH + from_x));
    }
    return same;
}

/* Rows are times, columns are frequencies. */
static void shifts_repeat_the_edge(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        int32_t rows, columns;
    } cases[] = {{"shift:1", 1, 0}, {"shift:4", 4, 0}, {"shift:0/11", 0, 11}, {"shift:1/2", 1, 2}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const int32_t rows = cases[k].rows, columns = cases[k].columns;
        const int32_t wide = 2 * columns + 1, places = (2 * rows + 1) * wide;
        uint32_t count[2 * WIDTH] = {0};
        for (uint32_t index = 0; index < 1000; index++) {
            float seen[COUNT];
            distort(seen, cases[k].list, 1, 0, index);
            int32_t place = 0; /* the shift that gives `seen` */
            while (place < places && !is_moved(seen, place / wide - rows, place % wide - columns))
                place++;
            assert_true(place < places);
            count[place]++;
        }
        for (int32_t i = 0; i < places; i++) {
            const double expected = 1000.0 / places;
            assert_true(fabs(count[i] - expected) < 4.5 * sqrt(expected));
        }
    }
}

static void a_series_is_shifted_along_its_row(void **state)
{
    (void)state;
    sh_augment augment;
    assert_ok(sh_augment_parse(&augment, "shift:2"));
    uint32_t moved = 0;
    for (uint32_t index = 0; index < 20; index++) {
        float seen[2 * WIDTH];
        for (uint32_t i = 0; i < 2 * WIDTH; i++)
            seen[i] = value(i);
        sh_distort(&(sh_recording){seen, 2, 1, WIDTH}, &augment, 1, 0, index);
        const int32_t by = 5 - (int32_t)(seen[5] * 8 - 1);
        assert_in_range(by + 2, 0, 4);
        for (int32_t x = 2; x < WIDTH - 2; x++) {
            assert_true(seen[x] == value((uint32_t)(x - by)));
            assert_true(seen[WIDTH + x] == value((uint32_t)(WIDTH + x - by)));
        }
        moved += by != 0;
    }
    assert_true(moved > 5);
}

static void channels_are_scaled(void **state)
{
    (void)state;
    double least = 9, most = 0, sum = 0;
    for (uint32_t index = 0; index < 500; index++) {
        float seen[COUNT];
        distort(seen, "scale:0.25", 1, 0, index);
        for (uint32_t c = 0; c < CHANNELS; c++) {
            const uint32_t first = c * HEIGHT * WIDTH;
            const double factor = (double)seen[first] / (double)value(first);
            for (uint32_t i = first; i < first + HEIGHT * WIDTH; i++)
                assert_true(fabs((double)seen[i] / (double)value(i) - factor) < 1e-6);
            least = fmin(least, factor);
            most = fmax(most, factor);
            sum += factor / (500 * CHANNELS);
        }
    }
    assert_true(least > 0.7499 && least < 0.752);
    assert_true(most < 1.2501 && most > 1.248);
    assert_true(fabs(sum - 1) < 0.017); /* 4.5 sigma */
}

static void noise_has_its_deviation(void **state)
{
    (void)state;
    double sum = 0, squares = 0, neighbours = 0;
    for (uint32_t index = 0; index < 200; index++) {
        float seen[COUNT];
        double last = 0;
        distort(seen, "noise:0.5", 1, 0, index);
        for (uint32_t i = 0; i < COUNT; i++) {
            const double noise = (double)seen[i] - (double)value(i);
            sum += noise / (200 * COUNT);
            squares += noise * noise / (200 * COUNT);
            neighbours += noise * last / (200 * COUNT);
            last = noise;
        }
    }
    assert_true(fabs(sum) < 0.012); /* 4.5 sigma of 36,000 */
    assert_true(fabs(squares - 0.25) < 0.0085);
    assert_true(fabs(neighbours) < 0.006);
}

static void masks_are_bands(void **state)
{
    (void)state;
    uint32_t rows[HEIGHT + 1] = {0}, columns[WIDTH + 1] = {0};
    for (uint32_t index = 0; index < 1500; index++) {
        float seen[COUNT];
        bool row[HEIGHT], column[WIDTH];
        uint32_t high = 0, wide = 0;
        distort(seen, "mask:4/2", 1, 0, index);
        for (uint32_t y = 0; y < HEIGHT; y++) { /* masked completely */
            row[y] = true;
            for (uint32_t x = 0; x < WIDTH; x++)
                row[y] &= seen[y * WIDTH + x] == 0;
            high += row[y];
        }
        for (uint32_t x = 0; x < WIDTH; x++) {
            column[x] = true;
            for (uint32_t y = 0; y < HEIGHT; y++)
                column[x] &= seen[y * WIDTH + x] == 0;
            wide += column[x];
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            const bool masked = row[i / WIDTH % HEIGHT] || column[i % WIDTH];
            assert_true(seen[i] == (masked ? 0 : value(i)));
        }
        uint32_t edges = 0; /* a single band has at most two */
        for (uint32_t y = 1; y < HEIGHT; y++)
            edges += row[y] != row[y - 1];
        assert_in_range(edges, 0, 2);
        edges = 0;
        for (uint32_t x = 1; x < WIDTH; x++)
            edges += column[x] != column[x - 1];
        assert_in_range(edges, 0, 2);
        rows[high]++;
        columns[wide]++;
    }
    for (int i = 0; i <= 2; i++)
        assert_in_range(rows[i], 410, 590); /* 4.5 sigma */
    for (int i = 0; i <= 4; i++)
        assert_in_range(columns[i], 230, 370);
}

static void samples_belong_to_seed_epoch_and_sample(void **state)
{
    (void)state;
    static const char *const lists[] = {"shift:4", "scale:0.5", "noise:0.1", "mask:10/4",
                                        "mask:2/1,noise:1,scale:1,shift:1"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        uint32_t equal[3] = {0};
        for (uint32_t k = 0; k < 40; k++) {
            float first[COUNT], other[COUNT];
            distort(first, lists[i], 5, 2, k);
            distort(other, lists[i], 5, 2, k);
            assert_memory_equal(first, other, sizeof first);
            distort(other, lists[i], 6, 2, k);
            equal[0] += memcmp(first, other, sizeof first) == 0;
            distort(other, lists[i], 5, 3, k);
            equal[1] += memcmp(first, other, sizeof first) == 0;
            distort(other, lists[i], 5, 2, k + 1);
            equal[2] += memcmp(first, other, sizeof first) == 0;
        }
        for (int k = 0; k < 3; k++)
            if (equal[k] > 8)
                fail_msg("%s: %u of 40 are the same, kind %d", lists[i], equal[k], k);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *list, *part;
    } cases[] = {
        {"shift:5", "--augment shift: 5 must be smaller than the samples of speech, which have 5 "
                    "steps of time"},
        {"shift:0/12", "--augment shift: 12 must be smaller than the samples of speech, which have "
                       "12 frequencies"},
        {"mask:12/1", "--augment mask: 12 must be smaller"},
        {"mask:1/5", "--augment mask: 5 must be smaller than the samples of speech, which have 5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_augment augment;
        assert_ok(sh_augment_parse(&augment, cases[i].list));
        assert_fails(sh_distort_check(&augment, "speech", HEIGHT, WIDTH), SH_INVALID,
                     cases[i].part);
    }
    sh_augment augment;
    assert_ok(sh_augment_parse(&augment, "mask:0/5")); /* a series has one row */
    assert_ok(sh_distort_check(&augment, "series", 1, 6));
    assert_ok(sh_augment_parse(&augment, "shift:1/1"));
    assert_fails(sh_distort_check(&augment, "series", 1, 6), SH_INVALID, "which have 1 freq");
}

/* See golden_pictures in retouch_test.c. */
static void golden_samples(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        uint32_t sum;
    } golden[] = {
        {"shift:4/4", 0xe58d0000},
        {"scale:0.25", 0x477305ab},
        {"noise:0.5", 0x84b5c9c1},
        {"mask:6/3", 0xb81d0000},
        {"mask:6/3,noise:0.1,scale:0.25,shift:4/4", 0x5ad632ad},
    };
    uint32_t failed = 0;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        uint32_t sum = 0;
        for (uint32_t index = 0; index < 100; index++) {
            float seen[COUNT];
            distort(seen, golden[i].list, 1, index % 3, index);
            for (uint32_t k = 0; k < COUNT; k++) {
                uint32_t bits;
                memcpy(&bits, &seen[k], sizeof bits);
                sum = sum * 31 + bits;
            }
        }
        if (sum != golden[i].sum) {
            print_error("%s: the sum is 0x%08x\n", golden[i].list, sum);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifts_repeat_the_edge),
        cmocka_unit_test(a_series_is_shifted_along_its_row),
        cmocka_unit_test(channels_are_scaled),
        cmocka_unit_test(noise_has_its_deviation),
        cmocka_unit_test(masks_are_bands),
        cmocka_unit_test(golden_samples),
        cmocka_unit_test(samples_belong_to_seed_epoch_and_sample),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
