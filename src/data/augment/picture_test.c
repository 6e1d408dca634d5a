/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/picture.h"

#include <math.h>
#include <stdbool.h>

#include "base/test.h"

enum { MOST = 3 * 64 * 64 };

static uint8_t a[MOST], b[MOST], before[MOST];

static sh_picture make(uint32_t channels, uint32_t height, uint32_t width)
{
    assert_in_range(channels * height * width, 1, MOST);
    for (uint32_t i = 0; i < channels * height * width; i++)
        before[i] = a[i] = (uint8_t)(i * i * 7 + i * 31 + i / width * 13);
    memset(b, 0x55, sizeof b);
    return (sh_picture){a, b, channels, height, width};
}

static uint32_t bytes_of(const sh_picture *p)
{
    return p->channels * p->height * p->width;
}

static int clamp(int x, int most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

static double at(const sh_picture *p, sh_box box, uint32_t channel, double y, double x)
{
    const double top = floor(y), left = floor(x);
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        const int row = clamp((int)top + i / 2, (int)box.height - 1);
        const int column = clamp((int)left + i % 2, (int)box.width - 1);
        const double v = i / 2 == 1 ? y - top : 1 - (y - top);
        const double h = i % 2 == 1 ? x - left : 1 - (x - left);
        const uint32_t place = (channel * p->height + box.top + (uint32_t)row) * p->width;
        sum += v * h * before[place + box.left + (uint32_t)column];
    }
    return sum;
}

static void boxes_are_enlarged(void **state)
{
    (void)state;
    static const struct {
        uint32_t channels, height, width;
        sh_box box;
    } cases[] = {
        {3, 32, 32, {3, 5, 17, 12}}, {1, 28, 28, {27, 27, 1, 1}},  {1, 9, 5, {0, 0, 9, 3}},
        {3, 5, 64, {1, 0, 2, 64}},   {2, 64, 32, {10, 1, 53, 31}}, {1, 1, 1, {0, 0, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_picture p = make(cases[i].channels, cases[i].height, cases[i].width);
        const sh_box box = cases[i].box;
        sh_picture_enlarge(&p, box);
        for (uint32_t k = 0; k < bytes_of(&p); k++) {
            const uint32_t c = k / (p.height * p.width), y = k / p.width % p.height;
            const double row = (y + 0.5) * box.height / p.height - 0.5;
            const double column = (k % p.width + 0.5) * box.width / p.width - 0.5;
            const double expected = at(&p, box, c, row, column);
            /* Half a level of rounding, and weights of 1/2048. */
            if (fabs(p.bytes[k] - expected) > 0.65)
                fail_msg("case %zu, byte %u: %u, expected %.3f", i, k, p.bytes[k], expected);
        }
    }
}

static void the_whole_stays_as_it_is(void **state)
{
    (void)state;
    sh_picture p = make(3, 13, 17);
    sh_picture_enlarge(&p, (sh_box){0, 0, 13, 17});
    assert_memory_equal(p.bytes, before, bytes_of(&p));
}

static void what_is_erased_is_a_box(void **state)
{
    (void)state;
    static const uint8_t colour[] = {7, 9};
    sh_picture p = make(2, 13, 17);
    sh_picture_erase(&p, (sh_box){.top = 2, .left = 3, .height = 11, .width = 5}, colour);
    for (uint32_t k = 0; k < bytes_of(&p); k++) {
        const uint32_t y = k / 17 % 13, x = k % 17;
        const bool inside = y >= 2 && x >= 3 && x < 8;
        assert_int_equal(p.bytes[k], inside ? colour[k / 221] : before[k]);
    }
}

static void pictures_are_turned_over(void **state)
{
    (void)state;
    for (uint32_t height = 1; height < 6; height++) {
        sh_picture p = make(2, height, 7);
        sh_picture_turn_over(&p);
        for (uint32_t k = 0; k < bytes_of(&p); k++) {
            const uint32_t c = k / (7 * height), y = height - 1 - k / 7 % height;
            assert_int_equal(p.bytes[k], before[(c * height + y) * 7 + k % 7]);
        }
    }
}

static void right_angles_are_exact(void **state)
{
    (void)state;
    static const double degrees[] = {0, 90, 180, -90, -180};
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
        for (uint32_t side = 1; side <= 9; side += 4 - side % 3) {
            sh_picture p = make(3, side, side);
            sh_picture_map(&p, sh_affine_turn(degrees[i]));
            for (uint32_t k = 0; k < bytes_of(&p); k++) {
                const uint32_t c = k / (side * side), y = k / side % side, x = k % side;
                const uint32_t last = side - 1;
                /* Counterclockwise: the right side moves to the top. */
                const uint32_t from[][2] = {{y, x},
                                            {x, last - y},
                                            {last - y, last - x},
                                            {last - x, y},
                                            {last - y, last - x}};
                assert_int_equal(p.bytes[k], before[(c * side + from[i][0]) * side + from[i][1]]);
            }
        }
}

static void maps_are_bilinear_and_black_outside(void **state)
{
    (void)state;
    static const sh_affine maps[] = {
        {40000, -52000, 90000, 52000, 40000, -123456},
        {65536, 20000, 0, 0, 65536, 0},
        {65536, 0, 3 * 65536, 0, 65536, -65536},
        {0, 0, 0, 0, 0, 0},
        {1 << 27, 0, 0, 0, 1 << 27, 0},
        {-65536, 3, 1, 5, -70000, 32768},
    };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        const sh_affine m = maps[i];
        sh_picture p = make(2, 21, 34);
        sh_picture_map(&p, m);
        for (uint32_t k = 0; k < bytes_of(&p); k++) {
            const double y = k / 34 % 21 - 10.0, x = k % 34 - 16.5;
            const double from_x = (m.xx * x + m.xy * y + m.x0) / 65536 + 16.5;
            const double from_y = (m.yx * x + m.yy * y + m.y0) / 65536 + 10.0;
            double expected = 0;
            for (int j = 0; j < 4; j++) {
                const double row = floor(from_y) + j / 2, column = floor(from_x) + j % 2;
                if (row >= 0 && row < 21 && column >= 0 && column < 34)
                    expected += (1 - fabs(from_y - row)) * (1 - fabs(from_x - column)) *
                                before[(k / 714 * 21 + (uint32_t)row) * 34 + (uint32_t)column];
            }
            /* Half a level of rounding, and positions truncated to 1/256 of a pixel. */
            if (fabs(p.bytes[k] - expected) > 0.51 + 2)
                fail_msg("map %zu, byte %u: %u, expected %.3f", i, k, p.bytes[k], expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_enlarged),
        cmocka_unit_test(the_whole_stays_as_it_is),
        cmocka_unit_test(what_is_erased_is_a_box),
        cmocka_unit_test(pictures_are_turned_over),
        cmocka_unit_test(right_angles_are_exact),
        cmocka_unit_test(maps_are_bilinear_and_black_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
