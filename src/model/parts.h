/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building blocks and checks that several families of models share.
 *
 * Failures are recorded in the graph; the functions then return false or SH_NO_VALUE.
 *
 *     if (!sh_parts_none(net, "squeezenet", parameters) ||
 *         !sh_parts_side(net, "squeezenet", problem, 25))
 *         return SH_NO_VALUE;
 *     x = sh_parts_conv_norm(net, x, "conv1", "bn1", &(sh_conv_options){...});
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_MODEL_PARTS_H
#define SHOAL_MODEL_PARTS_H

#include "model/model.h"

/* Checks that a spec has no parameters. */
bool sh_parts_none(sh_net *net, const char *model, const char *parameters);

/* Checks that samples are at least `least` pixels high and wide. */
bool sh_parts_side(sh_net *net, const char *model, const sh_problem *problem, size_t least);

/* Parses an integer of at most six digits and advances *text. False if there is none. */
bool sh_parts_number(const char **text, size_t *number);

#define SH_PARTS_WIDTHS 65 /* longest list */

/* Parses a list such as "784-128-10" of widths from 1 to 1,000,000. Returns their number, or 0 if
 * the text is malformed. */
size_t sh_parts_widths(const char *text, size_t widths[SH_PARTS_WIDTHS]);

/*
 * Reshapes samples to series [N, F, 1, T]: T steps of F numbers. If a sample has one row, the
 * channels are the numbers and the columns are the steps; otherwise each row is a step, of the
 * row's elements in all channels.
 */
sh_value_id sh_parts_series(sh_net *net, sh_value_id samples, const sh_problem *problem);

/* Checks that samples are series of at least `least` steps. */
bool sh_parts_steps(sh_net *net, const char *model, const sh_problem *problem, size_t least);

/* A convolution without bias (options->no_bias is ignored) and a batch normalisation. */
sh_value_id sh_parts_conv_norm(sh_net *net, sh_value_id x, const char *conv, const char *norm,
                               const sh_conv_options *options);

/* The number of channels of x [N, C, ...]. 0 after a failure. */
size_t sh_parts_channels(const sh_net *net, sh_value_id x);

#endif
