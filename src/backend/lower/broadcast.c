/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of two values whose dimensions of 1 are repeated (graph/op_broadcast.c). Operands that
 * are repeated or strided are copied to a contiguous row first, so each function is one loop.
 */
#include "backend/lower/lowering.h"
#include "backend/lower/walk.h"
#include "graph/formulas.h"

#define PART 256 /* elements */

/* Returns `length` elements that are `step` apart as a contiguous row, copied to `room` if needed.
 * If `again`, room has the previous part, which is the same for step 0. */
static const float *side_by_side(float *room, const float *from, size_t step, size_t length,
                                 bool again)
{
    if (step == 1)
        return from;
    for (size_t i = 0; i < length && (step != 0 || !again); i++)
        room[i] = from[i * step];
    return room;
}

#define PAIR(name, expression)                                                                     \
    case SH_PAIR_##name:                                                                           \
        SH_EACH_ELEMENT (i, length)                                                                \
            y[i] = expression;                                                                     \
        return;

static void compute(sh_pair_function function, size_t length, const float *a, const float *b,
                    float *y)
{
    switch (function) {
        PAIR(ADD, a[i] + b[i])
        PAIR(SUBTRACT, a[i] - b[i])
        PAIR(MULTIPLY, a[i] * b[i])
        PAIR(DIVIDE, a[i] / b[i])
        PAIR(LARGER, a[i] < b[i] ? b[i] : a[i])
        PAIR(SMALLER, b[i] < a[i] ? b[i] : a[i])
        PAIR(KEEP, b[i] != 0 ? a[i] : 0)
        PAIR(DROP, b[i] != 0 ? 0 : a[i])
        PAIR(GREATER, a[i] > b[i] ? 1 : 0)
        PAIR(EQUAL, a[i] == b[i] ? 1 : 0)
        PAIR(PRELU, a[i] > 0 ? a[i] : a[i] * b[i])
        PAIR(PRELU_SLOPE, a[i] > 0 ? 1 : b[i])
        PAIR(PRELU_BELOW, b[i] > 0 ? 0 : a[i] * b[i])
    default:
        return;
    }
}

static void broadcast(const sh_call *call)
{
    const sh_shape *whole = &call->out_type[0].shape;
    size_t a_stride[SH_MAX_RANK], b_stride[SH_MAX_RANK];
    sh_strides_repeated(a_stride, &call->in_type[0].shape, call->channels_last, whole);
    sh_strides_repeated(b_stride, &call->in_type[1].shape, call->channels_last, whole);
    sh_walk w = sh_walk_over(whole, call->channels_last, a_stride, b_stride);
    float *y = call->out[0];
    do {
        float room[2][PART];
        const float *a = (const float *)call->in[0] + w.offset[0];
        const float *b = (const float *)call->in[1] + w.offset[1];
        for (size_t done = 0; done < w.length; done += PART) {
            const size_t length = w.length - done < PART ? w.length - done : PART;
            compute(call->attributes->function, length,
                    side_by_side(room[0], a, w.step[0], length, done > 0),
                    side_by_side(room[1], b, w.step[1], length, done > 0), y);
            a += length * w.step[0];
            b += length * w.step[1];
            y += length;
        }
    } while (sh_walk_next(&w));
}

const sh_lowering sh_lower_broadcast = {.run = broadcast, .channels_last = sh_any_channels_last};
