/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/picture.h"

#include <math.h>

#include "base/test.h"

enum { MOST = 3 * 64 * 64 };

static uint8_t a[MOST], b[MOST], before[MOST];

/* A picture with a pattern, of which `before` is a copy. */
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

/* A pixel of the box at a place in it, in double, by the definition. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_enlarged),
        cmocka_unit_test(the_whole_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
