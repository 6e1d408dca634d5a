/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A triangle has weights for the points of the transform within it; one array holds all of them.
 * All sums go from low to high frequencies.
 */
#include "data/sound/spectrogram.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "data/sound/fourier.h"

#define POINTS_LEAST 512
#define LOWEST 20.0 /* Hz */
#define SCALE 1127.0
#define BEND 700.0
#define FLOOR 1e-12    /* replaces smaller powers */
#define SILENT (-11.5) /* log10 of the highest power of a silent recording */
#define RANGE 6.0      /* powers of ten below the loudest */
#define LOG10_E 0x1.bcb7b1526e50ep-2

typedef struct triangle {
    size_t first, count; /* points of the transform */
    size_t weights;      /* index of its first weight */
} triangle;

struct sh_spectrogram {
    size_t frame, hop, points, mels;
    sh_fourier *fourier;
    double *window;      /* [frame], scaled so that a full-scale sine has power 1 */
    triangle *triangles; /* [mels] */
    double *weights;
};

size_t sh_spectrogram_samples(uint32_t rate, size_t frames)
{
    return sh_spectrogram_frame(rate) + (frames - 1) * sh_spectrogram_hop(rate);
}

uint64_t sh_spectrogram_frames(uint32_t rate, uint64_t samples)
{
    const uint64_t frame = sh_spectrogram_frame(rate), hop = sh_spectrogram_hop(rate);
    return samples <= frame || hop == 0 ? 1 : 1 + (samples - frame) / hop;
}

size_t sh_spectrogram_points(uint32_t rate)
{
    size_t points = POINTS_LEAST;
    while (points < sh_spectrogram_frame(rate))
        points *= 2;
    return points;
}

static double to_mel(double hertz)
{
    return SCALE * sh_real_log(1 + hertz / BEND);
}

static double to_hertz(double mel)
{
    return BEND * (sh_real_exp(mel / SCALE) - 1);
}

static double weigh(double hertz, double low, double peak, double high)
{
    const double rising = (hertz - low) / (peak - low), falling = (high - hertz) / (high - peak);
    const double least = rising < falling ? rising : falling;
    return least > 0 ? least : 0;
}

static void make_window(sh_spectrogram *s)
{
    double sum = 0;
    for (size_t n = 0; n < s->frame; n++) {
        s->window[n] = (1 - sh_real_cos_pi(2 * (double)n / (double)s->frame)) / 2;
        sum += s->window[n];
    }
    for (size_t n = 0; n < s->frame; n++)
        s->window[n] *= 2 / sum;
}

/* A point is in at most two triangles, so 2 * (points / 2 + 1) weights are enough. */
static void make_triangles(sh_spectrogram *s, uint32_t rate)
{
    const double low = to_mel(LOWEST), high = to_mel((double)rate / 2);
    const double step = (high - low) / (double)(s->mels + 1);
    size_t used = 0;
    for (size_t m = 0; m < s->mels; m++) {
        triangle *t = &s->triangles[m];
        const double from = to_hertz(low + step * (double)m);
        const double peak = to_hertz(low + step * (double)(m + 1));
        const double to = to_hertz(low + step * (double)(m + 2));
        t->weights = used;
        for (size_t k = 0; k <= s->points / 2; k++) {
            const double weight =
                weigh((double)k * (double)rate / (double)s->points, from, peak, to);
            if (weight == 0)
                continue;
            if (t->count == 0)
                t->first = k;
            t->count++;
            s->weights[used++] = weight;
        }
    }
    assert(used <= s->points + 2);
}

sh_status sh_spectrogram_new(sh_spectrogram **spectrogram, uint32_t rate, size_t mels)
{
    assert(rate >= SH_SPECTROGRAM_RATE_LEAST && rate <= SH_SPECTROGRAM_RATE_MOST);
    assert(mels > 0 && mels <= SH_SPECTROGRAM_MELS_MOST);
    sh_spectrogram *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a spectrogram");
    fresh->frame = sh_spectrogram_frame(rate);
    fresh->hop = sh_spectrogram_hop(rate);
    fresh->points = sh_spectrogram_points(rate);
    fresh->mels = mels;
    fresh->window = calloc(fresh->frame, sizeof *fresh->window);
    fresh->triangles = calloc(mels, sizeof *fresh->triangles);
    fresh->weights = calloc(fresh->points + 2, sizeof *fresh->weights);
    sh_status status = SH_OK;
    if (fresh->window == NULL || fresh->triangles == NULL || fresh->weights == NULL)
        status = sh_fail_memory(fresh->points * sizeof(double), "a spectrogram");
    else
        status = sh_fourier_new(&fresh->fourier, fresh->points);
    if (status != SH_OK) {
        sh_spectrogram_free(fresh);
        return status;
    }
    make_window(fresh);
    make_triangles(fresh, rate);
    *spectrogram = fresh;
    return SH_OK;
}

/* Scales logarithms of powers, relative to the loudest, to -2 .. 2; for silence, all are -2. */
static void scale(float *values, size_t count)
{
    double peak = sh_real_log(FLOOR) * LOG10_E;
    for (size_t i = 0; i < count; i++)
        peak = (double)values[i] > peak ? (double)values[i] : peak;
    const bool silent = peak <= SILENT;
    for (size_t i = 0; i < count; i++) {
        const double below = silent ? -RANGE : (double)values[i] - peak;
        values[i] = (float)((below > -RANGE ? below : -RANGE) * 4 / RANGE + 2);
    }
}

/* Stores logarithms of powers. `real` and `imaginary` are scratch space. */
static void run_frame(const sh_spectrogram *s, float *values, const float *sound, double *real,
                      double *imaginary)
{
    for (size_t n = 0; n < s->frame; n++)
        real[n] = s->window[n] * (double)sound[n];
    memset(real + s->frame, 0, (s->points - s->frame) * sizeof *real);
    memset(imaginary, 0, s->points * sizeof *imaginary);
    sh_fourier_run(s->fourier, real, imaginary);
    for (size_t k = 0; k <= s->points / 2; k++)
        real[k] = real[k] * real[k] + imaginary[k] * imaginary[k];
    for (size_t m = 0; m < s->mels; m++) {
        const triangle *t = &s->triangles[m];
        const double *weights = s->weights + t->weights;
        double power = 0;
        for (size_t i = 0; i < t->count; i++)
            power += weights[i] * real[t->first + i];
        values[m] = (float)(sh_real_log(power > FLOOR ? power : FLOOR) * LOG10_E);
    }
}

sh_status sh_spectrogram_run(const sh_spectrogram *spectrogram, float *values, const float *sound,
                             size_t frames)
{
    const size_t points = spectrogram->points;
    double *room = calloc(2 * points, sizeof *room);
    if (room == NULL)
        return sh_fail_memory(2 * points * sizeof *room, "a spectrogram");
    for (size_t i = 0; i < frames; i++)
        run_frame(spectrogram, values + i * spectrogram->mels, sound + i * spectrogram->hop, room,
                  room + points);
    scale(values, frames * spectrogram->mels);
    free(room);
    return SH_OK;
}

void sh_spectrogram_free(sh_spectrogram *spectrogram)
{
    if (spectrogram == NULL)
        return;
    sh_fourier_free(spectrogram->fourier);
    free(spectrogram->window);
    free(spectrogram->triangles);
    free(spectrogram->weights);
    free(spectrogram);
}
