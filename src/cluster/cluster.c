/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static sh_cluster_action *act(sh_cluster *cluster, sh_cluster_action_kind kind, uint32_t device)
{
    assert(cluster->action_count < SH_CLUSTER_ACTIONS_MAX);
    sh_cluster_action *action = &cluster->actions[cluster->action_count++];
    action->kind = kind;
    action->device = device;
    action->text[0] = '\0';
    return action;
}

/* Sets an action's text. It is made aside: what it names lies in the same cluster. */
static void say(sh_cluster_action *action, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(sh_cluster_action *action, const char *format, ...)
{
    char text[sizeof action->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(action->text, text, strlen(text) + 1);
}

void sh_cluster_init(sh_cluster *cluster, const sh_cluster_options *options)
{
    memset(cluster, 0, sizeof *cluster);
    cluster->options = *options;
    cluster->members[0].state = SH_MEMBER_ADMITTED;
    cluster->members[0].local = true;
    snprintf(cluster->members[0].name, SH_CLUSTER_TEXT, "%s", options->name);
}

static uint32_t count(const sh_cluster *cluster, sh_member_state state)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < SH_CLUSTER_MAX; i++)
        found += cluster->members[i].state == state;
    return found;
}

static void refuse(sh_cluster *cluster, uint32_t device, const char *reason)
{
    say(act(cluster, SH_CLUSTER_REFUSE, device), "%s", reason);
    if (device < SH_CLUSTER_MAX)
        cluster->members[device].state = SH_MEMBER_GONE;
}

/* Ends the job for the loss of a member. */
static void lose(sh_cluster *cluster, uint32_t device, const char *reason)
{
    sh_member *member = &cluster->members[device];
    member->state = SH_MEMBER_GONE;
    if (cluster->phase == SH_CLUSTER_ENDED)
        return;
    cluster->phase = SH_CLUSTER_ENDED;
    sh_cluster_action *action = act(cluster, SH_CLUSTER_LOSE, device);
    if (device == 0) /* the coordinator speaks: it is there, but will not go on */
        say(action, "the job has ended: %.200s", reason);
    else
        say(action, "device %.64s was lost: %.200s", member->name, reason);
}

/* Gives the next rank and its equal share of the grains, within one grain of the others'. */
static void rank_member(const sh_cluster *cluster, sh_member *member, uint32_t rank)
{
    const uint64_t grains = cluster->options.grains;
    member->rank = rank;
    member->first_grain = (uint32_t)(grains * rank / cluster->devices);
    member->grains = (uint32_t)(grains * (rank + 1) / cluster->devices) - member->first_grain;
}

/*
 * Devices of the coordinator's machine come first: then only they link to each other there, and no
 * device elsewhere has to reach one that may listen on the loopback alone.
 */
static void make_view(sh_cluster *cluster)
{
    uint32_t rank = 0;
    cluster->devices = count(cluster, SH_MEMBER_READY);
    for (uint32_t i = 0; i < SH_CLUSTER_MAX; i++)
        if (cluster->members[i].state == SH_MEMBER_ADMITTED)
            refuse(cluster, i, "the job began before this device was ready");
    for (int elsewhere = 0; elsewhere < 2; elsewhere++)
        for (uint32_t i = 0; i < SH_CLUSTER_MAX; i++) {
            sh_member *member = &cluster->members[i];
            if (member->state == SH_MEMBER_READY && member->local == (elsewhere == 0))
                rank_member(cluster, member, rank++);
        }
    cluster->view++;
    cluster->phase = SH_CLUSTER_OPENING;
    act(cluster, SH_CLUSTER_VIEW, 0);
}

static const char too_late[] = "the job has begun; this version takes no device in afterwards";

static void handle_hello(sh_cluster *cluster, const sh_cluster_event *event)
{
    char reason[SH_CLUSTER_TEXT];
    if (event->device >= SH_CLUSTER_MAX) { /* refused, and never a member */
        if (cluster->phase != SH_CLUSTER_GATHERING) {
            refuse(cluster, event->device, too_late);
            return;
        }
        snprintf(reason, sizeof reason, "the job has had %d devices, which is the most it can",
                 SH_CLUSTER_MAX);
        refuse(cluster, event->device, reason);
        return;
    }
    sh_member *member = &cluster->members[event->device];
    if (member->state != SH_MEMBER_ABSENT) {
        refuse(cluster, event->device, "a second hello");
        return;
    }
    snprintf(member->name, sizeof member->name, "%s", event->name);
    member->local = event->local;
    if (strcmp(event->version, cluster->options.version) != 0) {
        snprintf(reason, sizeof reason,
                 "this device runs shoal %.32s, the job shoal %.32s: use the same", event->version,
                 cluster->options.version);
        refuse(cluster, event->device, reason);
    } else if (cluster->phase != SH_CLUSTER_GATHERING) {
        refuse(cluster, event->device, too_late);
    } else {
        member->state = SH_MEMBER_ADMITTED;
        act(cluster, SH_CLUSTER_ADMIT, event->device);
    }
}

