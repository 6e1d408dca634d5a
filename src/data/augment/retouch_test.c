/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/retouch.h"

#include <math.h>

#include "base/test.h"

enum { SIDE = 32, PLANE = SIDE * SIDE, BYTES = 3 * PLANE };

static const uint8_t colour[3] = {120, 110, 100};

static uint8_t pattern(uint32_t i)
{
    return (uint8_t)(i * i * 3 + 11 * i + i / PLANE * 50);
}

static void retouch(uint8_t seen[BYTES], const char *list, uint64_t seed, uint32_t epoch,
                    uint32_t index)
{
    uint8_t bytes[BYTES], spare[BYTES];
    sh_picture picture = {bytes, spare, 3, SIDE, SIDE};
    sh_augment augment;
    assert_ok(sh_augment_parse(&augment, list));
    assert_true(sh_augment_retouches(&augment));
    for (uint32_t i = 0; i < BYTES; i++)
        bytes[i] = pattern(i);
    memset(spare, 0, sizeof spare);
    sh_retouch(&picture, &augment, colour, seed, epoch, index);
    memcpy(seen, picture.bytes, BYTES);
}

static void crops_are_within_their_bounds(void **state)
{
    (void)state;
    static const struct {
        uint32_t height, width;
        double least;
    } cases[] = {{224, 224, 0.08}, {32, 32, 0.25}, {100, 60, 0.5}, {28, 28, 0.01}};
    enum { DRAWS = 4000 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t height = cases[i].height, width = cases[i].width;
        uint32_t corners = 0;
        double area = 0;
        sh_random random = sh_random_for(3, SH_RANDOM_TEST, (uint32_t)i, 0);
        for (int k = 0; k < DRAWS; k++) {
            const sh_box box = sh_retouch_crop(&random, height, width, cases[i].least);
            assert_in_range(box.height, 1, height);
            assert_in_range(box.width, 1, width);
            assert_in_range(box.top, 0, height - box.height);
            assert_in_range(box.left, 0, width - box.width);
            /* Rounding changes a side by at most half a pixel. */
            assert_true((box.width - 0.5) / (box.height + 0.5) <= 4.0 / 3);
            assert_true((box.width + 0.5) / (box.height - 0.5) >= 3.0 / 4);
            const double least = cases[i].least * height * width;
            assert_true((box.height + 0.5) * (box.width + 0.5) >= least);
            corners += box.top == 0 && box.left == 0;
            area += box.height * box.width / (double)(height * width) / DRAWS;
        }
        assert_in_range(corners, 1, DRAWS / 2);
        /* Large boxes fit less often, so the mean may be smaller. */
        const double mean = (cases[i].least + 1) / 2;
        assert_true(area > mean - 0.15 && area < mean + 0.01);
    }
}

