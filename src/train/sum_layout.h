/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the exact sum's tensors are summed, and where they lie in an accumulator.
 *
 *     SH_TRY(sh_layout_init(&layout, &(sh_sum_options){.tensor_elements = sizes, .tensors = 3,
 *                                                      .bucket_bytes = 1 << 18, .wire = 8}));
 *     void *tensor = (unsigned char *)accumulator +
 *                    sh_layout_offset(&layout, layout.places[2].first_element);
 *     sh_layout_release(&layout);
 *
 * An accumulator holds all tensors one after the other, without gaps: first those of 32 bits, then
 * those as wide as the wire.
 *
 * Threads: any; a value that does not change.
 */
#ifndef SHOAL_TRAIN_SUM_LAYOUT_H
#define SHOAL_TRAIN_SUM_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "reduce/words.h"
#include "train/sum_kernels.h"

/* 2^-97 keeps every proven gradient within float; 2^125 keeps denormals out of a sum of 32 bits,
 * 2^94 out of narrower ones, where chance may round up a fraction of 2^-31. */
#define SH_SUM_EXPONENT_MIN (-97)
#define SH_SUM_EXPONENT_MAX 125
#define SH_SUM_EXPONENT_MAX_NARROW 94

#define SH_SUM_ROOM ((size_t)4096) /* elements that are well widened at a time: they stay in L1 */

/* How a tensor is summed; static storage. exact_sum.c says what the words mean. */
typedef struct sh_sum_form {
    uint32_t wire; /* bits of an element */
    sh_word word;
    sh_narrow narrow;    /* below 32 bits */
    int32_t bound_shift; /* a bound counts 2^this units */
    int32_t limit_bits;  /* from a bound of 2^this on the sum is not trusted */
    int32_t redo_bits;   /* a redo aims the bound below 2^this: a quarter of the range */
    int32_t coarse_bits; /* calibration goes up from a bound below 2^this */
    int32_t exponent_max;
    int32_t envelope_bits; /* the envelope is below 2^this units */
    float of_bound;        /* the part of the bound that the envelope is not below */
} sh_sum_form;

typedef struct sh_sum_options {
    const size_t *tensor_elements; /* copied */
    uint32_t tensors;
    size_t bucket_bytes;
    uint32_t wire; /* bits of an element: 32, 16 or 8; 0: 32 */
    uint32_t wide; /* so many tensors, the first ones, have 32 bits on any wire */
    uint64_t seed; /* of the job: 16 and 8 bits are rounded by chance */
} sh_sum_options;

typedef struct sh_sum_place {
    size_t first_element, elements;
    const sh_sum_form *form;
} sh_sum_place;

/* A contiguous range of the accumulator that is reduced as one. */
typedef struct sh_sum_bucket {
    size_t first_element, elements;
    uint32_t first_tensor, tensors;
    sh_word word; /* of all its elements */
} sh_sum_bucket;

typedef struct sh_sum_layout {
    sh_sum_place *places; /* by tensor; owned */
    uint32_t tensors;
    sh_sum_bucket *buckets; /* owned */
    uint32_t bucket_count;
    size_t elements, wide_elements; /* in all, and of 32 bits: the first ones */
    size_t narrow_bytes;            /* of an element behind them */
} sh_sum_layout;

/*
 * Buckets are built from the last tensor to the first, the order in which backward gives gradients,
 * each closed once it has `bucket_bytes`, or where the width changes; bucket 0 is complete first.
 * SH_INVALID without tensors, for one without elements, for another wire. Release it also then.
 */
sh_status sh_layout_init(sh_sum_layout *layout, const sh_sum_options *options) SHOAL_CHECKED;
void sh_layout_release(sh_sum_layout *layout);

/* Where an element lies: bytes into an accumulator. That of the last one plus 1 is its size. */
size_t sh_layout_offset(const sh_sum_layout *layout, size_t element);

/*
 * The integers of `count` elements of one tensor in an accumulator: where they lie, or widened into
 * `room`, which has room for all. Borrowed from either.
 */
const int32_t *sh_layout_integers(const sh_sum_layout *layout, const void *accumulator,
                                  size_t first_element, size_t count, int32_t *room);

#endif
