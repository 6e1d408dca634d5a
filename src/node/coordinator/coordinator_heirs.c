/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heirs are the devices that could replace the coordinator, in the order of their seats. Lists
 * are numbered, so that devices receive only new ones. The coordinator may have been frozen or cut
 * off itself, so it asks the doors of lost devices whether another device leads, and follows that
 * one if its job is ahead.
 */
#include "node/coordinator/coordinator_heirs.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define BEAT_TICKS 2  /* between two beats */
#define LOOK_TICKS 20 /* between two inquiries for another coordinator */

/* ---- heirs ----------------------------------------------------------------------------------- */

static bool may_inherit(const client *one)
{
    return one->able && one->has_key && !one->local;
}

/* The standby device with the lowest number above `last` that could lead; NO_DEVICE: none.
 */
static uint32_t next_spare(const sh_coordinator *coordinator, const sh_directive *directive,
                           uint32_t last)
{
    uint32_t next = NO_DEVICE;
    for (const client *each = coordinator->clients; each != NULL; each = each->next)
        if (each->device != NO_DEVICE && each->device > last && each->device < next &&
            may_inherit(each) &&
            sh_seat_of(directive->seats, directive->seat_count, each->device) == NULL)
            next = each->device;
    return next;
}

/* Devices of the view come first, because they have the newest weights. Returns whether the list
 * changed. */
static bool list_heirs(sh_coordinator *coordinator)
{
    sh_directive directive;
    uint32_t heirs[SH_HEIRS_MAX], count = 0;
    pthread_mutex_lock(&coordinator->lock);
    const bool known = sh_membership_directive(&directive, coordinator->membership, 0);
    pthread_mutex_unlock(&coordinator->lock);
    if (!known || directive.phase != SH_DIRECTIVE_GO)
        return false; /* keeps the last list while the view changes */
    for (uint32_t i = 0; i < directive.seat_count && count < SH_HEIRS_MAX; i++) {
        const client *one = sh_client_find(coordinator, directive.seats[i].device);
        if (one != NULL && may_inherit(one))
            heirs[count++] = one->device;
    }
    uint32_t spare = next_spare(coordinator, &directive, 0);
    for (; spare != NO_DEVICE && count < SH_HEIRS_MAX;
         spare = next_spare(coordinator, &directive, spare))
        heirs[count++] = spare;
    if (count == coordinator->heir_count && directive.seat_count == coordinator->seats &&
        memcmp(heirs, coordinator->heirs, count * sizeof *heirs) == 0)
        return false;
    memcpy(coordinator->heirs, heirs, sizeof heirs);
    coordinator->heir_count = count;
    coordinator->seats = directive.seat_count;
    return true;
}

static void tell_heirs(client *to)
{
    const sh_coordinator *coordinator = to->of;
    Shoal__Heirs body = SHOAL__HEIRS__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(HEIRS, heirs, &body);
    Shoal__Heir items[SH_HEIRS_MAX], *list[SH_HEIRS_MAX];
    sh_route routes[SH_HEIRS_MAX];
    for (uint32_t i = 0; i < coordinator->heir_count; i++) {
        sh_coordinator_find_way(coordinator, to->device, coordinator->heirs[i], &routes[i]);
        shoal__heir__init(&items[i]);
        items[i].device = coordinator->heirs[i];
        items[i].host = routes[i].host;
        items[i].port = routes[i].port;
        list[i] = &items[i];
    }
    body.devices = coordinator->seats;
    body.used = coordinator->options.used;
    body.n_heirs = coordinator->heir_count;
    body.heirs = list;
    sh_client_send(to, &message);
    to->heirs = coordinator->heirs_told;
}

static void beat(client *to)
{
    Shoal__Beat body = SHOAL__BEAT__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(BEAT, beat, &body);
    body.steps = to->of->steps;
    sh_client_send(to, &message);
}

/* ---- another coordinator --------------------------------------------------------------------- */

void sh_coordinator_know_door(sh_coordinator *coordinator, const sh_door *door)
{
    sh_doors_add(&coordinator->doors, door);
    coordinator->doors_changes++;
}

static bool is_here(const sh_coordinator *coordinator, const sh_door *door)
{
    const client *each = coordinator->clients;
    char host[SH_ADDRESS_TEXT];
    for (; each != NULL; each = each->next) {
        if (each->device == NO_DEVICE || each->link_port != door->port)
            continue;
        sh_channel_peer_host(each->channel, host);
        if (strcmp(host, door->host) == 0)
            return true;
    }
    return false;
}

static void on_answers(void *context, const sh_inquiry_answers *answers)
{
    sh_coordinator *coordinator = context;
    const sh_invitation *invitation = &coordinator->invitation;
    unsigned char own[SH_KEY_BYTES];
    coordinator->answered = true;
    if (coordinator->moved || sh_leader_public(own, invitation->key) != SH_OK)
        return;
    for (uint32_t i = 0; i < answers->count; i++) {
        const sh_heir_answer *answer = &answers->words[i];
        const bool lower = memcmp(own, answers->claimed[i].key, sizeof own) < 0;
        if (answer->word == SH_HEIR_FOLLOWS && answer->term >= invitation->term)
            sh_coordinator_know_door(coordinator, &answers->way[i]); /* asked next time */
        if (answer->word != SH_HEIR_LEADS ||
            memcmp(own, answers->claimed[i].key, sizeof own) == 0 ||
            !sh_succession_is_behind(invitation->term, coordinator->steps, lower, answer))
            continue;
        sh_door door = coordinator->asked.items[i];
        door.device = 0;
        sh_coordinator_move(coordinator, &door);
        return;
    }
}

