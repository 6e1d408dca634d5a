/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x [N, H, W, C] -> y and choice [N, P, Q, C]; choice is window-row * window-width + column. Of
 * equal elements the first wins, and so does the first NaN.
 *
 * A window inside the image keeps BAND channels in registers for all taps. The last band may
 * overlap the band before and store the same values again, so that any number of channels fills
 * vectors. Backward does the same if windows do not overlap, and clears only elements outside of
 * all windows.
 */
#include <string.h>

#include "backend/lower/lowering.h"
#include "base/variant.h"

#define BAND ((size_t)16) /* channels */
#define MAX_TAPS 64

typedef struct pooling {
    sh_attributes a;
    size_t images, channels;
    size_t in[2], out[2];
} pooling;

/* The taps inside the image along one axis: [first, end). */
typedef struct taps {
    size_t first, end;
    size_t origin; /* of tap 0; may wrap below zero */
} taps;

static taps taps_of(const pooling *g, int axis, size_t output)
{
    const size_t begin = output * g->a.stride[axis], padding = g->a.padding[axis];
    const size_t left = g->in[axis] + padding - begin;
    return (taps){
        .first = begin < padding ? padding - begin : 0,
        .end = left < g->a.kernel[axis] ? left : g->a.kernel[axis],
        .origin = begin - padding,
    };
}

/* The mask is all ones or zero; a branch would be mispredicted. */
static inline SH_INLINE float select_float(uint32_t mask, float a, float b)
{
    uint32_t a_bits, b_bits;
    float selected;
    memcpy(&a_bits, &a, sizeof a);
    memcpy(&b_bits, &b, sizeof b);
    a_bits = (a_bits & mask) | (b_bits & ~mask);
    memcpy(&selected, &a_bits, sizeof selected);
    return selected;
}

static inline SH_INLINE void take_larger(const float *restrict x, float *restrict y,
                                         uint8_t *restrict choice, size_t channels, uint8_t tap)
{
    for (size_t c = 0; c < channels; c++) {
        const float new = x[c], best = y[c];
        const uint32_t mask = 0u - (uint32_t)(!(new <= best) & (best == best));
        y[c] = select_float(mask, new, best);
        choice[c] = (uint8_t)((tap & mask) | (choice[c] & ~mask));
    }
}

static inline SH_INLINE void add_chosen(const float *restrict dy, const uint8_t *restrict choice,
                                        float *restrict dx, size_t channels, uint8_t tap)
{
    for (size_t c = 0; c < channels; c++) {
        const uint32_t mask = 0u - (uint32_t)(choice[c] == tap);
        dx[c] += select_float(mask, dy[c], 0.0f);
    }
}

static inline SH_INLINE void pool_window(const pooling *g, const float *image, taps rows,
                                         taps columns, float *y, uint8_t *choice)
{
    bool found = false;
    for (size_t r = rows.first; r < rows.end; r++)
        for (size_t s = columns.first; s < columns.end; s++, found = true) {
            const size_t pixel = (rows.origin + r) * g->in[1] + columns.origin + s;
            const float *x = image + pixel * g->channels;
            const uint8_t tap = (uint8_t)(r * g->a.kernel[1] + s);
            if (found) {
                take_larger(x, y, choice, g->channels, tap);
                continue;
            }
            memcpy(y, x, g->channels * sizeof *y);
            memset(choice, tap, g->channels);
        }
}

static inline SH_INLINE void spread_window(const pooling *g, float *image, taps rows, taps columns,
                                           const float *dy, const uint8_t *choice)
{
    for (size_t r = rows.first; r < rows.end; r++)
        for (size_t s = columns.first; s < columns.end; s++) {
            const size_t pixel = (rows.origin + r) * g->in[1] + columns.origin + s;
            add_chosen(dy, choice, image + pixel * g->channels, g->channels,
                       (uint8_t)(r * g->a.kernel[1] + s));
        }
}

