/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metric reported with the loss. It is accumulated as an integer score that devices add up, so
 * its bits do not depend on which device computed which samples:
 *
 *     classes   samples whose most likely class is correct          accuracy = score / samples
 *     labels    correct labels; a label is predicted if its logit   accuracy = score / (samples
 *               is above 0                                          outputs)
 *     numbers   mean absolute error of each sample, in units of     mean absolute error
 *               2^-24, at most 2^15 per sample
 *     samples   like numbers
 *
 * Threads: any.
 */
#ifndef SHOAL_TRAIN_SCORE_H
#define SHOAL_TRAIN_SCORE_H

#include <stdint.h>

#include "tensor/target.h"

/* The score of `count` samples, from the answers and the targets (outputs 1 and 2 of the graph,
 * model/model.h). */
uint64_t sh_score(sh_target target, uint32_t outputs, uint32_t count, const void *answers,
                  const void *targets);

/* 0 without samples. */
double sh_score_figure(sh_target target, uint32_t outputs, uint64_t score, uint64_t samples);

/* "accuracy" or "mae". */
const char *sh_score_name(sh_target target);

#endif
