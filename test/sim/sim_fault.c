/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All faults except bad memory heal. A seed has either flipped bits, perhaps also a machine with
 * bad memory, with devices that only join and leave, because only a majority shows which side is
 * wrong; or all other faults.
 */
#include "sim_world.h"

static sim_machine *some_machine(sim_world *world, uint32_t first)
{
    return &world->machines[first + draw(world, MACHINES - first)];
}

static void freeze(sim_world *world, sim_machine *machine)
{
    if (!is_up(world, machine))
        return;
    machine->frozen_us = world->now_us + 20000 + draw(world, draw(world, 2) ? 200000 : 1200000);
    if (machine->frozen_us > world->trouble_us)
        world->trouble_us = machine->frozen_us;
    tell(world, "machine %u is frozen", machine->index);
}

static void cut(sim_world *world)
{
    const uint32_t side = draw(world, 1u << MACHINES);
    const uint64_t until = world->now_us + 20000 + draw(world, draw(world, 2) ? 200000 : 900000);
    const bool one_link = draw(world, 2);
    const uint32_t a = draw(world, MACHINES), b = draw(world, MACHINES);
    for (uint32_t i = 0; i < MACHINES; i++)
        for (uint32_t j = 0; j < MACHINES; j++) {
            const bool apart = one_link ? (i == a && j == b) || (i == b && j == a)
                                        : (side >> i & 1) != (side >> j & 1);
            if (i != j && apart)
                world->cut_us[i][j] = until;
        }
    if (until > world->trouble_us)
        world->trouble_us = until;
    tell(world, "a cut: %s %u %u", one_link ? "link" : "sides", one_link ? a : side, b);
}

static void break_link(sim_world *world, const sim_machine *machine)
{
    sim_event *event;
    const sh_participant *part = &machine->part;
    const sh_directive *directive = &part->directive;
    if (!machine->on || directive->seat_count < 2 ||
        sh_seat_of(directive->seats, directive->seat_count, machine->device) == NULL)
        return;
    event = later(world, 0, EVENT_BROKEN, machine);
    event->a = directive->ring;
    event->b = directive->seats[draw(world, directive->seat_count)].device;
}

static bool is_any_wrong(const sim_world *world)
{
    for (uint32_t i = 0; i < MACHINES; i++)
        for (uint32_t j = 0; j < STRIPES; j++)
            if (world->machines[i].on && world->machines[i].connected &&
                world->machines[i].replica.flips[j] != 0)
                return true;
    return false;
}

/* No device leaves while a bit is wrong: a device alone could not find it. */
static void leave(sim_world *world, sim_machine *machine)
{
    if (!is_up(world, machine) || !machine->connected || is_any_wrong(world))
        return;
    tell(world, "device %u wants to leave", machine->device);
    inform(world, machine, &(sh_participant_event){.kind = SH_PARTICIPANT_LEAVE});
}

void flip(sim_world *world, sim_machine *machine)
{
    if (is_any_wrong(world) || !machine->on || !machine->part.notice.whole ||
        machine->replica.half || machine->replica.position.steps + 2 >= world->step_count ||
        machine->part.notice.view == 0 || world->membership == NULL ||
        count_proven_right(world, machine->index == 0, machine->replica.position) < 2)
        return;
    tell(world, "a bit of device %u flips", machine->device);
    world->counts[3]++;
    machine->replica.flips[draw(world, STRIPES)] ^= 1u << draw(world, 32);
}

static void switch_on(sim_world *world)
{
    sim_machine *machine = some_machine(world, 1);
    if (!machine->on)
        start(world, machine);
}

static void coordinator_dies(sim_world *world)
{
    sim_machine *zero = &world->machines[0];
    if (!is_up(world, zero) || world->membership == NULL)
        return;
    tell(world, "the coordinator dies");
    world->counts[4]++;
    crash(world, zero, false);
    later(world, 20000 + draw(world, 300000), EVENT_START, NULL)->a = 0;
}

static void die(sim_world *world, sim_machine *machine)
{
    const bool silent = draw(world, 2);
    if (!is_up(world, machine))
        return;
    tell(world, "machine %u dies%s", machine->index, silent ? " silently" : "");
    world->counts[5]++;
    crash(world, machine, silent);
    if (draw(world, 3))
        later(world, draw(world, 500000), EVENT_START, NULL)->a = machine->index;
}

static void quiet_fault(sim_world *world)
{
    switch (draw(world, 6)) {
    case 0:
        switch_on(world);
        break;
    case 1:
        leave(world, some_machine(world, 1));
        break;
    case 2:
        some_machine(world, 0)->grain_us = 300u << draw(world, 4);
        break;
    default:
        flip(world, some_machine(world, 0));
        break;
    }
}

static void any_fault(sim_world *world)
{
    switch (draw(world, 20)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        die(world, some_machine(world, 1));
        break;
    case 5:
    case 6:
        freeze(world, some_machine(world, 0));
        break;
    case 7:
    case 8:
        cut(world);
        break;
    case 9:
    case 10:
        break_link(world, some_machine(world, 0));
        break;
    case 11:
    case 12:
    case 13:
        leave(world, some_machine(world, 1));
        break;
    case 14:
        coordinator_dies(world);
        break;
    case 15:
        some_machine(world, 0)->grain_us = 300u << draw(world, 4);
        break;
    default:
        switch_on(world);
        break;
    }
}

void heal(sim_world *world)
{
    tell(world, "all is well from now on");
    world->drop = world->repeat = 0;
    for (uint32_t i = 0; i < MACHINES; i++) {
        if (world->machines[i].frozen_us > world->now_us)
            world->machines[i].frozen_us = world->now_us;
        for (uint32_t j = 0; j < MACHINES; j++)
            world->cut_us[i][j] = 0;
        if (!world->machines[i].on)
            later(world, draw(world, 100000), EVENT_START, NULL)->a = i;
    }
}

void fault_event(sim_world *world)
{
    if (world->now_us >= world->healed_us) {
        heal(world);
        return;
    }
    if (world->flips)
        quiet_fault(world);
    else
        any_fault(world);
    later(world, 500 + draw(world, draw(world, 3) ? 60000 : 4000), EVENT_FAULT, NULL);
}
