/* SPDX-License-Identifier: Apache-2.0 */
#include "train/best.h"

#include <math.h>
#include <string.h>

#include "train/score.h"

#define LOSS "val_loss"
#define PREFIX "val_" /* of a score's name */

static bool is_loss(const sh_job *job)
{
    return strcmp(job->monitor, LOSS) == 0;
}

static bool is_accuracy(const sh_job *job)
{
    return strcmp(job->monitor, "val_accuracy") == 0;
}

sh_status sh_best_check(const sh_job *job, const sh_dataset_info *info)
{
    const char *score = sh_score_name(info->target);
    const size_t prefix = strlen(PREFIX);
    if (is_loss(job) ||
        (strncmp(job->monitor, PREFIX, prefix) == 0 && strcmp(job->monitor + prefix, score) == 0))
        return SH_OK;
    return sh_fail(SH_INVALID,
                   "--monitor %s: a training on these data has " LOSS " and " PREFIX "%s",
                   job->monitor, score);
}

double sh_best_figure(const sh_job *job, const sh_dataset_info *info, const sh_sum_totals *totals)
{
    if (totals->samples == 0)
        return INFINITY;
    const double figure =
        is_loss(job) ? totals->loss / (double)totals->samples
                     : sh_score_figure(info->target, info->outputs, totals->score, totals->samples);
    if (!isfinite(figure))
        return INFINITY;
    return sh_best_shown(job, figure);
}

double sh_best_shown(const sh_job *job, double figure)
{
    return is_accuracy(job) ? -figure : figure;
}

void sh_best_note(sh_best *best, double figure, uint64_t steps)
{
    best->last = figure;
    best->at = steps;
}

void sh_best_forget(sh_best *best)
{
    best->last = 0;
    best->at = 0;
}

void sh_best_settle(sh_best *best, const sh_job *job)
{
    const bool none = best->steps == 0, finite = isfinite(best->last);
    if (best->at == 0)
        return;
    if (finite && (none || best->last < best->value)) {
        best->value = best->last;
        best->steps = best->at;
    }
    if (finite && (none || best->last < best->reference - (double)job->min_delta)) {
        best->reference = best->last;
        best->stale = 0;
    } else {
        best->stale++;
    }
    sh_best_forget(best);
}

sh_best sh_best_now(const sh_best *best, const sh_job *job)
{
    sh_best now = *best;
    sh_best_settle(&now, job);
    return now;
}

bool sh_best_ends(const sh_best *best, const sh_job *job)
{
    return best->at > 0 && job->patience > 0 && sh_best_now(best, job).stale >= job->patience;
}

bool sh_best_is_possible(const sh_best *best, uint64_t steps)
{
    return isfinite(best->value) && isfinite(best->reference) && !isnan(best->last) &&
           best->last > -INFINITY && best->steps <= steps && best->stale <= steps &&
           (best->at == 0 || best->at == steps);
}

static bool same_bits(double a, double b)
{
    uint64_t bits[2];
    memcpy(&bits[0], &a, sizeof a);
    memcpy(&bits[1], &b, sizeof b);
    return bits[0] == bits[1];
}

bool sh_best_same(const sh_best *a, const sh_best *b)
{
    return same_bits(a->value, b->value) && a->steps == b->steps &&
           same_bits(a->reference, b->reference) && a->stale == b->stale &&
           same_bits(a->last, b->last) && a->at == b->at;
}
