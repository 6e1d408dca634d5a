/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several families of models are made of, and what they all refuse in the same words.
 *
 *     if (!sh_parts_none(net, "squeezenet", parameters) ||
 *         !sh_parts_side(net, "squeezenet", problem, 25))
 *         return SH_NO_VALUE;
 *     x = sh_parts_conv_norm(net, x, "conv1", "bn1", &(sh_conv_options){...});
 *
 * After a failure, which stays in the graph, the functions give false or SH_NO_VALUE.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_MODEL_PARTS_H
#define SHOAL_MODEL_PARTS_H

#include "model/model.h"

/* The spec has nothing behind the model's name. */
bool sh_parts_none(sh_net *net, const char *model, const char *parameters);

/* Samples are at least `least` pixels high and wide. */
bool sh_parts_side(sh_net *net, const char *model, const sh_problem *problem, size_t least);

/* Reads a whole number of at most six digits at *text and goes behind it; false where none is. */
bool sh_parts_number(const char **text, size_t *number);

/* A convolution without bias, and batch normalisation. */
sh_value_id sh_parts_conv_norm(sh_net *net, sh_value_id x, const char *conv, const char *norm,
                               const sh_conv_options *options);

/* Channels of x [N, C, ...]; 0 after a failure. */
size_t sh_parts_channels(const sh_net *net, sh_value_id x);

#endif