static void look_for_others(sh_coordinator *coordinator)
{
    if (coordinator->inquiry != NULL && !coordinator->answered)
        return;
    sh_inquiry_stop(coordinator->inquiry);
    coordinator->inquiry = NULL;
    coordinator->answered = false;
    sh_doors *asked = &coordinator->asked;
    bool any = false;
    *asked = coordinator->doors;
    for (uint32_t i = 0; i < asked->count; i++) {
        if (is_here(coordinator, &asked->items[i]))
            asked->items[i].port = 0; /* no need to ask */
        any = any || asked->items[i].port != 0;
    }
    if (any && sh_inquiry_start(&coordinator->inquiry,
                                &(sh_inquiry_options){.loop = coordinator->options.loop,
                                                      .token = &coordinator->invitation.token,
                                                      .doors = asked->items,
                                                      .count = asked->count,
                                                      .on_done = on_answers,
                                                      .context = coordinator}) != SH_OK)
        coordinator->inquiry = NULL;
}

void sh_coordinator_move(sh_coordinator *coordinator, const sh_door *door)
{
    Shoal__Moved body = SHOAL__MOVED__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(MOVED, moved, &body);
    if (coordinator->moved || coordinator->over)
        return;
    coordinator->moved = true;
    coordinator->moved_to = *door;
    sh_log(SH_LOG_INFO, "coordinator.moved", "host=%s port=%u device=%u", door->host,
           (unsigned)door->port, door->device);
    body.device = door->device;
    body.host = coordinator->moved_to.host;
    body.port = door->port;
    for (client *each = coordinator->clients; each != NULL; each = each->next) {
        if (each->device != NO_DEVICE && each->local) /* others cannot reach it: it ends */
            sh_client_tell_end(each, SH_OK, "another device coordinates the job now");
        else if (each->device != NO_DEVICE)
            sh_client_send(each, &message);
    }
    sh_agent_abandon(coordinator->agent);
    sh_door *copy = malloc(sizeof *copy);
    if (copy != NULL)
        *copy = *door;
    sh_mailbox_post(coordinator->options.mailbox,
                    &(sh_mail){.kind = SH_MAIL_MOVED,
                               .status = SH_ABORTED,
                               .data = copy,
                               .data_bytes = sizeof *copy,
                               .text = "another device coordinates the job now"});
}

static const char *name_of(const sh_coordinator *coordinator, uint32_t heir)
{
    return sh_device_reports_name(&coordinator->reports, coordinator->heirs[heir]);
}

sh_status sh_coordinator_bequeath(sh_coordinator *coordinator, const char *name,
                                  char receiver[SH_NAME_BYTES])
{
    char could[SH_MEMBERSHIP_TEXT] = "";
    sh_route route = {.port = 0};
    uint32_t i = 0;
    for (; i < coordinator->heir_count; i++) {
        const size_t used = strlen(could);
        if (name[0] == '\0' || strcmp(name_of(coordinator, i), name) == 0)
            break;
        snprintf(could + used, sizeof could - used, "%s%.64s", used > 0 ? ", " : "",
                 name_of(coordinator, i));
    }
    if (coordinator->heir_count == 0)
        return sh_fail(SH_REFUSED, "no other device can coordinate: that needs the data, the "
                                   "weights, and permission (no shoal join --never-lead)");
    if (i == coordinator->heir_count)
        return sh_fail(SH_REFUSED, "%.64s cannot coordinate the job, or is missing; %.250s could",
                       name, could);
    sh_coordinator_find_way(coordinator, 0, coordinator->heirs[i], &route);
    if (route.host[0] == '\0')
        return sh_fail(SH_REFUSED, "%.64s cannot be reached", name_of(coordinator, i));
    snprintf(receiver, SH_NAME_BYTES, "%s", name_of(coordinator, i));
    sh_door door = {.device = coordinator->heirs[i], .port = route.port};
    snprintf(door.host, sizeof door.host, "%s", route.host);
    sh_coordinator_move(coordinator, &door);
    return SH_OK;
}

void sh_coordinator_show_way(const sh_coordinator *coordinator, sh_channel *channel)
{
    static const sh_channel_events caller_events = {.on_close = NULL};
    Shoal__Whereabouts body = SHOAL__WHEREABOUTS__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(WHEREABOUTS, whereabouts, &body);
    body.term = coordinator->invitation.term + 1;
    body.host = (char *)(uintptr_t)coordinator->moved_to.host;
    body.port = coordinator->moved_to.port;
    sh_channel_own(channel, &caller_events, NULL);
    if (sh_message_send(channel, &message) == SH_OK)
        sh_channel_flush_close(channel);
    else
        sh_channel_close(channel);
}

/* ---- each tick ------------------------------------------------------------------------------- */

void sh_coordinator_tend_heirs(sh_coordinator *coordinator)
{
    const uint64_t tick = ++coordinator->ticks;
    if (coordinator->over || coordinator->moved)
        return;
    const bool changed = list_heirs(coordinator);
    coordinator->heirs_told += changed;
    for (client *each = coordinator->clients; each != NULL; each = each->next) {
        if (each->device == NO_DEVICE)
            continue;
        if (each->heirs != coordinator->heirs_told)
            tell_heirs(each);
        else if (tick % BEAT_TICKS == 0)
            beat(each);
    }
    if (changed) /* logged once the heirs are told */
        sh_log(SH_LOG_INFO, "coordinator.heirs", "count=%u", coordinator->heir_count);
    if (tick % LOOK_TICKS == 0)
        look_for_others(coordinator);
}

uint32_t sh_coordinator_doors_changes(const sh_coordinator *coordinator)
{
    return coordinator->doors_changes;
}

void sh_coordinator_end_heirs(sh_coordinator *coordinator)
{
    sh_inquiry_stop(coordinator->inquiry);
    coordinator->inquiry = NULL;
}
