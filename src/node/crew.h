/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other devices of a training, as device 0 sees them: the door and the token, the local devices
 * that it starts, and what the user is to hear of all of them.
 *
 *     SH_TRY(sh_crew_open(&crew, &options));          // tells the observer the token
 *     ... sh_course_run with sh_crew_station(crew), sh_crew_idle and sh_crew_announce ...
 *     SH_TRY(sh_crew_reports(crew, &reports, &count, &reproducible));
 *     sh_crew_close(crew);
 *
 * Threads: one caller, the step's thread, but where said; it must live as long as the local
 * devices, which the system ends with the thread that started them.
 */
#ifndef SHOAL_NODE_CREW_H
#define SHOAL_NODE_CREW_H

#include "cluster/serving.h"
#include "node/chronicle.h"
#include "node/station.h"
#include "node/workbench.h"
#include "shoal/train.h"

typedef struct sh_crew sh_crew;

/* All borrowed until sh_crew_close. */
typedef struct sh_crew_options {
    const sh_train_options *train; /* listen, program, stop, observer */
    sh_workbench *bench;
    const char *name;       /* of this device */
    const char *token_file; /* as sh_coordinator_options has it */
    uint32_t devices;       /* on this machine, this one included */
    uint32_t min_devices;
    uint32_t lanes; /* of each local device */
    sh_serving serving;
    sh_chronicle *chronicle; /* NULL: nothing is recorded */
} sh_crew_options;

/* Opens the door, starts the local devices, and takes its own place in the job. */
sh_status sh_crew_open(sh_crew **crew, const sh_crew_options *options) SHOAL_CHECKED;

sh_station *sh_crew_station(const sh_crew *crew);

/* The first view is there: from now on losses, and a request to stop, are the course's. */
void sh_crew_begin(sh_crew *crew);

/* The view that this device is to announce (sh_part.announce). Any thread. */
bool sh_crew_announce(sh_crew *crew, bool last, uint64_t *view);

/* As sh_coordinator_enter. */
void sh_crew_enter(sh_crew *crew, uint32_t view, uint64_t step);

/*
 * Passes on what the user should hear, and waits where `wait` for something to do. *over where the
 * job has ended for all. SH_STOPPED before the training has begun; SH_PEER_LOST: it cannot go on.
 */
sh_status sh_crew_idle(sh_crew *crew, bool wait, bool *over) SHOAL_CHECKED;

/* As sh_coordinator_reports. */
sh_status sh_crew_reports(sh_crew *crew, sh_device_report **reports, size_t *count,
                          bool *reproducible) SHOAL_CHECKED;

/* Tells all devices why the job cannot go on. */
void sh_crew_fail(sh_crew *crew, const char *reason);

/* Says goodbye, waits for the local devices to end, frees everything. NULL is fine. */
void sh_crew_close(sh_crew *crew);

#endif
