/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact sum of grains' gradients: integers added modulo 2^32, 2^16 or 2^8 (the job's wire), so
 * that the result does not depend on who computed which grain, in which order, or on how the parts
 * were added up.
 *
 *     sh_sum_clear_trailer(sum);
 *     sh_sum_clear_range(sum, 0, elements);
 *     sh_sum_set_step(sum, step);
 *     sh_sum_add(sum, tensor, grain, gradient);   // every grain and tensor, from any lane
 *     ... make `total` of `own` of all devices, accumulator and trailer, in any order ...
 *     if (sh_sum_verdict(sum, &tensor) == SH_VERDICT_APPLY)
 *         for each tensor: optimise with sh_sum_scale(), then sh_sum_follow(sum, t, max_abs);
 *
 * It has two blocks: grains are added to `own`; what engines make of the own parts of all devices
 * is `total`, which verdict, totals, values and exponents read. Alone, both are the same memory.
 *
 * Threads: sh_sum_add... from any thread at once; the rest while nobody adds.
 */
#ifndef SHOAL_TRAIN_EXACT_SUM_H
#define SHOAL_TRAIN_EXACT_SUM_H

#include "backend/program.h"
#include "base/fail.h"
#include "train/sum_layout.h"

#define SH_SUM_MAX_GRAINS ((uint32_t)1 << 20) /* of a step, over all devices */
#define SH_SUM_LOSS UINT32_MAX                /* the "tensor" of a verdict about the loss */
#define SH_SUM_EXPONENT_FIRST 40

typedef struct sh_sum sh_sum;
/* As sh_layout_init; the accumulator is aligned to SH_ALIGNMENT. */
sh_status sh_sum_new(sh_sum **sum, const sh_sum_options *options) SHOAL_CHECKED;
void sh_sum_free(sh_sum *sum);

/* Allocates memory for a total beside the own part, once. The next makes it `total`, for several
 * devices, or makes `own` that, as at first. Both keep what they hold. */
sh_status sh_sum_share(sh_sum *sum) SHOAL_CHECKED;
void sh_sum_set_shared(sh_sum *sum, bool shared);

/* Zero the own part for a new step or a redo; exponents stay. Threads may zero disjoint ranges. */
void sh_sum_clear_trailer(sh_sum *sum);
void sh_sum_clear_range(sh_sum *sum, size_t first_element, size_t elements);

/* The step of the gradients to come, from 0: rounding by chance depends on it. */
void sh_sum_set_step(sh_sum *sum, uint64_t step);

/* Adds one grain's gradient of one tensor, g * 2^e as an integer modulo 2^width. Raises the
 * tensor's bound, its check, and its count of elements that are not finite, which add 0. 32 bits
 * round to nearest, ties to even. Fewer bits round down or up by chance, with the product as mean,
 * alike for the same seed, step, `grain` of the step, tensor and element. */
void sh_sum_add(sh_sum *sum, uint32_t tensor, uint32_t grain, const float *gradient);

/* The same, of a part of the gradient: all in order. The trailer is told with the last; until then
 * `parts` keeps the magnitude bits of the largest finite element, the check and the count. */
typedef struct sh_sum_parts {
    uint64_t top, check, not_finite;
} sh_sum_parts;
void sh_sum_add_part(sh_sum *sum, uint32_t tensor, uint32_t grain, const sh_gradient *part,
                     sh_sum_parts *parts);

/* Adds a tensor's integers of several grains, which somebody else has rounded and added up as
 * sh_sum_add does at 32 bits, and what the trailer has to know of each of the grains. */
typedef struct sh_sum_grain {
    uint32_t top, not_finite; /* as in sh_sum_parts */
} sh_sum_grain;
void sh_sum_add_integers(sh_sum *sum, uint32_t tensor, const int32_t *integers,
                         const sh_sum_grain *grains, uint32_t count);

/* Adds the same integers to the total, and nothing to the trailer: the grain's device does that. */
void sh_sum_complete(sh_sum *sum, uint32_t tensor, uint32_t grain, const sh_gradient *part);

/* Adds `count` samples: the loss of each, in units of 2^-32 within +-2^20 (a step's loss wraps at
 * 2^31; it is for reports alone), and their score (train/score.h). */
void sh_sum_add_loss(sh_sum *sum, const float *loss, uint32_t count, uint64_t score);

