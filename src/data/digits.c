/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `digits`: synthetic handwritten digits. A sample is a pure function of (split, index). The
 * fingerprint covers the sample counts and the first samples of each split, so that devices which
 * draw differently have different ones.
 *
 * Drawing moves the pen of a random hand along a random glyph of the digit:
 *
 *     control points   each moved a little
 *       | Catmull-Rom splines ("A class of local interpolating splines", 1974)
 *     short segments   moved by a smooth random field (the elastic distortion of Simard,
 *       |              Steinkraus, Platt, ICDAR 2003, applied to the pen, which keeps lines
 *       |              crisp), then slanted, turned, scaled
 *     ink              per pixel the darkest of all segments, by distance to it; pressure sets
 *       |              width and darkness along the path
 *     camera           sometimes blurred, then noise
 *
 * The bits are the same everywhere: only float + - * / and sqrt, which IEEE 754 defines exactly,
 * and no contraction (set by the build).
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "data/dataset_impl.h"
#include "data/file_reader.h"

/* Larger is harder to learn. Lengths are in digit heights. */
#define TREMOR 0.04f  /* largest shift of a control point */
#define ELASTIC 0.07f /* largest shift of the pen */
#define TURN 0.16f    /* tangent of half the largest angle, 18 degrees */
#define SLANT_LEAST -0.20f
#define SLANT_MOST 0.50f
#define ASPECT_LEAST 0.50f /* width / height */
#define ASPECT_MOST 0.95f
#define HEIGHT_LEAST 15.0f /* pixels */
#define HEIGHT_MOST 21.0f
#define SHIFT 2.2f      /* pixels, each way */
#define PEN_LEAST 0.65f /* radius in pixels */
#define PEN_MOST 1.75f
#define PRESSURE 0.35f   /* variation of the radius */
#define INK_LEAST 0.70f  /* darkness of the palest pen */
#define BLURRED 0.30f    /* fraction of samples */
#define NOISE_MOST 0.16f /* amplitude in the noisiest sample */

#define STEPS 5 /* segments between two control points */
#define SIDE 28
#define PIXELS (SIDE * SIDE)
#define CLASSES 10
#define TRAIN 10000     /* default */
#define VALIDATION 2000 /* default */
#define MOST 100000000  /* per split */
#define FIELD 4         /* side of the grid of random vectors */
#define SEED 0x73686f616cull

/* Of the training pixels; digits_test.c measures them. */
#define MEAN 0.1275f
#define DEVIATION 0.2451f

#define FINGERPRINTED 4 /* per split */

#define GLYPH_POINTS 24 /* including lifts */
#define LIFTED (-1)     /* in place of x: the stroke ends */
#define LIFT                                                                                       \
    {                                                                                              \
        LIFTED, 0                                                                                  \
    }

/* Control points of smooth curves from 0 (left, top) to 100 (right, bottom). A repeated point is a
 * corner. */
typedef struct glyph {
    uint8_t digit;
    uint8_t points;
    struct {
        int8_t x, y;
    } path[GLYPH_POINTS];
} glyph;

