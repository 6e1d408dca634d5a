/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A study: many trainings from one file. Its trials run one after another, and their results are
 * saved. A stopped or killed sweep can continue.
 *
 *     sh_sweep_options options = {.file = "study.yaml"};
 *     sh_sweep_result result;
 *     if (sh_sweep(&options, &result) == SH_OK)
 *         printf("%u of %zu done in %s\n", result.done, result.trial_count, result.folder);
 *     sh_sweep_result_release(&result);
 *
 * The file is YAML; `shoal sweep --help` describes it. The sweep's folder has sweep.db
 * (store/sweep_schema.h) and the run of each trial in trials/ID/.
 *
 * Threads: any; the call blocks, and calls the observer on its thread.
 */
#ifndef SHOAL_SWEEP_H
#define SHOAL_SWEEP_H

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The settings of a trial: the rows of shoal/options.def that a study may vary. In the order of
 * trials, later settings change first. */
typedef enum sh_setting {
#define SH_SETTING(kind, member, name) SH_SETTING_##member,
#include "shoal/options.def"
    SH_SETTING_COUNT
} sh_setting;

/* What is measured of a trial. Figures of devices are their mean or maximum. */
#define SH_TRIAL_FIGURE_MAP(X)                                                                     \
    X(wall_seconds, "from the start of its programs to their end")                                 \
    X(seconds, "of training")                                                                      \
    X(samples_per_second, "while training")                                                        \
    X(samples, "trained on")                                                                       \
    X(steps, "applied")                                                                            \
    X(epochs, "done")                                                                              \
    X(redone, "repeated steps")                                                                    \
    X(parameters, "of the model")                                                                  \
    X(train_loss, "mean of the last epoch")                                                        \
    X(val_loss, "after the last step")                                                             \
    X(val_accuracy, "after the last step, a share of 1")                                           \
    X(cpu_seconds, "of a device, mean")                                                            \
    X(memory_mean, "bytes that a device held at most, mean")                                       \
    X(memory_max, "bytes that a device held at most, of the largest")                              \
    X(received_mean, "bytes that a device received, mean")                                         \
    X(received_max, "bytes that a device received, most")                                          \
    X(sent_mean, "bytes that a device sent, mean")                                                 \
    X(sent_max, "bytes that a device sent, most")

typedef enum sh_trial_figure {
#define SH_TRIAL_FIGURE_ENUM(name, what) SH_TRIAL_FIGURE_##name,
    SH_TRIAL_FIGURE_MAP(SH_TRIAL_FIGURE_ENUM)
#undef SH_TRIAL_FIGURE_ENUM
        SH_TRIAL_FIGURE_COUNT
} sh_trial_figure;

#define SH_TRIAL_STATE_MAP(X)                                                                      \
    X(WAITING, "waiting") /* or interrupted */                                                     \
    X(RUNNING, "running")                                                                          \
    X(DONE, "done")                                                                                \
    X(FAILED, "failed")

typedef enum sh_trial_state {
#define SH_TRIAL_STATE_ENUM(name, text) SH_TRIAL_##name,
    SH_TRIAL_STATE_MAP(SH_TRIAL_STATE_ENUM)
#undef SH_TRIAL_STATE_ENUM
} sh_trial_state;

#define SH_TRIAL_ID_BYTES 13
#define SH_TRIAL_MESSAGE_BYTES 512

/* A trial of the study. Texts are borrowed until the result is released. */
typedef struct sh_trial {
    char id[SH_TRIAL_ID_BYTES]; /* a digest of its settings */
    const char *block;
    const char *settings[SH_SETTING_COUNT]; /* NULL: default */
    sh_trial_state state;
    uint32_t attempts;                     /* how often it was started */
    double spent_seconds;                  /* in all attempts */
    double figures[SH_TRIAL_FIGURE_COUNT]; /* NaN: not available */
    char weights_hash[SH_HASH_BYTES];
    char message[SH_TRIAL_MESSAGE_BYTES]; /* why it failed, or "" */
} sh_trial;

typedef enum sh_sweep_event_kind {
    SH_SWEEP_BEGIN, /* of a trial */
    SH_SWEEP_TICK,  /* about each second */
    SH_SWEEP_END,   /* the trial's state says how */
} sh_sweep_event_kind;

typedef struct sh_sweep_event {
    sh_sweep_event_kind kind;
    const char *folder;
    const sh_trial *trial;  /* borrowed until the observer returns */
    uint32_t number, count; /* of the requested trials, from 1 */
    double seconds;         /* of this attempt */
    double left_seconds;    /* until all are done, estimated from finished trials; NaN: unknown */
} sh_sweep_event;

typedef struct sh_sweep_options {
    const char *file;
    const char *folder;  /* NULL: runs/ and the file's name without extension */
    const char *only;    /* NULL, or a filter: "model=lenet,devices=1" */
    bool list;           /* run nothing; needs no folder */
    bool retry;          /* repeat failed trials */
    const char *program; /* shoal's; NULL: this one */
    sh_stop *stop;       /* optional, borrowed: interrupts the trial; SH_STOPPED */
    void (*observer)(void *context, const sh_sweep_event *event); /* optional */
    void *context;
} sh_sweep_options;

typedef struct sh_sweep_result {
    char folder[SH_RUN_BYTES];
    sh_trial *trials; /* owned; in the study's order */
    size_t trial_count;
    uint32_t done, failed, waiting; /* of the trials */
    uint32_t others; /* trials in the folder that are no longer in the study: kept, not shown */
    void *inside;
} sh_sweep_result;

/*
 * Runs the remaining trials. Sets `*result` with SH_OK (all requested trials are done or failed)
 * and SH_STOPPED. Other failures: SH_FORMAT, SH_LIMIT with file, line and column; SH_PERMISSION if
 * the lab needs root; SH_REFUSED if another sweep uses the folder.
 */
SHOAL_API sh_status sh_sweep(const sh_sweep_options *options,
                             sh_sweep_result *result) SHOAL_CHECKED;
SHOAL_API void sh_sweep_result_release(sh_sweep_result *result);

/* Makes tables of a sweep's folder as plain text or Markdown: for each block, the settings that
 * vary in it, and the results. `*text` is owned: free(). SH_NOT_FOUND: no sweep in the folder. */
SHOAL_API sh_status sh_sweep_tables(char **text, const char *folder, bool markdown) SHOAL_CHECKED;

/* Names as in the file and JSON; the meaning of a figure; words for states. Static. */
SHOAL_API const char *sh_setting_name(sh_setting setting);
SHOAL_API const char *sh_trial_figure_name(sh_trial_figure figure);
SHOAL_API const char *sh_trial_state_text(sh_trial_state state);

#ifdef __cplusplus
}
#endif
#endif