/* What a device says in the own trailer beside its grains; a new note replaces the old. */
typedef struct sh_sum_note {
    bool stop;          /* asks for an end after this step */
    uint32_t next_view; /* said by one device at most; 0: the view stays */
    uint64_t check;     /* of its replica (train/weight_check.h); 0 where none is made */
} sh_sum_note;
void sh_sum_set_note(sh_sum *sum, const sh_sum_note *note);

/* What engines reduce; the arrays are borrowed until sh_sum_set_shared or sh_sum_free. */
typedef struct sh_sum_block {
    void *accumulator; /* int32_t, then int16_t or int8_t: sh_layout_offset */
    uint64_t *trailer; /* added modulo 2^64; word 0 is the note's next_view */
    size_t elements, words;
} sh_sum_block;
sh_sum_block sh_sum_own(const sh_sum *sum);
sh_sum_block sh_sum_total(const sh_sum *sum);
/* Where tensors and buckets lie in a block (borrowed until sh_sum_free), and one tensor. */
const sh_sum_layout *sh_sum_layout_of(const sh_sum *sum);
size_t sh_sum_first_element(const sh_sum *sum, uint32_t tensor);
size_t sh_sum_elements(const sh_sum *sum, uint32_t tensor);

typedef struct sh_sum_totals {
    double loss; /* summed over samples; NaN where one has no finite loss */
    uint64_t samples, score, stops;
    uint32_t next_view; /* that was said; 0: none */
    uint64_t check;     /* the sum of all devices' */
    uint64_t own_check; /* as the own trailer holds it */
} sh_sum_totals;

/* Of the total: after the reduction. Alone, of what has been added so far. */
sh_sum_totals sh_sum_read_totals(const sh_sum *sum);
bool sh_sum_own_is_finite(const sh_sum *sum); /* all that was added to the own part */
/* Puts loss, samples and score into the own trailer. */
void sh_sum_set_totals(sh_sum *sum, const sh_sum_totals *totals);

typedef enum sh_verdict {
    SH_VERDICT_APPLY,
    SH_VERDICT_REDO,       /* exponents changed: begin again and recompute every grain */
    SH_VERDICT_NOT_FINITE, /* `tensor` has infinities or NaN, or its sum fits no float */
} sh_verdict;

/* Judges a reduced sum: once a reduction. Depends only on what was reduced and the exponents, so
 * all devices judge alike. REDO where a bound (32 bits) or the check (below) does not show that no
 * sum wrapped, or a tensor that is calibrating came out far too small. A check can miss sums that
 * wrapped, but for a single one, by a chance of about 2^-32: all devices would apply the same wrong
 * gradient. `tensor` is set for NOT_FINITE only: the last such tensor, which backward reached
 * first, or SH_SUM_LOSS where only the loss is not finite. */
sh_verdict sh_sum_verdict(sh_sum *sum, uint32_t *tensor);

/* Whether the last REDO was calibration alone: only of tensors that sh_sum_follow has never seen
 * with a gradient, whose exponents were a guess. Expected in a first step; count other redos. */
bool sh_sum_calibrating(const sh_sum *sum);

/* 2^-e: gradient = (float)integer * scale, exact below 2^24. */
float sh_sum_scale(const sh_sum *sum, uint32_t tensor);
int sh_sum_exponent(const sh_sum *sum, uint32_t tensor);

/* Writes a tensor's summed gradient as floats and raises *max_abs to its largest |integer|. */
void sh_sum_value(const sh_sum *sum, uint32_t tensor, float *value, uint32_t *max_abs);

/* After APPLY, before the own part is cleared, for every tensor: sets its exponent for the next
 * step from `max_abs`, the tensor's largest |integer| in the total. Gives the new envelope. */
float sh_sum_follow(sh_sum *sum, uint32_t tensor, uint32_t max_abs);

/* What checkpoints keep and joining devices take over: arrays of one value a tensor. Setting checks
 * all before it changes any: SH_CORRUPT names the tensor. */
void sh_sum_state_get(const sh_sum *sum, float *envelopes, int32_t *exponents);
sh_status sh_sum_state_set(sh_sum *sum, const float *envelopes,
                           const int32_t *exponents) SHOAL_CHECKED;
int sh_sum_state_exponent(const sh_sum *sum, uint32_t tensor);
/* True: sh_sum_state_get gives the present state from now on; false: that comes back. */
void sh_sum_keep_state(sh_sum *sum, bool keep);

#endif