/* clang-format off */
/* By digit; set by eye. */
static const glyph glyphs[] = {
    {0, 9, {{55, 0}, {22, 12}, {4, 50}, {20, 88}, {50, 100}, {82, 86}, {97, 50}, {80, 12},
             {50, 1}}},
    {0, 11, {{70, 8}, {40, 0}, {12, 20}, {2, 55}, {18, 90}, {52, 100}, {86, 80}, {98, 42},
             {84, 12}, {56, 2}, {36, 10}}},
    {1, 3, {{50, 0}, {50, 50}, {50, 100}}},
    {1, 6, {{24, 26}, {40, 14}, {55, 0}, {55, 0}, {54, 50}, {52, 100}}},
    {1, 9, {{26, 24}, {52, 0}, {52, 0}, {52, 50}, {52, 98}, LIFT, {20, 100}, {50, 99},
             {82, 100}}},
    {2, 11, {{8, 24}, {22, 6}, {50, 0}, {80, 10}, {84, 32}, {64, 58}, {34, 80}, {6, 98},
             {6, 98}, {45, 96}, {95, 98}}},
    {2, 13, {{6, 22}, {28, 4}, {58, 0}, {84, 16}, {80, 42}, {54, 70}, {24, 92}, {6, 94},
             {8, 80}, {28, 78}, {54, 92}, {76, 100}, {98, 90}}},
    {3, 12, {{10, 12}, {36, 0}, {70, 4}, {84, 22}, {70, 40}, {40, 48}, {40, 48}, {74, 54},
             {92, 74}, {76, 94}, {42, 100}, {8, 90}}},
    {3, 12, {{12, 2}, {50, 2}, {86, 2}, {86, 2}, {62, 22}, {42, 42}, {42, 42}, {74, 48},
             {92, 70}, {76, 94}, {40, 100}, {6, 88}}},
    {3, 9, {{14, 10}, {46, 0}, {80, 14}, {72, 38}, {46, 47}, {80, 58}, {90, 80}, {60, 99},
             {10, 92}}},
    {4, 10, {{18, 2}, {12, 30}, {8, 56}, {8, 56}, {40, 58}, {96, 54}, LIFT, {72, 4},
             {68, 50}, {62, 100}}},
    {4, 9, {{98, 64}, {50, 66}, {4, 66}, {4, 66}, {40, 30}, {70, 0}, {70, 0}, {70, 50},
             {68, 100}}},
    {4, 9, {{16, 0}, {8, 34}, {20, 54}, {50, 56}, {82, 46}, LIFT, {86, 2}, {80, 50},
             {72, 100}}},
    {5, 14, {{22, 4}, {18, 24}, {14, 46}, {14, 46}, {44, 38}, {80, 46}, {92, 68}, {76, 92},
             {44, 100}, {6, 92}, LIFT, {22, 4}, {55, 4}, {92, 0}}},
    {5, 12, {{90, 2}, {55, 3}, {26, 4}, {26, 4}, {20, 24}, {16, 44}, {16, 44}, {50, 40},
             {86, 56}, {84, 84}, {52, 100}, {8, 94}}},
    {5, 9, {{88, 6}, {52, 0}, {24, 16}, {30, 38}, {64, 52}, {88, 72}, {72, 94}, {38, 100},
             {8, 90}}},
    {6, 10, {{74, 2}, {40, 18}, {14, 50}, {10, 80}, {34, 99}, {68, 96}, {86, 76}, {70, 56},
             {40, 56}, {14, 74}}},
    {6, 10, {{62, 0}, {30, 30}, {10, 64}, {16, 92}, {48, 100}, {82, 88}, {84, 66}, {56, 54},
             {24, 66}, {12, 80}}},
    {7, 7, {{6, 6}, {50, 4}, {94, 2}, {94, 2}, {66, 40}, {48, 70}, {36, 100}}},
    {7, 10, {{6, 6}, {50, 3}, {92, 4}, {92, 4}, {66, 42}, {38, 100}, LIFT, {24, 52},
             {54, 50}, {84, 48}}},
    {7, 9, {{8, 22}, {10, 4}, {10, 4}, {50, 6}, {94, 2}, {94, 2}, {76, 34}, {60, 64},
             {54, 100}}},
    {8, 14, {{80, 14}, {50, 0}, {20, 12}, {24, 34}, {54, 50}, {86, 70}, {76, 94}, {46, 100},
             {14, 90}, {14, 68}, {46, 48}, {78, 32}, {82, 12}, {64, 2}}},
    {8, 15, {{50, 0}, {22, 10}, {20, 34}, {50, 46}, {80, 34}, {78, 10}, {50, 0}, LIFT,
             {50, 46}, {16, 60}, {10, 84}, {50, 100}, {90, 84}, {84, 60}, {50, 46}}},
    {9, 10, {{84, 22}, {62, 2}, {28, 6}, {12, 30}, {28, 50}, {62, 46}, {84, 22}, {84, 22},
             {82, 60}, {76, 100}}},
    {9, 10, {{86, 20}, {56, 0}, {20, 12}, {14, 38}, {44, 52}, {78, 36}, {86, 14}, {88, 50},
             {72, 86}, {30, 98}}},
    {9, 9, {{80, 14}, {44, 2}, {14, 24}, {30, 48}, {64, 42}, {82, 12}, {82, 12}, {66, 60},
             {50, 100}}},
};
/* clang-format on */

