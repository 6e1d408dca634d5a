/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster in one process with a simulated clock, determined by a seed: a membership, up to eight
 * machines with a participant each, and models of sockets, rings, transfers and faults. Weights are
 * a hash of the applied updates. Invariants, checked after each event or where they can break:
 *
 *     one-view-a-stage             devices of a stage have the same view and position
 *     every-grain-once             a complete sum has each grain of its batch once
 *     no-update-without-agreement  a replica advances only by a complete reduction
 *     never-half-applied           no device computes with or donates a partial replica
 *     same-course                  whole replicas equal those of one undisturbed device, except
 *                                  flipped bits that could not be found yet
 *     never-back                   an older notice never replaces a newer one
 *     progress-when-healed         after the faults, the job ends well despite ill or hanging
 *                                  machines, and no device that makes progress is expelled
 *
 * Threads: one per world.
 */
#ifndef SHOAL_SIM_WORLD_H
#define SHOAL_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "cluster/membership.h"
#include "cluster/membership_state.h"
#include "sim_machine.h"

#define MACHINES 8
#define WINDOW 256
#define ROUNDS 32
#define EVENTS_MAX 8192
#define MESSAGES_MAX 256
#define STEPS_MAX 64

typedef struct ring_info {
    uint32_t number, count;
    bool dead; /* a member closed it: no more rounds */
    uint32_t devices[MACHINES + 8];
    bool linked[MACHINES + 8][MACHINES + 8]; /* by index in `devices` */
} ring_info;

typedef struct round_info {
    uint64_t number; /* ring << 32 | index */
    uint32_t view, count;
    sh_position position;
    uint32_t mask, next_view;
    bool complete, not_finite;
    uint64_t sum, checks;
    bool cancelled[MACHINES];
} round_info;

typedef struct sim_world {
    uint64_t seed, now_us, order, healed_us, trouble_us;
    sh_random random;
    bool trace, ended, flips;
    const char *broken;
    char detail[256];
    uint32_t step_count, grains;
    uint64_t reference[STEPS_MAX + 1];
    sh_membership *membership;
    uint32_t next_device, drop, repeat, jitter_us, restarts;
    uint64_t cut_us[MACHINES][MACHINES];
    sim_replica checkpoint;
    sim_machine machines[MACHINES];
    ring_info rings[WINDOW];
    round_info rounds[ROUNDS];
    uint32_t next_round;
    uint32_t event_count;
    sim_event events[EVENTS_MAX];
    bool used[MESSAGES_MAX];
    union {
        sh_notice notice;
        sh_directive directive;
    } messages[MESSAGES_MAX];
    uint64_t counts[8]; /* of events, as `counted` of cluster_sim.c names them */
} sim_world;

/* sim_world.c */
uint32_t draw(sim_world *world, uint32_t limit);
uint64_t mix(uint64_t a, uint64_t b);
void fail(sim_world *world, const char *invariant, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tell(sim_world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
sim_event *later(sim_world *world, uint64_t delay_us, event_kind kind, const sim_machine *machine);
bool is_cut(const sim_world *world, uint32_t a, uint32_t b);
bool is_up(const sim_world *world, const sim_machine *machine);
sim_machine *machine_of(sim_world *world, uint32_t device);
void coordinate(sim_world *world, const sh_membership_event *event);
sim_world *world_new(uint64_t seed, bool trace);
const char *world_run(sim_world *world); /* NULL, or the name of a broken invariant */
/* Whole, without flipped bits. */
bool is_right(const sim_replica *replica);
/* Seated devices at a position with a right vote that will not be expelled; `staying`: that also do
 * not want to leave. */
uint32_t count_proven_right(sim_world *world, bool staying, sh_position position);

/* sim_course.c */
uint32_t grains_at(const sim_world *world, sh_position position);
uint32_t full_mask(uint32_t grains);
bool is_redo(const sim_world *world, sh_position position);
uint64_t contribution(uint64_t weights, sh_position position, uint32_t grain);
uint64_t weights_of(const sim_replica *replica);
sh_position after(const sim_world *world, sh_position position, bool redo, bool *finished);
void make_reference(sim_world *world);
sh_ranges ranges_of(uint32_t mask);
uint32_t mask_of(const sh_ranges *ranges);

/* sim_device.c */
void inform(sim_world *world, sim_machine *machine, const sh_participant_event *event);
void send_notice(sim_world *world, sim_machine *machine);
void send_directive(sim_world *world, sim_machine *machine);
void device_event(sim_world *world, sim_machine *machine, const sim_event *event);
void disconnect(sim_world *world, sim_machine *machine);
void crash(sim_world *world, sim_machine *machine, bool silent);
void start(sim_world *world, sim_machine *machine);
/* Whether a machine's step thread hangs, now or soon. */
bool hangs(sim_world *world, sim_machine *machine);

/* sim_ring.c */
void look_at_rings(sim_world *world, sim_machine *machine);
void close_ring(sim_world *world, sim_machine *machine, uint32_t ring);
void begin_stage(sim_world *world, sim_machine *machine, const sh_task *task);
void ring_event(sim_world *world, sim_machine *machine, const sim_event *event);

/* sim_transfer.c */
void begin_fetch(sim_world *world, sim_machine *machine, const sh_transfer *transfer);
void fetch_event(sim_world *world, sim_machine *machine);

/* sim_fault.c */
void fault_event(sim_world *world);
void heal(sim_world *world);
/* Flips a bit of one replica, if no replica is wrong and other voters are at its position. An error
 * could not be found in a device that is alone at its position, or that all others copied. */
void flip(sim_world *world, sim_machine *machine);

#endif
