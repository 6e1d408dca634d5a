/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well scores tell the samples of which something holds from the others.
 *
 *     items[i] = sh_ranked_of(score, holds);
 *     sh_ranking_sort(items, count);
 *     auc = sh_ranking_auc(items, count);
 *
 * Both figures are quotients and sums in an order that the scores decide, so they are the same bits
 * in whatever order the samples came.
 *
 * Threads: any.
 */
#ifndef SHOAL_TRAIN_RANKING_H
#define SHOAL_TRAIN_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A score by an integer of the same order, and whether it holds. */
typedef struct sh_ranked {
    uint32_t key;
    uint32_t holds; /* 0 or 1 */
} sh_ranked;

/* Both zeros are one score; NaN is below all others. */
sh_ranked sh_ranked_of(float score, bool holds);

/* The score again; -infinity for what was NaN. */
float sh_ranked_score(sh_ranked item);

/* The highest score first. */
void sh_ranking_sort(sh_ranked *items, size_t count);

/*
 * Of sorted items: the area under the ROC curve, which is the probability that a sample of which it
 * holds has a higher score than one of which it does not, equal scores counting one half (Hanley
 * and McNeil 1982; scikit-learn's roc_auc_score). NaN where all hold or none.
 */
double sh_ranking_auc(const sh_ranked *items, size_t count);

/*
 * Of sorted items: average precision, the sum over all distinct scores s from the highest of
 * (R(s) - R(previous)) P(s), with recall R and precision P of the samples that score at least s
 * (scikit-learn's average_precision_score). NaN where none holds.
 */
double sh_ranking_average_precision(const sh_ranked *items, size_t count);

#endif
