/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quality figures of a model, from its answers for the samples of a split (outputs 0, 2 and 3 in
 * model/model.h).
 *
 *     sh_metrics_add(metrics, index, loss, given, target);       // each sample once, in any order
 *     const sh_metrics_summary all = sh_metrics_summarise(metrics);
 *
 * The order in which samples are added affects no bit. The definitions are scikit-learn's, except
 * that an undefined value (such as the recall of a class without samples) is NaN and is left out of
 * means.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_TRAIN_METRICS_H
#define SHOAL_TRAIN_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "tensor/target.h"

#define SH_METRICS_MATRIX_MOST 1000 /* most classes for which the confusion matrix is kept */
#define SH_METRICS_WORST_MOST 10000

typedef struct sh_metrics sh_metrics;

typedef struct sh_metrics_options {
    sh_target target;
    uint32_t outputs;
    uint32_t samples; /* the most that will be added */
    uint32_t worst;   /* samples with the largest losses to keep, at most SH_METRICS_WORST_MOST */
} sh_metrics_options;

/* Figures that do not apply to the target are NaN. */
typedef struct sh_metrics_summary {
    uint64_t samples;
    double accuracy;          /* share of correct answers; labels: of correct decisions */
    double top5;              /* 6 or more classes: the target is among the 5 likeliest */
    double balanced;          /* classes: mean of recall over the classes that occur */
    double f1;                /* classes or labels: mean over those that occur or were answered */
    double auc;               /* two classes: of the second one; labels: mean over labels */
    double average_precision; /* labels: mean over labels */
    double mae, rmse, r2;     /* numbers: means over outputs, in units of the packed data set */
    double error95, error99;  /* samples: as sh_metrics_quantile */
} sh_metrics_summary;

/* A class or a label. With TP right answers:
 *    precision = TP / answers, recall = TP / samples, F1 = 2 TP / (answers + samples). */
typedef struct sh_class_figures {
    uint64_t samples; /* with this class or label as target */
    uint64_t answers; /* with this class or label as answer */
    uint64_t right;
    double precision, recall, f1;
    double auc, average_precision; /* labels; otherwise NaN */
} sh_class_figures;

/* A numeric output, in units of the packed data set. Over n samples:
 *    mae = sum |answer - target| / n, rmse = sqrt(sum (answer - target)^2 / n),
 *    r2 = 1 - sum (answer - target)^2 / sum (target - mean of targets)^2. */
typedef struct sh_number_figures {
    double mae, rmse, r2;
} sh_number_figures;

typedef struct sh_worst_sample {
    uint32_t index;
    float loss;
    uint32_t target, answer;     /* classes */
    double probability;          /* classes: the model's probability of its answer */
    const float *given, *wanted; /* labels, numbers: [outputs]; borrowed until sh_metrics_free */
} sh_worst_sample;

/* `*metrics` is owned. SH_NO_MEMORY: labels and two classes keep 8 bytes per score. */
sh_status sh_metrics_new(sh_metrics **metrics, const sh_metrics_options *options) SHOAL_CHECKED;
void sh_metrics_free(sh_metrics *metrics);

/*
 * Adds sample `index`, below options.samples: its loss, the model's output [outputs], and its
 * target as in tensor/target.h. For SH_TARGET_SAMPLE, `given` and `target` are ignored. A sample
 * whose class is not below `outputs` is ignored.
 */
void sh_metrics_add(sh_metrics *metrics, uint32_t index, float loss, const float *given,
                    const void *target);

/* Not const because it sorts the stored scores. */
sh_metrics_summary sh_metrics_summarise(sh_metrics *metrics);

/* `index`: of a class or label, below `outputs`. */
sh_class_figures sh_metrics_class(sh_metrics *metrics, uint32_t index);

/* `index`: of an output, below `outputs`. Only for numeric targets. */
sh_number_figures sh_metrics_number(const sh_metrics *metrics, uint32_t index);

/* The number of samples of class `target` with answer `answer`; 0 with more than
 * SH_METRICS_MATRIX_MOST classes. */
uint32_t sh_metrics_confusion(const sh_metrics *metrics, uint32_t target, uint32_t answer);

/* For SH_TARGET_SAMPLE: the smallest error (loss) that `percent` percent of the samples do not
 * exceed. NaN without samples. */
double sh_metrics_quantile(sh_metrics *metrics, uint32_t percent);

/* The sample of this rank, from 0, in descending order of loss, then ascending order of index.
 * False if fewer are kept. */
bool sh_metrics_worst(const sh_metrics *metrics, uint32_t rank, sh_worst_sample *worst);

#endif
