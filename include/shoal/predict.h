/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trained model says of new files: photos, rows of tables, recordings, arrays, series,
 * whatever it was trained with, read and scaled as in its training.
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
 * A class has the name sh_predictor_output(predictor, prediction->order[0]).
 *
 * Threads: one at a time for each predictor; calls come on the caller's thread.
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
    const char *run;       /* the folder of a run, a checkpoint, or an ONNX file, "model.onnx" */
    bool last;             /* of a run the last checkpoint; else its best, where it kept one */
    const char *normalize; /* for an ONNX file that does not say it: "imagenet", "none"; NULL: it
                              says it, or "none" */
    uint32_t lanes;        /* 0: all cores */
    uint64_t memory;       /* most bytes to hold resident; 0: any number */
} sh_predict_options;

typedef struct sh_predictor sh_predictor;

/* Borrowed until the predictor is closed. */
typedef struct sh_predictor_info {
    const char *model;   /* "resnet:20" */
    const char *weights; /* the file that they are from */
    const char *task;    /* "classification", "multi-label", "regression", "reconstruction" */
    const char *files;   /* what it reads: "photos"; "" where the data have no single files */
    uint32_t channels, height, width; /* of a sample for sh_predict_samples */
    uint32_t outputs; /* classes, labels or numbers; 0 where samples are reconstructed */
    double threshold; /* of reconstruction: the error that 95 % of the validation samples did not
                         exceed, where the run says it; else NaN */
    const char *note; /* what the user should know, or "" */
} sh_predictor_info;

/* Of one sample. Borrowed for the call. Texts may have any bytes but zero. */
typedef struct sh_prediction {
    const char *name;   /* the file, and the place in it: "new.csv, line 4"; of a stream "line 4" */
    const char *target; /* what the file itself says that it is, or "" */

    /* Of each output: the probability of a class or label, a number in its own units; NULL where
     * samples are reconstructed. */
    const double *values;
    const uint32_t *order; /* classes and labels: all outputs, the likeliest first; else NULL */
    double error;          /* reconstruction: the mean squared error of the sample; else NaN */
} sh_prediction;

/* `on_prediction` is required. */
typedef struct sh_predict_calls {
    void (*on_prediction)(void *context, const sh_prediction *prediction);
    /* A file or row could not be read, which the message (one line) says; the others are
     * predicted. NULL: nobody is told. */
    void (*on_failure)(void *context, const char *message);
    void *context;
} sh_predict_calls;

/* `*predictor` is owned: sh_predictor_close it. Fails as sh_eval does. */
SHOAL_API sh_status sh_predictor_open(sh_predictor **predictor,
                                      const sh_predict_options *options) SHOAL_CHECKED;

SHOAL_API const sh_predictor_info *sh_predictor_about(const sh_predictor *predictor);

/* The name of output `index`, below `outputs`: of a class, label or number. Borrowed until the next
 * call. */
SHOAL_API const char *sh_predictor_output(sh_predictor *predictor, uint32_t index);

/* Predicts the samples of these files, and of the files below folders, in order. SH_OK even if some
 * could not be read. SH_UNSUPPORTED: the run's data have no single files. */
SHOAL_API sh_status sh_predict_files(sh_predictor *predictor, const char *const *paths,
                                     size_t count, const sh_predict_calls *calls) SHOAL_CHECKED;

/* Predicts the CSV rows from a descriptor (borrowed), each as soon as it arrives, until its end.
 * The first row may be a header. SH_UNSUPPORTED: the run was trained with another kind of data. */
SHOAL_API sh_status sh_predict_stream(sh_predictor *predictor, int fd,
                                      const sh_predict_calls *calls) SHOAL_CHECKED;

/*
 * Predicts samples in memory, `count` times channels x height x width numbers, as the training's
 * data set has them: pixels from 0 to 255, which are rounded and normalised as in training; numbers
 * of tables, series and recordings as the model is given them. Predictions are named "sample 1" and
 * so on. SH_INVALID: a number is not finite.
 */
SHOAL_API sh_status sh_predict_samples(sh_predictor *predictor, const float *samples, size_t count,
                                       const sh_predict_calls *calls) SHOAL_CHECKED;

/* NULL is fine. */
SHOAL_API void sh_predictor_close(sh_predictor *predictor);

#ifdef __cplusplus
}
#endif
#endif
