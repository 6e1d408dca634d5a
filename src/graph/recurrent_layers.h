/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrent layers as ONNX defines them: LSTM, GRU and RNN, in one or both directions. The caller
 * declares the weights.
 *
 * T steps, N samples, F features, H units, D directions, G gates. [ | ] shows the order of the
 * gates in the rows of w, r and b, which is ONNX's:
 *
 *     lstm   a = w x + r h + b = [i | o | f | g]
 *            c = sigmoid(f) c + sigmoid(i) tanh(g);  h = sigmoid(o) tanh(c)
 *            with peepholes: i + p_i c and f + p_f c with the old c, o + p_o c with the new c
 *     gru    u = w x + b_w, v = r h + b_r, [z | r | n]: z = sigmoid(u.z + v.z), r likewise
 *            n = tanh(u.n + r v.n); without reset_after, n = tanh(u.n + r_n (r h) + b_r.n)
 *            h = n + z (h - n)
 *     rnn    h = tanh(w x + r h + b), or relu
 *
 * Each step adds its own nodes to the graph. After a failure the function accepts and returns
 * SH_NO_VALUE (graph.h).
 *
 * Threads: caller locks. Pointers are borrowed for the call.
 */
#ifndef SHOAL_GRAPH_RECURRENT_LAYERS_H
#define SHOAL_GRAPH_RECURRENT_LAYERS_H

#include "graph/layers.h"

#define SH_RECURRENT_STEPS 256 /* at most; each adds about 20 nodes, and 40 for backward */

typedef enum sh_cell {
    SH_CELL_LSTM,
    SH_CELL_GRU,
    SH_CELL_RNN,
} sh_cell;

typedef struct sh_recurrent {
    sh_cell cell;
    sh_value_id w, r; /* [D, G H, F], [D, G H, H] */
    sh_value_id b;    /* [D, 2 G H]: biases of w, then of r; or SH_NO_VALUE */
    sh_value_id p;    /* lstm: peepholes [D, 3 H] of i, o, f; or SH_NO_VALUE */
    sh_value_id h, c; /* initial states [D, N, H]; SH_NO_VALUE: zeros */
    bool reverse;     /* one direction: last step first. Of two, the second always is */
    bool reset_after; /* gru: ONNX's linear_before_reset; always so in PyTorch */
    bool relu;        /* rnn: relu instead of tanh */
    bool coupled;     /* lstm: 1 - sigmoid(i) replaces sigmoid(f) */
    float clip;       /* clips the inputs of gate functions to +-clip; 0: no clipping */
    bool wants[3];    /* outputs to compute; the others are SH_NO_VALUE */
} sh_recurrent;

/* x [T, N, F] -> out: y [T, D, N, H], final h and final c [D, N, H]. Only LSTM has c. */
void sh_net_recur(sh_net *net, sh_value_id x, const sh_recurrent *of, sh_value_id out[3]);

#endif
