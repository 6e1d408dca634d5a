/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact sum of the grains' gradients: integers added modulo 2^32, 2^16 or 2^8 (the job's wire),
 * so that the result does not depend on which device computed which grain, nor on the order of
 * additions.
 *
 *     sh_sum_clear_trailer(sum);
 *     sh_sum_clear_range(sum, 0, elements);
 *     sh_sum_add(sum, tensor, grain, gradient);   // every grain and tensor, from any lane
 *     ... reduce `own` of all devices to `total`, in any order ...
 *     if (sh_sum_verdict(sum, &tensor) == SH_VERDICT_APPLY)
 *         for each tensor: optimise with sh_sum_scale(), then sh_sum_follow(sum, t, max_abs);
 *
 * Grains are added to the block `own`; engines reduce the own blocks of all devices to `total`,
 * which verdict, totals, values and exponents read. A failed stage changes only the total, so this
 * device's results are kept. On a single device both share the same memory.
 *
 * Threads: sh_sum_add... from any threads at the same time; the rest while no thread adds.
 */
#ifndef SHOAL_TRAIN_EXACT_SUM_H
#define SHOAL_TRAIN_EXACT_SUM_H

#include "backend/program.h"
#include "base/fail.h"
#include "train/sum_layout.h"

#define SH_SUM_MAX_GRAINS ((uint32_t)1 << 20) /* of a step, over all devices */
#define SH_SUM_LOSS UINT32_MAX                /* the tensor if only the loss is not finite */
#define SH_SUM_EXPONENT_FIRST 40

typedef struct sh_sum sh_sum;
/* Fails as sh_layout_init does; the accumulator is aligned to SH_ALIGNMENT. */
sh_status sh_sum_new(sh_sum **sum, const sh_sum_options *options) SHOAL_CHECKED;
void sh_sum_free(sh_sum *sum);

/* sh_sum_share allocates separate memory for a total, once. sh_sum_set_shared selects that memory
 * as `total`, or `own` (the initial choice). Both blocks keep their contents. */
sh_status sh_sum_share(sh_sum *sum) SHOAL_CHECKED;
void sh_sum_set_shared(sh_sum *sum, bool shared);

/* Zero the own block. Threads may zero disjoint ranges concurrently. */
void sh_sum_clear_trailer(sh_sum *sum);
void sh_sum_clear_range(sh_sum *sum, size_t first_element, size_t elements);

/* Sets the step of the next gradients, from 0. Stochastic rounding depends on it. */
void sh_sum_set_step(sh_sum *sum, uint64_t step);

/* Adds one grain's gradient of one tensor, g * 2^e as an integer modulo 2^width. Updates the
 * tensor's bound, check, and count of non-finite elements, which add 0. 32 bits round to nearest,
 * ties to even. Fewer bits use stochastic rounding with the product as mean; it is the same for the
 * same seed, step, `grain` of the step, tensor and element. */
void sh_sum_add(sh_sum *sum, uint32_t tensor, uint32_t grain, const float *gradient);

/* The same for consecutive parts of a gradient. The last part updates the trailer; until then
 * `parts` has the largest finite element's magnitude bits, the check and the count. */
typedef struct sh_sum_parts {
    uint64_t top, check, not_finite;
} sh_sum_parts;
void sh_sum_add_part(sh_sum *sum, uint32_t tensor, uint32_t grain, const sh_gradient *part,
                     sh_sum_parts *parts);

/* Adds a tensor's integers, already rounded and summed over several grains as sh_sum_add does at 32
 * bits, with each grain's facts for the trailer. */
typedef struct sh_sum_grain {
    uint32_t top, not_finite; /* as in sh_sum_parts */
} sh_sum_grain;
void sh_sum_add_integers(sh_sum *sum, uint32_t tensor, const int32_t *integers,
                         const sh_sum_grain *grains, uint32_t count);

/* Adds the same integers to the total, without the trailer, which the grain's device updates. */
void sh_sum_complete(sh_sum *sum, uint32_t tensor, uint32_t grain, const sh_gradient *part);

/* Adds `count` samples: their losses, in units of 2^-32 and limited to +-2^20 each (a step's loss
 * wraps at 2^31 and serves reports only), and their score (train/score.h). */
void sh_sum_add_loss(sh_sum *sum, const float *loss, uint32_t count, uint64_t score);

