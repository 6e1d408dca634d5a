/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legend: w weight, G gradient, lr learning rate, wd weight decay, mu momentum, b1 and b2 the
 * betas, n the step's number from 1. All arrays have `count` elements. The definitions are
 * PyTorch's (torch.optim, version 1.13, without amsgrad, dampening and centering):
 *
 *     all but adamw   g = G + wd * w
 *     sgd             v = mu * v + g;   w = w - lr * v                  (first v: g, as v is 0)
 *       --nesterov    w = w - lr * (g + mu * v)
 *     adam            m = b1 * m + (1 - b1) * g;   s = b2 * s + (1 - b2) * g^2
 *                     w = w - lr / (1 - b1^n) * m / (sqrt(s / (1 - b2^n)) + eps)
 *     adamw           w = w - lr * wd * w, then adam's with g = G
 *     rmsprop         s = alpha * s + (1 - alpha) * g^2;   d = g / (sqrt(s) + eps)
 *                     w = w - lr * d, or with momentum b = mu * b + d;   w = w - lr * b
 *
 * Without momentum, sgd has no v and rmsprop no b.
 *
 * Each operation, division and square root too, rounds once, in the order written; the build
 * forbids contraction. Memory bandwidth is the limit, so AVX-512 has no loops of its own.
 */
#define SH_VARIANT_AVX512 "avx2"
#include "train/optimizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/real.h"

/* Gradient i is gradient[i] * scale. */
#define BODY_PARAMETERS                                                                            \
    const sh_optimizer_settings *settings, const sh_optimizer_step *step, float *restrict w,       \
        float *const *slots, const float *restrict gradient, float scale, size_t count
#define BODY_ARGUMENTS settings, step, w, slots, gradient, scale, count

/* Integers that are converted at a time. */
#define BLOCK 512

static inline SH_INLINE void sgd_body(BODY_PARAMETERS, bool momentum, bool nesterov)
{
    const float lr = step->lr, mu = settings->momentum, wd = settings->weight_decay;
    float *restrict v = momentum ? slots[0] : NULL;
    for (size_t i = 0; i < count; i++) {
        const float g = gradient[i] * scale + wd * w[i];
        if (momentum)
            v[i] = mu * v[i] + g;
        w[i] -= lr * (nesterov ? g + mu * v[i] : momentum ? v[i] : g);
    }
}

/* Weight decay is part of the gradient or, if `decoupled`, applied to the weight. */
static inline SH_INLINE void adam_body(BODY_PARAMETERS, bool decoupled)
{
    const float wd = settings->weight_decay, keep = step->keep, eps = settings->epsilon;
    const float b1 = settings->beta1, c1 = 1 - b1, b2 = settings->beta2, c2 = 1 - b2;
    const float pace = step->pace, unbias = step->unbias;
    float *restrict m = slots[0], *restrict s = slots[1];
    for (size_t i = 0; i < count; i++) {
        const float own = gradient[i] * scale;
        const float g = decoupled ? own : own + wd * w[i];
        m[i] = b1 * m[i] + c1 * g;
        s[i] = b2 * s[i] + c2 * (g * g);
        w[i] = (decoupled ? keep * w[i] : w[i]) - pace * m[i] / (sqrtf(s[i]) * unbias + eps);
    }
}

static inline SH_INLINE void rmsprop_body(BODY_PARAMETERS, bool momentum)
{
    const float lr = step->lr, wd = settings->weight_decay, eps = settings->epsilon;
    const float alpha = settings->alpha, rest = 1 - alpha, mu = settings->momentum;
    float *restrict s = slots[0], *restrict b = momentum ? slots[1] : NULL;
    for (size_t i = 0; i < count; i++) {
        const float g = gradient[i] * scale + wd * w[i];
        s[i] = alpha * s[i] + rest * (g * g);
        const float d = g / (sqrtf(s[i]) + eps);
        if (momentum)
            b[i] = mu * b[i] + d;
        w[i] -= lr * (momentum ? b[i] : d);
    }
}

/* Constant arguments give each case its own loop without branches. */
static inline SH_INLINE void update_body(const sh_optimizer *optimizer, BODY_PARAMETERS)
{
    const bool momentum = settings->momentum > 0;
    switch (optimizer->rule) {
    case SH_RULE_ADAM:
        adam_body(BODY_ARGUMENTS, false);
        break;
    case SH_RULE_ADAMW:
        adam_body(BODY_ARGUMENTS, true);
        break;
    case SH_RULE_RMSPROP:
        if (momentum)
            rmsprop_body(BODY_ARGUMENTS, true);
        else
            rmsprop_body(BODY_ARGUMENTS, false);
        break;
    case SH_RULE_SGD:
        if (settings->nesterov)
            sgd_body(BODY_ARGUMENTS, true, true);
        else if (momentum)
            sgd_body(BODY_ARGUMENTS, true, false);
        else
            sgd_body(BODY_ARGUMENTS, false, false);
        break;
    }
}

/* Returns the larger of `top` and the largest |sum[i]|, as int32, which every instruction set can
 * compare. A proven sum is never INT32_MIN. */
