/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/coordinator_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/protocol/claims.h"
#include "node/protocol/orders.h"
#include "train/job_json.h"

client *sh_client_find(const sh_coordinator *coordinator, uint32_t device)
{
    client *each = coordinator->clients;
    while (each != NULL && each->device != device)
        each = each->next;
    return each;
}

/* ---- messages to devices --------------------------------------------------------------------- */

void sh_client_send(client *to, Shoal__Message *message)
{
    message->job = to->of->job;
    if (sh_message_send(to->channel, message) != SH_OK)
        sh_log(SH_LOG_WARN, "device.unsent", "device=%u reason=\"%s\"", to->device, sh_message());
}

void sh_client_send_end(client *to, sh_status status, const char *reason)
{
    Shoal__End end = SHOAL__END__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(END, end, &end);
    end.status = (uint32_t)status;
    end.reason = (char *)(uintptr_t)reason;
    sh_client_send(to, &message);
}

void sh_client_send_refusal(client *to, const char *reason, bool again)
{
    Shoal__Refuse refuse = SHOAL__REFUSE__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(REFUSE, refuse, &refuse);
    refuse.reason = (char *)(uintptr_t)reason;
    refuse.again = again;
    sh_client_send(to, &message);
    to->device = NO_DEVICE;
    to->close_when_sent = true;
    sh_channel_flush_close(to->channel);
}

/* ---- orders ---------------------------------------------------------------------------------- */

void sh_coordinator_find_route(const sh_coordinator *coordinator, uint32_t from, uint32_t to,
                               sh_route *route)
{
    const client *viewer = sh_client_find(coordinator, from),
                 *target = sh_client_find(coordinator, to);
    char host[SH_ADDRESS_TEXT] = "";
    route->port = 1;
    if (target != NULL) {
        sh_channel_peer_host(target->channel, host);
        route->port = target->link_port;
    } else if (to == 0 && viewer != NULL) { /* `from` reached it at this address */
        sh_channel_local_address(viewer->channel, host);
        route->port = sh_listener_port(coordinator->listener);
    }
    snprintf(route->host, sizeof route->host, "%s", host);
}

void sh_coordinator_print_route(const sh_coordinator *coordinator, uint32_t from, uint32_t to,
                                char address[SH_ADDRESS_TEXT])
{
    sh_route route;
    sh_coordinator_find_route(coordinator, from, to, &route);
    address[0] = '\0';
    if (route.host[0] != '\0')
        snprintf(address, SH_ADDRESS_TEXT,
                 strchr(route.host, ':') != NULL ? "[%.80s]:%u" : "%.80s:%u", route.host,
                 (unsigned)route.port);
}

sh_status sh_coordinator_make_key(const sh_coordinator *coordinator,
                                  unsigned char key[SH_KEY_BYTES], const char *identity)
{
    return sh_key_derive(key, coordinator->secret, sizeof coordinator->secret, identity);
}

/* From the viewpoint of seat `rank`. */
static sh_status add_link(sh_orders *orders, const sh_coordinator *coordinator, uint32_t rank,
                          uint32_t from, uint32_t to)
{
    const sh_directive *directive = &orders->directive;
    char identity[SH_LINK_IDENTITY];
    sh_link *link = &orders->links[orders->link_count++];
    link->inbound = to == rank;
    link->seat = link->inbound ? from : to;
    if (!link->inbound) {
        const uint32_t target = directive->seats[to].device;
        const client *one = sh_client_find(coordinator, target);
        const uint32_t opened = target == 0   ? coordinator->own_opened
                                : one != NULL ? one->opened
                                              : 0;
        link->opened = opened >= directive->ring;
        sh_coordinator_find_route(coordinator, directive->seats[rank].device, target, &link->route);
    }
    sh_link_identity(identity, directive->ring, from, to);
    return sh_coordinator_make_key(coordinator, link->route.key, identity);
}