/* ---- windows inside the image ---------------------------------------------------------------- */

/* Offset of a tap from the first, in floats. R and S below: extent of the window. */
static inline SH_INLINE size_t tap_offset(const pooling *g, size_t r, size_t s)
{
    return (r * g->in[1] + s) * g->channels;
}

/* x is at the first tap. The copies store vectors; GCC 12 compiles a loop to single stores. */
static inline SH_INLINE void pool_band(const pooling *g, const float *restrict x, float *restrict y,
                                       uint8_t *restrict choice, size_t R, size_t S)
{
    float best[BAND];
    uint32_t chosen[BAND];
    for (size_t c = 0; c < BAND; c++) {
        best[c] = x[c];
        chosen[c] = 0;
    }
    for (size_t r = 0; r < R; r++)
        for (size_t s = 0; s < S; s++) {
            const float *const seen = x + tap_offset(g, r, s);
            const uint32_t tap = (uint32_t)(r * S + s);
            for (size_t c = 0; c < BAND; c++) {
                const float new = seen[c], old = best[c];
                const uint32_t mask = 0u - (uint32_t)(!(new <= old) & (old == old));
                best[c] = select_float(mask, new, old);
                chosen[c] = (tap & mask) | (chosen[c] & ~mask);
            }
        }
    uint8_t narrow[BAND];
    for (size_t c = 0; c < BAND; c++)
        narrow[c] = (uint8_t)chosen[c];
    memcpy(y, best, sizeof best);
    memcpy(choice, narrow, sizeof narrow);
}

/* 0 + dy turns -0 into +0, as add_chosen does. */
static inline SH_INLINE void spread_band(const pooling *g, const float *restrict dy,
                                         const uint8_t *restrict choice, float *restrict dx,
                                         size_t R, size_t S)
{
    float held[BAND];
    uint32_t chosen[BAND];
    for (size_t c = 0; c < BAND; c++) {
        held[c] = 0.0f + dy[c];
        chosen[c] = choice[c];
    }
    for (size_t r = 0; r < R; r++)
        for (size_t s = 0; s < S; s++) {
            const uint32_t tap = (uint32_t)(r * S + s);
            float given[BAND];
            for (size_t c = 0; c < BAND; c++)
                given[c] = select_float(0u - (uint32_t)(chosen[c] == tap), held[c], 0.0f);
            memcpy(dx + tap_offset(g, r, s), given, sizeof given);
        }
}

static inline SH_INLINE size_t band_at(const pooling *g, size_t c)
{
    return c + BAND <= g->channels ? c : g->channels - BAND;
}

static inline SH_INLINE bool is_whole(const pooling *g, int axis, taps seen)
{
    return seen.first == 0 && seen.end == g->a.kernel[axis];
}

static inline SH_INLINE bool fits_registers(const pooling *g)
{
    return g->channels >= BAND && g->a.kernel[0] * g->a.kernel[1] <= MAX_TAPS;
}

static inline SH_INLINE void pool_whole(const pooling *g, const float *x, float *y, uint8_t *choice)
{
    const bool is_small = g->a.kernel[0] == 2 && g->a.kernel[1] == 2;
    for (size_t c = 0; c < g->channels; c += BAND) {
        const size_t at = band_at(g, c);
        if (is_small)
            pool_band(g, x + at, y + at, choice + at, 2, 2);
        else
            pool_band(g, x + at, y + at, choice + at, g->a.kernel[0], g->a.kernel[1]);
    }
}

static inline SH_INLINE void spread_whole(const pooling *g, const float *dy, const uint8_t *choice,
                                          float *dx)
{
    const bool is_small = g->a.kernel[0] == 2 && g->a.kernel[1] == 2;
    for (size_t c = 0; c < g->channels; c += BAND) {
        const size_t at = band_at(g, c);
        if (is_small)
            spread_band(g, dy + at, choice + at, dx + at, 2, 2);
        else
            spread_band(g, dy + at, choice + at, dx + at, g->a.kernel[0], g->a.kernel[1]);
    }
}

