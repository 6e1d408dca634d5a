/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept, by target:
 *
 *     classes   the confusion matrix [target][answer] and counts of each class; with two classes
 *               also the difference of each sample's logits
 *     labels    counts of each label; the logit of each label and sample
 *     numbers   sums of errors, squared errors, targets and squared targets of each output, as
 *               192-bit integers in units of 2^-24, independent of the order
 *     samples   the error of each sample
 */
#include "train/metrics.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "train/ranking.h"

#define UNIT 0x1p-24
#define LARGEST 0x1p38 /* limit of a summed number: its square has fewer than 125 bits */
#define TOP 5

/* ---- sums of integers ------------------------------------------------------------------------ */

/* low + high 2^64 + highest 2^128. */
typedef struct wide_sum {
    uint64_t low, high, highest;
} wide_sum;

static void add_wide(wide_sum *sum, uint64_t low, uint64_t high)
{
    sum->low += low;
    const uint64_t carry = sum->low < low;
    sum->high += high;
    sum->highest += sum->high < high;
    sum->high += carry;
    sum->highest += sum->high < carry;
}

static void add_square(wide_sum *sum, uint64_t number)
{
    const uint64_t low = number & UINT32_MAX, high = number >> 32, middle = low * high;
    add_wide(sum, low * low, high * high);
    add_wide(sum, middle << 33, middle >> 31); /* 2 low high 2^32 */
}

static double wide_value(const wide_sum *sum)
{
    return (double)sum->highest * 0x1p128 + (double)sum->high * 0x1p64 + (double)sum->low;
}

/* |number| in units; limited to LARGEST, also if not finite. */
static uint64_t units_of(double number)
{
    const double size = fabs(number);
    return (uint64_t)llrint((size < LARGEST ? size : LARGEST) / UNIT);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

typedef struct class_counts {
    uint64_t samples, answers, right;
} class_counts;

/* Targets are summed above and below 0; `squared` is the sum of their squares. */
typedef struct number_sums {
    wide_sum error, squared_error, above, below, squared;
} number_sums;

/* `row`: in `given` and `wanted`. */
typedef struct kept {
    float order; /* the loss; infinite if NaN */
    uint32_t index, row;
    float loss;
    uint32_t target, answer;
    double probability;
} kept;

struct sh_metrics {
    sh_metrics_options options;
    uint32_t count; /* samples added */
    uint64_t top5;
    class_counts *classes; /* classes or labels: [outputs] */
    uint32_t *matrix;      /* classes: [outputs][outputs] */
    number_sums *numbers;  /* numbers: [outputs] */
    sh_ranked *scores;     /* [columns][samples] */
    uint32_t columns;
    bool sorted;
    kept *worst; /* in descending order of loss */
    uint32_t worst_count;
    float *given, *wanted; /* [worst][outputs] */
};

static sh_status take(void **block, size_t rows, size_t columns, size_t bytes, const char *purpose)
{
    size_t count, all;
    if (!sh_size_mul(rows, columns, &count) || !sh_size_mul(count, bytes, &all))
        return sh_fail_memory(SIZE_MAX, purpose);
    *block = calloc(all > 0 ? count : 1, bytes);
    return *block != NULL ? SH_OK : sh_fail_memory(all, purpose);
}

static sh_status take_all(sh_metrics *metrics)
{
    const sh_metrics_options *options = &metrics->options;
    const sh_target target = options->target;
    const size_t outputs = options->outputs, worst = options->worst;
    const bool classes = target == SH_TARGET_CLASS, labels = target == SH_TARGET_LABELS;
    const bool rows = labels || target == SH_TARGET_NUMBERS;
    metrics->columns = labels                                                    ? options->outputs
                       : target == SH_TARGET_SAMPLE || (classes && outputs == 2) ? 1
                                                                                 : 0;
    if (classes || labels)
        SH_TRY(take((void **)&metrics->classes, outputs, 1, sizeof *metrics->classes,
                    "the counts of classes"));
    if (classes && outputs <= SH_METRICS_MATRIX_MOST)
        SH_TRY(take((void **)&metrics->matrix, outputs, outputs, sizeof *metrics->matrix,
                    "the confusion matrix"));
    if (target == SH_TARGET_NUMBERS)
        SH_TRY(take((void **)&metrics->numbers, outputs, 1, sizeof *metrics->numbers,
                    "the sums of errors"));
    if (metrics->columns > 0)
        SH_TRY(take((void **)&metrics->scores, metrics->columns, options->samples,
                    sizeof *metrics->scores, "the scores of samples"));
    SH_TRY(take((void **)&metrics->worst, worst, 1, sizeof *metrics->worst, "the worst samples"));
    if (rows && worst > 0)
        SH_TRY(take((void **)&metrics->given, worst, outputs, sizeof *metrics->given,
                    "the worst samples"));
    if (rows && worst > 0)
        SH_TRY(take((void **)&metrics->wanted, worst, outputs, sizeof *metrics->wanted,
                    "the worst samples"));
    return SH_OK;
}

sh_status sh_metrics_new(sh_metrics **metrics, const sh_metrics_options *options)
{
    sh_metrics *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "metrics");
    fresh->options = *options;
    if (fresh->options.worst > SH_METRICS_WORST_MOST)
        fresh->options.worst = SH_METRICS_WORST_MOST;
    if (fresh->options.worst > options->samples)
        fresh->options.worst = options->samples;
    const sh_status status = take_all(fresh);
    if (status != SH_OK) {
        sh_metrics_free(fresh);
        return status;
    }
    *metrics = fresh;
    return SH_OK;
}

