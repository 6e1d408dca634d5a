/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the receiver: invalid frames in its streams, with the expected errors.
 * replica_receiver_test.c shows the stream and the numbers of its frames.
 */
#ifndef SHOAL_TRAIN_REPLICA_RECEIVER_FIXTURE_H
#define SHOAL_TRAIN_REPLICA_RECEIVER_FIXTURE_H

#include <stdint.h>

#include "base/fail.h"
#include "net/frame.h"
#include "train/transfer.h"

/* Changes a field or a byte of frame `at`, or replaces the frame. */
struct damage {
    uint32_t at;
    enum { VIEW, STEP, ATTEMPT, BUCKET, HOP, BYTES, KIND, BYTE, REAL, FAR, INSTEAD } of;
    uint32_t value; /* BYTE: place * 256 + value; INSTEAD: the other frame */
    sh_status code;
    const char *message;
};

#define EXPONENT(tensor) (SH_TAIL_HEAD_BYTES + 2 * 4 + (tensor)*4)

static const struct damage damages[] = {
    {0, VIEW, 8, SH_FORMAT, "the state from donor 0: a frame of hand-over 8 in hand-over 7"},
    {3, VIEW, 8, SH_FORMAT, "a frame of hand-over 8"},
    {0, INSTEAD, 1, SH_FORMAT, "does not begin with a tail"},
    {0, INSTEAD, 8, SH_FORMAT, "does not begin with a tail"},
    {0, INSTEAD, 10, SH_FORMAT, "begins with a stage's end"},
    {0, STEP, 6, SH_FORMAT, "a tail whose position differs from its frame's"},
    {0, ATTEMPT, 2, SH_FORMAT, "a tail whose position"},
    {0, BUCKET, 1, SH_FORMAT, "a tail with the fields of a chunk"},
    {0, HOP, 1, SH_FORMAT, "a tail with the fields of a chunk"},
    {0, BYTES, 127, SH_FORMAT, "a body of 127 bytes, expected 128"},
    {0, BYTE, 13 << 8 | 1, SH_FORMAT, "does not lead"}, /* a high bit of `steps before` */
    {0, BYTE, 48 << 8 | 25, SH_CORRUPT, "25 samples of an epoch of 24"},
    {0, REAL, SH_TAIL_HEAD_BYTES, SH_CORRUPT, "tensor 0: the envelope nan is not a maximum"},
    {0, REAL, EXPONENT(0), SH_CORRUPT, "tensor 0: the exponent 2143289344 is outside"},
    {0, BYTE, EXPONENT(1) << 8 | 126, SH_CORRUPT, "tensor 1: the exponent 126 is outside"},
    {1, STEP, 4, SH_FORMAT, "a frame of step 4, phase 1 in a stream that is at step 5, phase 1"},
    {1, ATTEMPT, 0, SH_FORMAT, "a frame of step 5, phase 0"},
    {1, BUCKET, 1, SH_FORMAT, "chunk 1, array 0, expected chunk 0, array 0"},
    {1, HOP, 1, SH_FORMAT, "chunk 0, array 1, expected chunk 0, array 0"},
    {1, BYTES, 164, SH_FORMAT, "a body of 164 bytes, expected 160"},
    {1, BYTES, 0, SH_FORMAT, "a body of 0 bytes"},
    {1, KIND, SH_FRAME_SEGMENT, SH_FORMAT, "a frame of kind 3 in a hand-over"},
    {1, KIND, SH_FRAME_CONTROL, SH_FORMAT, "a frame of kind 1 in a hand-over"},
    {1, KIND, SH_FRAME_SUM, SH_FORMAT, "a sum of chunk 0, which is not in this stream yet"},
    {1, INSTEAD, 0, SH_FORMAT, "a stream that begins twice"},
    {2, KIND, SH_FRAME_SUM, SH_FORMAT, "a sum of chunk 1, which is not in"},
    {3, HOP, 2, SH_FORMAT, "chunk 1, array 2, expected chunk 1, array 1"},
    {3, HOP, 0, SH_FORMAT, "chunk 1, array 0, expected chunk 1, array 1"},
    {3, INSTEAD, 8, SH_FORMAT, "kind 4 between two arrays of a chunk"},
    {3, INSTEAD, 10, SH_FORMAT, "kind 5 between two arrays of a chunk"},
    {4, INSTEAD, 5, SH_FORMAT, "chunk 2, array 0, expected chunk 1, array 2"},
    {8, INSTEAD, 2, SH_FORMAT, "chunk 1 after the last of its stripe"},
    {8, BUCKET, 0, SH_FORMAT, "a sum of chunk 0, which is frozen"},
    {8, BUCKET, 3, SH_FORMAT, "a sum of chunk 3, which is not in"},
    {8, BUCKET, 65535, SH_FORMAT, "a sum of chunk 65535, which is not in"},
    {8, HOP, 1, SH_FORMAT, "a sum of chunk 1 with an array"},
    {8, BYTES, 396, SH_FORMAT, "a body of 396 bytes, expected 400"},
    {9, INSTEAD, 8, SH_FORMAT, "a second sum of chunk 1 in one stage"},
    {11, INSTEAD, 8, SH_FORMAT,
     "a frame of step 5, phase 1 in a stream that is at step 5, phase 2"},
    {11, INSTEAD, 13, SH_FORMAT, "a step was applied but the sum of chunk 1 is missing"},
    {12, INSTEAD, 13, SH_FORMAT, "a step was applied but the sum of chunk 2 is missing"},
    {10, BYTE, 0 << 8 | SH_PASSED_APPLY, SH_FORMAT, "does not lead"},
    {10, REAL, SH_TAIL_HEAD_BYTES, SH_CORRUPT, "totals that changed without a step"},
    {10, BYTE, 40 << 8 | 1, SH_CORRUPT, "totals that changed without a step"},
    {10, BYTE, 48 << 8 | 1, SH_CORRUPT, "totals that changed without a step"},
    {14, BYTE, EXPONENT(0) << 8 | 1, SH_CORRUPT, "totals that changed without a step"},
    {10, BYTE, 63 << 8 | 1, SH_CORRUPT, "totals that changed without a step"},
    {13, INSTEAD, 10, SH_FORMAT, "a frame of step 5, phase 1"},
    {13, REAL, 36, SH_CORRUPT, "a clipping factor of"},
    {14, BUCKET, 9, SH_FORMAT, "a tail with the fields of a chunk"},
    {14, KIND, SH_FRAME_SUM, SH_FORMAT, "a sum of chunk 0 in a validation"},
    {10, FAR, 1, SH_FORMAT, "a tail from step 4294967301 in a stream that is at step 5"},
};

#endif
