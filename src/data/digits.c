/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A digit is drawn as a hand would: pick one of the ways to write it (glyph.c), and a hand (slant,
 * size, pen, tremor); move a pen along it; look at the ink through a slightly poor camera.
 *
 *     control points   each moved a little: no two hands shape a digit alike
 *       | Catmull-Rom splines ("A class of local interpolating splines", 1974)
 *     short segments   moved by a smooth random field (the elastic distortion of Simard,
 *       |              Steinkraus, Platt, ICDAR 2003, applied to the pen and not to the picture,
 *       |              which is cheaper and keeps lines crisp), then slanted, turned, scaled
 *     ink              per pixel the darkest of all segments, by distance to it; pressure sets
 *       |              width and darkness along the path
 *     camera           sometimes blurred, then noise
 *
 * Same bits everywhere: only + - * / and sqrt on float, which IEEE 754 defines to the last bit, no
 * contraction (the build says so) and no mathematics library. A turn by an angle is made from the
 * tangent of its half, which needs no sine. All random numbers come from the one sequence that
 * belongs to (split, index).
 */
#include "data/digits.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "data/dataset_impl.h"
#include "data/glyph.h"

/* How much hands differ. Larger is harder to learn. Lengths are in heights of a digit. */
#define TREMOR 0.04f       /* furthest a control point strays, each way */
#define ELASTIC 0.07f      /* furthest the smooth field moves the pen, each way */
#define TURN 0.16f         /* tangent of half the largest turn: 18 degrees */
#define SLANT_LEAST -0.20f /* leaning left */
#define SLANT_MOST 0.50f   /* leaning right, which is usual */
#define ASPECT_LEAST 0.50f /* width by height */
#define ASPECT_MOST 0.95f
#define HEIGHT_LEAST 15.0f /* pixels */
#define HEIGHT_MOST 21.0f
#define SHIFT 2.2f       /* pixels, each way */
#define PEN_LEAST 0.65f  /* radius in pixels */
#define PEN_MOST 1.75f   /* radius in pixels */
#define PRESSURE 0.35f   /* how much of the radius comes and goes along the path */
#define INK_LEAST 0.70f  /* darkness of the palest pen */
#define BLURRED 0.30f    /* part of the samples that are blurred */
#define NOISE_MOST 0.16f /* amplitude in the noisiest sample; 0 in the cleanest */

#define STEPS 5 /* segments of a curve between two control points */
#define SIDE SH_DIGITS_SIDE
#define FIELD 4              /* the smooth field has FIELD x FIELD random vectors */
#define SEED 0x73686f616cull /* of this data set, not of the job: all jobs see the same digits */

/* Of the pixels of the training split, as its test finds them. */
#define MEAN 0.1275f
#define DEVIATION 0.2451f

#define FINGERPRINTED 4 /* samples of each split that are drawn for the fingerprint */

typedef struct point {
    float x, y;
} point;

