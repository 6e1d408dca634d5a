/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's thread opens a ring. The step's thread closes it, because it may wait in the ring's
 * engine. `lock` guards the list and the fields that both read. */
#include "node/member/rings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/engines.h"

#define LINK_PATIENCE_MS 3000 /* enough for three attempts */

typedef struct link {
    uint32_t seat; /* at the other end */
    bool inbound;  /* the other end connects */
    bool begun;    /* connecting was started; loop only */
} link;

typedef struct place {
    struct place *next;
    sh_rings *of;
    sh_engine *engine;
    uint32_t number;
    uint32_t rank;
    uint32_t devices[SH_DEVICES_MAX]; /* by seat */
    bool aborted;
    uint32_t link_count;
    link links[SH_LINKS_MAX];
} place;

struct sh_rings {
    sh_loop *loop;
    sh_rings_events events;
    sh_listener *listener; /* loop only */
    pthread_mutex_t lock;
    place *first;
    sh_channel_stats closed;
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

void sh_rings_set_listener(sh_rings *rings, sh_listener *listener)
{
    rings->listener = listener;
}

static place *find(const sh_rings *rings, uint32_t number)
{
    place *each = rings->first;
    while (each != NULL && each->number != number)
        each = each->next;
    return each;
}

static void on_linked(void *context)
{
    const place *here = context;
    here->of->events.on_linked(here->of->events.context, here->number);
}

static void on_broken(void *context, uint32_t rank)
{
    const place *here = context;
    here->of->events.on_broken(here->of->events.context, here->number, here->devices[rank]);
}

static sh_status make(place **made, sh_rings *rings, const sh_orders *orders, uint32_t device)
{
    const sh_directive *directive = &orders->directive;
    const sh_seat *seat = sh_seat_of(directive->seats, directive->seat_count, device);
    place *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a ring");
    fresh->of = rings;
    fresh->number = directive->ring;
    fresh->rank = (uint32_t)(seat - directive->seats);
    for (uint32_t i = 0; i < directive->seat_count; i++)
        fresh->devices[i] = directive->seats[i].device;
    fresh->link_count = orders->link_count;
    for (uint32_t i = 0; i < orders->link_count; i++)
        fresh->links[i] =
            (link){.seat = orders->links[i].seat, .inbound = orders->links[i].inbound};
    bool serves[SH_DEVICES_MAX];
    const sh_engine_kind *kind = sh_directive_engine(directive, serves);
    const sh_status status =
        kind->make(&fresh->engine, &(sh_engine_options){.loop = rings->loop,
                                                        .view = directive->ring,
                                                        .rank = fresh->rank,
                                                        .devices = directive->seat_count,
                                                        .serves = serves,
                                                        .on_linked = on_linked,
                                                        .on_broken = on_broken,
                                                        .context = fresh});
    if (status != SH_OK) {
        free(fresh);
        return status;
    }
    *made = fresh;
    return SH_OK;
}

static void name_link(char identity[SH_LINK_IDENTITY], const place *here, const link *one)
{
    sh_link_identity(identity, here->number, one->inbound ? one->seat : here->rank,
                     one->inbound ? here->rank : one->seat);
}

sh_status sh_rings_open(sh_rings *rings, const sh_orders *orders, uint32_t device)
{
    place *fresh;
    char identity[SH_LINK_IDENTITY];
    if (rings->listener == NULL)
        return sh_fail(SH_STOPPED, "this device accepts no more links");
    SH_TRY(make(&fresh, rings, orders, device));
    pthread_mutex_lock(&rings->lock);
    fresh->next = rings->first;
    rings->first = fresh;
    pthread_mutex_unlock(&rings->lock);
    for (uint32_t i = 0; i < fresh->link_count; i++) {
        if (!fresh->links[i].inbound)
            continue;
        name_link(identity, fresh, &fresh->links[i]);
        SH_TRY(sh_listener_allow(rings->listener, identity, orders->links[i].route.key));
    }
    return SH_OK;
}

/* Orders for a ring always have the same links in the same order. The place exists until the task
 * returns, because closing it waits for the loop. */
void sh_rings_connect(sh_rings *rings, const sh_orders *orders)
{
    char identity[SH_LINK_IDENTITY];
    pthread_mutex_lock(&rings->lock);
    place *here = find(rings, orders->directive.ring);
    pthread_mutex_unlock(&rings->lock);
    for (uint32_t i = 0; here != NULL && i < here->link_count && i < orders->link_count; i++) {
        const sh_link *order = &orders->links[i];
        link *one = &here->links[i];
        if (one->inbound || one->begun || !order->opened)
            continue;
        one->begun = true;
        name_link(identity, here, one);
        const sh_channel_target target = {.host = order->route.host,
                                          .port = order->route.port,
                                          .identity = identity,
                                          .key = order->route.key,
                                          .patience_ms = LINK_PATIENCE_MS};
        if (here->engine->ops->connect(here->engine, one->seat, &target) != SH_OK)
            on_broken(here, one->seat);
    }
}

static const link *find_link(const place *here, const char *identity)
{
    char name[SH_LINK_IDENTITY];
    for (uint32_t i = 0; i < here->link_count && !here->aborted; i++) {
        name_link(name, here, &here->links[i]);
        if (here->links[i].inbound && strcmp(name, identity) == 0)
            return &here->links[i];
    }
    return NULL;
}

bool sh_rings_accept(sh_rings *rings, sh_channel *channel, const char *identity)
{
    const link *one = NULL;
    pthread_mutex_lock(&rings->lock);
    const place *here = rings->first;
    while (here != NULL && (one = find_link(here, identity)) == NULL)
        here = here->next;
    pthread_mutex_unlock(&rings->lock);
    return one != NULL && here->engine->ops->take(here->engine, one->seat, channel) == SH_OK;
}

bool sh_rings_abort_idle(sh_rings *rings, const sh_participant *participant)
{
    bool any = false;
    pthread_mutex_lock(&rings->lock);
    for (place *each = rings->first; each != NULL; each = each->next) {
        if (each->aborted || sh_participant_needs_ring(participant, each->number))
            continue;
        each->aborted = any = true;
        sh_engine_abort(each->engine, SH_ABORTED, "the devices change");
    }
    pthread_mutex_unlock(&rings->lock);
    return any;
}

sh_engine *sh_rings_engine(sh_rings *rings, uint32_t number)
{
    pthread_mutex_lock(&rings->lock);
    const place *here = find(rings, number);
    sh_engine *engine = here == NULL || here->aborted ? NULL : here->engine;
    pthread_mutex_unlock(&rings->lock);
    return engine;
}

/* Loop only. */
static void forget_keys(void *context)
{
    const place *gone = context;
    char identity[SH_LINK_IDENTITY];
    for (uint32_t i = 0; i < gone->link_count && gone->of->listener != NULL; i++) {
        name_link(identity, gone, &gone->links[i]);
        if (gone->links[i].inbound)
            sh_listener_forbid(gone->of->listener, identity);
    }
}

void sh_rings_sweep(sh_rings *rings)
{
    for (;;) {
        pthread_mutex_lock(&rings->lock);
        place **at = &rings->first;
        while (*at != NULL && !(*at)->aborted)
            at = &(*at)->next;
        place *gone = *at;
        if (gone != NULL)
            *at = gone->next;
        pthread_mutex_unlock(&rings->lock);
        if (gone == NULL)
            return;
        const sh_channel_stats stats = gone->engine->ops->stats(gone->engine); /* asks the loop */
        pthread_mutex_lock(&rings->lock);
        sh_channel_stats_add(&rings->closed, stats);
        pthread_mutex_unlock(&rings->lock);
        sh_loop_call(rings->loop, forget_keys, gone);
        sh_engine_close(gone->engine);
        free(gone);
    }
}

bool sh_rings_wait(sh_rings *rings)
{
    bool any = false;
    pthread_mutex_lock(&rings->lock);
    for (const place *each = rings->first; each != NULL && !any; each = each->next)
        any = each->engine->ops->waits(each->engine);
    pthread_mutex_unlock(&rings->lock);
    return any;
}

void sh_rings_call(sh_rings *rings)
{
    pthread_mutex_lock(&rings->lock);
    for (const place *each = rings->first; each != NULL; each = each->next)
        each->engine->ops->call(each->engine);
    pthread_mutex_unlock(&rings->lock);
}

uint32_t sh_rings_stuck_ms(sh_rings *rings, uint32_t *device)
{
    uint32_t longest_ms = 0, rank;
    pthread_mutex_lock(&rings->lock);
    for (const place *each = rings->first; each != NULL; each = each->next) {
        const uint32_t stuck_ms =
            each->aborted ? 0 : each->engine->ops->stuck_ms(each->engine, &rank);
        if (stuck_ms <= longest_ms)
            continue;
        longest_ms = stuck_ms;
        *device = each->devices[rank];
    }
    pthread_mutex_unlock(&rings->lock);
    return longest_ms;
}

sh_channel_stats sh_rings_stats(sh_rings *rings)
{
    pthread_mutex_lock(&rings->lock);
    sh_channel_stats total = rings->closed;
    for (const place *each = rings->first; each != NULL; each = each->next)
        sh_channel_stats_add(&total, each->engine->ops->stats(each->engine));
    pthread_mutex_unlock(&rings->lock);
    return total;
}

void sh_rings_free(sh_rings *rings)
{
    if (rings == NULL)
        return;
    pthread_mutex_lock(&rings->lock);
    for (place *each = rings->first; each != NULL; each = each->next)
        each->aborted = true;
    pthread_mutex_unlock(&rings->lock);
    sh_rings_sweep(rings);
    pthread_mutex_destroy(&rings->lock);
    free(rings);
}