void sh_metrics_free(sh_metrics *metrics)
{
    if (metrics == NULL)
        return;
    free(metrics->classes);
    free(metrics->matrix);
    free(metrics->numbers);
    free(metrics->scores);
    free(metrics->worst);
    free(metrics->given);
    free(metrics->wanted);
    free(metrics);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The first of the largest logits, as the graph's own answer. */
static uint32_t likeliest(const float *logits, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < count; k++)
        if (logits[k] > logits[best])
            best = k;
    return best;
}

/* The number of classes ranked before. */
static uint32_t rank_of(const float *logits, uint32_t count, uint32_t class)
{
    uint32_t before = 0;
    if (isnan(logits[class]))
        return count;
    for (uint32_t k = 0; k < count; k++)
        before += logits[k] > logits[class] || (logits[k] == logits[class] && k < class);
    return before;
}

static double softmax_at(const float *logits, uint32_t count, uint32_t class)
{
    double sum = 0;
    for (uint32_t k = 0; k < count; k++)
        sum += sh_real_exp((double)logits[k] - (double)logits[class]);
    return 1 / sum;
}

static void add_class(sh_metrics *metrics, const float *logits, uint32_t class)
{
    const uint32_t outputs = metrics->options.outputs, answer = likeliest(logits, outputs);
    metrics->classes[class].samples++;
    metrics->classes[answer].answers++;
    metrics->classes[class].right += answer == class;
    metrics->top5 += rank_of(logits, outputs, class) < TOP;
    if (metrics->matrix != NULL)
        metrics->matrix[(size_t) class * outputs + answer]++;
    if (metrics->columns == 1)
        metrics->scores[metrics->count] = sh_ranked_of(logits[1] - logits[0], class == 1);
}

static void add_labels(sh_metrics *metrics, const float *logits, const float *targets)
{
    for (uint32_t k = 0; k < metrics->options.outputs; k++) {
        const bool holds = targets[k] > 0.5f, told = logits[k] > 0;
        class_counts *counts = &metrics->classes[k];
        counts->samples += holds;
        counts->answers += told;
        counts->right += holds && told;
        metrics->scores[(size_t)k * metrics->options.samples + metrics->count] =
            sh_ranked_of(logits[k], holds);
    }
}

static void add_numbers(sh_metrics *metrics, const float *given, const float *targets)
{
    for (uint32_t k = 0; k < metrics->options.outputs; k++) {
        number_sums *sums = &metrics->numbers[k];
        const double target = (double)targets[k];
        const uint64_t error = units_of((double)given[k] - target), size = units_of(target);
        add_wide(&sums->error, error, 0);
        add_square(&sums->squared_error, error);
        add_wide(target < 0 ? &sums->below : &sums->above, size, 0);
        add_square(&sums->squared, size);
    }
}

static bool is_worse(float order, uint32_t index, const kept *than)
{
    return order > than->order || (order == than->order && index < than->index);
}

