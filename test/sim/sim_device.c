/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEARTBEAT_US 100000
#define PATIENCE_US 1500000 /* without a message from the coordinator */

static int take_message(sim_world *world)
{
    for (int i = 0; i < MESSAGES_MAX; i++)
        if (!world->used[i]) {
            world->used[i] = true;
            return i;
        }
    return -1; /* lost, which is allowed */
}

static uint64_t travel_us(sim_world *world, const sim_machine *machine)
{
    if (machine->index == 0)
        return 0;
    return 100 + draw(world, 500) + (draw(world, 3) == 0 ? draw(world, world->jitter_us) : 0);
}

/* A message arrives 0, 1 or 2 times. */
static uint32_t copies(sim_world *world, const sim_machine *machine)
{
    if (machine->index == 0)
        return 1;
    if (is_cut(world, 0, machine->index) || draw(world, 100) < world->drop)
        return 0;
    return draw(world, 100) < world->repeat ? 2 : 1;
}

void send_notice(sim_world *world, sim_machine *machine)
{
    if (!machine->connected)
        return;
    machine->sent = machine->part.notice.serial;
    for (uint32_t n = copies(world, machine); n > 0; n--) {
        const int message = take_message(world);
        if (message < 0)
            return;
        world->messages[message].notice = machine->part.notice;
        world->messages[message].notice.doing = (sh_doing){
            .activity = SH_ACTIVITY_COMPUTES, .progress = machine->hangs ? 0 : world->now_us};
        sim_event *event = later(world, travel_us(world, machine), EVENT_NOTICE, NULL);
        event->a = machine->device;
        event->message = message;
    }
}

void send_directive(sim_world *world, sim_machine *machine)
{
    for (uint32_t n = copies(world, machine); n > 0; n--) {
        const int message = take_message(world);
        if (message < 0)
            return;
        if (sh_membership_directive(&world->messages[message].directive, world->membership,
                                    machine->device))
            later(world, travel_us(world, machine), EVENT_DIRECTIVE, machine)->message = message;
        else
            world->used[message] = false;
    }
}

/* --- The step thread -------------------------------------------------------------------------- */

bool hangs(sim_world *world, sim_machine *machine)
{
    if (machine->may_hang && machine->part.notice.view != 0 && draw(world, 20) == 0) {
        tell(world, "device %u hangs", machine->device);
        machine->may_hang = false;
        machine->hangs = true;
        world->counts[6]++;
    }
    return machine->hangs;
}

/* Starts a task, which an event ends. */
static void go_on(sim_world *world, sim_machine *machine)
{
    while (machine->on && machine->part.under_way == SH_TASK_WAIT && !hangs(world, machine)) {
        const sh_task task = sh_participant_take(&machine->part);
        switch (task.kind) {
        case SH_TASK_WAIT:
            return;
        case SH_TASK_RUN:
            begin_stage(world, machine, &task);
            return;
        case SH_TASK_AUDIT: /* device_sim has audits */
            abort();
        case SH_TASK_CHECK:
            later(world, 50 + draw(world, 500), EVENT_CHECK, machine);
            return;
        case SH_TASK_FETCH:
            begin_fetch(world, machine, &task.transfer);
            break;
        case SH_TASK_END:
            tell(world, "device %u has left", machine->device);
            world->counts[1]++;
            crash(world, machine, false);
            if (draw(world, 2))
                later(world, draw(world, 300000), EVENT_START, NULL)->a = machine->index;
            return;
        }
    }
}

void inform(sim_world *world, sim_machine *machine, const sh_participant_event *event)
{
    sh_participant_handle(&machine->part, event);
    go_on(world, machine);
    if (!machine->on)
        return;
    look_at_rings(world, machine);
    if (machine->part.notice.serial != machine->sent)
        send_notice(world, machine);
}

/* --- The connection --------------------------------------------------------------------------- */

void disconnect(sim_world *world, sim_machine *machine)
{
    machine->connected = false;
    machine->life++; /* cancels pending events */
    for (uint32_t i = 0; i < RINGS_MAX; i++)
        if (machine->rings[i] != 0)
            close_ring(world, machine, machine->rings[i]);
    machine->stage.on = false;
    machine->fetch.on = false;
    machine->replica.half = true;
    machine->linking = 0;
    machine->own = 0;
    memset(&machine->part, 0, sizeof machine->part);
}

/* Closes its sockets at once, unless silent. */
void crash(sim_world *world, sim_machine *machine, bool silent)
{
    const uint32_t device = machine->device;
    const bool connected = machine->connected;
    if (machine->index == 0) {
        sh_membership_free(world->membership);
        world->membership = NULL;
        for (uint32_t i = 1; i < MACHINES; i++)
            if (world->machines[i].on && world->machines[i].connected)
                later(world, 200 + draw(world, 2000), EVENT_CLOSED, &world->machines[i]);
    } else if (connected && !silent) {
        later(world, 200 + draw(world, 2000), EVENT_GONE, NULL)->a = device;
    }
    disconnect(world, machine);
    machine->on = false;
}

static void connect_again(sim_world *world, sim_machine *machine)
{
    disconnect(world, machine);
    later(world, 1000 + draw(world, 30000), EVENT_CONNECT, machine);
}

