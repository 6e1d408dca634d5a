/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand-over of a replica's state while others train on: what senders (train/replica_sender) and
 * the receiver (train/replica_receiver) agree on. Frames in, frames out; no sockets.
 *
 *     SH_TRY(sh_chunks_init(&chunks, replica, 0));
 *     sh_chunks_stripe(&chunks, 1, 3, &first, &end);       // what donor 1 of 3 gives
 *     float *slot = sh_chunk_data(replica, &chunks.items[first], 1);
 *     sh_chunks_release(&chunks);
 *
 * Each donor gives a stripe, in a stream of its own:
 *
 *     TAIL   where this donor stands: passed is SH_PASSED_NOTHING
 *     STATE  a chunk of the stripe as it stands now, array after array; and so on
 *     SUM    the reduced sum of the stage under way, for a chunk that has been sent: any order
 *     TAIL   the stage has passed; where it changed weights, the receiver changes those it has
 *     STATE  ...
 *
 * If devices train apart (train/strategy_laps.c), no sums say how the weights changed: the TAIL
 * says LAP, and the stripe is given again from its beginning. A lap has many steps, so this costs
 * less than their sums would. A SUM follows its chunk at once if the bucket was complete before.
 *
 * Heads (net/frame.h): `view` is the number of the transfer; `step` the low 32 bits of the
 * position's steps and `attempt` its phase, of the stage under way (TAIL: the one that has passed);
 * `bucket` the chunk's index in sh_chunks; `hop` the array of a STATE: 0 weights, 1 + k slot k of
 * the optimizer. All other fields are 0. Bodies of STATE are floats, of SUM integers as wide as the
 * sum has them, of the chunk's elements. A TAIL:
 *
 *     byte 0        4         8             16           24           28          32
 *          | passed | tensors | steps before | steps after | phase b. | phase a. |
 *     byte 32      40          48               56               64
 *          | clip  | epoch loss | epoch samples | epoch score   |
 *     byte 64      72           80          88      96     104  112
 *          | value | steps      | reference | stale | last | at | envelopes ... | exponents ... |
 *
 * clip, loss, value, reference and last are doubles; value to `at` are the best validation
 * (train/best.h). Envelopes (float) and exponents (int32) have a value for each of the
 * `tensors` of the sum, as they are after the stage. Those that the stage's sums are scaled by are
 * in the TAIL before. All is little-endian.
 *
 * Threads: any; values.
 */
#ifndef SHOAL_TRAIN_TRANSFER_H
#define SHOAL_TRAIN_TRANSFER_H

#include "base/position.h"
#include "net/frame.h"
#include "train/replica.h"

#define SH_TRANSFER_STREAMS_MAX 64
#define SH_CHUNK_ELEMENTS 16384u /* the default: small, so that stripes are nearly even */
#define SH_CHUNK_ELEMENTS_MAX 65536u
#define SH_TAIL_HEAD_BYTES 112

/* Whether `after` is where `passed` leads from `before`. */
bool sh_passed_leads(sh_passed passed, sh_position before, sh_position after);

/* Part of a replica: within one bucket of its sum, or frozen. */
typedef struct sh_chunk {
    size_t first_element; /* of the replica's weights */
    uint32_t elements;
    uint32_t arrays;     /* that are given of it */
    uint32_t word_bytes; /* of an element of its sum */
    bool frozen;
} sh_chunk;

/* All chunks in the order of giving: the frozen ones, which need no sums, then bucket by bucket. */
typedef struct sh_chunks {
    sh_chunk *items; /* owned */
    uint32_t count;
    uint32_t tensors; /* of the replica's sum */
} sh_chunks;

/*
 * `most_elements` in a chunk, 0: SH_CHUNK_ELEMENTS; equal at both ends. SH_LIMIT: the replica has
 * more chunks than a head can number. SH_INVALID: more than SH_CHUNK_ELEMENTS_MAX.
 */
sh_status sh_chunks_init(sh_chunks *chunks, const sh_replica *replica,
                         uint32_t most_elements) SHOAL_CHECKED;
void sh_chunks_release(sh_chunks *chunks);

/* The chunks [*first, *end) of a stripe, perhaps none: about equal in bytes, without gaps. */
void sh_chunks_stripe(const sh_chunks *chunks, uint32_t stripe, uint32_t stripes, uint32_t *first,
                      uint32_t *end);

/* Where a chunk's array lies; borrowed from the replica. */
float *sh_chunk_data(const sh_replica *replica, const sh_chunk *chunk, uint32_t array);

/* What a TAIL says. */
typedef struct sh_tail {
    sh_passed passed;
    sh_position before, after;
    double clip; /* of an APPLY: the factor of its gradients; else 1 */
    sh_epoch_totals epoch;
    sh_best best;
    float *envelopes; /* a value a tensor; borrowed */
    int32_t *exponents;
} sh_tail;

size_t sh_tail_bytes(uint32_t tensors);
void sh_tail_encode(unsigned char *body, const sh_tail *tail, uint32_t tensors);

/*
 * Fills the arrays that `tail` has. SH_FORMAT, SH_CORRUPT: no sender says this; `tail` then holds
 * anything. sh_sum_state_set checks envelopes and exponents.
 */
sh_status sh_tail_decode(sh_tail *tail, const unsigned char *body, uint32_t tensors) SHOAL_CHECKED;

/* Words of 4, 2 or 1 bytes between memory and the wire, either way; `to` is `from`, or does not
 * overlap it. */
void sh_words_copy(void *to, const void *from, size_t words, size_t word_bytes);

/* Bytes of a chunk's sum; 0 where it is frozen. */
static inline size_t sh_chunk_sum_bytes(const sh_chunk *chunk)
{
    return (size_t)chunk->elements * chunk->word_bytes;
}

#endif
