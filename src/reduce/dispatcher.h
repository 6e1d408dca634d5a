/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deals the updates of a lap (reduce/exchange.h) to devices that train at their own pace: each
 * number once, in order, to devices that ask. A bound limits how far a device may be ahead of the
 * slowest (stale synchronous parallel; Ho et al. 2013). A pure state machine.
 *
 *     sh_dispatcher_want(&dispatcher, 1);                        // device 1 is idle
 *     while (sh_dispatcher_next(&dispatcher, &device, &update))  // who may begin which
 *         ... tell the device ...
 *     sh_dispatcher_finish(&dispatcher, 1);                      // its update is in the weights
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_REDUCE_DISPATCHER_H
#define SHOAL_REDUCE_DISPATCHER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sh_dispatcher_device {
    uint32_t begun, finished; /* updates in this lap */
    bool wants;
} sh_dispatcher_device;

typedef struct sh_dispatcher {
    sh_dispatcher_device *devices; /* borrowed */
    uint32_t device_count;
    uint32_t bound;    /* K: update c may begin once all have finished c - K; 0: at any time */
    uint32_t updates;  /* of the lap */
    uint32_t dealt;    /* the next number, from 0 */
    uint32_t finished; /* by all devices */
    uint32_t turn;     /* the device to consider first */
} sh_dispatcher;

/* `devices` is overwritten, and borrowed as long as the dispatcher is used. */
void sh_dispatcher_init(sh_dispatcher *dispatcher, sh_dispatcher_device *devices,
                        uint32_t device_count, uint32_t updates, uint32_t bound);

void sh_dispatcher_want(sh_dispatcher *dispatcher, uint32_t device);

/* Deals the next update, round-robin, to a device that wants one and may begin. Returns false if
 * there is none. */
bool sh_dispatcher_next(sh_dispatcher *dispatcher, uint32_t *device, uint32_t *update);

/* Returns false if the device has no update under way. */
bool sh_dispatcher_finish(sh_dispatcher *dispatcher, uint32_t device);

/* Ends the lap soon: deals no further update, except a first one. */
void sh_dispatcher_stop(sh_dispatcher *dispatcher);

bool sh_dispatcher_is_over(const sh_dispatcher *dispatcher);

#endif
