/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round is one reduction. It completes when all seated machines have contributed and the ring
 * works, and reaches each machine at its own time. After a member closes the ring, an incomplete
 * round never completes, and a complete one may not reach the others.
 */
#include "sim_world.h"

#include <string.h>

static ring_info *ring_of(sim_world *world, uint32_t number)
{
    ring_info *ring = &world->rings[number % WINDOW];
    return ring->number == number ? ring : NULL;
}

static round_info *round_of(sim_world *world, uint64_t number)
{
    for (uint32_t i = 0; i < ROUNDS; i++)
        if (world->rounds[i].number == number)
            return &world->rounds[i];
    return NULL;
}

static bool is_in(const sim_machine *machine, uint32_t ring)
{
    for (uint32_t i = 0; i < RINGS_MAX; i++)
        if (machine->rings[i] == ring)
            return true;
    return false;
}

static bool are_linked(const ring_info *ring, uint32_t one, uint32_t other)
{
    for (uint32_t i = 0; i < ring->count; i++)
        for (uint32_t j = 0; j < ring->count && ring->devices[i] == one; j++)
            if (ring->devices[j] == other)
                return ring->linked[i][j];
    return false;
}

/* --- Links ------------------------------------------------------------------------------------ */

/* A closing machine has sent everything; only a neighbour that has not read it can lose it, and the
 * machines after that one. */
static void cancel_rounds(sim_world *world, const ring_info *ring, const sim_machine *machine)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        round_info *round = &world->rounds[i];
        bool lost = false;
        if (!round->complete || round->number >> 32 != ring->number)
            continue;
        for (uint32_t j = 0; j < ring->count; j++) {
            const sim_machine *other = machine_of(world, ring->devices[j]);
            lost = lost ||
                   (other != NULL && are_linked(ring, machine->device, other->device) &&
                    other->stage.on && other->stage.round == round->number && draw(world, 2) == 0);
        }
        for (uint32_t j = 0; j < MACHINES && lost; j++)
            round->cancelled[j] = round->cancelled[j] || draw(world, 2) == 0;
    }
}

void close_ring(sim_world *world, sim_machine *machine, uint32_t number)
{
    ring_info *ring = ring_of(world, number);
    for (uint32_t i = 0; i < RINGS_MAX; i++)
        if (machine->rings[i] == number)
            machine->rings[i] = 0;
    if (ring == NULL)
        return;
    ring->dead = true;
    for (uint32_t i = 0; i < MACHINES; i++) {
        sim_machine *other = &world->machines[i];
        if (other == machine || !other->on || !is_in(other, number) ||
            !are_linked(ring, machine->device, other->device))
            continue;
        sim_event *event = later(world, 200 + draw(world, 2000), EVENT_BROKEN, other);
        event->a = number;
        event->b = machine->device;
    }
    cancel_rounds(world, ring, machine);
}

static void abort_stage(sim_world *world, sim_machine *machine)
{
    sim_stage *stage = &machine->stage;
    if (!stage->on || stage->aborted)
        return;
    stage->aborted = true;
    if (stage->contributed)
        later(world, 20 + draw(world, 300), EVENT_STOP, machine)->a = stage->round;
}

void look_at_rings(sim_world *world, sim_machine *machine)
{
    const uint32_t wanted = sh_participant_link(&machine->part);
    if (machine->stage.on && !sh_participant_needs_ring(&machine->part, machine->stage.task.ring))
        abort_stage(world, machine);
    for (uint32_t i = 0; i < RINGS_MAX; i++)
        if (machine->rings[i] != 0 && !sh_participant_needs_ring(&machine->part, machine->rings[i]))
            close_ring(world, machine, machine->rings[i]);
    if (wanted == 0 || wanted == machine->linking)
        return;
    machine->linking = wanted;
    machine->linking_us = world->now_us;
    later(world, 300 + draw(world, 2000), EVENT_LINK, machine);
}

static ring_info *learn_ring(sim_world *world, const sim_machine *machine)
{
    const sh_directive *directive = &machine->part.directive;
    ring_info *ring = &world->rings[directive->ring % WINDOW];
    ring_info told = {.number = directive->ring, .count = directive->seat_count};
    for (uint32_t i = 0; i < directive->seat_count; i++) {
        told.devices[i] = directive->seats[i].device;
        for (uint32_t j = 0; j < directive->seat_count; j++)
            told.linked[i][j] =
                sh_directive_links(directive, i, j) || sh_directive_links(directive, j, i);
    }
    if (ring->number != directive->ring) {
        *ring = told;
    } else if (ring->count != told.count ||
               memcmp(ring->devices, told.devices, sizeof told.devices) != 0 ||
               memcmp(ring->linked, told.linked, sizeof told.linked) != 0) {
        fail(world, "one-view-a-stage", "ring %u has other members for device %u", told.number,
             machine->device);
    }
    return ring;
}

