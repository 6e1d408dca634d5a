/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lending this device to a job that was started elsewhere.
 *
 *     sh_join_options options = {.token = token, .stop = stop};
 *     sh_join_result result;
 *     if (sh_join(&options, &result) == SH_OK)
 *         printf("%s\n", result.weights_hash);
 *     else
 *         fprintf(stderr, "%s\n", sh_message());
 *
 * Threads: each call blocks and may be made from any thread, several at once; observers are called
 * on the calling thread.
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
    const char *data;  /* where this device holds the job's data; NULL: as the job says, and where
                          they are not there, from the other devices */
    uint64_t cache;    /* most bytes on disk for data from other devices; 0: any number */
    const char *name;  /* NULL: the host's name */
    const char *lanes; /* as sh_lanes_check has them; NULL: all cores */
    uint64_t memory;   /* most bytes that this device may hold resident; 0: any number */
    bool local;        /* a device that `train` has started on its own machine */
    uint32_t reconnect_s; /* how long to look for who goes on with the job when the connection to
                             the coordinator is lost; 0: not at all */
    uint32_t wait_s;  /* how long to wait, before the job has begun, for a coordinator that cannot
                         be reached yet; 0: not at all, SH_JOIN_WAIT_EVER: for any time */
    bool never_lead;  /* this device does not go on as the coordinator where that is lost */
    const char *run;  /* the folder of the run where it does; NULL: a new one, as train makes it */
    uint16_t port;    /* where other devices reach this one; 0: any that is free */
    const char *save; /* a file that gets the job's last weights: ONNX or NumPy's arrays where
                         its name ends in .onnx or .npz, else safetensors; NULL: none */
    sh_stop *stop;
    sh_observer *observer;
    void *context;
} sh_join_options;

/* How the job stands where this device's part in it ends. */
typedef struct sh_join_result {
    bool stood_by;     /* at the end: others made the last steps faster without this device */
    bool took_part;    /* it has the last weights; else all below is zero */
    bool led;          /* this device was the coordinator at the end: it has the run's folder */
    bool complete;     /* the job reached its end; false: it was stopped */
    uint32_t epochs;   /* complete ones since the job began */
    uint64_t steps;    /* since the job began */
    double train_loss; /* mean of the last epoch */
    double val_loss; /* of the last validation that this device took part in; NaN: none, as next */
    double val_accuracy;
    bool numbers;                     /* are predicted: the next counts, not the accuracy */
    double val_mae;                   /* mean absolute error */
    char weights_hash[SH_HASH_BYTES]; /* as that of sh_summary */
} sh_join_result;

/*
 * Lends this device until the job ends: SH_OK, and `result` says how it ended; `result` may be
 * NULL. A job that ends well while this device connects is SH_OK too. With `save`, SH_PEER_LOST
 * where this device has not got the last weights. SH_STOPPED after a request to stop; the job then
 * ends with a checkpoint. SH_REFUSED, SH_NETWORK, SH_PEER_LOST say why not.
 */
SHOAL_API sh_status sh_join(const sh_join_options *options, sh_join_result *result) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