/* A new sample takes the row of the one that drops out. */
static void keep(sh_metrics *metrics, uint32_t index, float loss, const float *given,
                 const void *target)
{
    const uint32_t most = metrics->options.worst, outputs = metrics->options.outputs;
    const float order = isnan(loss) ? INFINITY : loss;
    uint32_t place = metrics->worst_count;
    if (most == 0 || (place == most && !is_worse(order, index, &metrics->worst[most - 1])))
        return;
    const bool full = place == most;
    kept fresh = {.order = order, .index = index, .loss = loss, .row = place};
    if (full)
        fresh.row = metrics->worst[--place].row;
    while (place > 0 && is_worse(order, index, &metrics->worst[place - 1])) {
        metrics->worst[place] = metrics->worst[place - 1];
        place--;
    }
    if (metrics->options.target == SH_TARGET_CLASS) {
        int32_t class;
        memcpy(&class, target, sizeof class);
        fresh.target = (uint32_t) class;
        fresh.answer = likeliest(given, outputs);
        fresh.probability = softmax_at(given, outputs, fresh.answer);
    } else if (metrics->given != NULL) {
        const size_t bytes = outputs * sizeof *given;
        memcpy(metrics->given + (size_t)fresh.row * outputs, given, bytes);
        memcpy(metrics->wanted + (size_t)fresh.row * outputs, target, bytes);
    }
    metrics->worst[place] = fresh;
    metrics->worst_count += !full;
}

void sh_metrics_add(sh_metrics *metrics, uint32_t index, float loss, const float *given,
                    const void *target)
{
    int32_t class = 0;
    assert(index < metrics->options.samples && metrics->count < metrics->options.samples);
    switch (metrics->options.target) {
    case SH_TARGET_CLASS:
        memcpy(&class, target, sizeof class);
        if (class < 0 || (uint32_t) class >= metrics->options.outputs)
            return;
        add_class(metrics, given, (uint32_t) class);
        break;
    case SH_TARGET_LABELS:
        add_labels(metrics, given, target);
        break;
    case SH_TARGET_NUMBERS:
        add_numbers(metrics, given, target);
        break;
    default:
        metrics->scores[metrics->count] = sh_ranked_of(loss, false);
    }
    keep(metrics, index, loss, given, target);
    metrics->count++;
    metrics->sorted = false;
}

/* ---- figures --------------------------------------------------------------------------------- */

/* The sorted scores of a class or label; NULL if there are none. */
static const sh_ranked *column(sh_metrics *metrics, uint32_t index)
{
    if (index >= metrics->columns)
        return NULL;
    for (uint32_t k = 0; k < metrics->columns && !metrics->sorted; k++)
        sh_ranking_sort(metrics->scores + (size_t)k * metrics->options.samples, metrics->count);
    metrics->sorted = true;
    return metrics->scores + (size_t)index * metrics->options.samples;
}

static double ratio(uint64_t part, uint64_t of)
{
    return of == 0 ? NAN : (double)part / (double)of;
}

sh_class_figures sh_metrics_class(sh_metrics *metrics, uint32_t index)
{
    const class_counts *counts = &metrics->classes[index];
    const uint64_t either = counts->samples + counts->answers;
    sh_class_figures figures = {
        .samples = counts->samples,
        .answers = counts->answers,
        .right = counts->right,
        .precision = ratio(counts->right, counts->answers),
        .recall = ratio(counts->right, counts->samples),
        .f1 = ratio(2 * counts->right, either),
        .auc = NAN,
        .average_precision = NAN,
    };
    if (metrics->options.target == SH_TARGET_LABELS) {
        const sh_ranked *scores = column(metrics, index);
        figures.auc = sh_ranking_auc(scores, metrics->count);
        figures.average_precision = sh_ranking_average_precision(scores, metrics->count);
    }
    return figures;
}

sh_number_figures sh_metrics_number(const sh_metrics *metrics, uint32_t index)
{
    const number_sums *sums = &metrics->numbers[index];
    const double count = (double)metrics->count;
    if (metrics->count == 0)
        return (sh_number_figures){NAN, NAN, NAN};
    const double sum = wide_value(&sums->above) - wide_value(&sums->below);
    const double squares = wide_value(&sums->squared_error);
    const double spread = wide_value(&sums->squared) - sum * sum / count;
    return (sh_number_figures){
        .mae = wide_value(&sums->error) * UNIT / count,
        .rmse = sqrt(squares / count) * UNIT,
        .r2 = spread > 0 ? 1 - squares / spread : NAN,
    };
}