typedef struct point {
    float x, y;
} point;

typedef struct hand {
    float aspect, height, slant;
    float cosine, sine;
    point centre;
    point field[FIELD][FIELD];
    float radius, softness, ink;
    float pressure[3]; /* change of the radius at the start, middle and end */
} hand;

typedef struct canvas {
    float ink[SIDE][SIDE];
} canvas;

static float between(sh_random *random, float least, float most)
{
    return least + (most - least) * sh_random_unit(random);
}

static hand hand_new(sh_random *random)
{
    hand h;
    h.aspect = between(random, ASPECT_LEAST, ASPECT_MOST);
    h.height = between(random, HEIGHT_LEAST, HEIGHT_MOST);
    h.slant = between(random, SLANT_LEAST, SLANT_MOST);
    const float t = between(random, -TURN, TURN);
    h.cosine = (1.0f - t * t) / (1.0f + t * t);
    h.sine = 2.0f * t / (1.0f + t * t);
    h.centre.x = 0.5f * (float)SIDE + between(random, -SHIFT, SHIFT);
    h.centre.y = 0.5f * (float)SIDE + between(random, -SHIFT, SHIFT);
    for (int i = 0; i < FIELD; i++)
        for (int k = 0; k < FIELD; k++) {
            h.field[i][k].x = between(random, -ELASTIC, ELASTIC);
            h.field[i][k].y = between(random, -ELASTIC, ELASTIC);
        }
    h.radius = between(random, PEN_LEAST, PEN_MOST);
    h.softness = between(random, 0.9f, 1.5f);
    h.ink = between(random, INK_LEAST, 1.0f);
    for (int i = 0; i < 3; i++)
        h.pressure[i] = between(random, -PRESSURE, PRESSURE);
    return h;
}

/* `p` is about -0.5 .. 0.5. */
static point field_at(const hand *h, point p)
{
    float at[2] = {(p.x + 0.5f) * (FIELD - 1), (p.y + 0.5f) * (FIELD - 1)};
    int cell[2];
    for (int i = 0; i < 2; i++) {
        at[i] = at[i] < 0.0f ? 0.0f : at[i] > FIELD - 1 ? FIELD - 1 : at[i];
        cell[i] = (int)at[i] < FIELD - 2 ? (int)at[i] : FIELD - 2;
        at[i] -= (float)cell[i];
        at[i] = at[i] * at[i] * (3.0f - 2.0f * at[i]);
    }
    const point a = h->field[cell[1]][cell[0]], b = h->field[cell[1]][cell[0] + 1];
    const point c = h->field[cell[1] + 1][cell[0]], d = h->field[cell[1] + 1][cell[0] + 1];
    const point top = {a.x + (b.x - a.x) * at[0], a.y + (b.y - a.y) * at[0]};
    const point low = {c.x + (d.x - c.x) * at[0], c.y + (d.y - c.y) * at[0]};
    return (point){top.x + (low.x - top.x) * at[1], top.y + (low.y - top.y) * at[1]};
}

/* From glyph coordinates (-0.5 .. 0.5) to pixels. */
static point place(const hand *h, point p)
{
    const point moved = field_at(h, p);
    p.x = (p.x + moved.x) * h->aspect;
    p.y += moved.y;
    p.x -= h->slant * p.y;
    return (point){
        h->centre.x + h->height * (h->cosine * p.x - h->sine * p.y),
        h->centre.y + h->height * (h->sine * p.x + h->cosine * p.y),
    };
}

static int clamp_pixel(float value)
{
    return value < 0.0f ? 0 : value > (float)(SIDE - 1) ? SIDE - 1 : (int)value;
}

