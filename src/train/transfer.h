/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol that transfers a replica's state to a joining device while the donors keep training,
 * between senders (train/replica_sender) and the receiver (train/replica_receiver). No sockets.
 *
 * Each donor sends a stripe of the state in its own stream:
 *
 *     TAIL   the donor's position; `passed` is SH_PASSED_NOTHING
 *     STATE  an array of a chunk, as of the current stage; repeated for each array and chunk
 *     SUM    the reduced sum of the current stage for a chunk that was sent; chunks in any order
 *     TAIL   the stage is complete. If it changed weights, the receiver updates those it has
 *     STATE  ...
 *
 * A SUM follows its chunk immediately if the bucket was complete before the chunk was sent. If
 * devices train apart (train/strategy_laps.c), there are no sums: the TAIL has SH_PASSED_LAP, and
 * the donor sends its stripe again, which costs less than the sums of a lap's many steps.
 *
 * Heads (net/frame.h): `view` is the number of the transfer. `step` has the low 32 bits of the
 * steps and `attempt` the phase of the current stage's position (TAIL: of the completed stage).
 * `bucket` is the chunk's index in sh_chunks. `hop` is the array of a STATE: 0 for weights, 1 + k
 * for slot k of the optimizer. All other fields are 0. The body has the chunk's elements: floats
 * for STATE, integers with the width of the sum for SUM. The body of a TAIL:
 *
 *     byte 0        4         8             16           24           28          32
 *          | passed | tensors | steps before | steps after | phase b. | phase a. |
 *     byte 32      40          48               56               64
 *          | clip  | epoch loss | epoch samples | epoch score   |
 *     byte 64      72           80          88      96     104  112
 *          | value | steps      | reference | stale | last | at | envelopes ... | exponents ... |
 *
 * clip, loss, value, reference and last are doubles. `value` to `at` are the best validation
 * (train/best.h). Envelopes (float) and exponents (int32) have one value per tensor of the sum, as
 * of the end of the stage; the previous TAIL has the exponents of the stage's sums. All values are
 * little-endian.
 *
 * Threads: any; values.
 */
#ifndef SHOAL_TRAIN_TRANSFER_H
#define SHOAL_TRAIN_TRANSFER_H

#include "base/position.h"
#include "net/frame.h"
#include "train/replica.h"

#define SH_TRANSFER_STREAMS_MAX 64
#define SH_CHUNK_ELEMENTS 16384u /* the default; small chunks give stripes of similar size */
#define SH_CHUNK_ELEMENTS_MAX 65536u
#define SH_TAIL_HEAD_BYTES 112

/* Whether a stage's result can lead from `before` to `after`. */
bool sh_passed_leads(sh_passed passed, sh_position before, sh_position after);

/* Within one bucket of the sum, or frozen. */
typedef struct sh_chunk {
    size_t first_element; /* of the replica's weights */
    uint32_t elements;
    uint32_t arrays;     /* number of arrays sent: weights and slots */
    uint32_t word_bytes; /* of an element of its sum */
    bool frozen;
} sh_chunk;

/* In the order of sending: the frozen ones, which need no sums, then by bucket. */
typedef struct sh_chunks {
    sh_chunk *items; /* owned */
    uint32_t count;
    uint32_t tensors; /* of the replica's sum */
} sh_chunks;

/*
 * Divides the state into chunks of at most `most_elements` elements (0: SH_CHUNK_ELEMENTS), which
 * must be equal at sender and receiver. SH_LIMIT: the replica has more chunks than a head can
 * number. SH_INVALID: `most_elements` exceeds SH_CHUNK_ELEMENTS_MAX.
 */
sh_status sh_chunks_init(sh_chunks *chunks, const sh_replica *replica,
                         uint32_t most_elements) SHOAL_CHECKED;
void sh_chunks_release(sh_chunks *chunks);

/* The chunks [*first, *end) of a stripe. Stripes have about equal sizes; a stripe may be empty. */
void sh_chunks_stripe(const sh_chunks *chunks, uint32_t stripe, uint32_t stripes, uint32_t *first,
                      uint32_t *end);

/* Borrowed from the replica. */
float *sh_chunk_data(const sh_replica *replica, const sh_chunk *chunk, uint32_t array);

typedef struct sh_tail {
    sh_passed passed;
    sh_position before, after;
    double clip; /* of an APPLY, else 1 (sh_stage_outcome) */
    sh_epoch_totals epoch;
    sh_best best;
    float *envelopes; /* by tensor, as `exponents`; both borrowed */
    int32_t *exponents;
} sh_tail;

size_t sh_tail_bytes(uint32_t tensors);
void sh_tail_encode(unsigned char *body, const sh_tail *tail, uint32_t tensors);

/*
 * Writes envelopes and exponents to the arrays that `tail` points to; sh_sum_state_set checks them.
 * SH_FORMAT, SH_CORRUPT: the body is invalid; the content of `tail` is then undefined.
 */
sh_status sh_tail_decode(sh_tail *tail, const unsigned char *body, uint32_t tensors) SHOAL_CHECKED;

/* Converts words of 4, 2 or 1 bytes from memory to the wire or back. `to` and `from` are equal or
 * do not overlap. */
void sh_words_copy(void *to, const void *from, size_t words, size_t word_bytes);

/* 0 if the chunk is frozen. */
static inline size_t sh_chunk_sum_bytes(const sh_chunk *chunk)
{
    return (size_t)chunk->elements * chunk->word_bytes;
}

#endif
