/* SPDX-License-Identifier: Apache-2.0 */
#include "node/member/replica_fetch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"

#define RETRY_MS 20 /* the donor may learn of the transfer later */
#define EARLY_MS 2000
#define EARLY_PART 8 /* of its bytes; the rate is unknown before */
#define LEFT_MS_MAX 1000000
#define REACH_MS 2000 /* to reach a donor: others can send too */

typedef struct stream {
    sh_replica_fetch *of;
    uint32_t index;
    sh_route route;
    sh_channel *channel;
    sh_timer *retry;
    uint64_t began_ns;
    bool open;
} stream;

struct sh_replica_fetch {
    sh_replica_fetch_options options;
    uint64_t number;
    sh_replica_receiver *receiver;
    bool live;
    bool once, kept;   /* `once`: stops when the replica is complete; `kept`: has stopped */
    bool told, failed; /* `told`: `position` was reported */
    sh_position position;
    uint64_t first_ns;
    size_t first_left; /* bytes missing at the first frame */
    uint32_t left_ms;  /* as reported; 0: not yet */
    sh_channel_stats closed;
    uint32_t stream_count;
    stream streams[SH_DONORS_MAX];
};

static void fail(sh_replica_fetch *fetch, const char *reason)
{
    if (fetch->failed)
        return;
    fetch->failed = true;
    sh_log(SH_LOG_WARN, "transfer.failed", "transfer=%llu reason=\"%s\"",
           (unsigned long long)fetch->number, reason);
    fetch->options.on_failed(fetch->options.context, fetch->number);
}

static sh_flow on_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    const stream *from = context;
    (void)channel;
    if (from->of->failed || from->of->kept)
        return SH_FLOW_REFUSE;
    if (sh_replica_receiver_frame(from->of->receiver, from->index, head, sink) == SH_OK)
        return SH_FLOW_TAKE;
    fail(from->of, sh_message());
    return SH_FLOW_REFUSE;
}

/* Estimates when the replica will be complete. Reports the first estimate, and each later one that
 * is a quarter less or twice as long. */
static void tell_left(sh_replica_fetch *fetch)
{
    const size_t left = sh_replica_receiver_left_bytes(fetch->receiver);
    const uint64_t now_ns = sh_clock_now_ns(sh_clock_system());
    if (fetch->first_ns == 0) {
        fetch->first_ns = now_ns;
        fetch->first_left = left;
    }
    const size_t come = fetch->first_left - left;
    if (left == 0 || come < fetch->first_left / EARLY_PART)
        return;
    const double ms = (double)(now_ns - fetch->first_ns) * 1e-6 * (double)left / (double)come;
    const uint32_t left_ms = ms < LEFT_MS_MAX ? (uint32_t)ms + 1 : LEFT_MS_MAX;
    if (fetch->left_ms != 0 && left_ms > fetch->left_ms / 4 * 3 && left_ms / 2 < fetch->left_ms)
        return;
    fetch->left_ms = left_ms;
    fetch->options.on_left(fetch->options.context, fetch->number, left_ms);
}

static void on_done(void *context, sh_channel *channel, const sh_frame *head)
{
    const stream *from = context;
    sh_replica_fetch *fetch = from->of;
    (void)channel;
    if (fetch->failed || fetch->kept)
        return;
    if (sh_replica_receiver_done(fetch->receiver, from->index, head) != SH_OK) {
        fail(fetch, sh_message());
        return;
    }
    if (fetch->live && !fetch->told)
        tell_left(fetch);
    if (!sh_replica_receiver_complete(fetch->receiver))
        return;
    const sh_position position = sh_replica_receiver_position(fetch->receiver);
    if (fetch->told && sh_position_same(position, fetch->position))
        return;
    fetch->told = true;
    fetch->kept = fetch->once;
    fetch->position = position;
    fetch->options.on_position(fetch->options.context, fetch->number, position);
}