/* ---- all windows ----------------------------------------------------------------------------- */

static inline SH_INLINE void forward_body(const pooling *g, const float *x, float *y,
                                          uint8_t *choice)
{
    const size_t image = g->in[0] * g->in[1] * g->channels;
    const bool fits = fits_registers(g);
    for (size_t n = 0; n < g->images; n++, x += image)
        for (size_t p = 0; p < g->out[0]; p++) {
            const taps rows = taps_of(g, 0, p);
            for (size_t q = 0; q < g->out[1]; q++, y += g->channels, choice += g->channels) {
                const taps columns = taps_of(g, 1, q);
                if (fits && is_whole(g, 0, rows) && is_whole(g, 1, columns))
                    pool_whole(g, x + (rows.origin * g->in[1] + columns.origin) * g->channels, y,
                               choice);
                else
                    pool_window(g, x, rows, columns, y, choice);
            }
        }
}

/* Whether each element of x is in at most one window; `tiles`: in exactly one. */
static bool are_apart(const pooling *g)
{
    return g->a.kernel[0] <= g->a.stride[0] && g->a.kernel[1] <= g->a.stride[1];
}

static bool tiles(const pooling *g)
{
    for (int i = 0; i < 2; i++)
        if (g->a.kernel[i] != g->a.stride[i] || g->a.padding[i] != 0 ||
            g->out[i] * g->a.stride[i] != g->in[i])
            return false;
    return true;
}

static inline SH_INLINE void backward_body(const pooling *g, const float *dy, const uint8_t *choice,
                                           float *dx)
{
    const size_t image = g->in[0] * g->in[1] * g->channels;
    const bool fits = fits_registers(g) && are_apart(g);
    if (!fits || !tiles(g))
        memset(dx, 0, g->images * image * sizeof *dx);
    for (size_t n = 0; n < g->images; n++, dx += image)
        for (size_t p = 0; p < g->out[0]; p++) {
            const taps rows = taps_of(g, 0, p);
            for (size_t q = 0; q < g->out[1]; q++, dy += g->channels, choice += g->channels) {
                const taps columns = taps_of(g, 1, q);
                if (fits && is_whole(g, 0, rows) && is_whole(g, 1, columns))
                    spread_whole(g, dy, choice,
                                 dx + (rows.origin * g->in[1] + columns.origin) * g->channels);
                else
                    spread_window(g, dx, rows, columns, dy, choice);
            }
        }
}

SH_VARIANTS(forward, (const pooling *g, const float *x, float *y, uint8_t *choice),
            (g, x, y, choice));
SH_VARIANTS(backward, (const pooling *g, const float *dy, const uint8_t *choice, float *dx),
            (g, dy, choice, dx));

static pooling measure(const sh_attributes *a, const sh_type *x, const sh_type *y)
{
    const size_t *in = x->shape.dim, *out = y->shape.dim;
    return (pooling){
        .a = *a, .images = in[0], .channels = in[1], .in = {in[2], in[3]}, .out = {out[2], out[3]}};
}

static void pool(const sh_call *call)
{
    const pooling g = measure(call->attributes, &call->in_type[0], &call->out_type[0]);
    forward_variants[call->kernels->variant](&g, call->in[0], call->out[0], call->out[1]);
}

const sh_lowering sh_lower_max_pool = {.run = pool, .layout = SH_LAYOUT_CHANNELS_LAST};

static void spread(const sh_call *call)
{
    const pooling g = measure(call->attributes, &call->out_type[0], &call->in_type[0]);
    backward_variants[call->kernels->variant](&g, call->in[0], call->in[1], call->out[0]);
}

const sh_lowering sh_lower_max_pool_grad = {.run = spread, .layout = SH_LAYOUT_CHANNELS_LAST};