uint32_t sh_metrics_confusion(const sh_metrics *metrics, uint32_t target, uint32_t answer)
{
    const size_t outputs = metrics->options.outputs;
    return metrics->matrix == NULL ? 0 : metrics->matrix[target * outputs + answer];
}

double sh_metrics_quantile(sh_metrics *metrics, uint32_t percent)
{
    const sh_ranked *errors = column(metrics, 0);
    if (errors == NULL || metrics->count == 0 || metrics->options.target != SH_TARGET_SAMPLE)
        return NAN;
    const uint64_t within = ((uint64_t)metrics->count * percent + 99) / 100;
    return (double)sh_ranked_score(errors[metrics->count - (within > 0 ? within : 1)]);
}

/* Ignores NaN. */
typedef struct mean {
    double sum;
    uint32_t count;
} mean;

static void mean_add(mean *to, double value)
{
    if (isnan(value))
        return;
    to->sum += value;
    to->count++;
}

static double mean_of(const mean *of)
{
    return of->count == 0 ? NAN : of->sum / of->count;
}

static void summarise_classes(sh_metrics *metrics, sh_metrics_summary *summary)
{
    const uint32_t outputs = metrics->options.outputs;
    const bool labels = metrics->options.target == SH_TARGET_LABELS;
    mean recall = {0}, f1 = {0}, auc = {0}, precision = {0};
    uint64_t samples = 0, right = 0, wrong = 0;
    for (uint32_t k = 0; k < outputs; k++) {
        const sh_class_figures figures = sh_metrics_class(metrics, k);
        mean_add(&recall, figures.recall);
        mean_add(&f1, figures.f1);
        mean_add(&auc, figures.auc);
        mean_add(&precision, figures.average_precision);
        samples += figures.samples;
        right += figures.right;
        wrong += figures.samples + figures.answers - 2 * figures.right;
    }
    const uint64_t labels_told = (uint64_t)metrics->count * outputs;
    summary->accuracy = labels ? ratio(labels_told - wrong, labels_told) : ratio(right, samples);
    summary->f1 = mean_of(&f1);
    summary->auc = mean_of(&auc);
    summary->average_precision = mean_of(&precision);
    if (labels)
        return;
    summary->balanced = mean_of(&recall);
    summary->top5 = outputs > TOP ? ratio(metrics->top5, samples) : NAN;
    if (metrics->columns == 1)
        summary->auc = sh_ranking_auc(column(metrics, 0), metrics->count);
}

sh_metrics_summary sh_metrics_summarise(sh_metrics *metrics)
{
    sh_metrics_summary summary = {
        metrics->count, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    const sh_target target = metrics->options.target;
    if (target == SH_TARGET_CLASS || target == SH_TARGET_LABELS)
        summarise_classes(metrics, &summary);
    if (target == SH_TARGET_NUMBERS) {
        mean mae = {0}, rmse = {0}, r2 = {0};
        for (uint32_t k = 0; k < metrics->options.outputs; k++) {
            const sh_number_figures figures = sh_metrics_number(metrics, k);
            mean_add(&mae, figures.mae);
            mean_add(&rmse, figures.rmse);
            mean_add(&r2, figures.r2);
        }
        summary.mae = mean_of(&mae);
        summary.rmse = mean_of(&rmse);
        summary.r2 = mean_of(&r2);
    }
    summary.error95 = sh_metrics_quantile(metrics, 95);
    summary.error99 = sh_metrics_quantile(metrics, 99);
    return summary;
}

bool sh_metrics_worst(const sh_metrics *metrics, uint32_t rank, sh_worst_sample *worst)
{
    if (rank >= metrics->worst_count)
        return false;
    const kept *one = &metrics->worst[rank];
    const size_t row = (size_t)one->row * metrics->options.outputs;
    *worst = (sh_worst_sample){
        .index = one->index,
        .loss = one->loss,
        .target = one->target,
        .answer = one->answer,
        .probability = one->probability,
        .given = metrics->given == NULL ? NULL : metrics->given + row,
        .wanted = metrics->wanted == NULL ? NULL : metrics->wanted + row,
    };
    return true;
}
