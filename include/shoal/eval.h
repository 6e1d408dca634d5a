/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures a trained model on the validation samples of a data set.
 *
 *     sh_eval_options options = {.weights = "runs/one"};
 *     sh_eval_result result;
 *     if (sh_eval(&options, &result) == SH_OK)
 *         printf("%.2f %%\n", 100 * result.accuracy);
 *     sh_eval_result_release(&result);
 *
 * Threads: any; the call blocks.
 */
#ifndef SHOAL_EVAL_H
#define SHOAL_EVAL_H

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SH_EVAL_NOTE_BYTES 512
#define SH_EVAL_WORST_MOST 10000

typedef struct sh_eval_options {
    /* NULL: those of the job that made the weights. Without a model, a run's best checkpoint is
     * measured if it has one, else its last. Samples are read and prepared as in training if the
     * weights say how. Tables and photos of other `data` are prepared as the training's were;
     * without a split, all are measured. */
    const char *model, *data;
    const char *weights;   /* safetensors file, run folder, or ONNX file (without a model) */
    uint32_t lanes;        /* 0: all cores */
    uint64_t memory;       /* limit of resident bytes; 0: none */
    uint32_t resize;       /* side of the images; 0: as in training, if known */
    const char *normalize; /* as in sh_job; NULL: as in training, if known */
    uint32_t worst;        /* samples to list, at most SH_EVAL_WORST_MOST; 0: none */
} sh_eval_options;

typedef struct sh_eval_result {
    char model[SH_MODEL_BYTES], data[SH_DATA_BYTES];
    char weights[SH_RUN_BYTES]; /* their file */
    uint64_t parameters, samples;
    double loss, seconds;
    double accuracy; /* NaN if numbers are predicted */
    double mae;      /* mean absolute error of predicted numbers; else NaN */
    char weights_hash[SH_HASH_BYTES];
    char note[SH_EVAL_NOTE_BYTES]; /* for the user, or "" */

    /* All figures as JSON, with the members of metrics.json in a run's folder: also those of each
     * class or target, and the confusion matrix. Owned. */
    char *metrics;
    char *worst;    /* CSV of the samples with the largest losses, or NULL. Owned */
    char *pictures; /* JSON for sh_eval_page: some of these with pictures; likewise */
} sh_eval_result;

SHOAL_API sh_status sh_eval(const sh_eval_options *options, sh_eval_result *result) SHOAL_CHECKED;

SHOAL_API void sh_eval_result_release(sh_eval_result *result);

/* Makes a self-contained HTML page of `pictures` (sh_eval_result). `*html` is owned: free() it.
 * SH_FORMAT: `pictures` is not a JSON object. */
SHOAL_API sh_status sh_eval_page(char **html, const char *pictures,
                                 const char *title) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
