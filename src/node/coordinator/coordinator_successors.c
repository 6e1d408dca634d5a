/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The successors are in the order of their seats. Lists are numbered, so that devices receive only
 * new ones. The coordinator may have been frozen or cut off itself, so it asks the endpoints of
 * lost devices whether another device leads, and follows that one if its job is ahead.
 */
#include "node/coordinator/coordinator_successors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define BEAT_TICKS 2
#define LOOK_TICKS 20

/* ---- successors ------------------------------------------------------------------------------ */

static bool may_inherit(const client *one)
{
    return one->able && one->has_key && !one->local;
}

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

/* Devices of the view come first: they have the newest weights. */
static bool list_successors(sh_coordinator *coordinator)
{
    sh_directive directive;
    uint32_t successors[SH_SUCCESSORS_MAX], count = 0;
    pthread_mutex_lock(&coordinator->lock);
    const bool known = sh_membership_directive(&directive, coordinator->membership, 0);
    pthread_mutex_unlock(&coordinator->lock);
    const bool works = directive.phase == SH_DIRECTIVE_GO ||
                       (directive.phase == SH_DIRECTIVE_LINK && directive.planned);
    if (!known || !works)
        return false; /* keeps the last list while all are halted */
    for (uint32_t i = 0; i < directive.seat_count && count < SH_SUCCESSORS_MAX; i++) {
        const client *one = sh_client_find(coordinator, directive.seats[i].device);
        if (one != NULL && may_inherit(one))
            successors[count++] = one->device;
    }
    uint32_t spare = next_spare(coordinator, &directive, 0);
    for (; spare != NO_DEVICE && count < SH_SUCCESSORS_MAX;
         spare = next_spare(coordinator, &directive, spare))
        successors[count++] = spare;
    if (count == coordinator->successor_count && directive.seat_count == coordinator->seats &&
        memcmp(successors, coordinator->successors, count * sizeof *successors) == 0)
        return false;
    memcpy(coordinator->successors, successors, sizeof successors);
    coordinator->successor_count = count;
    coordinator->seats = directive.seat_count;
    return true;
}

static void init_endpoint(Shoal__Successor *item, uint32_t device, char *host, uint32_t port)
{
    shoal__successor__init(item);
    item->device = device;
    item->host = host;
    item->port = port;
}

static void list_known(sh_endpoints *known, const sh_coordinator *coordinator)
{
    const sh_token *token = &coordinator->invitation.token;
    *known = coordinator->endpoints;
    for (uint32_t i = 0; i < token->address_count; i++) {
        const sh_endpoint own = sh_endpoint_of(&token->addresses[i]);
        sh_endpoints_add(known, &own);
    }
}

static void tell_successors(client *to)
{
    const sh_coordinator *coordinator = to->of;
    Shoal__Successors body = SHOAL__SUCCESSORS__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(SUCCESSORS, successors, &body);
    Shoal__Successor items[SH_SUCCESSORS_MAX], *list[SH_SUCCESSORS_MAX];
    Shoal__Successor known_items[SH_ENDPOINTS_MAX], *known_list[SH_ENDPOINTS_MAX];
    sh_route routes[SH_SUCCESSORS_MAX];
    sh_endpoints known;
    for (uint32_t i = 0; i < coordinator->successor_count; i++) {
        sh_coordinator_find_route(coordinator, to->device, coordinator->successors[i], &routes[i]);
        init_endpoint(&items[i], coordinator->successors[i], routes[i].host, routes[i].port);
        list[i] = &items[i];
    }
    list_known(&known, coordinator);
    for (uint32_t i = 0; i < known.count; i++) {
        init_endpoint(&known_items[i], 0, known.items[i].host, known.items[i].port);
        known_list[i] = &known_items[i];
    }
    body.n_known = known.count;
    body.known = known_list;
    body.devices = coordinator->seats;
    body.used = coordinator->options.used;
    body.audit = (float)(100 * coordinator->options.audit);
    body.n_successors = coordinator->successor_count;
    body.successors = list;
    sh_client_send(to, &message);
    to->successors = coordinator->successors_told;
}

static void beat(client *to)
{
    Shoal__Beat body = SHOAL__BEAT__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(BEAT, beat, &body);
    body.steps = to->of->steps;
    sh_client_send(to, &message);
}

/* ---- another coordinator --------------------------------------------------------------------- */

