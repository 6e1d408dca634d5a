/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With the rates in lowest terms, `down` inputs take as long as `up` outputs. Output j is at the
 * input position j * down / up: an integer and a *phase*, one of `up` fractions, each with its own
 * weights. The weights are computed once if they are few, as for the usual rates, otherwise for
 * each output.
 */
#include "data/sound/resampler.h"

#include <assert.h>
#include <stdlib.h>

#include "base/real.h"

#define CROSSINGS 32 /* of the sinc on each side */
#define PASS 0.914   /* cutoff of the sinc, relative to half the lower rate */
#define PI 0x1.921fb54442d18p+1
#define TABLE_MOST 131072 /* stored weights: 1 MB */

struct sh_resampler {
    uint32_t up, down;
    size_t reach;    /* inputs on a side of an output */
    double narrower; /* zero crossings of the sinc per input */
    double *weights; /* [up][2 * reach]; owned; NULL: computed for each output */
};

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Unscaled; `time` is an input's distance from the output, in inputs. */
static double weigh(const sh_resampler *r, double time)
{
    const double x = time * r->narrower, place = time / (double)r->reach;
    if (place <= -1 || place >= 1)
        return 0;
    const double sinc = x == 0 ? 1 : sh_real_cos_pi(x - 0.5) / (PI * x);
    return sinc * (0.42 + 0.5 * sh_real_cos_pi(place) + 0.08 * sh_real_cos_pi(2 * place));
}

/* Distance of weight `tap` from the output, in inputs. */
static double time_of(const sh_resampler *r, uint32_t phase, size_t tap)
{
    return (double)tap - (double)(r->reach - 1) - (double)phase / r->up;
}

/* Scales the weights to add up to 1, so that a constant input is preserved. */
static void weigh_phase(sh_resampler *r, uint32_t phase)
{
    double *weights = r->weights + phase * 2 * r->reach, sum = 0;
    for (size_t i = 0; i < 2 * r->reach; i++) {
        weights[i] = weigh(r, time_of(r, phase, i));
        sum += weights[i];
    }
    for (size_t i = 0; i < 2 * r->reach; i++)
        weights[i] /= sum;
}

sh_status sh_resampler_new(sh_resampler **resampler, uint32_t from, uint32_t to)
{
    assert(from > 0 && from <= SH_RESAMPLER_RATE_MOST && to > 0 && to <= SH_RESAMPLER_RATE_MOST);
    const uint32_t divisor = common_divisor(from, to);
    sh_resampler *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a resampler");
    fresh->up = to / divisor;
    fresh->down = from / divisor;
    fresh->narrower = PASS * (from > to ? (double)to / from : 1);
    fresh->reach = (size_t)(CROSSINGS / fresh->narrower) + 1;
    const uint64_t weights = (uint64_t)fresh->reach * 2 * fresh->up;
    if (weights <= TABLE_MOST) {
        fresh->weights = calloc((size_t)weights, sizeof *fresh->weights);
        if (fresh->weights == NULL) {
            free(fresh);
            return sh_fail_memory((size_t)weights * sizeof(double), "a resampler");
        }
        for (uint32_t phase = 0; phase < fresh->up; phase++)
            weigh_phase(fresh, phase);
    }
    *resampler = fresh;
    return SH_OK;
}

uint64_t sh_resampler_outputs(uint32_t from, uint32_t to, uint64_t inputs)
{
    return (inputs * to + from - 1) / from;
}

static int64_t first_input(const sh_resampler *r, uint64_t output, uint32_t *phase)
{
    const uint64_t place = output * r->down;
    *phase = (uint32_t)(place % r->up);
    return (int64_t)(place / r->up) - (int64_t)(r->reach - 1);
}

void sh_resampler_needs(const sh_resampler *resampler, uint64_t first, size_t count, int64_t *from,
                        size_t *inputs)
{
    uint32_t phase;
    assert(count > 0);
    *from = first_input(resampler, first, &phase);
    const int64_t last = first_input(resampler, first + count - 1, &phase);
    *inputs = (size_t)(last - *from) + 2 * resampler->reach;
}

void sh_resampler_run(const sh_resampler *resampler, float *output, uint64_t first, size_t count,
                      const float *input, int64_t from, size_t inputs)
{
    const int64_t end = from + (int64_t)inputs;
    const size_t taps = 2 * resampler->reach;
    for (size_t j = 0; j < count; j++) {
        uint32_t phase;
        const int64_t begin = first_input(resampler, first + j, &phase);
        const size_t low = begin < from ? (size_t)(from - begin) : 0;
        const size_t high = begin >= end                  ? 0
                            : end - begin < (int64_t)taps ? (size_t)(end - begin)
                                                          : taps;
        double sum = 0, weights = 0;
        if (resampler->weights != NULL) {
            const double *weight = resampler->weights + phase * taps;
            for (size_t i = low; i < high; i++)
                sum += weight[i] * (double)input[begin + (int64_t)i - from];
            output[j] = (float)sum;
            continue;
        }
        for (size_t i = 0; i < taps; i++) {
            const double weight = weigh(resampler, time_of(resampler, phase, i));
            weights += weight;
            if (i >= low && i < high)
                sum += weight * (double)input[begin + (int64_t)i - from];
        }
        output[j] = weights > 0 ? (float)(sum / weights) : 0;
    }
}

void sh_resampler_free(sh_resampler *resampler)
{
    if (resampler == NULL)
        return;
    free(resampler->weights);
    free(resampler);
}
