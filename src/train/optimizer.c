/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legend: w weight, G gradient, lr learning rate, wd weight decay, mu momentum, b1 and b2 the
 * betas; n the step's number from 1; all arrays have `count` elements. The definitions are
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
 * Without momentum, sgd and rmsprop keep no v and b, and have kernels of their own. What is the
 * same for all weights of a step (powers of the betas) comes in the step's numbers.
 *
 * Each operation rounds once, in the order written; the build forbids contraction. Division and
 * square root are IEEE operations too, in scalar and in vector form.
 */
#include "train/optimizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/real.h"

/* What a body is given; `restrict` pointers travel beside it. The gradient lies in `sum`, or in
 * `values`, whichever is asked for when the body is compiled. */
#define BODY_ARGUMENTS                                                                             \
    const sh_optimizer_settings *settings, const sh_optimizer_step *step, float *restrict w,       \
        float *const *slots, const int32_t *restrict sum, const float *restrict values,            \
        float scale, size_t count, bool summed

/* Gradient i. Out of the sum, it keeps the largest |S|: in int32, which every instruction set can
 * compare. A proven sum is never INT32_MIN. */
static inline SH_INLINE float gradient_of(const int32_t *restrict sum, const float *restrict values,
                                          size_t i, float scale, bool summed, int32_t *top)
{
    if (!summed)
        return values[i] * scale;
    const int32_t integer = sum[i], sign = integer >> 31;
    const int32_t magnitude = (int32_t)((uint32_t)(integer ^ sign) - (uint32_t)sign);
    *top = magnitude > *top ? magnitude : *top;
    return (float)integer * scale;
}

static inline SH_INLINE int32_t sgd_body(BODY_ARGUMENTS)
{
    (void)slots;
    const float lr = step->lr, wd = settings->weight_decay;
    int32_t top = 0;
    for (size_t i = 0; i < count; i++) {
        const float g = gradient_of(sum, values, i, scale, summed, &top) + wd * w[i];
        w[i] -= lr * g;
    }
    return top;
}

static inline SH_INLINE int32_t momentum_body(BODY_ARGUMENTS)
{
    const float lr = step->lr, mu = settings->momentum, wd = settings->weight_decay;
    float *restrict v = slots[0];
    int32_t top = 0;
    for (size_t i = 0; i < count; i++) {
        const float g = gradient_of(sum, values, i, scale, summed, &top) + wd * w[i];
        v[i] = mu * v[i] + g;
        w[i] -= lr * v[i];
    }
    return top;
}

static inline SH_INLINE int32_t nesterov_body(BODY_ARGUMENTS)
{
    const float lr = step->lr, mu = settings->momentum, wd = settings->weight_decay;
    float *restrict v = slots[0];
    int32_t top = 0;
    for (size_t i = 0; i < count; i++) {
        const float g = gradient_of(sum, values, i, scale, summed, &top) + wd * w[i];
        v[i] = mu * v[i] + g;
        w[i] -= lr * (g + mu * v[i]);
    }
    return top;
}

/* Decay is a part of the gradient, or `decoupled`: taken from the weight itself. */
static inline SH_INLINE int32_t moments_body(BODY_ARGUMENTS, bool decoupled)
{
    const float wd = settings->weight_decay, keep = step->keep, eps = settings->epsilon;
    const float b1 = settings->beta1, c1 = 1 - b1, b2 = settings->beta2, c2 = 1 - b2;
    const float pace = step->pace, unbias = step->unbias;
    float *restrict m = slots[0], *restrict s = slots[1];
    int32_t top = 0;
    for (size_t i = 0; i < count; i++) {
        const float gradient = gradient_of(sum, values, i, scale, summed, &top);
        const float g = decoupled ? gradient : gradient + wd * w[i];
        m[i] = b1 * m[i] + c1 * g;
        s[i] = b2 * s[i] + c2 * (g * g);
        w[i] = (decoupled ? keep * w[i] : w[i]) - pace * m[i] / (sqrtf(s[i]) * unbias + eps);
    }
    return top;
}

static inline SH_INLINE int32_t adam_body(BODY_ARGUMENTS)
{
    return moments_body(settings, step, w, slots, sum, values, scale, count, summed, false);
}

