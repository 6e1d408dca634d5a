/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legend: w weight, v velocity, g gradient, mu momentum, lr learning rate, wd weight decay; all
 * arrays have `count` elements.
 *
 * SGD as PyTorch defines it (torch.optim.SGD, dampening 0, no Nesterov):
 *     g = G + wd * w;   v = mu * v + g;   w = w - lr * v
 * With v = 0 before the first step, the first v is g. Without momentum v would only repeat g, so
 * that case has no state and a kernel of its own.
 *
 * Each operation rounds once, in the order written; the build forbids contraction.
 */
#include "train/optimizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Takes the gradient out of the sum and keeps the largest |S|: in int32, which every instruction
 * set can compare. A proven sum is never INT32_MIN. */
static inline SH_INLINE float gradient_of(int32_t integer, float scale, int32_t *top)
{
    const int32_t sign = integer >> 31;
    const int32_t magnitude = (int32_t)((uint32_t)(integer ^ sign) - (uint32_t)sign);
    *top = magnitude > *top ? magnitude : *top;
    return (float)integer * scale;
}

static inline SH_INLINE int32_t sgd_body(const sh_optimizer_hyper *hyper, float *restrict w,
                                         float *const *slots, const int32_t *restrict sum,
                                         float scale, size_t count)
{
    (void)slots;
    const float lr = hyper->lr, wd = hyper->weight_decay;
    int32_t top = 0;
    for (size_t i = 0; i < count; i++) {
        const float g = gradient_of(sum[i], scale, &top) + wd * w[i];
        w[i] -= lr * g;
    }
    return top;
}

static inline SH_INLINE int32_t momentum_body(const sh_optimizer_hyper *hyper, float *restrict w,
                                              float *const *slots, const int32_t *restrict sum,
                                              float scale, size_t count)
{
    const float lr = hyper->lr, mu = hyper->momentum, wd = hyper->weight_decay;
    float *restrict v = slots[0];
    int32_t top = 0;
    for (size_t i = 0; i < count; i++) {
        const float g = gradient_of(sum[i], scale, &top) + wd * w[i];
        v[i] = mu * v[i] + g;
        w[i] -= lr * v[i];
    }
    return top;
}

/* Defines <body>_<variant> and the table <body>_kernels. */
#define VARIANT_OF(body, name, target)                                                             \
    static target void body##_##name(const sh_optimizer_hyper *hyper, float *weights,              \
                                     float *const *slots, const int32_t *sum, float scale,         \
                                     size_t count, uint32_t *max_abs)                              \
    {                                                                                              \
        const uint32_t top = (uint32_t)body##_body(hyper, weights, slots, sum, scale, count);      \
        *max_abs = top > *max_abs ? top : *max_abs;                                                \
    }
#define SGD_VARIANT(name, target) VARIANT_OF(sgd, name, target)
#define MOMENTUM_VARIANT(name, target) VARIANT_OF(momentum, name, target)
SH_VARIANT_MAP(SGD_VARIANT)
SH_VARIANT_MAP(MOMENTUM_VARIANT)

static sh_optimizer_kernel *const sgd_kernels[SH_VARIANT_COUNT] = {SH_VARIANT_TABLE(sgd)};
static sh_optimizer_kernel *const momentum_kernels[SH_VARIANT_COUNT] = {SH_VARIANT_TABLE(momentum)};

static const char *sgd_complaint(const sh_optimizer_hyper *hyper)
{
    if (!(isfinite(hyper->lr) && hyper->lr >= 0))
        return "--lr must be a number that is not negative";
    if (!(hyper->momentum >= 0 && hyper->momentum < 1))
        return "--momentum must be at least 0 and below 1";
    if (!(isfinite(hyper->weight_decay) && hyper->weight_decay >= 0))
        return "--weight-decay must be a number that is not negative";
    return NULL;
}

static uint32_t sgd_slots(const sh_optimizer_hyper *hyper)
{
    return hyper->momentum > 0 ? 1 : 0;
}

static sh_optimizer_kernel *const *sgd_kernels_for(const sh_optimizer_hyper *hyper)
{
    return hyper->momentum > 0 ? momentum_kernels : sgd_kernels;
}

static const sh_optimizer optimizers[] = {
    {"sgd", sgd_complaint, sgd_slots, sgd_kernels_for},
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

sh_status sh_optimizer_check(const sh_optimizer *optimizer, const sh_optimizer_hyper *hyper)
{
    const char *complaint = optimizer->complaint(hyper);
    if (complaint == NULL)
        return SH_OK;
    return sh_fail(SH_INVALID, "optimizer %s with --lr %g --momentum %g --weight-decay %g: %s",
                   optimizer->name, (double)hyper->lr, (double)hyper->momentum,
                   (double)hyper->weight_decay, complaint);
}
