/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers: element-wise updates of the weights from the exact sum, in IEEE float without
 * contraction, so that every device gets the same bits.
 *
 *     const sh_optimizer_step step = sh_optimizer_step_of(&settings, rate, clip, steps + 1);
 *     sh_optimizer_sums[sh_variant_chosen()](adam, &settings, &step, weights, slots, sum, scale,
 *                                          count, &max_abs);
 *
 * Each optimizer follows PyTorch's of the same name (torch.optim; sh_job_init has the defaults).
 * optimizer.c has the formulas.
 *
 * Threads: any; lanes update disjoint ranges of a tensor concurrently. Pointers are borrowed for
 * the call.
 */
#ifndef SHOAL_TRAIN_OPTIMIZER_H
#define SHOAL_TRAIN_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/variant.h"
#include "shoal/job.h"

#define SH_OPTIMIZER_MAX_SLOTS 2

/* Each optimizer uses its own subset. */
typedef struct sh_optimizer_settings {
    float lr;       /* before the schedule */
    float momentum; /* sgd, rmsprop */
    float weight_decay;
    bool nesterov;      /* sgd */
    float beta1, beta2; /* adam, adamw */
    float epsilon;      /* adam, adamw, rmsprop */
    float alpha;        /* rmsprop: decay of the mean square */
} sh_optimizer_settings;

/* Computed once and in double, so that all devices have the same. */
typedef struct sh_optimizer_step {
    float lr;
    float clip;   /* factor of every gradient; 1: no clipping */
    float pace;   /* lr / (1 - beta1^n) in step n = 1, 2, ... */
    float unbias; /* 1 / sqrt(1 - beta2^n) */
    float keep;   /* 1 - lr * weight_decay */
} sh_optimizer_step;

/* To add one, add a rule with its body, and a row to the table. */
typedef struct sh_optimizer {
    const char *name; /* as in --optimizer */
    enum { SH_RULE_SGD, SH_RULE_ADAM, SH_RULE_ADAMW, SH_RULE_RMSPROP } rule;
    uint32_t slots;          /* state tensors of a weight tensor */
    uint32_t momentum_slots; /* additional ones with momentum */
} sh_optimizer;

/* SH_NOT_FOUND lists the available names. `*optimizer` has static storage. */
sh_status sh_optimizer_find(const sh_optimizer **optimizer, const char *name) SHOAL_CHECKED;

sh_optimizer_settings sh_optimizer_settings_of(const sh_job *job);

/* SH_INVALID names a setting that the optimizer does not support. Each setting must already be
 * within its own range (sh_option_check). */
sh_status sh_optimizer_check(const sh_optimizer *optimizer,
                             const sh_optimizer_settings *settings) SHOAL_CHECKED;

/* `number` counts from 1. */
sh_optimizer_step sh_optimizer_step_of(const sh_optimizer_settings *settings, double rate,
                                       double clip, uint64_t number);

/* The number of state tensors, each as large as its weight tensor; at most
 * SH_OPTIMIZER_MAX_SLOTS. */
static inline uint32_t sh_optimizer_slots(const sh_optimizer *optimizer,
                                          const sh_optimizer_settings *settings)
{
    return optimizer->slots + (settings->momentum > 0 ? optimizer->momentum_slots : 0);
}

/*
 * Updates `count` weights. slots[k][i] is state k of weight i, initially zero. The gradient is
 * (float)sum[i] * scale * step->clip. Raises *max_abs to the largest |sum[i]|, without clipping.
 * The arrays must not overlap.
 */
typedef void sh_optimizer_kernel(const sh_optimizer *optimizer,
                                 const sh_optimizer_settings *settings,
                                 const sh_optimizer_step *step, float *weights, float *const *slots,
                                 const int32_t *sum, float scale, size_t count, uint32_t *max_abs);

/* The same with floats as gradients. */
typedef void sh_optimizer_value_kernel(const sh_optimizer *optimizer,
                                       const sh_optimizer_settings *settings,
                                       const sh_optimizer_step *step, float *weights,
                                       float *const *slots, const float *gradient, size_t count);

/* By instruction set; all give the same bits. */
extern sh_optimizer_kernel *const sh_optimizer_sums[SH_VARIANT_COUNT];
extern sh_optimizer_value_kernel *const sh_optimizer_values[SH_VARIANT_COUNT];

#endif
