/* SPDX-License-Identifier: Apache-2.0 */
/* The list changes only on the loop's thread and under the replica's lock; either suffices to read
 * it. The step's thread appends frames, which the loop's thread sends in `send_due`. */
#include "node/member/donations.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define FRAMES_AT_A_TIME 8 /* enough to keep a channel busy */

typedef struct donation {
    struct donation *next;
    sh_donations *of;
    uint64_t number;
    uint32_t stripe, stripes;
    char identity[SH_LINK_IDENTITY];
    sh_channel *channel;       /* NULL before the receiver connects and after its end */
    sh_replica_sender *sender; /* NULL before it connects */
    uint32_t sending;          /* frames in the channel */
    atomic_bool over;          /* failed or disconnected; a receiver does not reconnect */
} donation;

struct sh_donations {
    sh_loop *loop;
    sh_listener *listener;
    sh_replica *replica;
    bool spoils; /* for tests: flips a bit of what is sent */
    donation *first;
    atomic_bool send_posted;
    sh_channel_stats stats;
};

sh_status sh_donations_new(sh_donations **donations, sh_loop *loop)
{
    sh_donations *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a device's donations");
    fresh->loop = loop;
    *donations = fresh;
    return SH_OK;
}

void sh_donations_set_listener(sh_donations *donations, sh_listener *listener)
{
    donations->listener = listener;
}

void sh_donations_begin(sh_donations *donations, const sh_session *session)
{
    donations->replica = session->replica;
    donations->spoils = session->flip.in_transfers;
}

static void hang_up(donation *one)
{
    if (one->channel == NULL)
        return;
    sh_channel_stats_count(&one->of->stats, one->channel);
    sh_channel_close(one->channel);
    one->channel = NULL;
    one->over = true;
}

static void end(donation *one)
{
    sh_donations *donations = one->of;
    hang_up(one);
    if (donations->listener != NULL)
        sh_listener_forbid(donations->listener, one->identity);
    sh_replica_lock(donations->replica);
    donation **at = &donations->first;
    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
    sh_replica_unlock(donations->replica);
    sh_replica_sender_free(one->sender);
    free(one);
}

static void send_due_to(donation *one)
{
    while (one->channel != NULL && one->sending < FRAMES_AT_A_TIME) {
        sh_frame head;
        const void *body;
        sh_replica_lock(one->of->replica);
        sh_replica_sender_fill(one->sender);
        sh_replica_unlock(one->of->replica);
        sh_status status = sh_replica_sender_next(one->sender, &head, &body);
        if (status == SH_OK && body == NULL)
            return;
        if (status == SH_OK)
            status = sh_channel_send(one->channel, &head, body);
        if (status != SH_OK) {
            sh_log(SH_LOG_WARN, "transfer.ended", "transfer=%llu stripe=%u reason=\"%s\"",
                   (unsigned long long)one->number, one->stripe, sh_message());
            hang_up(one);
            return;
        }
        one->sending++;
    }
}

static void send_due(void *context)
{
    sh_donations *donations = context;
    atomic_store(&donations->send_posted, false);
    for (donation *each = donations->first; each != NULL; each = each->next)
        send_due_to(each);
}

static void on_sent(void *context, sh_channel *channel, const sh_frame *head)
{
    donation *one = context;
    (void)channel;
    (void)head;
    one->sending--;
    sh_replica_sender_done(one->sender);
    send_due_to(one);
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    donation *one = context;
    (void)why;
    sh_log(SH_LOG_INFO, "transfer.closed", "transfer=%llu stripe=%u reason=\"%s\"",
           (unsigned long long)one->number, one->stripe, reason);
    sh_channel_stats_count(&one->of->stats, channel);
    one->channel = NULL;
    one->over = true;
}

static const sh_channel_events receiver_events = {.on_sent = on_sent, .on_close = on_close};

bool sh_donations_accept(sh_donations *donations, sh_channel *channel, const char *identity)
{
    donation *one = donations->first;
    while (one != NULL && strcmp(one->identity, identity) != 0)
        one = one->next;
    if (one == NULL || one->channel != NULL || one->over)
        return false;
    sh_replica_lock(donations->replica);
    const sh_status status =
        sh_replica_sender_new(&one->sender, &(sh_replica_sender_options){
                                                .replica = donations->replica,
                                                .transfer = (uint32_t)one->number,
                                                .stripe = one->stripe,
                                                .stripes = one->stripes,
                                                .spoils = donations->spoils,
                                            });
    sh_replica_unlock(donations->replica);
    if (status != SH_OK) {
        sh_log(SH_LOG_WARN, "transfer.refused", "transfer=%llu reason=\"%s\"",
               (unsigned long long)one->number, sh_message());
        one->over = true;
        return false;
    }
    one->channel = channel;
    sh_channel_own(channel, &receiver_events, one);
    send_due_to(one);
    return true;
}