static void link_event(sim_world *world, sim_machine *machine)
{
    const uint32_t wanted = sh_participant_link(&machine->part);
    if (wanted == 0 || wanted != machine->linking)
        return;
    const ring_info *ring = learn_ring(world, machine);
    for (uint32_t i = 0; i < ring->count; i++) {
        const uint32_t device = ring->devices[i];
        if (!are_linked(ring, machine->device, device))
            continue;
        const sim_machine *other = machine_of(world, device);
        if (other != NULL && is_up(world, other) && !is_cut(world, machine->index, other->index) &&
            (other->linking == wanted || is_in(other, wanted)))
            continue;
        if (world->now_us - machine->linking_us < 100000) {
            later(world, 1000 + draw(world, 3000), EVENT_LINK, machine);
            return;
        }
        inform(world, machine,
               &(sh_participant_event){
                   .kind = SH_PARTICIPANT_LINK_BROKEN, .view = wanted, .peer = device});
        return;
    }
    for (uint32_t i = 0; i < RINGS_MAX; i++)
        if (machine->rings[i] == 0) {
            machine->rings[i] = wanted;
            break;
        }
    inform(world, machine, &(sh_participant_event){.kind = SH_PARTICIPANT_LINKED, .view = wanted});
}

static void broken_event(sim_world *world, sim_machine *machine, uint32_t ring, uint32_t peer)
{
    const sim_stage *stage = &machine->stage;
    if (!is_in(machine, ring))
        return;
    const round_info *round = round_of(world, stage->round);
    const bool through = stage->on && stage->contributed && round != NULL && round->complete &&
                         !round->cancelled[machine->index];
    if (stage->on && stage->task.ring == ring && !through)
        abort_stage(world, machine);
    inform(world, machine,
           &(sh_participant_event){.kind = SH_PARTICIPANT_LINK_BROKEN, .view = ring, .peer = peer});
}

/* --- Stages ----------------------------------------------------------------------------------- */

static void check_begin(sim_world *world, const sim_machine *machine, const sh_task *task)
{
    const sim_replica *replica = &machine->replica;
    if (replica->half)
        fail(world, "never-half-applied", "device %u computes with half a replica",
             machine->device);
    if (!sh_position_same(task->position, replica->position))
        fail(world, "no-update-without-agreement",
             "device %u is to run step %llu phase %u and is at step %llu phase %u", machine->device,
             (unsigned long long)task->position.steps, task->position.phase,
             (unsigned long long)replica->position.steps, replica->position.phase);
    if (task->keep && machine->own != 0 && !sh_position_same(machine->own_at, replica->position))
        fail(world, "every-grain-once", "device %u keeps grains of another stage", machine->device);
}

void begin_stage(sim_world *world, sim_machine *machine, const sh_task *task)
{
    sim_replica *replica = &machine->replica;
    if (task->position.steps == replica->position.steps &&
        task->position.phase == SH_PHASE_VALIDATION && replica->position.phase == SH_PHASE_FIRST)
        replica->position = task->position;
    check_begin(world, machine, task);
    if (machine->illness == ILLNESS_STUCK)
        flip(world, machine);
    if (machine->ring != task->ring) {
        machine->ring = task->ring;
        machine->rounds = 0;
        if (ring_of(world, task->ring) == NULL)
            world->rings[task->ring % WINDOW] =
                (ring_info){.number = task->ring, .count = 1, .devices = {machine->device}};
    }
    const uint32_t grains = grains_at(world, task->position);
    const sh_range share = sh_range_scale(task->share, world->grains, grains);
    const sh_ranges plain = {share.count > 0, {share}};
    machine->stage = (sim_stage){.on = true,
                                 .since_us = world->now_us,
                                 .task = *task,
                                 .todo = mask_of(task->dealt ? &task->work : &plain),
                                 .round = (uint64_t)task->ring << 32 | machine->rounds++};
    if (!task->keep) {
        machine->own = 0;
        machine->own_sum = 0;
    }
    machine->own_at = task->position;
    later(world, machine->grain_us, EVENT_GRAIN, machine);
}

/* Announces as late as possible. */
static void announce(sim_world *world, round_info *round)
{
    if (round->next_view != 0)
        return;
    round->next_view = sh_membership_announce(world->membership);
    if (round->next_view != 0)
        coordinate(world, &(sh_membership_event){.kind = SH_MEMBERSHIP_ANNOUNCED,
                                                 .view = round->next_view});
}