static void crops_of_long_pictures_are_in_their_middle(void **state)
{
    (void)state;
    static const struct {
        uint32_t height, width;
        sh_box expected;
    } cases[] = {{9, 200, {0, 94, 9, 12}}, {200, 9, {94, 0, 12, 9}}, {1, 8, {0, 3, 1, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
        const sh_box box = sh_retouch_crop(&random, cases[i].height, cases[i].width, 0.99);
        assert_memory_equal(&box, &cases[i].expected, sizeof box);
    }
}

static void pictures_belong_to_seed_epoch_and_sample(void **state)
{
    (void)state;
    static const char *const lists[] = {"resized-crop",
                                        "vflip",
                                        "rotate:30",
                                        "resized-crop,vflip,rotate:5",
                                        "jitter:0.4",
                                        "jitter:0/0.4",
                                        "jitter:0/0/0.5",
                                        "jitter:0/0/0/0.5",
                                        "jitter:0.3/0.3/0.3/0.1,erase",
                                        "erase:1",
                                        "trivial"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        uint32_t equal[3] = {0};
        for (uint32_t k = 0; k < 40; k++) {
            uint8_t first[BYTES], other[BYTES];
            retouch(first, lists[i], 5, 2, k);
            retouch(other, lists[i], 5, 2, k);
            assert_memory_equal(first, other, BYTES);
            retouch(other, lists[i], 6, 2, k);
            equal[0] += memcmp(first, other, BYTES) == 0;
            retouch(other, lists[i], 5, 3, k);
            equal[1] += memcmp(first, other, BYTES) == 0;
            retouch(other, lists[i], 5, 2, k + 1);
            equal[2] += memcmp(first, other, BYTES) == 0;
        }
        for (int k = 0; k < 3; k++)
            if (equal[k] > 32)
                fail_msg("%s: %u of 40 are the same, kind %d", lists[i], equal[k], k);
    }
}

static void half_of_the_pictures_are_turned_over(void **state)
{
    (void)state;
    uint8_t upright[BYTES], seen[BYTES];
    uint32_t over = 0;
    for (uint32_t i = 0; i < BYTES; i++)
        upright[i] = pattern(i);
    for (uint32_t k = 0; k < 1000; k++) {
        retouch(seen, "vflip", 1, 0, k);
        over += memcmp(seen, upright, BYTES) != 0;
    }
    assert_in_range(over, 430, 570); /* 4.5 sigma */
}

static void erased_boxes_are_within_their_bounds(void **state)
{
    (void)state;
    static const struct {
        uint32_t height, width;
    } cases[] = {{32, 32}, {224, 224}, {28, 60}};
    enum { DRAWS = 4000 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t height = cases[i].height, width = cases[i].width;
        double area = 0;
        sh_random random = sh_random_for(3, SH_RANDOM_TEST, (uint32_t)i, 0);
        for (int k = 0; k < DRAWS; k++) {
            sh_box box;
            assert_true(sh_retouch_erased(&box, &random, height, width));
            assert_in_range(box.height, 1, height - 1);
            assert_in_range(box.width, 1, width - 1);
            assert_in_range(box.top, 0, height - box.height);
            assert_in_range(box.left, 0, width - box.width);
            assert_true((box.height - 0.5) / (box.width + 0.5) <= 3.3);
            assert_true((box.height + 0.5) / (box.width - 0.5) >= 0.3);
            assert_true((box.height + 0.5) * (box.width + 0.5) >= 0.02 * height * width);
            assert_true((box.height - 0.5) * (box.width - 0.5) <= 0.33 * height * width);
            area += box.height * box.width / (double)(height * width) / DRAWS;
        }
        assert_true(area > 0.15 && area < 0.18); /* 0.175 minus boxes that do not fit */
    }
    sh_box box;
    sh_random random = sh_random_for(3, SH_RANDOM_TEST, 9, 0);
    assert_false(sh_retouch_erased(&box, &random, 1, 1));
}

static void what_is_erased_is_one_box(void **state)
{
    (void)state;
    uint32_t erased = 0;
    for (uint32_t k = 0; k < 1000; k++) {
        uint8_t seen[BYTES];
        uint32_t count[3] = {0}, top = SIDE, left = SIDE, bottom = 0, right = 0;
        retouch(seen, "erase:0.25", 1, 0, k);
        for (uint32_t i = 0; i < BYTES; i++) {
            if (seen[i] == pattern(i))
                continue;
            const uint32_t y = i % PLANE / SIDE, x = i % SIDE;
            assert_int_equal(seen[i], colour[i / PLANE]);
            top = y < top ? y : top;
            bottom = y > bottom ? y : bottom;
            left = x < left ? x : left;
            right = x > right ? x : right;
            count[i / PLANE]++;
        }
        erased += count[0] > 0;
        if (count[0] > 0) { /* pattern bytes may equal the colour */
            const uint32_t size = (bottom - top + 1) * (right - left + 1);
            assert_in_range(count[0], size - size / 16 - 1, size);
        }
    }
    assert_in_range(erased, 190, 310); /* 4.4 sigma */
}

static void jitter_is_within_its_range(void **state)
{
    (void)state;
    double least = 9, most = 0;
    for (uint32_t k = 0; k < 300; k++) {
        uint8_t seen[BYTES];
        retouch(seen, "jitter:0.25", 4, 1, k);
        for (uint32_t i = 0; i < BYTES; i++) {
            const double byte = pattern(i);
            if (byte < 100 || byte > 200)
                continue;
            least = fmin(least, seen[i] / byte);
            most = fmax(most, seen[i] / byte);
        }
    }
    assert_true(least > 0.745 && least < 0.76);
    assert_true(most < 1.255 && most > 1.24);
}

/* A change here changes every training run with these options. The sums were taken from
 * the code; the other tests check that it is right. */
static void golden_pictures(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        uint32_t sum;
    } golden[] = {
        {"resized-crop", 0x6d219054},
        {"vflip,rotate:30", 0x5c7b2a66},
        {"trivial", 0x2ae4f3eb},
        {"jitter:0.4/0.4/0.4/0.1", 0x7132ba00},
        {"erase", 0x69e4e7aa},
        {"resized-crop:0.3,vflip,rotate:10,trivial,jitter:0.1,erase", 0x50e26fad},
    };
    uint32_t failed = 0;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        uint32_t sum = 0;
        for (uint32_t index = 0; index < 100; index++) {
            uint8_t seen[BYTES];
            retouch(seen, golden[i].list, 1, index % 3, index);
            for (uint32_t k = 0; k < BYTES; k++)
                sum = sum * 31 + seen[k];
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
        cmocka_unit_test(crops_are_within_their_bounds),
        cmocka_unit_test(crops_of_long_pictures_are_in_their_middle),
        cmocka_unit_test(half_of_the_pictures_are_turned_over),
        cmocka_unit_test(erased_boxes_are_within_their_bounds),
        cmocka_unit_test(what_is_erased_is_one_box),
        cmocka_unit_test(jitter_is_within_its_range),
        cmocka_unit_test(golden_pictures),
        cmocka_unit_test(pictures_belong_to_seed_epoch_and_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
