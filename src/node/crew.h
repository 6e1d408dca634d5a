/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other devices of a training, as device 0 sees them: the door and the token, the local devices
 * that it starts, the ring that joins them all.
 *
 *     SH_TRY(sh_crew_open(&crew, &options));          // tells the observer the token
 *     SH_TRY(sh_crew_assemble(crew, &view));          // waits until all are there, and links
 *     ... train with sh_crew_engine(crew) ...
 *     sh_crew_collect(crew);                          // waits for their reports
 *     SH_TRY(sh_crew_reports(crew, &reports, &count, &reproducible));
 *     sh_crew_close(crew);
 *
 * Threads: one caller, the step's thread; it must live as long as the local devices, which the
 * system ends with the thread that started them.
 */
#ifndef SHOAL_NODE_CREW_H
#define SHOAL_NODE_CREW_H

#include "node/view.h"
#include "node/workbench.h"
#include "shoal/train.h"

typedef struct sh_crew sh_crew;

/* All borrowed until sh_crew_close. */
typedef struct sh_crew_options {
    const sh_train_options *train; /* listen, program, stop, observer */
    const sh_workbench
        *bench;       /* its replica does not change before sh_crew_assemble has returned */
    const char *name; /* of this device */
    uint32_t devices; /* on this machine, this one included */
    uint32_t min_devices;
    uint32_t lanes; /* of each local device */
} sh_crew_options;

/* Opens the door and starts the local devices. */
sh_status sh_crew_open(sh_crew **crew, const sh_crew_options *options) SHOAL_CHECKED;

/* Waits until enough devices are ready and all doors are open. SH_STOPPED, SH_PEER_LOST. */
sh_status sh_crew_assemble(sh_crew *crew, sh_view *view) SHOAL_CHECKED;

/* What adds up over the devices of the view; lives as long as the crew. */
sh_engine *sh_crew_engine(const sh_crew *crew);

/* This device has done its part: waits until all have reported, but not for ever. */
void sh_crew_collect(sh_crew *crew);

/* After SH_PEER_LOST from the engine: the same failure with the name of the device, if it becomes
 * known. */
sh_status sh_crew_name_lost(sh_crew *crew) SHOAL_CHECKED;

/*
 * What each device of the view did, in order of rank; of rank 0, this one, only the bytes on the
 * wire. `reports` is owned: free().
 */
sh_status sh_crew_reports(sh_crew *crew, sh_device_report **reports, size_t *count,
                          bool *reproducible) SHOAL_CHECKED;

/* Tells all devices why the job cannot go on. */
void sh_crew_fail(sh_crew *crew, const char *reason);

/* Says goodbye, waits for the local devices to end, frees everything. NULL is fine. */
void sh_crew_close(sh_crew *crew);

#endif
