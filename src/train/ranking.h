/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how well scores separate positive samples from negative ones.
 *
 *     sh_ranking_sort(items, count);
 *     auc = sh_ranking_auc(items, count);
 *
 * The result has the same bits for every order of the samples.
 *
 * Threads: any.
 */
#ifndef SHOAL_TRAIN_RANKING_H
#define SHOAL_TRAIN_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `key` has the order of the scores. */
typedef struct sh_ranked {
    uint32_t key;
    uint32_t holds; /* 1 if positive, else 0 */
} sh_ranked;

/* -0 and +0 are the same score. NaN is below all other scores. */
sh_ranked sh_ranked_of(float score, bool holds);

/* -infinity if it was NaN. */
float sh_ranked_score(sh_ranked item);

/* Sorts from the highest score to the lowest. */
void sh_ranking_sort(sh_ranked *items, size_t count);

/*
 * The area under the ROC curve of sorted items: the probability that a positive sample has a higher
 * score than a negative one, where equal scores count one half (Hanley and McNeil 1982;
 * scikit-learn's roc_auc_score). NaN if all samples are positive or all are negative.
 */
double sh_ranking_auc(const sh_ranked *items, size_t count);

/*
 * The average precision of sorted items: the sum of (R(s) - R(previous s)) P(s) over all distinct
 * scores s from the highest, where R and P are recall and precision of the samples that score at
 * least s (scikit-learn's average_precision_score). NaN without positive samples.
 */
double sh_ranking_average_precision(const sh_ranked *items, size_t count);

#endif
