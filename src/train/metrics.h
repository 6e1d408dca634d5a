/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model is worth, by its answers to the samples of a split (model/model.h: outputs 0, 2, 3).
 *
 *     sh_metrics *metrics;
 *     SH_TRY(sh_metrics_new(&metrics, &(sh_metrics_options){
 *         .target = info->target, .outputs = info->outputs, .samples = count, .worst = 100}));
 *     sh_metrics_add(metrics, index, loss, given, target);       // each sample once, in any order
 *     const sh_metrics_summary all = sh_metrics_summarise(metrics);
 *     const sh_class_figures one = sh_metrics_class(metrics, 3);
 *     sh_metrics_free(metrics);
 *
 * Figures come from counts, sums of integers and sorted scores, so the order in which samples are
 * added does not show in any bit. They have scikit-learn's definitions, except that what has no
 * value (the recall of a class without samples) is NaN and is left out of means.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_TRAIN_METRICS_H
#define SHOAL_TRAIN_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "tensor/target.h"

#define SH_METRICS_MATRIX_MOST 1000 /* classes of which the confusion matrix is kept */
#define SH_METRICS_WORST_MOST 10000

typedef struct sh_metrics sh_metrics;

typedef struct sh_metrics_options {
    sh_target target;
    uint32_t outputs;
    uint32_t samples; /* that will be added at most */
    uint32_t worst;   /* how many samples with the largest losses to keep: at most WORST_MOST */
} sh_metrics_options;

/* What does not apply to the target is NaN. */
typedef struct sh_metrics_summary {
    uint64_t samples;
    double accuracy;          /* classes: right answers; labels: labels told rightly */
    double top5;              /* classes, 6 or more: the right one is among the 5 likeliest */
    double balanced;          /* classes: mean of recall over the classes that occur */
    double f1;                /* mean over classes or labels that occur or were answered */
    double auc;               /* two classes: of the second one; labels: mean */
    double average_precision; /* labels: mean */
    double mae, rmse, r2;     /* numbers: means over the outputs, in units of the packed set */
    double error95, error99;  /* samples: sh_metrics_quantile */
} sh_metrics_summary;

/* A class or a label. With right answers TP: precision = TP / answers, recall = TP / samples,
 * F1 = 2 TP / (answers + samples). */
typedef struct sh_class_figures {
    uint64_t samples; /* of which it is true */
    uint64_t answers; /* of which the model says so */
    uint64_t right;
    double precision, recall, f1;
    double auc, average_precision; /* labels; else NaN */
} sh_class_figures;

/* An output that is a number, in units of the packed set; of n samples:
 * mae = sum |answer - target| / n, rmse = sqrt(sum (answer - target)^2 / n),
 * r2 = 1 - sum (answer - target)^2 / sum (target - mean of targets)^2. */
typedef struct sh_number_figures {
    double mae, rmse, r2;
} sh_number_figures;

/* One of the samples with the largest losses. */
typedef struct sh_worst_sample {
    uint32_t index;
    float loss;
    uint32_t target, answer;     /* classes */
    double probability;          /* classes: that the model gives its answer */
    const float *given, *wanted; /* labels, numbers: [outputs]; borrowed until sh_metrics_free */
} sh_worst_sample;

/* `*metrics` is owned. SH_NO_MEMORY: labels and two classes need their scores, 8 bytes each. */
sh_status sh_metrics_new(sh_metrics **metrics, const sh_metrics_options *options) SHOAL_CHECKED;
void sh_metrics_free(sh_metrics *metrics); /* NULL is fine */

/*
 * Adds sample `index` (below options.samples): its loss, what the model gives, [outputs], and its
 * target as tensor/target.h has it, for samples that are their own anything. A class that is not
 * below `outputs` is not counted.
 */
void sh_metrics_add(sh_metrics *metrics, uint32_t index, float loss, const float *given,
                    const void *target);

/* Sorts scores in memory of its own, so it is not const. */
sh_metrics_summary sh_metrics_summarise(sh_metrics *metrics);

/* Of a class or a label, below `outputs`. */
sh_class_figures sh_metrics_class(sh_metrics *metrics, uint32_t index);

/* Of an output, below `outputs`, where the target is numbers. */
sh_number_figures sh_metrics_number(const sh_metrics *metrics, uint32_t index);

/* Samples of class `target` for which the model says `answer`; 0 where there are more classes than
 * SH_METRICS_MATRIX_MOST. */
uint32_t sh_metrics_confusion(const sh_metrics *metrics, uint32_t target, uint32_t answer);

/* Where samples are their own targets: the least error (loss) that `percent` percent of the samples
 * do not exceed. NaN without samples. */
double sh_metrics_quantile(sh_metrics *metrics, uint32_t percent);

/* Number `rank` of the kept samples, from 0, the largest loss; equal ones by index. False behind
 * the last. */
bool sh_metrics_worst(const sh_metrics *metrics, uint32_t rank, sh_worst_sample *worst);

#endif
