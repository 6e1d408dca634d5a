/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrent layers as ONNX has them: LSTM, GRU and RNN, in one or both directions, on weights that
 * the caller has declared.
 *
 *     const sh_recurrent lstm = {SH_CELL_LSTM, .w = w, .r = r, .b = b, .h = SH_NO_VALUE,
 *                                .c = SH_NO_VALUE, .p = SH_NO_VALUE,
 *                                .wants = {true}};
 *     sh_net_recur(&net, x, &lstm, out);
 *     y = out[0];
 *
 * T steps, N samples, F features, H units, D directions, G gates. With [ | ] the order of gates in
 * the rows of w, r and b, which is ONNX's:
 *
 *     lstm   a = w x + r h + b = [i | o | f | g]
 *            c = sigmoid(f) c + sigmoid(i) tanh(g);  h = sigmoid(o) tanh(c)
 *            with peepholes i + p_i c, f + p_f c of the cell before, o + p_o c of the new one
 *     gru    u = w x + b_w, v = r h + b_r, [z | r | n]: z = sigmoid(u.z + v.z), r likewise
 *            n = tanh(u.n + r v.n), without reset_after tanh(u.n + r_n (r h) + b_r.n)
 *            h = n + z (h - n)
 *     rnn    h = tanh(w x + r h + b), or relu
 *
 * The steps are nodes of the graph, one after the other. Takes and gives SH_NO_VALUE after a
 * failure (graph.h). Threads: caller locks. Values and structs are borrowed for the call.
 */
#ifndef SHOAL_GRAPH_RECURRENT_LAYERS_H
#define SHOAL_GRAPH_RECURRENT_LAYERS_H

#include "graph/layers.h"

#define SH_RECURRENT_STEPS 256 /* each is some twenty nodes and forty backward */

typedef enum sh_cell {
    SH_CELL_LSTM,
    SH_CELL_GRU,
    SH_CELL_RNN,
} sh_cell;

typedef struct sh_recurrent {
    sh_cell cell;
    sh_value_id w, r; /* [D, G H, F], [D, G H, H] */
    sh_value_id b;    /* [D, 2 G H]: those of w, then those of r; or SH_NO_VALUE */
    sh_value_id p;    /* lstm: peepholes [D, 3 H], those of i, o, f; or SH_NO_VALUE */
    sh_value_id h, c; /* before the first step, [D, N, H]; SH_NO_VALUE: zeros */
    bool reverse;     /* of one direction: from the last step to the first. Of two the second is */
    bool reset_after; /* gru: ONNX's linear_before_reset, and all of PyTorch's */
    bool relu;        /* rnn: relu instead of tanh */
    bool coupled;     /* lstm: f = 1 - sigmoid(i) in the place of sigmoid(f) */
    float clip;       /* what a gate's function is given lies within +-clip; 0: anywhere */
    bool wants[3];    /* which outputs are made */
} sh_recurrent;

/* x [T, N, F] -> out: y [T, D, N, H], the last h and the last c [D, N, H]. */
void sh_net_recur(sh_net *net, sh_value_id x, const sh_recurrent *of, sh_value_id out[3]);

#endif
