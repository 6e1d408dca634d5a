/* SPDX-License-Identifier: Apache-2.0 */
/* Each donor sends a stripe in chunks. In a live transfer, the receiver then follows until all its
 * donors are at the same position; else donors are halted. */
#include "sim_world.h"

#define CHUNKS 4
#define STUCK_US 300000

static bool gives(sim_world *world, const sim_machine *receiver, uint32_t donor, uint64_t number)
{
    const sim_machine *machine = machine_of(world, donor);
    if (machine == NULL || !is_up(world, machine) || is_cut(world, receiver->index, machine->index))
        return false;
    for (uint32_t i = 0; i < machine->part.directive.transfer_count; i++)
        if (machine->part.directive.transfers[i].number == number) {
            if (machine->replica.half)
                fail(world, "never-half-applied", "device %u gives half a replica", donor);
            return true;
        }
    return false;
}

static bool collect(sim_world *world, const sim_machine *receiver, sim_replica *taken)
{
    const sh_transfer *transfer = &receiver->fetch.transfer;
    for (uint32_t i = 0; i < transfer->donor_count; i++) {
        if (!gives(world, receiver, transfer->donors[i], transfer->number))
            return false;
        const sim_replica *given = &machine_of(world, transfer->donors[i])->replica;
        sh_position position = given->position;
        if (!transfer->live && position.steps == transfer->wanted.steps &&
            position.phase == SH_PHASE_FIRST && transfer->wanted.phase == SH_PHASE_VALIDATION)
            position = transfer->wanted;
        if (!transfer->live && !sh_position_same(position, transfer->wanted))
            return false;
        if (i > 0 && !sh_position_same(position, taken->position))
            return false;
        taken->position = position;
        taken->base = given->base;
        for (uint32_t j = i; j < STRIPES; j += transfer->donor_count)
            taken->flips[j] = given->flips[j];
    }
    return true;
}

void begin_fetch(sim_world *world, sim_machine *machine, const sh_transfer *transfer)
{
    tell(world, "device %u takes transfer %llu from %u devices%s", machine->device,
         (unsigned long long)transfer->number, transfer->donor_count,
         transfer->live ? ", live" : "");
    machine->replica.half = true;
    if (!machine->fetch.on)
        later(world, 500, EVENT_FETCH, machine);
    machine->fetch = (sim_fetch){.on = true, .transfer = *transfer, .since_us = world->now_us};
}

/* False: a chunk is overdue. */
static bool receive(sim_world *world, sim_machine *machine, bool *all)
{
    sim_fetch *fetch = &machine->fetch;
    *all = true;
    for (uint32_t i = 0; i < fetch->transfer.donor_count; i++) {
        if (fetch->chunks[i] == CHUNKS)
            continue;
        *all = false;
        if (draw(world, 2) == 0 ||
            !gives(world, machine, fetch->transfer.donors[i], fetch->transfer.number))
            continue;
        fetch->chunks[i]++;
        fetch->since_us = world->now_us;
    }
    return *all || world->now_us - fetch->since_us < STUCK_US;
}

void fetch_event(sim_world *world, sim_machine *machine)
{
    sim_fetch *fetch = &machine->fetch;
    const uint64_t number = fetch->transfer.number;
    sim_replica taken = {0};
    bool all = false;
    if (!fetch->on || machine->part.fetching != number) {
        fetch->on = false;
        return;
    }
    const bool unlucky = world->now_us < world->healed_us && !world->flips && draw(world, 60) == 0;
    if (!receive(world, machine, &all) || unlucky) {
        fetch->on = false;
        inform(world, machine,
               &(sh_participant_event){.kind = SH_PARTICIPANT_FETCH_FAILED, .transfer = number});
        return;
    }
    later(world, 500 + draw(world, 3000), EVENT_FETCH, machine);
    if (!all && fetch->transfer.live && draw(world, 2))
        inform(world, machine,
               &(sh_participant_event){.kind = SH_PARTICIPANT_FETCHING,
                                       .transfer = number,
                                       .left_ms = draw(world, 2) ? draw(world, 1000) : 0});
    if (!all || !collect(world, machine, &taken) ||
        (fetch->given && sh_position_same(taken.position, fetch->given_at)))
        return;
    fetch->given = true;
    fetch->given_at = taken.position;
    machine->replica = taken;
    world->counts[2]++;
    if (fetch->transfer.once)
        fetch->on = false;
    inform(world, machine,
           &(sh_participant_event){.kind = SH_PARTICIPANT_FETCHED,
                                   .transfer = number,
                                   .position = taken.position,
                                   .grains = grains_at(world, taken.position)});
}