sh_status sh_coordinator_send_orders(sh_coordinator *coordinator, uint32_t device)
{
    sh_orders orders = {0};
    const sh_directive *directive = &orders.directive;
    client *to = sh_client_find(coordinator, device);
    sh_status status = SH_OK;
    pthread_mutex_lock(&coordinator->lock);
    const bool known = sh_membership_directive(&orders.directive, coordinator->membership, device);
    pthread_mutex_unlock(&coordinator->lock);
    if (!known || (device != 0 && to == NULL))
        return SH_OK;
    const sh_seat *seat = sh_seat_of(directive->seats, directive->seat_count, device);
    const uint32_t rank = seat == NULL ? 0 : (uint32_t)(seat - directive->seats);
    for (uint32_t i = 0; seat != NULL && i < directive->seat_count; i++) {
        if (sh_directive_links(directive, rank, i))
            SH_TRY_DONE(add_link(&orders, coordinator, rank, rank, i));
        if (sh_directive_links(directive, i, rank))
            SH_TRY_DONE(add_link(&orders, coordinator, rank, i, rank));
    }
    for (uint32_t i = 0; i < directive->transfer_count; i++) {
        const sh_transfer *transfer = &directive->transfers[i];
        for (uint32_t k = 0; k < transfer->donor_count; k++) {
            char identity[SH_LINK_IDENTITY];
            if (transfer->receiver != device && transfer->donors[k] != device)
                continue;
            sh_stripe_identity(identity, transfer->number, k);
            SH_TRY_DONE(sh_coordinator_make_key(coordinator, orders.donors[i][k].key, identity));
            if (transfer->receiver == device)
                sh_coordinator_find_route(coordinator, device, transfer->donors[k],
                                          &orders.donors[i][k]);
        }
    }
    if (device == 0) {
        sh_agent_follow(coordinator->agent, &orders);
    } else {
        sh_orders_message body;
        Shoal__Message message = SH_MESSAGE_INIT(ORDER, order, &body.body);
        sh_orders_write(&body, &orders);
        sh_client_send(to, &message);
    }
done:
    sh_key_wipe(&orders, sizeof orders);
    return status;
}

sh_status sh_coordinator_note_opened(sh_coordinator *coordinator, uint32_t device, uint32_t *known,
                                     uint32_t opened)
{
    sh_directive directive;
    if (opened <= *known)
        return SH_OK;
    *known = opened;
    pthread_mutex_lock(&coordinator->lock);
    const bool has = sh_membership_directive(&directive, coordinator->membership, device);
    pthread_mutex_unlock(&coordinator->lock);
    const sh_seat *seat = has ? sh_seat_of(directive.seats, directive.seat_count, device) : NULL;
    if (seat == NULL || directive.ring != opened)
        return SH_OK;
    for (uint32_t i = 0; i < directive.seat_count; i++)
        if (sh_directive_links(&directive, i, (uint32_t)(seat - directive.seats)))
            SH_TRY(sh_coordinator_send_orders(coordinator, directive.seats[i].device));
    return SH_OK;
}

/* ---- welcomes -------------------------------------------------------------------------------- */

sh_status sh_client_welcome(sh_coordinator *coordinator, client *to)
{
    char *job = NULL;
    sh_status status = SH_OK;
    Shoal__Welcome welcome = SHOAL__WELCOME__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(WELCOME, welcome, &welcome);
    sh_sources sources;
    sh_sources_message listed;
    sh_leader_chain chain = {0};
    sh_chain_message warrants;
    const sh_invitation *invitation = &coordinator->invitation;
    unsigned char key[SH_KEY_BYTES];
    char identity[SH_LINK_IDENTITY];
    sh_data_identity(identity, to->device);
    SH_TRY_DONE(sh_coordinator_make_key(coordinator, key, identity));
    /* Not the local devices: they share the disk and the network link of device 0. */
    sources.count = 1;
    sources.items[0].device = 0;
    for (const client *each = coordinator->clients; each != NULL; each = each->next)
        if (each != to && each->ready && each->has_data && !each->local &&
            each->device != NO_DEVICE && sources.count < SH_SOURCES_MAX)
            sources.items[sources.count++].device = each->device;
    for (uint32_t i = 0; i < sources.count; i++) {
        sh_source *source = &sources.items[i];
        sh_coordinator_find_route(coordinator, to->device, source->device, &source->route);
        sh_data_identity(identity, source->device);
        SH_TRY_DONE(sh_coordinator_make_key(coordinator, source->route.key, identity));
    }
    SH_TRY_DONE(sh_job_to_text(&job, &coordinator->options.session->job));
    sh_sources_write(&listed, &sources);
    /* A device without a warrant works but cannot lead. */
    if (to->has_key && !to->local &&
        sh_leader_warrant(&chain, &invitation->chain, invitation->key, to->key) == SH_OK)
        sh_chain_write(&warrants, &chain);
    welcome.n_warrants = chain.count;
    welcome.warrants = warrants.list;
    welcome.n_sources = sources.count;
    welcome.sources = listed.list;
    welcome.data_key = (ProtobufCBinaryData){sizeof key, key};
    welcome.device = to->device;
    welcome.job = job;
    welcome.fingerprint =
        (char *)(uintptr_t)sh_pipeline_about(coordinator->options.session->pipeline)->fingerprint;
    sh_client_send(to, &message);
    sh_log(SH_LOG_INFO, "device.welcomed", "device=%u name=\"%s\"", to->device,
           sh_device_reports_name(&coordinator->reports, to->device));
done:
    free(job);
    sh_key_wipe(&sources, sizeof sources);
    sh_key_wipe(key, sizeof key);
    return status;
}