static void on_open(void *context, sh_channel *channel)
{
    stream *to = context;
    (void)channel;
    to->open = true;
}

/* The donor may not know the transfer yet: asks it again. If everything has arrived, the
 * donor only learned of the transfer's end before this device. */
static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    stream *from = context;
    sh_channel_stats_count(&from->of->closed, channel);
    from->channel = NULL;
    if (from->of->kept || (from->of->told && !from->of->live))
        return;
    const uint64_t passed_ns = sh_clock_now_ns(sh_clock_system()) - from->began_ns;
    const bool early = !from->open && passed_ns < EARLY_MS * 1000000u &&
                       (why == SH_REFUSED || why == SH_MISMATCH || why == SH_NETWORK);
    if (early && sh_timer_start(from->retry, RETRY_MS, 0) == SH_OK)
        return;
    fail(from->of, reason[0] == '\0' ? "a donor closed the connection" : reason);
}

static const sh_channel_events donor_events = {
    .on_open = on_open,
    .on_frame = on_frame,
    .on_done = on_done,
    .on_close = on_close,
};

static sh_status connect_to(stream *to)
{
    char identity[SH_LINK_IDENTITY];
    sh_stripe_identity(identity, to->of->number, to->index);
    return sh_channel_connect(&to->channel, to->of->options.loop,
                              &(sh_channel_target){.host = to->route.host,
                                                   .port = to->route.port,
                                                   .identity = identity,
                                                   .key = to->route.key,
                                                   .patience_ms = REACH_MS},
                              &donor_events, to);
}

static void connect_again(void *context)
{
    stream *to = context;
    if (!to->of->failed && connect_to(to) != SH_OK)
        fail(to->of, sh_message());
}

sh_status sh_replica_fetch_start(sh_replica_fetch **fetch, const sh_replica_fetch_options *options)
{
    const sh_transfer *transfer = options->transfer;
    sh_replica_fetch *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "taking a replica");
    fresh->options = *options;
    fresh->number = transfer->number;
    fresh->live = transfer->live;
    fresh->once = transfer->once;
    sh_status status;
    SH_TRY_DONE(sh_replica_receiver_new(
        &fresh->receiver,
        &(sh_replica_receiver_options){.replica = options->session->replica,
                                       .job = &options->session->job,
                                       .schedule = sh_trainer_schedule(options->session->trainer),
                                       .transfer = (uint32_t)transfer->number,
                                       .streams = transfer->donor_count}));
    for (uint32_t i = 0; i < transfer->donor_count; i++) {
        stream *one = &fresh->streams[i];
        *one = (stream){.of = fresh,
                        .index = i,
                        .route = options->routes[i],
                        .began_ns = sh_clock_now_ns(sh_clock_system())};
        fresh->stream_count = i + 1;
        SH_TRY_DONE(sh_timer_new(&one->retry, options->loop, connect_again, one));
        SH_TRY_DONE(connect_to(one));
    }
    fresh->options.transfer = NULL;
    fresh->options.routes = NULL;
    *fetch = fresh;
    return SH_OK;
done:
    sh_replica_fetch_stop(fresh);
    return status;
}

sh_channel_stats sh_replica_fetch_stats(const sh_replica_fetch *fetch)
{
    sh_channel_stats total = fetch->closed;
    for (uint32_t i = 0; i < fetch->stream_count; i++)
        sh_channel_stats_count(&total, fetch->streams[i].channel);
    return total;
}

void sh_replica_fetch_stop(sh_replica_fetch *fetch)
{
    if (fetch == NULL)
        return;
    for (uint32_t i = 0; i < fetch->stream_count; i++) {
        sh_channel_close(fetch->streams[i].channel);
        sh_timer_free(fetch->streams[i].retry);
        sh_key_wipe(&fetch->streams[i].route, sizeof fetch->streams[i].route);
    }
    sh_replica_receiver_free(fetch->receiver);
    free(fetch);
}
