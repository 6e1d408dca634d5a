/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list changes on the loop's thread, when a ring is opened, and on the step's, when it is
 * closed; `lock` guards it and what both read. A ring is opened once and closed by the step's
 * thread alone, because that is who may be waiting inside its engine.
 */
#include "node/rings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LINK_PATIENCE_MS 3000 /* others may stand still meanwhile; a lost call is made 3 times */

typedef struct place {
    struct place *next;
    sh_rings *of;
    sh_ring *ring;
    uint32_t number;
    uint32_t rank, devices;
    uint32_t next_device, previous_device;
    char identity[SH_LINK_IDENTITY]; /* under which the previous device comes */
    bool connecting;                 /* loop only */
    bool aborted;
} place;

struct sh_rings {
    sh_loop *loop;
    sh_rings_events events;
    sh_listener *door; /* loop only */
    pthread_mutex_t lock;
    place *first;
    sh_channel_stats closed; /* of rings that are gone */
};

sh_status sh_rings_new(sh_rings **rings, sh_loop *loop, const sh_rings_events *events)
{
    sh_rings *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a device's rings");
    fresh->loop = loop;
    fresh->events = *events;
    pthread_mutex_init(&fresh->lock, NULL);
    *rings = fresh;
    return SH_OK;
}

void sh_rings_set_door(sh_rings *rings, sh_listener *door)
{
    rings->door = door;
}

static place *find(const sh_rings *rings, uint32_t number)
{
    place *each = rings->first;
    while (each != NULL && each->number != number)
        each = each->next;
    return each;
}

/* As above, under the lock. On the loop's thread the place then stays until the task returns, for
 * closing it waits for the loop. */
static place *look_up(sh_rings *rings, uint32_t number)
{
    pthread_mutex_lock(&rings->lock);
    place *found = find(rings, number);
    pthread_mutex_unlock(&rings->lock);
    return found;
}

static void on_linked(void *context)
{
    const place *here = context;
    here->of->events.on_linked(here->of->events.context, here->number);
}

static void on_broken(void *context, bool next)
{
    const place *here = context;
    here->of->events.on_broken(here->of->events.context, here->number,
                               next ? here->next_device : here->previous_device);
}

static sh_status make(place **made, sh_rings *rings, const sh_directive *directive, uint32_t device)
{
    const sh_seat *seat = sh_directive_seat(directive, device);
    const uint32_t devices = directive->seat_count;
    const uint32_t rank = (uint32_t)(seat - directive->seats);
    place *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a ring");
    *fresh = (place){
        .of = rings,
        .number = directive->ring,
        .rank = rank,
        .devices = devices,
        .next_device = directive->seats[(rank + 1) % devices].device,
        .previous_device = directive->seats[(rank + devices - 1) % devices].device,
    };
    sh_link_identity(fresh->identity, directive->ring, (rank + devices - 1) % devices, devices);
    const sh_status status = sh_ring_new(&fresh->ring, &(sh_ring_options){
                                                           .loop = rings->loop,
                                                           .view = directive->ring,
                                                           .rank = rank,
                                                           .devices = devices,
                                                           .on_linked = on_linked,
                                                           .on_broken = on_broken,
                                                           .context = fresh,
                                                       });
    if (status != SH_OK) {
        free(fresh);
        return status;
    }
    *made = fresh;
    return SH_OK;
}

sh_status sh_rings_open(sh_rings *rings, const sh_orders *orders, uint32_t device)
{
    place *fresh;
    if (look_up(rings, orders->directive.ring) != NULL)
        return SH_OK;
    if (rings->door == NULL)
        return sh_fail(SH_STOPPED, "this device's door is closed");
    SH_TRY(make(&fresh, rings, &orders->directive, device));
    pthread_mutex_lock(&rings->lock);
    fresh->next = rings->first;
    rings->first = fresh;
    pthread_mutex_unlock(&rings->lock);
    return sh_listener_allow(rings->door, fresh->identity, orders->key_from_previous);
}