/* The centre of pixel (x, y) is (x + 0.5, y + 0.5). */
static void ink_segment(canvas *c, point a, point b, float radius, float softness, float ink)
{
    const float reach = radius + 0.5f * softness;
    const int left = clamp_pixel((a.x < b.x ? a.x : b.x) - reach - 0.5f);
    const int right = clamp_pixel((a.x > b.x ? a.x : b.x) + reach);
    const int top = clamp_pixel((a.y < b.y ? a.y : b.y) - reach - 0.5f);
    const int bottom = clamp_pixel((a.y > b.y ? a.y : b.y) + reach);
    const float dx = b.x - a.x, dy = b.y - a.y;
    const float length2 = dx * dx + dy * dy;
    const float inverse = length2 > 1e-6f ? 1.0f / length2 : 0.0f;
    const float slope = ink / softness;
    for (int y = top; y <= bottom; y++)
        for (int x = left; x <= right; x++) {
            const float px = (float)x + 0.5f - a.x, py = (float)y + 0.5f - a.y;
            float t = (px * dx + py * dy) * inverse;
            t = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
            const float ex = px - t * dx, ey = py - t * dy;
            const float distance2 = ex * ex + ey * ey;
            if (distance2 >= reach * reach)
                continue;
            float value = (reach - sqrtf(distance2)) * slope;
            value = value > ink ? ink : value;
            if (value > c->ink[y][x])
                c->ink[y][x] = value;
        }
}

/* Uniform Catmull-Rom between p[1] and p[2]. */
static point spline(const point p[4], float t)
{
    const float t2 = t * t, t3 = t2 * t;
    const float w0 = 0.5f * (2.0f * t2 - t3 - t), w1 = 0.5f * (3.0f * t3 - 5.0f * t2 + 2.0f);
    const float w2 = 0.5f * (4.0f * t2 - 3.0f * t3 + t), w3 = 0.5f * (t3 - t2);
    return (point){
        w0 * p[0].x + w1 * p[1].x + w2 * p[2].x + w3 * p[3].x,
        w0 * p[0].y + w1 * p[1].y + w2 * p[2].y + w3 * p[3].y,
    };
}

/* points[0 .. count - 1] cover `from` .. `to` of the path. */
static void ink_stroke(canvas *c, const hand *h, const point *points, uint32_t count, float from,
                       float to)
{
    for (uint32_t i = 0; i + 1 < count; i++) {
        if (points[i].x == points[i + 1].x && points[i].y == points[i + 1].y)
            continue; /* a corner */
        const point p[4] = {points[i > 0 ? i - 1 : 0], points[i], points[i + 1],
                            points[i + 2 < count ? i + 2 : count - 1]};
        point last = place(h, p[1]);
        for (int step = 1; step <= STEPS; step++) {
            const float t = (float)step / STEPS;
            const point next = place(h, spline(p, t));
            const float along = from + (to - from) * ((float)i + t) / (float)(count - 1);
            const float u = 1.0f - along;
            const float pressure = 1.0f + u * u * h->pressure[0] +
                                   2.0f * u * along * h->pressure[1] +
                                   along * along * h->pressure[2];
            const float ink = h->ink * (0.5f + 0.5f * (pressure < 1.0f ? pressure : 1.0f));
            ink_segment(c, last, next, h->radius * pressure, h->softness, ink);
            last = next;
        }
    }
}

static void ink_glyph(canvas *c, const hand *h, const glyph *g, sh_random *random)
{
    point points[GLYPH_POINTS];
    uint32_t start = 0;
    for (uint32_t i = 0; i <= g->points; i++) {
        if (i == g->points || g->path[i].x == LIFTED) {
            ink_stroke(c, h, points + start, i - start, (float)start / (float)g->points,
                       (float)i / (float)g->points);
            start = i + 1;
        } else if (i > start && g->path[i].x == g->path[i - 1].x &&
                   g->path[i].y == g->path[i - 1].y) {
            points[i] = points[i - 1];
        } else {
            points[i].x = (float)g->path[i].x * 0.01f - 0.5f + between(random, -TREMOR, TREMOR);
            points[i].y = (float)g->path[i].y * 0.01f - 0.5f + between(random, -TREMOR, TREMOR);
        }
    }
}