void sh_coordinator_add_endpoint(sh_coordinator *coordinator, const sh_endpoint *endpoint)
{
    sh_endpoints_add(&coordinator->endpoints, endpoint);
    coordinator->endpoint_changes++;
}

static bool is_here(const sh_coordinator *coordinator, const sh_endpoint *endpoint)
{
    const client *each = coordinator->clients;
    char host[SH_ADDRESS_TEXT];
    for (; each != NULL; each = each->next) {
        if (each->device == NO_DEVICE || each->link_port != endpoint->port)
            continue;
        sh_channel_peer_host(each->channel, host);
        if (strcmp(host, endpoint->host) == 0)
            return true;
    }
    return false;
}

static void on_answers(void *context, const sh_discovery_answers *answers)
{
    sh_coordinator *coordinator = context;
    const sh_invitation *invitation = &coordinator->invitation;
    unsigned char own[SH_KEY_BYTES];
    coordinator->answered = true;
    if (coordinator->moved || sh_leader_public(own, invitation->key) != SH_OK)
        return;
    for (uint32_t i = 0; i < answers->count; i++) {
        const sh_successor_answer *answer = &answers->words[i];
        const bool lower = memcmp(own, answers->claimed[i].key, sizeof own) < 0;
        if (answer->word == SH_SUCCESSOR_FOLLOWS && answer->term >= invitation->term)
            sh_coordinator_add_endpoint(coordinator, &answers->address[i]);
        if (answer->word != SH_SUCCESSOR_LEADS ||
            memcmp(own, answers->claimed[i].key, sizeof own) == 0 ||
            !sh_succession_is_behind(invitation->term, coordinator->steps, lower, answer))
            continue;
        sh_endpoint endpoint = coordinator->asked.items[i];
        endpoint.device = 0;
        sh_coordinator_move(coordinator, &endpoint);
        return;
    }
}

static void look_for_others(sh_coordinator *coordinator)
{
    if (coordinator->discovery != NULL && !coordinator->answered)
        return;
    sh_discovery_stop(coordinator->discovery);
    coordinator->discovery = NULL;
    coordinator->answered = false;
    sh_endpoints *asked = &coordinator->asked;
    bool any = false;
    *asked = coordinator->endpoints;
    for (uint32_t i = 0; i < asked->count; i++) {
        if (is_here(coordinator, &asked->items[i]))
            asked->items[i].port = 0;
        any = any || asked->items[i].port != 0;
    }
    sh_discovery_options options = {.loop = coordinator->options.loop,
                                    .token = &coordinator->invitation.token,
                                    .endpoints = asked->items,
                                    .count = asked->count,
                                    .leads_at.port = sh_listener_port(coordinator->listener),
                                    .term = coordinator->invitation.term,
                                    .on_done = on_answers,
                                    .context = coordinator};
    if (!sh_invitation_is_everywhere(&coordinator->invitation))
        snprintf(options.leads_at.host, sizeof options.leads_at.host, "%s",
                 coordinator->invitation.host);
    if (any && sh_discovery_start(&coordinator->discovery, &options) != SH_OK)
        coordinator->discovery = NULL;
}

void sh_coordinator_move(sh_coordinator *coordinator, const sh_endpoint *endpoint)
{
    Shoal__Moved body = SHOAL__MOVED__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(MOVED, moved, &body);
    if (coordinator->moved || coordinator->over)
        return;
    coordinator->moved = true;
    coordinator->moved_to = *endpoint;
    sh_log(SH_LOG_INFO, "coordinator.moved", "host=%s port=%u device=%u", endpoint->host,
           (unsigned)endpoint->port, endpoint->device);
    body.device = endpoint->device;
    body.host = coordinator->moved_to.host;
    body.port = endpoint->port;
    for (client *each = coordinator->clients; each != NULL; each = each->next) {
        if (each->device != NO_DEVICE && each->local) /* others cannot reach it: it ends */
            sh_client_send_end(each, SH_OK, "another device coordinates the job now");
        else if (each->device != NO_DEVICE)
            sh_client_send(each, &message);
    }
    sh_agent_abandon(coordinator->agent);
    sh_endpoint *copy = malloc(sizeof *copy);
    if (copy != NULL)
        *copy = *endpoint;
    sh_mailbox_post(coordinator->options.mailbox,
                    &(sh_mail){.kind = SH_MAIL_MOVED,
                               .status = SH_ABORTED,
                               .data = copy,
                               .data_bytes = sizeof *copy,
                               .text = "another device coordinates the job now"});
}