typedef struct hand {
    float aspect, height, slant;
    float cosine, sine; /* of the turn */
    point centre;
    point field[FIELD][FIELD];
    float radius, softness, ink;
    float pressure[3]; /* change of the radius at the start, middle and end of the path */
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

/* The smooth field at p, whose coordinates lie about -0.5 .. 0.5. */
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

/* From the space of glyphs (-0.5 .. 0.5) to pixels. */
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

/* Inks the pixels near the segment a .. b; pixel (x, y) has its middle at (x + 0.5, y + 0.5). */
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

/* Draws one stroke, points[0 .. count - 1], which lies at `from` .. `to` of the whole path. */
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

static void ink_glyph(canvas *c, const hand *h, const sh_glyph *glyph, sh_random *random)
{
    point points[SH_GLYPH_POINTS];
    uint32_t start = 0;
    for (uint32_t i = 0; i <= glyph->points; i++) {
        if (i == glyph->points || glyph->path[i].x == SH_GLYPH_LIFT) {
            ink_stroke(c, h, points + start, i - start, (float)start / (float)glyph->points,
                       (float)i / (float)glyph->points);
            start = i + 1;
        } else if (i > start && glyph->path[i].x == glyph->path[i - 1].x &&
                   glyph->path[i].y == glyph->path[i - 1].y) {
            points[i] = points[i - 1]; /* a corner stays one */
        } else {
            points[i].x = (float)glyph->path[i].x * 0.01f - 0.5f + between(random, -TREMOR, TREMOR);
            points[i].y = (float)glyph->path[i].y * 0.01f - 0.5f + between(random, -TREMOR, TREMOR);
        }
    }
}

/* Moves each value by `amount` towards the middle of it and its two neighbours in both directions.
 */
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

/* Adds noise of the given amplitude and rounds to 8 bits. */
static void expose(uint8_t pixels[SH_DIGITS_PIXELS], const canvas *c, float noise,
                   sh_random *random)
{
    uint32_t word = 0;
    for (int i = 0; i < SH_DIGITS_PIXELS; i++) {
        word = i % 4 == 0 ? sh_random_next(random) : word >> 8;
        const float swing = (float)(word & 255) * (1.0f / 127.5f) - 1.0f;
        float value = c->ink[i / SIDE][i % SIDE] + noise * swing;
        value = value < 0.0f ? 0.0f : value > 1.0f ? 1.0f : value;
        pixels[i] = (uint8_t)(value * 255.0f + 0.5f);
    }
}

int32_t sh_digits_draw(uint8_t pixels[SH_DIGITS_PIXELS], sh_split split, uint32_t index)
{
    sh_random random = sh_random_for(SEED, SH_RANDOM_DIGITS, (uint32_t)split, index);
    const uint32_t digit = sh_random_below(&random, SH_DIGITS_CLASSES);
    const sh_glyph *glyph = sh_glyph_pick(digit, sh_random_next(&random) >> 8);
    const hand h = hand_new(&random);
    const bool blurred = sh_random_unit(&random) < BLURRED;
    const float amount = between(&random, 0.4f, 1.0f);
    const float noise = between(&random, 0.0f, NOISE_MOST);
    canvas c = {0};
    ink_glyph(&c, &h, glyph, &random);
    if (blurred)
        blur(&c, amount);
    expose(pixels, &c, noise, &random);
    return (int32_t)digit;
}

static sh_status digits_read(const sh_dataset *dataset, sh_split split, uint32_t index,
                             uint8_t *bytes, int32_t *label)
{
    (void)dataset;
    *label = sh_digits_draw(bytes, split, index);
    return SH_OK;
}

/* Reads one number of samples; `*end` is where it ends. */
static bool parse_count(uint32_t *count, const char *text, const char **end)
{
    uint32_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (uint32_t)(*at - '0');
        if (value > SH_DIGITS_MOST)
            return false;
    }
    *count = value;
    *end = at;
    return at > text && value > 0;
}

static sh_status parse_counts(uint32_t count[SH_SPLITS], const char *argument)
{
    const char *at = argument;
    if (parse_count(&count[0], at, &at) && *at == '/' && parse_count(&count[1], at + 1, &at) &&
        *at == '\0')
        return SH_OK;
    return sh_fail(SH_INVALID,
                   "digits:%s: write digits or digits:TRAIN/VALIDATION, each a number of samples "
                   "from 1 to %d, for example digits:%d/%d",
                   argument, SH_DIGITS_MOST, SH_DIGITS_TRAIN, SH_DIGITS_VALIDATION);
}

static sh_status fingerprint(char hex[SH_DIGEST_TEXT], const uint32_t count[SH_SPLITS])
{
    sh_digest *digest;
    SH_TRY(sh_digest_new(&digest));
    char text[64];
    const int length = snprintf(text, sizeof text, "digits %u %u", count[0], count[1]);
    sh_digest_add(digest, text, (size_t)length);
    for (uint32_t i = 0; i < SH_SPLITS * FINGERPRINTED; i++) {
        uint8_t pixels[SH_DIGITS_PIXELS];
        sh_digits_draw(pixels, (sh_split)(i / FINGERPRINTED), i % FINGERPRINTED);
        sh_digest_add(digest, pixels, sizeof pixels);
    }
    return sh_digest_finish(digest, hex);
}

static void digits_close(sh_dataset *dataset)
{
    free(dataset);
}

static const sh_dataset_ops digits_ops = {.read = digits_read, .close = digits_close};

static sh_status digits_open(sh_dataset **dataset, const sh_format *format, const char *argument)
{
    sh_dataset_info info = {
        .name = format->name,
        .channels = 1,
        .height = SIDE,
        .width = SIDE,
        .classes = SH_DIGITS_CLASSES,
        .count = {SH_DIGITS_TRAIN, SH_DIGITS_VALIDATION},
        .mean = {MEAN},
        .deviation = {DEVIATION},
    };
    if (argument != NULL)
        SH_TRY(parse_counts(info.count, argument));
    SH_TRY(fingerprint(info.fingerprint, info.count));
    sh_dataset *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the digits data set");
    *fresh = (sh_dataset){.ops = &digits_ops, .info = info};
    *dataset = fresh;
    return SH_OK;
}

const sh_format sh_digits_format = {
    .name = "digits",
    .usage = "digits",
    .summary = "drawn by the program; digits:TRAIN/VALIDATION for other numbers of samples",
    .open = digits_open};