/* Along rows, then columns. */
static void blur(canvas *c, float amount)
{
    const float side = amount * 0.25f, middle = 1.0f - 2.0f * side;
    for (int y = 0; y < SIDE; y++) {
        float before = 0.0f;
        for (int x = 0; x < SIDE; x++) {
            const float here = c->ink[y][x], after = x + 1 < SIDE ? c->ink[y][x + 1] : 0.0f;
            c->ink[y][x] = middle * here + side * (before + after);
            before = here;
        }
    }
    float above[SIDE] = {0};
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const float here = c->ink[y][x], below = y + 1 < SIDE ? c->ink[y + 1][x] : 0.0f;
            c->ink[y][x] = middle * here + side * (above[x] + below);
            above[x] = here;
        }
}

static sh_status draw(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                      void *target)
{
    uint8_t *pixels = sample;
    (void)dataset;
    sh_random random = sh_random_for(SEED, SH_RANDOM_DIGITS, (uint32_t)split, index);
    const uint32_t digit = sh_random_below(&random, CLASSES);
    const uint32_t way = sh_random_next(&random) >> 8;
    uint32_t ways = 0, first = 0;
    for (uint32_t i = 0; i < sizeof glyphs / sizeof *glyphs; i++)
        if (glyphs[i].digit == digit && ways++ == 0)
            first = i;
    const hand h = hand_new(&random);
    const bool blurred = sh_random_unit(&random) < BLURRED;
    const float amount = between(&random, 0.4f, 1.0f);
    const float noise = between(&random, 0.0f, NOISE_MOST);
    canvas c = {0};
    ink_glyph(&c, &h, &glyphs[first + way % ways], &random);
    if (blurred)
        blur(&c, amount);
    uint32_t word = 0;
    for (int i = 0; i < PIXELS; i++) {
        word = i % 4 == 0 ? sh_random_next(&random) : word >> 8;
        const float swing = (float)(word & 255) * (1.0f / 127.5f) - 1.0f;
        float value = c.ink[i / SIDE][i % SIDE] + noise * swing;
        value = value < 0.0f ? 0.0f : value > 1.0f ? 1.0f : value;
        pixels[i] = (uint8_t)(value * 255.0f + 0.5f);
    }
    *(int32_t *)target = (int32_t)digit;
    return SH_OK;
}

static const sh_dataset_ops digits_ops = {.read = draw};

static sh_status digits_open(sh_dataset **dataset, const sh_format *format, const char *argument,
                             const sh_read_options *options)
{
    (void)options;
    size_t train = TRAIN, validation = VALIDATION;
    const char *at = argument;
    if (argument != NULL &&
        (!sh_count_read(&at, MOST, '/', &train) || !sh_count_read(&at, MOST, '\0', &validation)))
        return sh_fail(SH_INVALID,
                       "digits:%s: write digits or digits:TRAIN/VALIDATION, each a number of "
                       "samples from 1 to %d, for example digits:%d/%d",
                       argument, MOST, TRAIN, VALIDATION);
    sh_dataset *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the digits data set");
    *fresh = (sh_dataset){.ops = &digits_ops,
                          .info = {
                              .name = format->name,
                              .channels = 1,
                              .height = SIDE,
                              .width = SIDE,
                              .outputs = CLASSES,
                              .count = {(uint32_t)train, (uint32_t)validation},
                              .mean = {MEAN},
                              .deviation = {DEVIATION},
                          }};
    sh_digest *digest;
    char text[64];
    uint8_t pixels[PIXELS];
    int32_t label;
    sh_status status;
    SH_TRY_DONE(sh_digest_new(&digest));
    const int length = snprintf(text, sizeof text, "digits %zu %zu", train, validation);
    sh_digest_add(digest, text, (size_t)length);
    for (uint32_t i = 0; i < SH_SPLITS * FINGERPRINTED; i++) {
        (void)draw(fresh, (sh_split)(i / FINGERPRINTED), i % FINGERPRINTED, pixels, &label);
        sh_digest_add(digest, pixels, sizeof pixels);
    }
    SH_TRY_DONE(sh_digest_finish(digest, fresh->info.fingerprint));
    *dataset = fresh;
    return SH_OK;
done:
    free(fresh);
    return status;
}

const sh_format sh_digits_format = {
    .name = "digits",
    .usage = "digits",
    .summary = "drawn by the program; digits:TRAIN/VALIDATION sets the numbers of samples",
    .file_reader = sh_photo_reader,
    .open = digits_open};