static inline SH_INLINE int32_t adamw_body(BODY_ARGUMENTS)
{
    return moments_body(settings, step, w, slots, sum, values, scale, count, summed, true);
}

static inline SH_INLINE int32_t rmsprop_body(BODY_ARGUMENTS)
{
    const float lr = step->lr, wd = settings->weight_decay, eps = settings->epsilon;
    const float alpha = settings->alpha, rest = 1 - alpha;
    float *restrict s = slots[0];
    int32_t top = 0;
    for (size_t i = 0; i < count; i++) {
        const float g = gradient_of(sum, values, i, scale, summed, &top) + wd * w[i];
        s[i] = alpha * s[i] + rest * (g * g);
        w[i] -= lr * (g / (sqrtf(s[i]) + eps));
    }
    return top;
}

static inline SH_INLINE int32_t rmsprop_momentum_body(BODY_ARGUMENTS)
{
    const float lr = step->lr, wd = settings->weight_decay, eps = settings->epsilon;
    const float alpha = settings->alpha, rest = 1 - alpha, mu = settings->momentum;
    float *restrict s = slots[0], *restrict b = slots[1];
    int32_t top = 0;
    for (size_t i = 0; i < count; i++) {
        const float g = gradient_of(sum, values, i, scale, summed, &top) + wd * w[i];
        s[i] = alpha * s[i] + rest * (g * g);
        b[i] = mu * b[i] + g / (sqrtf(s[i]) + eps);
        w[i] -= lr * b[i];
    }
    return top;
}

/* Every body once. */
#define BODY_MAP(X) X(sgd) X(momentum) X(nesterov) X(adam) X(adamw) X(rmsprop) X(rmsprop_momentum)

/* Defines <body>_<variant> for sums, and <body>_values_<variant>. */
#define VARIANT_OF(body, name, target)                                                             \
    static target void body##_##name(                                                              \
        const sh_optimizer_settings *settings, const sh_optimizer_step *step, float *weights,      \
        float *const *slots, const int32_t *sum, float scale, size_t count, uint32_t *max_abs)     \
    {                                                                                              \
        const uint32_t top =                                                                       \
            (uint32_t)body##_body(settings, step, weights, slots, sum, NULL, scale, count, true);  \
        *max_abs = top > *max_abs ? top : *max_abs;                                                \
    }                                                                                              \
    static target void body##_values_##name(                                                       \
        const sh_optimizer_settings *settings, const sh_optimizer_step *step, float *weights,      \
        float *const *slots, const float *gradient, size_t count)                                  \
    {                                                                                              \
        (void)body##_body(settings, step, weights, slots, NULL, gradient, step->clip, count,       \
                          false);                                                                  \
    }
#define SGD_VARIANT(name, target) VARIANT_OF(sgd, name, target)
#define MOMENTUM_VARIANT(name, target) VARIANT_OF(momentum, name, target)
#define NESTEROV_VARIANT(name, target) VARIANT_OF(nesterov, name, target)
#define ADAM_VARIANT(name, target) VARIANT_OF(adam, name, target)
#define ADAMW_VARIANT(name, target) VARIANT_OF(adamw, name, target)
#define RMSPROP_VARIANT(name, target) VARIANT_OF(rmsprop, name, target)
#define RMSPROP_MOMENTUM_VARIANT(name, target) VARIANT_OF(rmsprop_momentum, name, target)
SH_VARIANT_MAP(SGD_VARIANT)
SH_VARIANT_MAP(MOMENTUM_VARIANT)
SH_VARIANT_MAP(NESTEROV_VARIANT)
SH_VARIANT_MAP(ADAM_VARIANT)
SH_VARIANT_MAP(ADAMW_VARIANT)
SH_VARIANT_MAP(RMSPROP_VARIANT)
SH_VARIANT_MAP(RMSPROP_MOMENTUM_VARIANT)

