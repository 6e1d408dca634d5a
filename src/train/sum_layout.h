/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number formats of the exact sum's tensors and their layout in an accumulator.
 *
 * An accumulator holds all tensors without gaps: first those with 32 bits per element, then those
 * with the width of the wire.
 *
 *     SH_TRY(sh_layout_init(&layout, &(sh_sum_options){.tensor_elements = sizes, .tensors = 3,
 *                                                      .bucket_bytes = 1 << 18, .wire = 8}));
 *     void *tensor = (unsigned char *)accumulator +
 *                    sh_layout_offset(&layout, layout.places[2].first_element);
 *     sh_layout_release(&layout);
 *
 * Threads: any; a layout is constant after sh_layout_init.
 */
#ifndef SHOAL_TRAIN_SUM_LAYOUT_H
#define SHOAL_TRAIN_SUM_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "reduce/words.h"
#include "train/sum_kernels.h"

/* With 2^-97, every gradient within the bounds is a finite float. 2^125 excludes denormals from
 * sums of 32 bits, and 2^94 from narrower ones, where a fraction of 2^-31 may be rounded up. */
#define SH_SUM_EXPONENT_MIN (-97)
#define SH_SUM_EXPONENT_MAX 125
#define SH_SUM_EXPONENT_MAX_NARROW 94

#define SH_SUM_ROOM ((size_t)4096) /* elements to widen at a time; they fit the L1 cache */

/* The number format of a tensor's sum; static storage. exact_sum.c defines the terms. */
typedef struct sh_sum_form {
    uint32_t wire;
    sh_word word;
    sh_narrow narrow;    /* below 32 bits */
    int32_t bound_shift; /* the unit of a bound is 2^this units */
    int32_t limit_bits;  /* a sum whose bound is 2^this or more is rejected */
    int32_t redo_bits;   /* a redo aims at a bound below 2^this, a quarter of the range */
    int32_t coarse_bits; /* calibration increases the exponent if the bound is below 2^this */
    int32_t exponent_max;
    int32_t envelope_bits; /* the envelope is below 2^this units */
    float of_bound;        /* the envelope is at least this part of the bound */
} sh_sum_form;

typedef struct sh_sum_options {
    const size_t *tensor_elements; /* copied */
    uint32_t tensors;
    size_t bucket_bytes;
    uint32_t wire; /* bits of an element: 32, 16 or 8; 0: 32 */
    uint32_t wide; /* number of first tensors that have 32 bits on any wire */
    uint64_t seed; /* of the job; for stochastic rounding */
} sh_sum_options;

typedef struct sh_sum_place {
    size_t first_element, elements;
    const sh_sum_form *form;
} sh_sum_place;

/* A contiguous range that engines reduce as a unit. */
typedef struct sh_sum_bucket {
    size_t first_element, elements;
    uint32_t first_tensor, tensors;
    sh_word word;
} sh_sum_bucket;

typedef struct sh_sum_layout {
    sh_sum_place *places; /* by tensor; owned */
    uint32_t tensors;
    sh_sum_bucket *buckets; /* owned */
    uint32_t bucket_count;
    size_t elements, wide_elements; /* all, and those with 32 bits, which come first */
    size_t narrow_bytes;            /* of each other element */
} sh_sum_layout;

/*
 * Buckets are built from the last tensor to the first, the order in which backward yields
 * gradients, so bucket 0 is complete first. A bucket ends when it has `bucket_bytes` or where the
 * width changes. SH_INVALID: no tensors, a tensor without elements, or another wire width.
 * SH_NO_MEMORY. Call sh_layout_release also after a failure.
 */
sh_status sh_layout_init(sh_sum_layout *layout, const sh_sum_options *options) SHOAL_CHECKED;
void sh_layout_release(sh_sum_layout *layout);

/* An offset in bytes; that of `layout->elements` is the accumulator's size. */
size_t sh_layout_offset(const sh_sum_layout *layout, size_t element);

/*
 * Returns `count` elements of one tensor as 32-bit integers: in the accumulator or, for narrow
 * elements, in `room`, which must have space for `count` integers.
 */
const int32_t *sh_layout_integers(const sh_sum_layout *layout, const void *accumulator,
                                  size_t first_element, size_t count, int32_t *room);

#define SH_SUM_NOTE_WORDS 3 /* of a trailer: first, and not a sum over grains */

/* Word 0 of a trailer, which an engine may add late (sh_engine_decider). */
static inline uint64_t sh_sum_word(uint32_t next_view, uint32_t audit)
{
    return (uint64_t)audit << 32 | next_view;
}

#endif