static void contribute(sim_world *world, sim_machine *machine)
{
    sim_stage *stage = &machine->stage;
    round_info *round = round_of(world, stage->round);
    const sh_task *task = &stage->task;
    if (round == NULL) {
        round = &world->rounds[world->next_round++ % ROUNDS];
        *round =
            (round_info){.number = stage->round, .view = task->view, .position = task->position};
    }
    if (round->complete)
        fail(world, "one-view-a-stage", "device %u comes to a round that is over", machine->device);
    if (round->view != task->view || !sh_position_same(round->position, task->position))
        fail(world, "one-view-a-stage",
             "device %u is in view %u at step %llu, others of ring %u in view %u at step %llu",
             machine->device, task->view, (unsigned long long)task->position.steps, task->ring,
             round->view, (unsigned long long)round->position.steps);
    if (round->mask & machine->own)
        fail(world, "every-grain-once", "step %llu: device %u adds grains %x a second time",
             (unsigned long long)task->position.steps, machine->device, round->mask & machine->own);
    stage->contributed = true;
    stage->check = mix(weights_of(&machine->replica), 7);
    if (world->flips && draw(world, 500) == 0)
        stage->check ^= 1; /* the check itself is wrong */
    stage->own_check = stage->check;
    if (machine->illness == ILLNESS_WORD || machine->illness == ILLNESS_LIE)
        stage->check ^= 1 + draw(world, 100);
    if (machine->illness == ILLNESS_WORD)
        stage->own_check = stage->check;
    round->mask |= machine->own;
    round->sum += machine->own_sum;
    round->checks += stage->check;
    round->not_finite = round->not_finite || (machine->illness == ILLNESS_NAN && machine->own != 0);
    round->count++;
    if (machine->device == 0 && draw(world, 2))
        announce(world, round);
    later(world, 50 + draw(world, 300), EVENT_ROUND, machine)->a = stage->round;
}

static void grain_event(sim_world *world, sim_machine *machine)
{
    sim_stage *stage = &machine->stage;
    if (!stage->on || stage->contributed || hangs(world, machine))
        return;
    if (stage->todo != 0) {
        const uint32_t grain = (uint32_t)__builtin_ctz(stage->todo);
        stage->todo &= stage->todo - 1;
        if (machine->own >> grain & 1)
            fail(world, "every-grain-once", "device %u adds grain %u, which it holds",
                 machine->device, grain);
        machine->own |= 1u << grain;
        machine->own_sum +=
            contribution(weights_of(&machine->replica), stage->task.position, grain);
    }
    if (stage->aborted)
        later(world, 20, EVENT_STOP, machine)->a = stage->round;
    else if (stage->todo != 0)
        later(world, machine->grain_us, EVENT_GRAIN, machine);
    else
        contribute(world, machine);
}

static bool reaches(sim_world *world, const ring_info *ring, const sim_machine *machine)
{
    for (uint32_t i = 0; i < ring->count; i++) {
        const sim_machine *other = machine_of(world, ring->devices[i]);
        if (other != NULL && are_linked(ring, machine->device, other->device) &&
            is_cut(world, machine->index, other->index))
            return false;
    }
    return is_up(world, machine);
}

static bool carries(sim_world *world, const ring_info *ring, bool *ever)
{
    bool now = true;
    *ever = !ring->dead;
    for (uint32_t i = 0; i < ring->count; i++) {
        const sim_machine *one = machine_of(world, ring->devices[i]);
        if (one == NULL) {
            *ever = false;
            return false;
        }
        now = now && reaches(world, ring, one);
    }
    return now && *ever;
}

static void round_event(sim_world *world, sim_machine *machine, uint64_t number)
{
    round_info *round = round_of(world, number);
    ring_info *ring = ring_of(world, (uint32_t)(number >> 32));
    bool ever = false;
    if (round == NULL || ring == NULL || round->complete || round->count < ring->count)
        return;
    if (!carries(world, ring, &ever)) {
        if (ever)
            later(world, 3000, EVENT_ROUND, machine)->a = number;
        return;
    }
    announce(world, round);
    round->complete = true;
    const uint32_t all = full_mask(grains_at(world, round->position));
    if (round->mask != all)
        fail(world, "every-grain-once", "step %llu phase %u: grains %x of %x",
             (unsigned long long)round->position.steps, round->position.phase, round->mask, all);
    for (uint32_t i = 0; i < ring->count; i++) {
        sim_machine *member = machine_of(world, ring->devices[i]);
        later(world, 20 + draw(world, draw(world, 4) ? 200 : 4000), EVENT_PASS, member)->a = number;
    }
}

