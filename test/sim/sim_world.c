/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEALED_S 40    /* time limit of the job after the last fault */
#define WELL_US 700000 /* time after a cause without apparent silence */
#define EVENTS_LIMIT 2000000

uint32_t draw(sim_world *world, uint32_t limit)
{
    return sh_random_below(&world->random, limit);
}

uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void tell(sim_world *world, const char *format, ...)
{
    if (!world->trace)
        return;
    va_list arguments;
    va_start(arguments, format);
    printf("%9.3f ms  ", (double)world->now_us / 1e3);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

void fail(sim_world *world, const char *invariant, const char *format, ...)
{
    if (world->broken != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    world->broken = invariant;
    vsnprintf(world->detail, sizeof world->detail, format, arguments);
    va_end(arguments);
    tell(world, "BROKEN %s: %s", invariant, world->detail);
}

static bool is_before(const sim_event *a, const sim_event *b)
{
    return a->at_us < b->at_us || (a->at_us == b->at_us && a->order < b->order);
}

/* Adds to a heap by time and order. The caller completes the event before the next call. */
sim_event *later(sim_world *world, uint64_t delay_us, event_kind kind, const sim_machine *machine)
{
    const sim_event new = {.at_us = world->now_us + delay_us,
                           .order = ++world->order,
                           .kind = kind,
                           .machine = machine != NULL ? machine->index : MACHINES,
                           .life = machine != NULL ? machine->life : 0,
                           .message = -1};
    if (world->event_count == EVENTS_MAX) {
        fail(world, "progress-when-healed", "too many events at one time");
        world->event_count--;
    }
    uint32_t at = world->event_count++;
    while (at > 0 && is_before(&new, &world->events[(at - 1) / 2])) {
        world->events[at] = world->events[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    world->events[at] = new;
    return &world->events[at];
}

static sim_event take_event(sim_world *world)
{
    const sim_event first = world->events[0];
    const sim_event last = world->events[--world->event_count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < world->event_count; child = 2 * at + 1) {
        if (child + 1 < world->event_count &&
            is_before(&world->events[child + 1], &world->events[child]))
            child++;
        if (!is_before(&world->events[child], &last))
            break;
        world->events[at] = world->events[child];
        at = child;
    }
    world->events[at] = last;
    return first;
}

bool is_cut(const sim_world *world, uint32_t a, uint32_t b)
{
    return world->cut_us[a][b] > world->now_us;
}

bool is_up(const sim_world *world, const sim_machine *machine)
{
    return machine->on && machine->frozen_us <= world->now_us;
}

sim_machine *machine_of(sim_world *world, uint32_t device)
{
    for (uint32_t i = 0; i < MACHINES; i++)
        if (world->machines[i].on && world->machines[i].connected &&
            world->machines[i].device == device)
            return &world->machines[i];
    return NULL;
}

/* --- The coordinator -------------------------------------------------------------------------- */

static bool is_a_replica_left(const sim_world *world)
{
    for (uint32_t i = 0; i < MACHINES; i++) {
        const sim_machine *machine = &world->machines[i];
        if (machine->on && machine->connected && machine->part.notice.whole &&
            machine->part.notice.halted > 0 &&
            sh_membership_has(world->membership, machine->device))
            return true;
    }
    return false;
}

bool is_right(const sim_replica *replica)
{
    bool right = !replica->half;
    for (uint32_t i = 0; i < STRIPES; i++)
        right = right && replica->flips[i] == 0;
    return right;
}

uint32_t count_proven_right(sim_world *world, bool staying, sh_position position)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->membership->slots; i++) {
        const sh_roster_entry *one = &world->membership->members[i];
        const sim_machine *machine = one->present ? machine_of(world, one->device) : NULL;
        count += machine != NULL && one->seated && one->proven && is_right(&machine->replica) &&
                 machine->illness == ILLNESS_NONE &&
                 sh_position_same(machine->replica.position, position) &&
                 !(staying && machine->part.notice.leaving);
    }
    return count;
}

static sh_position furthest(sim_world *world)
{
    sh_position most = {0};
    for (uint32_t i = 0; i < MACHINES; i++) {
        const sim_machine *machine = &world->machines[i];
        if (machine->on && machine->connected && machine->part.notice.whole &&
            sh_position_before(most, machine->replica.position))
            most = machine->replica.position;
    }
    return most;
}

static bool is_hopeless(sim_world *world, const sh_membership_action *action)
{
    if (action->status == SH_ABORTED && strstr(action->text, "last complete replica") != NULL)
        return !is_a_replica_left(world);
    return action->status == SH_DIVERGED && strstr(action->text, "no majority") != NULL &&
           count_proven_right(world, false, furthest(world)) < 2;
}

static void handle_end(sim_world *world, const sh_membership_action *action)
{
    const sim_machine *zero = &world->machines[0];
    tell(world, "END %s", action->text);
    if (is_hopeless(world, action)) {
        world->counts[7]++;
        crash(world, &world->machines[0], false);
        later(world, 50000, EVENT_START, NULL)->a = 0;
        return;
    }
    world->ended = true;
    if (action->status != SH_OK)
        fail(world, "progress-when-healed", "the job ended: %s", action->text);
    else if (zero->replica.half || zero->replica.position.steps != world->step_count ||
             weights_of(&zero->replica) != world->reference[world->step_count])
        fail(world, "same-course", "the job ended at step %llu with other weights",
             (unsigned long long)zero->replica.position.steps);
}

static void act(sim_world *world, const sh_membership_action *action)
{
    sim_machine *machine = machine_of(world, action->device);
    switch (action->kind) {
    case SH_MEMBERSHIP_ADMIT:
        if (machine != NULL)
            later(world, 300 + draw(world, 1000), EVENT_ADMITTED, machine);
        break;
    case SH_MEMBERSHIP_REFUSE:
        tell(world, "refused device %u: %s", action->device, action->text);
        if (machine != NULL && world->now_us > world->trouble_us + WELL_US &&
            strstr(action->text, "nothing was heard") != NULL)
            fail(world, "progress-when-healed", "device %u was lost while all was well",
                 action->device);
        if (machine != NULL && !machine->hangs && strstr(action->text, "made no progress") != NULL)
            fail(world, "progress-when-healed", "device %u was put out, and got on",
                 action->device);
        if (machine != NULL)
            later(world, 300 + draw(world, 1000), EVENT_CLOSED, machine);
        break;
    case SH_MEMBERSHIP_ORDER:
        if (machine != NULL)
            send_directive(world, machine);
        break;
    case SH_MEMBERSHIP_NOTE:
        tell(world, "note %s: %s", sh_news_name(action->news), action->text);
        break;
    case SH_MEMBERSHIP_RESIGN: /* nobody could follow it here */
        break;
    case SH_MEMBERSHIP_END:
        handle_end(world, action);
        break;
    }
}

void coordinate(sim_world *world, const sh_membership_event *event)
{
    sh_membership_action action;
    if (world->membership == NULL)
        return;
    sh_membership_handle(world->membership, event);
    while (world->membership != NULL && sh_membership_next(world->membership, &action))
        act(world, &action);
}

/* The serial of the coordinator's last notice from a device; 0: none. */
static uint64_t known(const sim_world *world, uint32_t device)
{
    const sh_roster_entry *one =
        world->membership == NULL ? NULL : sh_membership_find(world->membership, device);
    return one == NULL ? 0 : one->notice.serial;
}

static void hear(sim_world *world, uint32_t device, const sh_notice *notice)
{
    const uint64_t before = known(world, device);
    coordinate(world, &(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE,
                                             .device = device,
                                             .notice = notice,
                                             .fingerprint = "data",
                                             .first_grain = "hash"});
    const uint64_t now = known(world, device);
    if (now != 0 && now < before)
        fail(world, "never-back", "notice %llu of device %u takes the place of notice %llu",
             (unsigned long long)now, device, (unsigned long long)before);
}

static void change_link(sim_world *world)
{
    static const double speeds[] = {1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    const sh_link_speed link = {
        .out = speeds[draw(world, 6)], .in = speeds[draw(world, 6)], .delay_s = 0.0005};
    if (world->next_device > 1)
        coordinate(world, &(sh_membership_event){.kind = SH_MEMBERSHIP_LINK,
                                                 .device = 1 + draw(world, world->next_device - 1),
                                                 .link = &link});
}

static void coordinator_event(sim_world *world, const sim_event *event)
{
    switch (event->kind) {
    case EVENT_TICK:
        coordinate(world, &(sh_membership_event){.kind = SH_MEMBERSHIP_TICK,
                                                 .now_ms = world->now_us / 1000});
        if (world->seed % 2 == 1 && draw(world, 3) == 0)
            change_link(world);
        later(world, 20000 + draw(world, 20000), EVENT_TICK, NULL);
        break;
    case EVENT_NOTICE:
        hear(world, (uint32_t)event->a, &world->messages[event->message].notice);
        break;
    case EVENT_GONE:
        coordinate(world, &(sh_membership_event){.kind = SH_MEMBERSHIP_GONE,
                                                 .device = (uint32_t)event->a,
                                                 .reason = "its connection ended"});
        break;
    case EVENT_FAULT:
        fault_event(world);
        break;
    default:
        if (!world->machines[event->a].on)
            start(world, &world->machines[event->a]);
        break;
    }
}

/* --- The run ---------------------------------------------------------------------------------- */

static void check_replicas(sim_world *world)
{
    for (uint32_t i = 0; i < MACHINES; i++) {
        const sim_machine *machine = &world->machines[i];
        const sim_replica *replica = &machine->replica;
        if (!machine->on || !machine->part.notice.whole)
            continue;
        if (replica->half)
            fail(world, "never-half-applied", "device %u says that its replica is whole",
                 machine->device);
        if (replica->base != world->reference[replica->position.steps])
            fail(world, "same-course", "device %u at step %llu is off the course", machine->device,
                 (unsigned long long)replica->position.steps);
        const sh_position told = machine->part.notice.position;
        const bool again = told.steps == replica->position.steps &&
                           told.phase == SH_PHASE_VALIDATION &&
                           replica->position.phase == SH_PHASE_FIRST;
        if (!sh_position_same(told, replica->position) && !again)
            fail(world, "no-update-without-agreement",
                 "device %u says that it is at step %llu phase %u and is at step %llu phase %u",
                 machine->device, (unsigned long long)told.steps, told.phase,
                 (unsigned long long)replica->position.steps, replica->position.phase);
    }
}

static void dispatch(sim_world *world, const sim_event *event)
{
    if (event->machine == MACHINES) {
        sim_machine *zero = &world->machines[0];
        const bool by_coordinator = event->kind != EVENT_FAULT && event->kind != EVENT_START;
        if (by_coordinator && zero->frozen_us > world->now_us) {
            sim_event *again = later(world, zero->frozen_us - world->now_us, event->kind, NULL);
            again->a = event->a;
            again->message = event->message;
            return;
        }
        coordinator_event(world, event);
    } else {
        sim_machine *machine = &world->machines[event->machine];
        if (machine->life == event->life && machine->on) {
            if (machine->frozen_us > world->now_us) {
                sim_event *again =
                    later(world, machine->frozen_us - world->now_us, event->kind, machine);
                again->a = event->a;
                again->b = event->b;
                again->message = event->message;
                return;
            }
            device_event(world, machine, event);
        }
    }
    if (event->message >= 0)
        world->used[event->message] = false;
}

static void tell_all(sim_world *world)
{
    for (uint32_t i = 0; i < MACHINES; i++) {
        const sim_machine *machine = &world->machines[i];
        const sh_notice *notice = &machine->part.notice;
        const sh_directive *directive = &machine->part.directive;
        if (!machine->on || !machine->connected)
            continue;
        tell(world,
             "device %u: task %u life %u whole %u at %llu.%u view %u halted %u linked %u broken %u "
             "(%u) fetching %llu; directive %u.%u ring %u seats %u transfers %u; %s",
             machine->device, machine->part.under_way, notice->life, notice->whole,
             (unsigned long long)notice->position.steps, notice->position.phase, notice->view,
             notice->halted, notice->linked, notice->broken, notice->broken_peer,
             (unsigned long long)machine->part.fetching, directive->phase, directive->view,
             directive->ring, directive->seat_count, directive->transfer_count,
             machine->part.stalled ? "stalled" : "");
    }
}

const char *world_run(sim_world *world)
{
    for (uint32_t i = 0; i < EVENTS_LIMIT && !world->ended && world->broken == NULL; i++) {
        const sim_event event = take_event(world);
        world->now_us = event.at_us;
        if (event.at_us > world->healed_us + HEALED_S * 1000000ull)
            fail(world, "progress-when-healed", "the job has not ended %d s after the last fault",
                 HEALED_S);
        dispatch(world, &event);
        check_replicas(world);
    }
    if (!world->ended)
        fail(world, "progress-when-healed", "too many events");
    if (world->broken != NULL)
        tell_all(world);
    return world->broken;
}

sim_world *world_new(uint64_t seed, bool trace)
{
    sim_world *world = calloc(1, sizeof *world);
    if (world == NULL)
        return NULL;
    world->seed = seed;
    world->random = sh_random_for(seed, SH_RANDOM_TEST, 0, 0);
    world->trace = trace;
    world->flips = draw(world, 5) == 0;
    world->step_count = 4 + draw(world, 24);
    world->grains = 1 + draw(world, 24);
    world->healed_us = 100000 + draw(world, 900000);
    world->drop = world->flips || draw(world, 2) ? 0 : draw(world, 30);
    world->trouble_us = world->drop > 0 ? world->healed_us : 0;
    world->repeat = draw(world, 20);
    world->jitter_us = draw(world, 2) ? 1000 : 100000;
    world->next_device = 1;
    make_reference(world);
    const uint32_t machines = 2 + draw(world, MACHINES - 1);
    for (uint32_t i = 0; i < MACHINES; i++) {
        sim_machine *machine = &world->machines[i];
        machine->index = i;
        machine->grain_us = 300u << draw(world, 4);
        machine->boasts = i > 0 && draw(world, 10) == 0;
        machine->may_hang = i > 0 && !world->flips && draw(world, 12) == 0;
        if (world->flips && i == 1 + seed % (MACHINES - 1))
            machine->illness = (sim_illness)(seed / MACHINES % 5);
        if (i < machines)
            later(world, i == 0 ? 0 : draw(world, draw(world, 3) ? 20000 : 500000), EVENT_START,
                  NULL)
                ->a = i;
    }
    world->checkpoint = (sim_replica){.position = {0, SH_PHASE_FIRST}, .base = world->reference[0]};
    later(world, 0, EVENT_TICK, NULL);
    later(world, draw(world, 50000), EVENT_FAULT, NULL);
    return world;
}
