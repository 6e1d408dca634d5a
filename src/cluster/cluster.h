/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes part in a job and with what share: the coordinator's decisions as a pure state machine.
 * Events go in, actions come out; no clock, no sockets, no memory but its own.
 *
 *     sh_cluster_init(&cluster, &options);
 *     sh_cluster_handle(&cluster, &(sh_cluster_event){SH_CLUSTER_HELLO, .device = id, .name =
 * name}); while (sh_cluster_next(&cluster, &action)) carry_out(&action);
 *
 * A device's life: hello -> admitted -> ready -> (view) -> opened -> (start) -> reported. The
 * device set is fixed when the view is made; whoever says hello later is refused, and a device that
 * goes ends the job.
 *
 * Device 0 is the coordinator itself. It is admitted from the start and sends the same events.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_CLUSTER_CLUSTER_H
#define SHOAL_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#define SH_CLUSTER_MAX 256 /* devices of a job */
#define SH_CLUSTER_TEXT 256

typedef enum sh_cluster_phase {
    SH_CLUSTER_GATHERING, /* devices come and prepare */
    SH_CLUSTER_OPENING,   /* the view is known, devices open their doors to each other */
    SH_CLUSTER_RUNNING,
    SH_CLUSTER_ENDED, /* by success or the loss of a device */
} sh_cluster_phase;

typedef enum sh_member_state {
    SH_MEMBER_ABSENT,
    SH_MEMBER_ADMITTED,
    SH_MEMBER_READY,
    SH_MEMBER_OPENED,
    SH_MEMBER_REPORTED,
    SH_MEMBER_GONE,
} sh_member_state;

typedef struct sh_member {
    sh_member_state state;
    char name[SH_CLUSTER_TEXT];
    bool local;        /* on the coordinator's machine */
    bool other_family; /* its arithmetic differs from device 0's */
    uint32_t rank;     /* place in the view, from 0 */
    uint32_t first_grain, grains;
} sh_member;

typedef struct sh_cluster_options {
    uint32_t min_devices;    /* the view is made when so many are ready */
    uint32_t grains;         /* of a full step */
    const char *name;        /* device 0's; copied */
    const char *version;     /* all devices run the same; borrowed */
    const char *fingerprint; /* of the data; borrowed */
    const char *family;      /* arithmetic of device 0; borrowed */
} sh_cluster_options;

typedef enum sh_cluster_event_kind {
    SH_CLUSTER_HELLO,    /* device (a new number; refused from MAX on), name, version, local */
    SH_CLUSTER_READY,    /* device, fingerprint, family */
    SH_CLUSTER_OPENED,   /* device: its door is open to the device before it */
    SH_CLUSTER_REPORTED, /* device: it has finished and said what it did */
    SH_CLUSTER_GONE,     /* device, reason: its connection ended, or it says that it cannot go on */
} sh_cluster_event_kind;

/* Texts are borrowed for the call. */
typedef struct sh_cluster_event {
    sh_cluster_event_kind kind;
    uint32_t device;
    const char *name, *version, *fingerprint, *family, *reason;
    bool local;
} sh_cluster_event;

typedef enum sh_cluster_action_kind {
    SH_CLUSTER_ADMIT,  /* welcome `device` */
    SH_CLUSTER_REFUSE, /* tell `device` `text` and close its connection */
    SH_CLUSTER_NOTE,   /* `device` is ready; text: something to tell the user, or empty */
    SH_CLUSTER_VIEW,   /* tell all members of the view who they are and whom to link to */
    SH_CLUSTER_START,  /* all doors are open: link and begin */
    SH_CLUSTER_LOSE,   /* the job ends: `text` says whom it lost and why; tell everybody */
    SH_CLUSTER_END,    /* all have reported: close */
} sh_cluster_action_kind;

typedef struct sh_cluster_action {
    sh_cluster_action_kind kind;
    uint32_t device;
    char text[2 * SH_CLUSTER_TEXT];
} sh_cluster_action;

#define SH_CLUSTER_ACTIONS_MAX (SH_CLUSTER_MAX + 8)

/* Read freely; only sh_cluster_handle changes it. */
typedef struct sh_cluster {
    sh_cluster_options options;
    sh_cluster_phase phase;
    uint32_t view;    /* number of the view; 0 before the first */
    uint32_t devices; /* members of the view */
    sh_member members[SH_CLUSTER_MAX];
    sh_cluster_action actions[SH_CLUSTER_ACTIONS_MAX]; /* to be taken, a queue */
    uint32_t action_count, action_taken;
} sh_cluster;

void sh_cluster_init(sh_cluster *cluster, const sh_cluster_options *options);

/* Takes an event in. Events that make no sense for a device's state count as its loss. */
void sh_cluster_handle(sh_cluster *cluster, const sh_cluster_event *event);

/* The next action to carry out, in order; false where there is none. */
bool sh_cluster_next(sh_cluster *cluster, sh_cluster_action *action);

/* The device with this rank of the view. */
uint32_t sh_cluster_device_at(const sh_cluster *cluster, uint32_t rank);

/* Whether the job still has this device: it was not refused, is not gone, and the job not over. */
bool sh_cluster_has(const sh_cluster *cluster, uint32_t device);

/* Whether all members compute the same bits. */
bool sh_cluster_is_reproducible(const sh_cluster *cluster);

#endif