static void connect(sim_world *world, sim_machine *machine)
{
    if (machine->connected)
        return;
    if (world->membership == NULL || is_cut(world, 0, machine->index) ||
        !is_up(world, &world->machines[0])) {
        later(world, 20000 + draw(world, 20000), EVENT_CONNECT, machine);
        return;
    }
    machine->device = world->next_device++;
    machine->connected = true;
    machine->heard_us = world->now_us;
    sh_participant_init(&machine->part, machine->device);
    machine->sent = 0;
    char name[16];
    snprintf(name, sizeof name, "dev%u", machine->index);
    tell(world, "machine %u says hello as device %u", machine->index, machine->device);
    coordinate(world, &(sh_membership_event){.kind = SH_MEMBERSHIP_HELLO,
                                             .device = machine->device,
                                             .name = name,
                                             .version = "1",
                                             .local = machine->index < 3});
    later(world, 1000, EVENT_HEARTBEAT, machine);
}

/* In half of the worlds all devices may compute, else mostly those that help. Finding flipped bits
 * needs all. */
static uint32_t used_of(const sim_world *world)
{
    if (world->seed % 2 == 0 || world->flips)
        return SH_STANDBY_ALL;
    return world->seed % 10 == 1 ? 1 + (uint32_t)(world->seed / 10 % 3) : SH_STANDBY_AUTO;
}

static void make_coordinator(sim_world *world, sim_machine *machine)
{
    const sh_membership_options options = {.min_devices = 1 + draw(world, 3),
                                           .grains = world->grains,
                                           .views_before = 1000 * world->restarts++,
                                           .used = used_of(world),
                                           .lineup = {.summed = 1e5},
                                           .followed = 1e5,
                                           .serving = {.on = world->seed % 3 == 0,
                                                       .count = world->seed % 9 == 0 ? 2 : 0,
                                                       .devices = {1, 3}},
                                           .name = "zero",
                                           .version = "1",
                                           .fingerprint = "data",
                                           .first_grain = "hash"};
    if (sh_membership_new(&world->membership, &options) != SH_OK)
        abort();
    machine->device = 0;
    machine->connected = true;
    machine->replica = world->checkpoint;
    if (machine->replica.position.steps == world->step_count)
        machine->replica.position.phase = SH_PHASE_VALIDATION;
    sh_participant_init(&machine->part, 0);
    machine->sent = 0;
    later(world, 5000, EVENT_PREPARED, machine);
    later(world, HEARTBEAT_US, EVENT_HEARTBEAT, machine);
}

void start(sim_world *world, sim_machine *machine)
{
    machine->on = true;
    machine->life++;
    machine->frozen_us = 0;
    machine->hangs = false;
    machine->replica.half = true;
    tell(world, "machine %u starts", machine->index);
    if (machine->index == 0)
        make_coordinator(world, machine);
    else
        later(world, draw(world, 1000), EVENT_CONNECT, machine);
}

static void heartbeat(sim_world *world, sim_machine *machine)
{
    if (!machine->connected)
        return;
    if (machine->index != 0 && world->now_us - machine->heard_us > PATIENCE_US) {
        tell(world, "device %u has lost the coordinator", machine->device);
        if (!is_cut(world, 0, machine->index))
            later(world, 200 + draw(world, 2000), EVENT_GONE, NULL)->a = machine->device;
        connect_again(world, machine);
        return;
    }
    send_notice(world, machine);
    if (world->membership != NULL && is_up(world, &world->machines[0]))
        send_directive(world, machine);
    later(world, HEARTBEAT_US, EVENT_HEARTBEAT, machine);
}

void device_event(sim_world *world, sim_machine *machine, const sim_event *event)
{
    const sh_position position = machine->replica.position;
    const bool whole = machine->index == 0;
    switch (event->kind) {
    case EVENT_HEARTBEAT:
        heartbeat(world, machine);
        break;
    case EVENT_CONNECT:
        connect(world, machine);
        break;
    case EVENT_ADMITTED:
        later(world, 2000 + draw(world, draw(world, 6) ? 80000 : 2000000), EVENT_PREPARED, machine);
        break;
    case EVENT_PREPARED:
        inform(world, machine,
               &(sh_participant_event){.kind = SH_PARTICIPANT_PREPARED,
                                       .whole = whole,
                                       .position = position,
                                       .grains = whole ? grains_at(world, position) : 0});
        break;
    case EVENT_DIRECTIVE:
        machine->heard_us = world->now_us;
        inform(world, machine,
               &(sh_participant_event){.kind = SH_PARTICIPANT_DIRECTIVE,
                                       .directive = &world->messages[event->message].directive});
        break;
    case EVENT_CLOSED:
        if (is_cut(world, 0, machine->index))
            later(world, 20000, EVENT_CLOSED, machine);
        else if (machine->hangs) /* until its process ends */
            crash(world, machine, true);
        else
            connect_again(world, machine);
        break;
    case EVENT_CHECK:
        if (hangs(world, machine))
            break;
        if (machine->replica.half)
            fail(world, "never-half-applied", "device %u checks half a replica", machine->device);
        inform(world, machine,
               &(sh_participant_event){.kind = SH_PARTICIPANT_CHECKED,
                                       .check = mix(weights_of(&machine->replica), 7)});
        break;
    case EVENT_FETCH:
        fetch_event(world, machine);
        break;
    default:
        ring_event(world, machine, event);
        break;
    }
}
