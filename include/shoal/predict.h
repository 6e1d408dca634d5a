/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies a trained model to new files: photos, table rows, recordings, arrays or series, read and
 * scaled as in training.
 *
 *     void show(void *context, const sh_prediction *prediction);   // prints prediction->name ...
 *     sh_predictor *predictor;
 *     const char *const files[] = {"new.jpg", "more"};
 *     if (sh_predictor_open(&predictor, &(sh_predict_options){.run = "runs/one"}) == SH_OK) {
 *         const sh_predict_calls calls = {.on_prediction = show, .context = predictor};
 *         if (sh_predict_files(predictor, files, 2, &calls) != SH_OK)
 *             fprintf(stderr, "%s\n", sh_message());
 *         sh_predictor_close(predictor);
 *     }
 *
 * The likeliest class is sh_predictor_output(predictor, prediction->order[0]).
 *
 * Threads: caller locks a predictor; calls back on the caller's thread.
 */
#ifndef SHOAL_PREDICT_H
#define SHOAL_PREDICT_H

#include <stdbool.h>

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SH_PREDICT_NOTE_BYTES 512

/* Texts are borrowed for the call. */
typedef struct sh_predict_options {
    const char *run; /* run folder, checkpoint or ONNX file */
    bool last;       /* of a run, the last checkpoint; else the best, if any */
    const char
        *normalize;  /* for an ONNX file that does not say: "imagenet", "none"; NULL: "none" */
    uint32_t lanes;  /* 0: all cores */
    uint64_t memory; /* limit of resident bytes; 0: none */
} sh_predict_options;

typedef struct sh_predictor sh_predictor;

/* Borrowed until the predictor is closed. */
typedef struct sh_predictor_info {
    const char *model;   /* "resnet:20" */
    const char *weights; /* their file */
    const char *task;    /* "classification", "multi-label", "regression", "reconstruction" */
    const char *files;   /* what it reads: "photos"; "" if the data have no separate files */
    uint32_t channels, height, width; /* of a sample of sh_predict_samples */
    uint32_t outputs;                 /* classes, labels or numbers; 0 for reconstruction */
    double threshold; /* of reconstruction: the 95th percentile of validation errors, if known; else
                         NaN */
    const char *note; /* for the user, or "" */
} sh_predictor_info;

/* One sample; borrowed for the call. Texts may have any bytes but zero. */
typedef struct sh_prediction {
    const char *name;   /* file and place: "new.csv, line 4"; of a stream "line 4" */
    const char *target; /* in the file, or "" */

    /* For each output: the probability of a class or label, or a number in its own units. NULL for
     * reconstruction. */
    const double *values;
    const uint32_t *order; /* classes and labels: outputs, the likeliest first; else NULL */
    double error;          /* reconstruction: the sample's mean squared error; else NaN */
} sh_prediction;

/* `on_prediction` is required. */
typedef struct sh_predict_calls {
    void (*on_prediction)(void *context, const sh_prediction *prediction);
    /* A file or row could not be read; the message (one line) says why. The others are predicted.
     * May be NULL. */
    void (*on_failure)(void *context, const char *message);
    void *context;
} sh_predict_calls;

/* `*predictor` is owned: sh_predictor_close. Fails as sh_eval does. */
SHOAL_API sh_status sh_predictor_open(sh_predictor **predictor,
                                      const sh_predict_options *options) SHOAL_CHECKED;

SHOAL_API const sh_predictor_info *sh_predictor_about(const sh_predictor *predictor);

/* The name of a class, label or number; `index` is below `outputs`. Borrowed until the next
 * call. */
SHOAL_API const char *sh_predictor_output(sh_predictor *predictor, uint32_t index);

/* Predicts the samples of files, also in folders, in order. SH_OK even if some could not be read.
 * SH_UNSUPPORTED: the run's data have no separate files. */
SHOAL_API sh_status sh_predict_files(sh_predictor *predictor, const char *const *paths,
                                     size_t count, const sh_predict_calls *calls) SHOAL_CHECKED;

/* Predicts CSV rows from a descriptor (borrowed) as they arrive, until its end. The first row may
 * be a header. SH_UNSUPPORTED: the run was trained with another kind of data. */
SHOAL_API sh_status sh_predict_stream(sh_predictor *predictor, int fd,
                                      const sh_predict_calls *calls) SHOAL_CHECKED;

/*
 * Predicts samples in memory, [count][channels][height][width], as in the training's data set:
 * pixels from 0 to 255, which are rounded and normalised; numbers of tables, series and recordings
 * as the model gets them. Predictions are named "sample 1" and so on. SH_INVALID: a number is not
 * finite.
 */
SHOAL_API sh_status sh_predict_samples(sh_predictor *predictor, const float *samples, size_t count,
                                       const sh_predict_calls *calls) SHOAL_CHECKED;

/* NULL is allowed. */
SHOAL_API void sh_predictor_close(sh_predictor *predictor);

#ifdef __cplusplus
}
#endif
#endif
