/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers: element-wise updates of the weights from the exact sum, in IEEE float without
 * contraction, so that every device that applies one gets the same bits.
 *
 *     const sh_optimizer *sgd;
 *     SH_TRY(sh_optimizer_find(&sgd, "sgd"));
 *     SH_TRY(sh_optimizer_check(sgd, &hyper));
 *     uint32_t max_abs = 0;                                    // of one tensor, or of a range of
 * it sh_optimizer_apply(sgd, &hyper, weights, slots, sum, sh_sum_scale(...), count, &max_abs);
 *
 * Threads: any; lanes share a tensor by taking disjoint ranges. Pointers are borrowed for the call.
 */
#ifndef SHOAL_TRAIN_OPTIMIZER_H
#define SHOAL_TRAIN_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/variant.h"

#define SH_OPTIMIZER_MAX_SLOTS 2

/* Numbers of one step; part of the job, so equal on all devices. */
typedef struct sh_optimizer_hyper {
    float lr;
    float momentum;
    float weight_decay;
} sh_optimizer_hyper;

/*
 * Updates `count` weights. slots[k][i] is state k of weight i (all state starts as zeros); `sum`
 * and `scale` give the gradient (float)sum[i] * scale; raises *max_abs to the largest |sum[i]|. The
 * arrays do not overlap.
 */
typedef void sh_optimizer_kernel(const sh_optimizer_hyper *hyper, float *weights,
                                 float *const *slots, const int32_t *sum, float scale, size_t count,
                                 uint32_t *max_abs);

/* One optimizer; every slot is required, none blocks. A new one is a new line of the table. */
typedef struct sh_optimizer {
    const char *name;                                          /* as in --optimizer */
    const char *(*complaint)(const sh_optimizer_hyper *hyper); /* what is out of range, or NULL */
    uint32_t (*slots)(const sh_optimizer_hyper *hyper); /* state tensors a weight tensor needs */
    /* The kernel for these numbers, by instruction set. */
    sh_optimizer_kernel *const *(*kernels)(const sh_optimizer_hyper *hyper);
} sh_optimizer;

/* All of them. Static storage. */
const sh_optimizer *sh_optimizer_list(size_t *count);

/* SH_NOT_FOUND with the names there are. Static storage. */
sh_status sh_optimizer_find(const sh_optimizer **optimizer, const char *name) SHOAL_CHECKED;

/* SH_INVALID names the option whose number the optimizer cannot work with. */
sh_status sh_optimizer_check(const sh_optimizer *optimizer,
                             const sh_optimizer_hyper *hyper) SHOAL_CHECKED;

/* How many state tensors, each as large as its weight tensor; at most SH_OPTIMIZER_MAX_SLOTS. */
static inline uint32_t sh_optimizer_slots(const sh_optimizer *optimizer,
                                          const sh_optimizer_hyper *hyper)
{
    return optimizer->slots(hyper);
}

/* Runs the fastest kernel of this processor; `hyper` passed sh_optimizer_check. */
static inline void sh_optimizer_apply(const sh_optimizer *optimizer,
                                      const sh_optimizer_hyper *hyper, float *weights,
                                      float *const *slots, const int32_t *sum, float scale,
                                      size_t count, uint32_t *max_abs)
{
    optimizer->kernels(hyper)[sh_variant_best()](hyper, weights, slots, sum, scale, count, max_abs);
}

#endif