static inline SH_INLINE int32_t convert(float *restrict gradient, const int32_t *restrict sum,
                                        size_t count, int32_t top)
{
    for (size_t i = 0; i < count; i++) {
        const int32_t integer = sum[i], sign = integer >> 31;
        const int32_t magnitude = (int32_t)((uint32_t)(integer ^ sign) - (uint32_t)sign);
        top = magnitude > top ? magnitude : top;
        gradient[i] = (float)integer;
    }
    return top;
}

#define UPDATE_VARIANT(name, target)                                                               \
    static __attribute__((noinline))                                                               \
    target void update_##name(const sh_optimizer *optimizer, BODY_PARAMETERS)                      \
    {                                                                                              \
        update_body(optimizer, BODY_ARGUMENTS);                                                    \
    }                                                                                              \
    static target void sums_##name(                                                                \
        const sh_optimizer *optimizer, const sh_optimizer_settings *settings,                      \
        const sh_optimizer_step *step, float *weights, float *const *slots, const int32_t *sum,    \
        float scale, size_t count, uint32_t *max_abs)                                              \
    {                                                                                              \
        float gradient[BLOCK], *at[SH_OPTIMIZER_MAX_SLOTS] = {NULL};                               \
        int32_t top = 0;                                                                           \
        for (size_t first = 0; first < count; first += BLOCK) {                                    \
            const size_t now = count - first < BLOCK ? count - first : BLOCK;                      \
            for (size_t s = 0; s < sh_optimizer_slots(optimizer, settings); s++)                   \
                at[s] = slots[s] + first;                                                          \
            top = convert(gradient, sum + first, now, top);                                        \
            update_##name(optimizer, settings, step, weights + first, at, gradient,                \
                          scale * step->clip, now);                                                \
        }                                                                                          \
        *max_abs = (uint32_t)top > *max_abs ? (uint32_t)top : *max_abs;                            \
    }                                                                                              \
    static target void values_##name(const sh_optimizer *optimizer,                                \
                                     const sh_optimizer_settings *settings,                        \
                                     const sh_optimizer_step *step, float *weights,                \
                                     float *const *slots, const float *gradient, size_t count)     \
    {                                                                                              \
        update_##name(optimizer, settings, step, weights, slots, gradient, step->clip, count);     \
    }
SH_VARIANT_MAP(UPDATE_VARIANT)

sh_optimizer_kernel *const sh_optimizer_sums[SH_VARIANT_COUNT] = {SH_VARIANT_TABLE(sums)};
sh_optimizer_value_kernel *const sh_optimizer_values[SH_VARIANT_COUNT] = {SH_VARIANT_TABLE(values)};

static const sh_optimizer optimizers[] = {
    {"sgd", SH_RULE_SGD, .slots = 0, .momentum_slots = 1},
    {"adam", SH_RULE_ADAM, .slots = 2},
    {"adamw", SH_RULE_ADAMW, .slots = 2},
    {"rmsprop", SH_RULE_RMSPROP, .slots = 1, .momentum_slots = 1},
};

sh_status sh_optimizer_find(const sh_optimizer **optimizer, const char *name)
{
    char names[256] = "";
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        const size_t used = strlen(names);
        if (strcmp(optimizers[i].name, name) == 0) {
            *optimizer = &optimizers[i];
            return SH_OK;
        }
        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", optimizers[i].name);
    }
    return sh_fail(SH_NOT_FOUND, "--optimizer %s: no such optimizer; known are: %s", name, names);
}

sh_status sh_optimizer_check(const sh_optimizer *optimizer, const sh_optimizer_settings *settings)
{
    const bool sgd = optimizer->rule == SH_RULE_SGD;
    if (settings->nesterov && !sgd)
        return sh_fail(SH_INVALID, "--nesterov: is only for --optimizer sgd");
    if (settings->nesterov && settings->momentum == 0)
        return sh_fail(SH_INVALID, "--nesterov: needs momentum; give a --momentum above 0");
    if (!sgd && settings->epsilon <= 0)
        return sh_fail(
            SH_INVALID,
            "--epsilon %g: must be above 0, to keep updates finite where gradients are 0",
            (double)settings->epsilon);
    return SH_OK;
}

sh_optimizer_settings sh_optimizer_settings_of(const sh_job *job)
{
    return (sh_optimizer_settings){
        .lr = job->lr,
        .momentum = job->momentum,
        .weight_decay = job->weight_decay,
        .nesterov = job->nesterov != 0,
        .beta1 = job->beta1,
        .beta2 = job->beta2,
        .epsilon = job->epsilon,
        .alpha = job->alpha,
    };
}

sh_optimizer_step sh_optimizer_step_of(const sh_optimizer_settings *settings, double rate,
                                       double clip, uint64_t number)
{
    const double first = 1 - sh_real_power((double)settings->beta1, number);
    const double second = 1 - sh_real_power((double)settings->beta2, number);
    return (sh_optimizer_step){
        .lr = (float)rate,
        .clip = (float)clip,
        .pace = (float)(rate / first),
        .unbias = (float)(1 / sqrt(second)),
        .keep = (float)(1 - rate * (double)settings->weight_decay),
    };
}
