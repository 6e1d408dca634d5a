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

#define SH_PARTS_WIDTHS 65 /* at most, of one list */

/* Reads "784-128-10" into widths of 1 to 1,000,000. Returns how many there are; 0 where the text
 * has another form. */
size_t sh_parts_widths(const char *text, size_t widths[SH_PARTS_WIDTHS]);

/*
 * Samples as series, [N, F, 1, T]: T steps of F numbers. One row of a sample is already that: its
 * channels are the numbers, its columns the steps. Where a sample has several rows, these are the
 * steps, and the numbers of a step are the row in each channel.
 */
sh_value_id sh_parts_series(sh_net *net, sh_value_id samples, const sh_problem *problem);

/* Samples are series of at least `least` steps. */
bool sh_parts_steps(sh_net *net, const char *model, const sh_problem *problem, size_t least);

/* A convolution without bias, and batch normalisation. */
sh_value_id sh_parts_conv_norm(sh_net *net, sh_value_id x, const char *conv, const char *norm,
                               const sh_conv_options *options);

/* Channels of x [N, C, ...]; 0 after a failure. */
size_t sh_parts_channels(const sh_net *net, sh_value_id x);

#endif
