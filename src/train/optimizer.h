/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers: element-wise updates of the weights from the exact sum, in IEEE float without
 * contraction, so that every device that applies one gets the same bits.
 *
 *     const sh_optimizer *adam;
 *     SH_TRY(sh_optimizer_find(&adam, "adam"));
 *     SH_TRY(sh_optimizer_check(adam, &settings));
 *     const sh_optimizer_step step = sh_optimizer_step_of(&settings, rate, clip, steps + 1);
 *     sh_optimizer_sums[sh_variant_chosen()](adam, &settings, &step, weights, slots, sum, scale,
 *                                          count, &max_abs);
 *
 * Each is PyTorch's of that name (torch.optim, its defaults in sh_job_init); the top of the .c has
 * the formulas.
 *
 * Threads: any; lanes share a tensor by taking disjoint ranges. Pointers are borrowed for the call.
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

/* Numbers of the job. An optimizer looks at its own only. */
typedef struct sh_optimizer_settings {
    float lr;       /* before the schedule */
    float momentum; /* sgd, rmsprop */
    float weight_decay;
    bool nesterov;      /* sgd */
    float beta1, beta2; /* adam, adamw */
    float epsilon;      /* adam, adamw, rmsprop */
    float alpha;        /* rmsprop: how much of the mean square is kept */
} sh_optimizer_settings;

/* Numbers of one step, worked out once and in double: the same on all devices. */
typedef struct sh_optimizer_step {
    float lr;
    float clip;   /* factor of every gradient; 1 leaves them as they are */
    float pace;   /* lr / (1 - beta1^n) in step n = 1, 2, ... */
    float unbias; /* 1 / sqrt(1 - beta2^n) */
    float keep;   /* 1 - lr * weight_decay */
} sh_optimizer_step;

/* One optimizer. A new one is a rule with its body, and a row of the table. */
typedef struct sh_optimizer {
    const char *name; /* as in --optimizer */
    enum { SH_RULE_SGD, SH_RULE_ADAM, SH_RULE_ADAMW, SH_RULE_RMSPROP } rule;
    uint32_t slots;          /* state tensors that a weight tensor needs */
    uint32_t momentum_slots; /* and how many more with momentum */
} sh_optimizer;

/* SH_NOT_FOUND with the names there are. Static storage. */
sh_status sh_optimizer_find(const sh_optimizer **optimizer, const char *name) SHOAL_CHECKED;

sh_optimizer_settings sh_optimizer_settings_of(const sh_job *job);

/* SH_INVALID names the option that does not go with the optimizer. Each number is within its own
 * range already (sh_option_check). */
sh_status sh_optimizer_check(const sh_optimizer *optimizer,
                             const sh_optimizer_settings *settings) SHOAL_CHECKED;

/* Step `number`, from 1, with its learning rate and the factor that clips its gradients. */
sh_optimizer_step sh_optimizer_step_of(const sh_optimizer_settings *settings, double rate,
                                       double clip, uint64_t number);

/* How many state tensors, each as large as its weight tensor; at most SH_OPTIMIZER_MAX_SLOTS. */
static inline uint32_t sh_optimizer_slots(const sh_optimizer *optimizer,
                                          const sh_optimizer_settings *settings)
{
    return optimizer->slots + (settings->momentum > 0 ? optimizer->momentum_slots : 0);
}

/*
 * Updates `count` weights. slots[k][i] is state k of weight i (all state starts as zeros); `sum`
 * and `scale` give the gradient (float)sum[i] * scale, which step->clip clips; raises *max_abs to
 * the largest |sum[i]|, which the clipping leaves alone. The arrays do not overlap.
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

/* By instruction set; index sh_variant_chosen() is the fastest here. All give the same bits. */
extern sh_optimizer_kernel *const sh_optimizer_sums[SH_VARIANT_COUNT];
extern sh_optimizer_value_kernel *const sh_optimizer_values[SH_VARIANT_COUNT];

#endif