static sh_speed speed_of(const sim_world *world, const sim_machine *machine)
{
    const float rate = machine->boasts ? 1e9f : 1e6f / (float)machine->grain_us;
    return (sh_speed){.rate = rate,
                      .step_s = 1e-6f * (float)(world->now_us - machine->stage.since_us)};
}

static void pass_event(sim_world *world, sim_machine *machine, uint64_t number)
{
    const round_info *round = round_of(world, number);
    sim_stage *stage = &machine->stage;
    sim_replica *replica = &machine->replica;
    if (round == NULL || !stage->on || stage->round != number || stage->aborted ||
        hangs(world, machine))
        return;
    if (round->cancelled[machine->index])
        return; /* stuck until the ring is aborted */
    stage->on = false;
    const ring_info *ring = ring_of(world, stage->task.ring);
    const bool training = round->position.phase != SH_PHASE_VALIDATION;
    const sh_ranges held = ranges_of(machine->own);
    if (ring->count > 1 && round->checks != stage->check * ring->count) {
        tell(world, "device %u: the checks differ", machine->device);
        inform(world, machine,
               &(sh_participant_event){.kind = SH_PARTICIPANT_DIFFERED,
                                       .held = &held,
                                       .own_check = stage->own_check,
                                       .total = round->checks});
        return;
    }
    if (round->not_finite && ring->count > 1) {
        const bool own_not_finite = machine->illness == ILLNESS_NAN && machine->own != 0;
        if (own_not_finite)
            machine->own = 0;
        inform(world, machine,
               &(sh_participant_event){.kind = SH_PARTICIPANT_NOT_FINITE,
                                       .held = own_not_finite ? NULL : &held,
                                       .own_not_finite = own_not_finite});
        return;
    }
    const bool redo = training && is_redo(world, round->position);
    bool finished = false;
    if (training && !redo)
        replica->base = mix(replica->base, round->sum);
    replica->position = after(world, round->position, redo, &finished);
    if (machine->index == 0 && !training && is_right(replica) && draw(world, 2))
        world->checkpoint = *replica;
    world->counts[0]++;
    if (finished && !world->flips && draw(world, 4) == 0) {
        /* Another machine dies while the last stage completes. */
        sim_machine *other = &world->machines[1 + draw(world, MACHINES - 1)];
        if (other != machine && is_up(world, other) && world->now_us < world->healed_us)
            crash(world, other, false);
    }
    tell(world, "device %u passes step %llu phase %u in view %u%s", machine->device,
         (unsigned long long)round->position.steps, round->position.phase, round->view,
         redo ? ", to be redone" : "");
    inform(world, machine,
           &(sh_participant_event){.kind = SH_PARTICIPANT_PASSED,
                                   .position = replica->position,
                                   .grains = grains_at(world, replica->position),
                                   .next_view = redo ? 0 : round->next_view,
                                   .finished = finished,
                                   .speed = speed_of(world, machine)});
}

static void stop_event(sim_world *world, sim_machine *machine, uint64_t round)
{
    sim_stage *stage = &machine->stage;
    if (!stage->on || stage->round != round || hangs(world, machine))
        return;
    stage->on = false;
    const bool own_not_finite = machine->illness == ILLNESS_NAN && machine->own != 0;
    const bool forgets =
        own_not_finite || draw(world, 10) == 0; /* as after an overflow of ranges */
    if (forgets)
        machine->own = 0;
    const sh_ranges held = ranges_of(machine->own);
    inform(world, machine,
           &(sh_participant_event){.kind = SH_PARTICIPANT_STOPPED,
                                   .held = forgets ? NULL : &held,
                                   .own_not_finite = own_not_finite,
                                   .own_check = stage->contributed ? stage->own_check : 0});
}

void ring_event(sim_world *world, sim_machine *machine, const sim_event *event)
{
    switch (event->kind) {
    case EVENT_GRAIN:
        grain_event(world, machine);
        break;
    case EVENT_STOP:
        stop_event(world, machine, event->a);
        break;
    case EVENT_ROUND:
        round_event(world, machine, event->a);
        break;
    case EVENT_PASS:
        pass_event(world, machine, event->a);
        break;
    case EVENT_LINK:
        link_event(world, machine);
        break;
    case EVENT_BROKEN:
        broken_event(world, machine, (uint32_t)event->a, (uint32_t)event->b);
        break;
    default:
        break;
    }
}
