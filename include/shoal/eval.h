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
 * Threads: the call blocks, and may be made from any thread.
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
    /* NULL: those of the job that the weights are from; without a model the best checkpoint of a
     * run is measured where there is one, else the last. How samples were read and prepared in
     * training is taken from the weights where they say it: tables and photos of other `data` are
     * given to the model as those were, and all of them are measured where they have no split. */
    const char *model, *data;
    const char *weights;   /* safetensors file, run folder, ONNX file (without a model) */
    uint32_t lanes;        /* 0: all cores */
    uint64_t memory;       /* most bytes to hold resident; 0: any number */
    uint32_t resize;       /* side of the images; 0: as in the weights' training, if known */
    const char *normalize; /* as in sh_job; NULL: as in the weights' training, if known */
    uint32_t worst;        /* samples to list: at most SH_EVAL_WORST_MOST; 0: none */
} sh_eval_options;

typedef struct sh_eval_result {
    char model[SH_MODEL_BYTES], data[SH_DATA_BYTES];
    char weights[SH_RUN_BYTES]; /* the file that they are from */
    uint64_t parameters, samples;
    double loss, seconds;
    double accuracy; /* NaN where numbers are predicted */
    double mae;      /* mean absolute error of numbers; else NaN */
    char weights_hash[SH_HASH_BYTES];
    char note[SH_EVAL_NOTE_BYTES]; /* what the user should know, or "" */

    /* All figures as JSON: those of each class or target, the confusion matrix. The members are
     * those of metrics.json in a run's folder. Owned. */
    char *metrics;
    char *worst;    /* the samples with the largest losses as CSV; NULL where none were asked for.
                       Owned */
    char *pictures; /* JSON of some of these, with pictures, for sh_eval_page; likewise. Owned */
} sh_eval_result;

SHOAL_API sh_status sh_eval(const sh_eval_options *options, sh_eval_result *result) SHOAL_CHECKED;

SHOAL_API void sh_eval_result_release(sh_eval_result *result);

/* A page of the samples in `pictures` (sh_eval_result), which asks for nothing from outside.
 * `*html` is owned: free() it. SH_FORMAT where it is no JSON object. */
SHOAL_API sh_status sh_eval_page(char **html, const char *pictures,
                                 const char *title) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