/* The tables <body>_kernels. */
#define TABLE_OF(body)                                                                             \
    static const sh_optimizer_kernels body##_kernels = {{SH_VARIANT_TABLE(body)},                  \
                                                        {SH_VARIANT_TABLE(body##_values)}};
BODY_MAP(TABLE_OF)

static sh_status check_positive(const char *option, float value)
{
    return isfinite(value) && value >= 0
               ? SH_OK
               : sh_fail(SH_INVALID, "%s %g: must be a number of at least 0", option,
                         (double)value);
}

static sh_status check_fraction(const char *option, float value)
{
    return value >= 0 && value < 1 ? SH_OK
                                   : sh_fail(SH_INVALID, "%s %g: must be at least 0 and below 1",
                                             option, (double)value);
}

static sh_status check_all(const sh_optimizer_settings *settings)
{
    SH_TRY(check_positive("--lr", settings->lr));
    SH_TRY(check_fraction("--momentum", settings->momentum));
    return check_positive("--weight-decay", settings->weight_decay);
}

static sh_status sgd_check(const sh_optimizer_settings *settings)
{
    SH_TRY(check_all(settings));
    if (settings->nesterov && settings->momentum == 0)
        return sh_fail(SH_INVALID, "--nesterov: it looks ahead along the momentum; give a "
                                   "--momentum above 0");
    return SH_OK;
}

static sh_status check_adaptive(const sh_optimizer_settings *settings)
{
    SH_TRY(check_all(settings));
    if (settings->nesterov)
        return sh_fail(SH_INVALID, "--nesterov: only --optimizer sgd has it");
    if (!(isfinite(settings->epsilon) && settings->epsilon > 0))
        return sh_fail(SH_INVALID,
                       "--epsilon %g: must be above 0, it keeps updates finite where gradients "
                       "are 0",
                       (double)settings->epsilon);
    return SH_OK;
}

static sh_status adam_check(const sh_optimizer_settings *settings)
{
    SH_TRY(check_adaptive(settings));
    SH_TRY(check_fraction("--beta1", settings->beta1));
    return check_fraction("--beta2", settings->beta2);
}

static sh_status rmsprop_check(const sh_optimizer_settings *settings)
{
    SH_TRY(check_adaptive(settings));
    return check_fraction("--alpha", settings->alpha);
}

static uint32_t sgd_slots(const sh_optimizer_settings *settings)
{
    return settings->momentum > 0 ? 1 : 0;
}

static uint32_t adam_slots(const sh_optimizer_settings *settings)
{
    (void)settings;
    return 2;
}

static uint32_t rmsprop_slots(const sh_optimizer_settings *settings)
{
    return settings->momentum > 0 ? 2 : 1;
}

static const sh_optimizer_kernels *sgd_kernels_for(const sh_optimizer_settings *settings)
{
    if (settings->nesterov)
        return &nesterov_kernels;
    return settings->momentum > 0 ? &momentum_kernels : &sgd_kernels;
}

static const sh_optimizer_kernels *adam_kernels_for(const sh_optimizer_settings *settings)
{
    (void)settings;
    return &adam_kernels;
}

static const sh_optimizer_kernels *adamw_kernels_for(const sh_optimizer_settings *settings)
{
    (void)settings;
    return &adamw_kernels;
}

static const sh_optimizer_kernels *rmsprop_kernels_for(const sh_optimizer_settings *settings)
{
    return settings->momentum > 0 ? &rmsprop_momentum_kernels : &rmsprop_kernels;
}

static const sh_optimizer optimizers[] = {
    {"sgd", sgd_check, sgd_slots, sgd_kernels_for},
    {"adam", adam_check, adam_slots, adam_kernels_for},
    {"adamw", adam_check, adam_slots, adamw_kernels_for},
    {"rmsprop", rmsprop_check, rmsprop_slots, rmsprop_kernels_for},
};

#define OPTIMIZERS (sizeof optimizers / sizeof *optimizers)

const sh_optimizer *sh_optimizer_list(size_t *count)
{
    *count = OPTIMIZERS;
    return optimizers;
}

sh_status sh_optimizer_find(const sh_optimizer **optimizer, const char *name)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < OPTIMIZERS; i++) {
        if (strcmp(optimizers[i].name, name) == 0) {
            *optimizer = &optimizers[i];
            return SH_OK;
        }
        const int written = snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                                     optimizers[i].name);
        if (written > 0 && (size_t)written < sizeof names - used)
            used += (size_t)written;
    }
    return sh_fail(SH_NOT_FOUND, "--optimizer %s: there is no such optimizer; there are: %s", name,
                   names);
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
