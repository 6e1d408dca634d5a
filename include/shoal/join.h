/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lends this device to a job that another device started.
 *
 *     sh_join_options options = {.token = token, .stop = stop};
 *     sh_join_result result;
 *     if (sh_join(&options, &result) == SH_OK)
 *         printf("%s\n", result.weights_hash);
 *     else
 *         fprintf(stderr, "%s\n", sh_message());
 *
 * Threads: any, also several calls at once. A call blocks and calls its observer on its thread.
 */
#ifndef SHOAL_JOIN_H
#define SHOAL_JOIN_H

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SH_JOIN_WAIT_EVER UINT32_MAX

typedef struct sh_join_options {
    const char *token;
    const char *
        data; /* the job's data on this device; NULL: where the job says, else from other devices */
    uint64_t cache;       /* disk limit in bytes for data from other devices; 0: none */
    const char *name;     /* NULL: host name */
    const char *lanes;    /* as for sh_lanes_check; NULL: all cores */
    uint64_t memory;      /* limit of resident bytes; 0: none */
    bool local;           /* started by `train` on its own machine */
    uint32_t reconnect_s; /* how long to look for a new coordinator if the connection is lost; 0:
                             not at all */
    uint32_t wait_s;  /* how long to wait at first for an unreachable coordinator; 0: not at all,
                         SH_JOIN_WAIT_EVER: no limit */
    bool never_lead;  /* never become the coordinator */
    const char *run;  /* run folder as coordinator, if again with -2, -3 ... behind it; NULL: a new
                         one, named like train's */
    uint16_t port;    /* for other devices; 0: any free one */
    const char *save; /* file for the last weights: ONNX or NumPy for .onnx or .npz, else
                         safetensors; NULL: none */
    sh_stop *stop;
    sh_observer *observer;
    void *context;
} sh_join_options;

/* The state of the job when this device's part ended. */
typedef struct sh_join_result {
    bool stood_by;     /* on standby at the end, because the others were faster without it */
    bool took_part;    /* it has the last weights; else all below is zero */
    bool led;          /* it was the coordinator at the end and has the run's folder */
    bool complete;     /* the job reached its end; false: stopped */
    uint32_t epochs;   /* completed since the job began */
    uint64_t steps;    /* since the job began */
    double train_loss; /* mean of the last epoch */
    double val_loss;   /* of this device's last validation; NaN: none, like the next */
    double val_accuracy;
    bool numbers;                     /* numbers are predicted: val_mae counts, not val_accuracy */
    double val_mae;                   /* mean absolute error */
    char weights_hash[SH_HASH_BYTES]; /* like that of sh_summary */
} sh_join_result;

/*
 * Lends this device until the job ends, with SH_OK and its end in `result` (or NULL). Also SH_OK if
 * the job ends well while this device connects. With `save`, SH_PEER_LOST: this device lacks the
 * last weights. SH_STOPPED: on request; the job ends with a checkpoint. SH_REFUSED, SH_NETWORK,
 * SH_PEER_LOST: the message has the reason.
 */
SHOAL_API sh_status sh_join(const sh_join_options *options, sh_join_result *result) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