static const char *name_of(const sh_coordinator *coordinator, uint32_t successor)
{
    return sh_device_reports_name(&coordinator->reports, coordinator->successors[successor]);
}

sh_status sh_coordinator_hand_over_to(sh_coordinator *coordinator, const char *name,
                                      char receiver[SH_NAME_BYTES])
{
    char could[SH_MEMBERSHIP_TEXT] = "";
    sh_route route = {.port = 0};
    uint32_t i = 0;
    for (; i < coordinator->successor_count; i++) {
        const size_t used = strlen(could);
        sh_coordinator_find_route(coordinator, 0, coordinator->successors[i], &route);
        if (name[0] == '\0' ? route.host[0] != '\0' : strcmp(name_of(coordinator, i), name) == 0)
            break;
        snprintf(could + used, sizeof could - used, "%s%.64s", used > 0 ? ", " : "",
                 name_of(coordinator, i));
    }
    if (coordinator->successor_count == 0)
        return sh_fail(SH_REFUSED, "no other device can coordinate: that needs the data, the "
                                   "weights, and permission (no shoal join --never-lead)");
    if (i == coordinator->successor_count && name[0] != '\0')
        return sh_fail(SH_REFUSED, "%.64s cannot coordinate the job, or is missing; %.250s could",
                       name, could);
    if (i == coordinator->successor_count)
        return sh_fail(SH_REFUSED, "%.250s cannot be reached", could);
    if (route.host[0] == '\0')
        return sh_fail(SH_REFUSED, "%.64s cannot be reached", name_of(coordinator, i));
    snprintf(receiver, SH_NAME_BYTES, "%s", name_of(coordinator, i));
    sh_endpoint endpoint = {.device = coordinator->successors[i], .port = route.port};
    snprintf(endpoint.host, sizeof endpoint.host, "%s", route.host);
    sh_coordinator_move(coordinator, &endpoint);
    return SH_OK;
}

void sh_coordinator_resign(sh_coordinator *coordinator)
{
    char receiver[SH_NAME_BYTES], text[SH_MESSAGE_BYTES];
    if (coordinator->moved || coordinator->over ||
        sh_coordinator_hand_over_to(coordinator, "", receiver) != SH_OK)
        return;
    sh_log(SH_LOG_WARN, "coordinator.resigned", "to=\"%s\"", receiver);
    snprintf(text, sizeof text,
             "the others waited for this device: %.64s coordinates the job now. Check what blocked "
             "this process",
             receiver);
    sh_mailbox_post_text(coordinator->options.mailbox, SH_MAIL_NOTE, SH_OK, text);
}

void sh_coordinator_send_address(sh_coordinator *coordinator, sh_channel *channel)
{
    Shoal__Whereabouts body = SHOAL__WHEREABOUTS__INIT;
    body.term = coordinator->invitation.term + 1;
    body.host = (char *)(uintptr_t)coordinator->moved_to.host;
    body.port = coordinator->moved_to.port;
    sh_callers_answer(&coordinator->callers, channel, &body);
}

/* ---- each tick ------------------------------------------------------------------------------- */

void sh_coordinator_update_successors(sh_coordinator *coordinator)
{
    const uint64_t tick = ++coordinator->ticks;
    if (coordinator->over || coordinator->moved)
        return;
    const bool changed = list_successors(coordinator);
    coordinator->successors_told +=
        changed || coordinator->endpoint_changes != coordinator->changes_told;
    coordinator->changes_told = coordinator->endpoint_changes;
    for (client *each = coordinator->clients; each != NULL; each = each->next) {
        if (each->device == NO_DEVICE)
            continue;
        if (each->successors != coordinator->successors_told)
            tell_successors(each);
        else if (tick % BEAT_TICKS == 0)
            beat(each);
    }
    if (changed)
        sh_log(SH_LOG_INFO, "coordinator.heirs", "count=%u", coordinator->successor_count);
    if (tick % LOOK_TICKS == 0)
        look_for_others(coordinator);
}

uint32_t sh_coordinator_endpoint_changes(const sh_coordinator *coordinator)
{
    return coordinator->endpoint_changes;
}

void sh_coordinator_end_succession(sh_coordinator *coordinator)
{
    sh_discovery_stop(coordinator->discovery);
    coordinator->discovery = NULL;
    sh_callers_close(&coordinator->callers);
}