static void handle_ready(sh_cluster *cluster, const sh_cluster_event *event)
{
    sh_member *member = &cluster->members[event->device];
    if (strcmp(event->fingerprint, cluster->options.fingerprint) != 0) {
        refuse(cluster, event->device,
               "its data differ from the job's: copy the same files, or name their folder with "
               "--data");
        return;
    }
    member->state = SH_MEMBER_READY;
    member->other_family = strcmp(event->family, cluster->options.family) != 0;
    sh_cluster_action *note = act(cluster, SH_CLUSTER_NOTE, event->device);
    if (member->other_family)
        say(note,
            "device %.64s computes other bits than device %.64s (another processor or library): "
            "the devices stay equal, but the result is not reproducible",
            member->name, cluster->members[0].name);
    if (count(cluster, SH_MEMBER_READY) >= cluster->options.min_devices &&
        cluster->members[0].state == SH_MEMBER_READY)
        make_view(cluster);
}

static void handle_opened(sh_cluster *cluster, uint32_t device)
{
    cluster->members[device].state = SH_MEMBER_OPENED;
    if (count(cluster, SH_MEMBER_OPENED) < cluster->devices)
        return;
    cluster->phase = SH_CLUSTER_RUNNING;
    act(cluster, SH_CLUSTER_START, 0);
}

static void handle_reported(sh_cluster *cluster, uint32_t device)
{
    cluster->members[device].state = SH_MEMBER_REPORTED;
    if (count(cluster, SH_MEMBER_REPORTED) < cluster->devices)
        return;
    cluster->phase = SH_CLUSTER_ENDED;
    act(cluster, SH_CLUSTER_END, 0);
}

/* Before the view is made a device may come and go; afterwards its loss ends the job, as does that
 * of device 0 at any time. */
static void handle_gone(sh_cluster *cluster, const sh_cluster_event *event)
{
    sh_member *member = &cluster->members[event->device];
    switch (member->state) {
    case SH_MEMBER_ABSENT:
    case SH_MEMBER_GONE:
        return;
    case SH_MEMBER_REPORTED: /* has done all it had to */
        return;
    case SH_MEMBER_ADMITTED:
    case SH_MEMBER_READY:
        if (cluster->phase == SH_CLUSTER_GATHERING && event->device != 0) {
            member->state = SH_MEMBER_GONE;
            return;
        }
        break;
    case SH_MEMBER_OPENED:
        break;
    }
    lose(cluster, event->device, event->reason);
}

void sh_cluster_handle(sh_cluster *cluster, const sh_cluster_event *event)
{
    static const struct {
        sh_cluster_phase phase;
        sh_member_state state;
    } expected[] = {
        [SH_CLUSTER_READY] = {SH_CLUSTER_GATHERING, SH_MEMBER_ADMITTED},
        [SH_CLUSTER_OPENED] = {SH_CLUSTER_OPENING, SH_MEMBER_READY},
        [SH_CLUSTER_REPORTED] = {SH_CLUSTER_RUNNING, SH_MEMBER_OPENED},
    };
    if (event->kind == SH_CLUSTER_HELLO) {
        handle_hello(cluster, event);
        return;
    }
    if (event->device >= SH_CLUSTER_MAX) /* of one that was refused with its hello */
        return;
    const sh_member_state state = cluster->members[event->device].state;
    if (event->kind == SH_CLUSTER_GONE) {
        handle_gone(cluster, event);
        return;
    }
    if (state == SH_MEMBER_ABSENT || state == SH_MEMBER_GONE || cluster->phase == SH_CLUSTER_ENDED)
        return; /* it crossed our refusal or the end on the way */
    if (expected[event->kind].phase != cluster->phase || expected[event->kind].state != state) {
        handle_gone(cluster, &(sh_cluster_event){SH_CLUSTER_GONE, event->device,
                                                 .reason = "it sent a message out of turn"});
        return;
    }
    if (event->kind == SH_CLUSTER_READY)
        handle_ready(cluster, event);
    else if (event->kind == SH_CLUSTER_OPENED)
        handle_opened(cluster, event->device);
    else
        handle_reported(cluster, event->device);
}

bool sh_cluster_next(sh_cluster *cluster, sh_cluster_action *action)
{
    if (cluster->action_taken == cluster->action_count) {
        cluster->action_taken = cluster->action_count = 0;
        return false;
    }
    *action = cluster->actions[cluster->action_taken++];
    return true;
}

uint32_t sh_cluster_device_at(const sh_cluster *cluster, uint32_t rank)
{
    for (uint32_t i = 0; i < SH_CLUSTER_MAX; i++) {
        const sh_member *member = &cluster->members[i];
        if (member->state >= SH_MEMBER_READY && member->state <= SH_MEMBER_REPORTED &&
            member->rank == rank)
            return i;
    }
    return 0;
}

bool sh_cluster_has(const sh_cluster *cluster, uint32_t device)
{
    if (device >= SH_CLUSTER_MAX || cluster->phase == SH_CLUSTER_ENDED)
        return false;
    const sh_member_state state = cluster->members[device].state;
    return state != SH_MEMBER_ABSENT && state != SH_MEMBER_GONE;
}

bool sh_cluster_is_reproducible(const sh_cluster *cluster)
{
    for (uint32_t i = 0; i < SH_CLUSTER_MAX; i++)
        if (cluster->members[i].state >= SH_MEMBER_READY && cluster->members[i].other_family)
            return false;
    return true;
}