/* What a device adds to its own trailer besides grains. A new note replaces the old one. */
typedef struct sh_sum_note {
    bool stop;                 /* asks for an end after this step */
    uint32_t next_view, audit; /* of one device at most; 0: the same view, no audit */
    uint64_t check;            /* of its replica (train/weight_check.h); 0: none */
} sh_sum_note;
void sh_sum_set_note(sh_sum *sum, const sh_sum_note *note);

/* The memory that engines reduce; borrowed until sh_sum_set_shared or sh_sum_free. */
typedef struct sh_sum_block {
    void *accumulator; /* int32_t, then int16_t or int8_t: sh_layout_offset */
    uint64_t *trailer; /* added modulo 2^64; word 0 is sh_sum_word(next_view, audit) */
    size_t elements, words;
} sh_sum_block;
sh_sum_block sh_sum_own(const sh_sum *sum);
sh_sum_block sh_sum_total(const sh_sum *sum);
/* The layout is borrowed until sh_sum_free. */
const sh_sum_layout *sh_sum_layout_of(const sh_sum *sum);
size_t sh_sum_first_element(const sh_sum *sum, uint32_t tensor);
size_t sh_sum_elements(const sh_sum *sum, uint32_t tensor);

typedef struct sh_sum_totals {
    double loss; /* summed over samples; NaN if any is not finite */
    uint64_t samples, score, stops;
    uint32_t next_view, audit; /* as noted by a device; 0: none */
    uint64_t check;            /* the sum of all devices' checks */
} sh_sum_totals;

sh_sum_totals sh_sum_read_totals(const sh_sum *sum);
uint64_t sh_sum_own_check(const sh_sum *sum); /* of the own note */
bool sh_sum_own_is_finite(const sh_sum *sum); /* everything added to the own part */
/* Sets loss, samples and score of the own trailer. */
void sh_sum_set_totals(sh_sum *sum, const sh_sum_totals *totals);

typedef enum sh_verdict {
    SH_VERDICT_APPLY,
    SH_VERDICT_REDO,       /* recompute every grain: exponents changed */
    SH_VERDICT_NOT_FINITE, /* `tensor` has infinities or NaN, or its sum overflows a float */
} sh_verdict;

/* Judges a reduced sum, once per reduction. Depends only on the reduced data and the exponents, so
 * all devices reach the same verdict. REDO: the bound (32 bits) or the check (fewer bits) cannot
 * exclude that a sum wrapped, or a calibrating tensor is far too small. The check detects every
 * single wrapped sum, and misses several with a probability of about 2^-32; then all devices apply
 * the same wrong gradient. `tensor` is set only for NOT_FINITE: the last such tensor, which
 * backward reached first, or SH_SUM_LOSS. */
sh_verdict sh_sum_verdict(sh_sum *sum, uint32_t *tensor);

/* Whether the last REDO only corrected guessed exponents, as in a first step. */
bool sh_sum_calibrating(const sh_sum *sum);

/* 2^-e: gradient = (float)integer * scale, exact below 2^24. */
float sh_sum_scale(const sh_sum *sum, uint32_t tensor);
int sh_sum_exponent(const sh_sum *sum, uint32_t tensor);

/* Writes a tensor's summed gradient as floats; raises *max_abs to its largest |integer|. */
void sh_sum_value(const sh_sum *sum, uint32_t tensor, float *value, uint32_t *max_abs);

/* For every tensor, after APPLY and before the own block is cleared: sets the exponent for the next
 * step from `max_abs`, its largest |integer| in the total. Returns the new envelope. */
float sh_sum_follow(sh_sum *sum, uint32_t tensor, uint32_t max_abs);

/* State for checkpoints and joining devices, one value per tensor. SH_CORRUPT (invalid state) names
 * the tensor. */
void sh_sum_state_get(const sh_sum *sum, float *envelopes, int32_t *exponents);
sh_status sh_sum_state_set(sh_sum *sum, const float *envelopes,
                           const int32_t *exponents) SHOAL_CHECKED;
int sh_sum_state_exponent(const sh_sum *sum, uint32_t tensor);
/* Freezes the state for sh_sum_state_get, until called with false. */
void sh_sum_keep_state(sh_sum *sum, bool keep);

#endif