void sh_rings_connect(sh_rings *rings, const sh_orders *orders)
{
    char identity[SH_LINK_IDENTITY];
    place *here = look_up(rings, orders->directive.ring);
    if (here == NULL || here->connecting)
        return;
    here->connecting = true;
    sh_link_identity(identity, here->number, here->rank, here->devices);
    const sh_channel_target next = {.host = orders->next.host,
                                    .port = orders->next.port,
                                    .identity = identity,
                                    .key = orders->next.key,
                                    .patience_ms = LINK_PATIENCE_MS};
    if (sh_ring_connect(here->ring, &next) != SH_OK)
        on_broken(here, true);
}

bool sh_rings_accept(sh_rings *rings, sh_channel *channel, const char *identity)
{
    pthread_mutex_lock(&rings->lock);
    const place *here = rings->first;
    while (here != NULL && (here->aborted || strcmp(here->identity, identity) != 0))
        here = here->next;
    pthread_mutex_unlock(&rings->lock);
    return here != NULL && sh_ring_take_previous(here->ring, channel) == SH_OK;
}

bool sh_rings_has(sh_rings *rings, uint32_t number)
{
    pthread_mutex_lock(&rings->lock);
    const place *here = find(rings, number);
    const bool has = here != NULL && !here->aborted;
    pthread_mutex_unlock(&rings->lock);
    return has;
}

uint32_t sh_rings_find_idle(sh_rings *rings, bool (*may_stand)(const void *context, uint32_t ring),
                            const void *context)
{
    pthread_mutex_lock(&rings->lock);
    const place *here = rings->first;
    while (here != NULL && (here->aborted || may_stand(context, here->number)))
        here = here->next;
    const uint32_t number = here == NULL ? 0 : here->number;
    pthread_mutex_unlock(&rings->lock);
    return number;
}

void sh_rings_abort(sh_rings *rings, uint32_t number)
{
    pthread_mutex_lock(&rings->lock);
    place *here = find(rings, number);
    if (here != NULL && !here->aborted) {
        here->aborted = true;
        sh_ring_abort(here->ring, SH_ABORTED, "the devices change");
    }
    pthread_mutex_unlock(&rings->lock);
}

sh_engine *sh_rings_engine(sh_rings *rings, uint32_t number)
{
    pthread_mutex_lock(&rings->lock);
    const place *here = find(rings, number);
    sh_engine *engine = here == NULL || here->aborted ? NULL : sh_ring_engine(here->ring);
    pthread_mutex_unlock(&rings->lock);
    return engine;
}

/* Takes one ring off the list, `aborted` or any. */
static place *take_off(sh_rings *rings, bool any)
{
    pthread_mutex_lock(&rings->lock);
    place **at = &rings->first;
    while (*at != NULL && !any && !(*at)->aborted)
        at = &(*at)->next;
    place *taken = *at;
    if (taken != NULL)
        *at = taken->next;
    pthread_mutex_unlock(&rings->lock);
    return taken;
}

/* The door forgets the key. Runs on the loop. */
static void forget_key(void *context)
{
    const place *gone = context;
    if (gone->of->door != NULL)
        sh_listener_forbid(gone->of->door, gone->identity);
}

static void close_one(sh_rings *rings, place *gone)
{
    const sh_channel_stats stats = sh_ring_stats(gone->ring);
    pthread_mutex_lock(&rings->lock);
    sh_channel_stats_add(&rings->closed, stats);
    pthread_mutex_unlock(&rings->lock);
    sh_loop_call(rings->loop, forget_key, gone);
    sh_engine_close(sh_ring_engine(gone->ring));
    free(gone);
}

static void close_all(sh_rings *rings, bool any)
{
    for (place *gone = take_off(rings, any); gone != NULL; gone = take_off(rings, any))
        close_one(rings, gone);
}

void sh_rings_sweep(sh_rings *rings)
{
    close_all(rings, false);
}

sh_channel_stats sh_rings_stats(sh_rings *rings)
{
    pthread_mutex_lock(&rings->lock);
    sh_channel_stats total = rings->closed;
    for (const place *each = rings->first; each != NULL; each = each->next)
        sh_channel_stats_add(&total, sh_ring_stats(each->ring));
    pthread_mutex_unlock(&rings->lock);
    return total;
}

void sh_rings_free(sh_rings *rings)
{
    if (rings == NULL)
        return;
    close_all(rings, true);
    pthread_mutex_destroy(&rings->lock);
    free(rings);
}