static void open_one(sh_donations *donations, const sh_transfer *transfer, uint32_t stripe,
                     const sh_route *route)
{
    donation *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL || donations->listener == NULL) {
        free(fresh); /* the receiver reports that it cannot connect */
        return;
    }
    *fresh = (donation){.of = donations,
                        .number = transfer->number,
                        .stripe = stripe,
                        .stripes = transfer->donor_count};
    sh_stripe_identity(fresh->identity, transfer->number, stripe);
    if (sh_listener_allow(donations->listener, fresh->identity, route->key) != SH_OK) {
        sh_log(SH_LOG_WARN, "transfer.refused", "transfer=%llu reason=\"%s\"",
               (unsigned long long)transfer->number, sh_message());
        free(fresh);
        return;
    }
    sh_replica_lock(donations->replica);
    fresh->next = donations->first;
    donations->first = fresh;
    sh_replica_unlock(donations->replica);
}

void sh_donations_follow(sh_donations *donations, const sh_orders *orders, uint32_t device)
{
    const sh_directive *directive = &orders->directive;
    uint32_t stripe;
    for (donation *each = donations->first, *next; each != NULL; each = next) {
        bool goes_on = false;
        next = each->next;
        for (uint32_t i = 0; i < directive->transfer_count && !goes_on; i++)
            goes_on = directive->transfers[i].number == each->number &&
                      sh_transfer_gives(&stripe, &directive->transfers[i], device);
        if (!goes_on)
            end(each);
    }
    for (uint32_t i = 0; i < directive->transfer_count; i++) {
        const sh_transfer *transfer = &directive->transfers[i];
        const donation *known = donations->first;
        while (known != NULL && known->number != transfer->number)
            known = known->next;
        if (known == NULL && sh_transfer_gives(&stripe, transfer, device))
            open_one(donations, transfer, stripe, &orders->donors[i][stripe]);
    }
}

static void send_soon(sh_donations *donations)
{
    if (donations->first == NULL || atomic_exchange(&donations->send_posted, true))
        return;
    if (sh_loop_post(donations->loop, send_due, donations) != SH_OK)
        atomic_store(&donations->send_posted, false); /* the next stage posts it */
}

void sh_donations_span(sh_donations *donations, uint32_t index, const sh_span *span)
{
    if (donations->first == NULL)
        return;
    const sh_sum_layout *layout = sh_sum_layout_of(donations->replica->sum);
    const sh_sum_bucket *of = &layout->buckets[index];
    /* The span is shorter than its bucket: sh_replica_sender_passed appends it. */
    if (index >= layout->bucket_count || span->count < of->elements)
        return;
    for (donation *each = donations->first; each != NULL; each = each->next)
        if (each->sender != NULL && !each->over)
            sh_replica_sender_span(each->sender, of->first_element, of->elements, span->total);
    send_soon(donations);
}

void sh_donations_passed(sh_donations *donations, const sh_stage_outcome *outcome)
{
    for (donation *each = donations->first; each != NULL; each = each->next)
        if (each->sender != NULL && !each->over)
            sh_replica_sender_passed(each->sender, outcome);
    send_soon(donations);
}

void sh_donations_restarted(sh_donations *donations)
{
    for (donation *each = donations->first; each != NULL; each = each->next)
        if (each->sender != NULL && !each->over)
            sh_replica_sender_restarted(each->sender);
    send_soon(donations);
}

sh_channel_stats sh_donations_stats(const sh_donations *donations)
{
    sh_channel_stats total = donations->stats;
    for (const donation *each = donations->first; each != NULL; each = each->next)
        sh_channel_stats_count(&total, each->channel);
    return total;
}

void sh_donations_close(sh_donations *donations)
{
    while (donations->first != NULL)
        end(donations->first);
}

void sh_donations_free(sh_donations *donations)
{
    free(donations);
}
