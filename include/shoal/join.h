/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lending this device to a job that was started elsewhere.
 *
 *     sh_join_options options = {.token = token, .stop = stop};
 *     if (sh_join(&options) != SH_OK)
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

typedef struct sh_join_options {
    const char *token;
    const char *data; /* where this device holds the job's data; NULL: as the job says, and where
                         they are not there, from the other devices */
    uint64_t cache;   /* most bytes on disk for data from other devices; 0: any number */
    const char *name; /* NULL: the host's name */
    uint32_t lanes;   /* 0: all cores */
    uint64_t memory;  /* most bytes that this device may hold resident; 0: any number */
    bool local;       /* a device that `train` has started on its own machine */
    uint32_t reconnect_s; /* how long to try to come back when the connection to the coordinator is
                             lost in the middle of the job; 0: not at all */
    sh_stop *stop;
    sh_observer *observer;
    void *context;
} sh_join_options;

/*
 * Lends this device until the job ends: SH_OK. SH_STOPPED after a request to stop; the job then
 * ends with a checkpoint. SH_REFUSED, SH_NETWORK, SH_PEER_LOST say why not.
 */
SHOAL_API sh_status sh_join(const sh_join_options *options) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
