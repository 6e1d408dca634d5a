/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client has two buffers: one block is sent while the next is read. The loop's thread reads
 * blocks, which takes a fraction of a millisecond from the page cache. Hashing the whole data set
 * has its own thread.
 */
#include "node/delivery/supply.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

#define BUFFERS 2
#define PAGE SH_MANIFEST_BLOCK_LEAST /* blocks begin at multiples of it */

typedef struct buffer {
    uint8_t *bytes;
    size_t room;
} buffer;

typedef struct client {
    struct client *next;
    sh_supply *of;
    sh_channel *channel;
    char peer[SH_ADDRESS_TEXT];
    sh_frame asked[SH_SUPPLY_ASKED_MAX]; /* a ring */
    uint32_t first, count;
    buffer buffers[BUFFERS];
    uint32_t turn, sending;             /* the next buffer; number of buffers in the channel */
    bool wants_manifest, takes_network; /* the network is being sent */
    uint32_t blocks, refused;
    uint64_t bytes;
} client;

struct sh_supply {
    sh_supply_options options;
    char identity[SH_LINK_IDENTITY];
    client *clients;
    uint32_t client_count;
    sh_channel_stats stats;

    bool making;     /* not posted to the loop yet */
    bool has_thread; /* not joined yet */
    pthread_t thread;
    const sh_manifest *manifest; /* of the loop; NULL: not made yet */
    sh_manifest *made; /* owned; written by the thread, read after its post, like all below */
    char reason[SH_MESSAGE_BYTES];
    double seconds;
};

/* ---- the wire -------------------------------------------------------------------------------- */

sh_frame sh_block_frame(uint32_t number, const sh_block *block)
{
    return (sh_frame){
        .kind = SH_FRAME_BLOCK,
        .step = number,
        .bucket = (uint16_t)block->file,
        .view = (uint32_t)(block->offset / PAGE),
        .hop = (uint16_t)(block->bytes & 0xffff),
        .attempt = (uint16_t)(block->bytes >> 16),
    };
}

sh_block sh_block_of_frame(const sh_frame *head)
{
    return (sh_block){
        .file = head->bucket,
        .offset = (uint64_t)head->view * PAGE,
        .bytes = head->hop | (uint32_t)head->attempt << 16,
    };
}

/* ---- clients --------------------------------------------------------------------------------- */

static void forget(client *gone)
{
    sh_supply *supply = gone->of;
    client **place = &supply->clients;
    while (*place != gone)
        place = &(*place)->next;
    *place = gone->next;
    supply->client_count--;
    sh_channel_stats_count(&supply->stats, gone->channel);
    sh_log(SH_LOG_INFO, "data.served", "peer=%s blocks=%u bytes=%llu refused=%u", gone->peer,
           gone->blocks, (unsigned long long)gone->bytes, gone->refused);
    for (int i = 0; i < BUFFERS; i++)
        free(gone->buffers[i].bytes);
    free(gone);
}

static void drop(client *gone, const char *reason)
{
    sh_channel *channel = gone->channel;
    sh_log(SH_LOG_WARN, "data.dropped", "peer=%s reason=\"%s\"", gone->peer, reason);
    forget(gone);
    sh_channel_close(channel);
}

static size_t read_block(client *to, buffer *b, const sh_block *block)
{
    sh_status status = SH_INVALID;
    if (block->bytes <= SH_MANIFEST_BLOCK_MOST && b->room < block->bytes) {
        uint8_t *more = realloc(b->bytes, block->bytes);
        if (more != NULL)
            *b = (buffer){more, block->bytes};
    }
    if (block->bytes > 0 && block->bytes <= b->room)
        status = sh_contents_read(to->of->options.dataset, block->file, block->offset, b->bytes,
                                  block->bytes);
    if (status == SH_OK) {
        to->blocks++;
        to->bytes += block->bytes;
        return block->bytes;
    }
    if (to->refused++ == 0)
        sh_log(SH_LOG_WARN, "data.unread", "peer=%s file=%u offset=%llu status=%d", to->peer,
               block->file, (unsigned long long)block->offset, (int)status);
    return 0;
}

static void serve(client *to)
{
    while (to->count > 0 && to->sending < BUFFERS) {
        sh_frame head = to->asked[to->first];
        const sh_block block = sh_block_of_frame(&head);
        buffer *b = &to->buffers[to->turn];
        head.bytes = (uint32_t)read_block(to, b, &block);
        to->first = (to->first + 1) % SH_SUPPLY_ASKED_MAX;
        to->count--;
        if (sh_channel_send(to->channel, &head, b->bytes) != SH_OK) {
            drop(to, sh_message());
            return;
        }
        to->turn = (to->turn + 1) % BUFFERS;
        to->sending++;
    }
}

/* ---- the manifest ---------------------------------------------------------------------------- */

/* `body` lives as long as the supply. Sends a refusal if `refusal` is not NULL. */
static void answer(client *to, sh_frame_kind kind, const void *body, size_t bytes,
                   const char *refusal)
{
    sh_status status;
    if (refusal == NULL) {
        const sh_frame head = {.kind = (uint16_t)kind, .bytes = (uint32_t)bytes};
        status = sh_channel_send(to->channel, &head, body);
    } else {
        Shoal__Refuse refuse = SHOAL__REFUSE__INIT;
        Shoal__Message message = SH_MESSAGE_INIT(REFUSE, refuse, &refuse);
        refuse.reason = (char *)(uintptr_t)refusal;
        status = sh_message_send(to->channel, &message);
    }
    if (status != SH_OK)
        drop(to, sh_message());
}

static void answer_manifest(client *to, const char *refusal)
{
    const sh_manifest *manifest = to->of->manifest;
    to->wants_manifest = false;
    if (refusal == NULL)
        answer(to, SH_FRAME_MANIFEST, manifest->packed, manifest->packed_bytes, NULL);
    else
        answer(to, SH_FRAME_MANIFEST, NULL, 0, refusal);
}

static void on_made(void *context)
{
    sh_supply *supply = context;
    supply->making = false;
    supply->manifest = supply->made;
    if (supply->manifest != NULL)
        sh_log(SH_LOG_INFO, "data.manifest", "root=%.16s blocks=%u bytes=%llu seconds=%.3f",
               supply->manifest->root, supply->manifest->blocks,
               (unsigned long long)supply->manifest->content_bytes, supply->seconds);
    for (client *each = supply->clients, *next; each != NULL; each = next) {
        next = each->next;
        if (each->wants_manifest)
            answer_manifest(each, supply->manifest != NULL ? NULL : supply->reason);
    }
}

static void *make_main(void *argument)
{
    sh_supply *supply = argument;
    const uint64_t start_ns = sh_clock_now_ns(sh_clock_system());
    if (sh_manifest_make(&supply->made, supply->options.dataset) != SH_OK)
        snprintf(supply->reason, sizeof supply->reason, "%s", sh_message());
    supply->seconds = (double)(sh_clock_now_ns(sh_clock_system()) - start_ns) * 1e-9;
    while (sh_loop_post(supply->options.loop, on_made, supply) == SH_LIMIT)
        ; /* the loop's queue is full */
    return NULL;
}

static void give_manifest(client *to)
{
    sh_supply *supply = to->of;
    to->wants_manifest = true;
    if (!supply->options.vouches) {
        answer_manifest(to, "this device has the data, but only the coordinator describes them");
    } else if (supply->manifest != NULL) {
        answer_manifest(to, NULL);
    } else if (!supply->making) {
        if (supply->has_thread) /* the last attempt failed */
            pthread_join(supply->thread, NULL);
        const int error = sh_thread_start(&supply->thread, make_main, supply);
        supply->has_thread = supply->making = error == 0;
        if (error != 0)
            answer_manifest(to, "the device with the data has no thread to read them");
    }
}

static void give_network(client *to)
{
    const sh_network *network = to->of->options.network;
    if (network == NULL) {
        answer(to, SH_FRAME_NETWORK, NULL, 0, "this device does not have the job's network");
        return;
    }
    to->takes_network = true;
    sh_log(SH_LOG_INFO, "network.served", "peer=%s network=%s bytes=%zu", to->peer, network->spec,
           network->count);
    answer(to, SH_FRAME_NETWORK, network->bytes, network->count, NULL);
}

/* ---- channels -------------------------------------------------------------------------------- */

static sh_flow on_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    const client *from = context;
    (void)channel;
    *sink = (sh_sink){0};
    if (head->kind == SH_FRAME_MANIFEST)
        return head->bytes == 0 && !from->wants_manifest ? SH_FLOW_TAKE : SH_FLOW_REFUSE;
    if (head->kind == SH_FRAME_NETWORK)
        return head->bytes == 0 && !from->takes_network ? SH_FLOW_TAKE : SH_FLOW_REFUSE;
    if (head->kind != SH_FRAME_BLOCK || head->bytes != 0 || from->count == SH_SUPPLY_ASKED_MAX)
        return SH_FLOW_REFUSE;
    return SH_FLOW_TAKE;
}

static void on_done(void *context, sh_channel *channel, const sh_frame *head)
{
    client *from = context;
    (void)channel;
    if (head->kind == SH_FRAME_MANIFEST) {
        give_manifest(from);
        return;
    }
    if (head->kind == SH_FRAME_NETWORK) {
        give_network(from);
        return;
    }
    from->asked[(from->first + from->count++) % SH_SUPPLY_ASKED_MAX] = *head;
    serve(from);
}

static void on_sent(void *context, sh_channel *channel, const sh_frame *head)
{
    client *to = context;
    (void)channel;
    to->takes_network = to->takes_network && head->kind != SH_FRAME_NETWORK;
    if (head->kind != SH_FRAME_BLOCK)
        return;
    to->sending--;
    serve(to);
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    (void)channel;
    (void)why;
    (void)reason;
    forget(context);
}

static const sh_channel_events client_events = {
    .on_frame = on_frame,
    .on_done = on_done,
    .on_sent = on_sent,
    .on_close = on_close,
};

bool sh_supply_accept(sh_supply *supply, sh_channel *channel, const char *identity)
{
    if (supply == NULL || strcmp(identity, supply->identity) != 0 ||
        supply->client_count == SH_SUPPLY_CLIENTS_MAX)
        return false;
    client *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return false;
    fresh->of = supply;
    fresh->channel = channel;
    fresh->next = supply->clients;
    sh_channel_peer_address(channel, fresh->peer);
    supply->clients = fresh;
    supply->client_count++;
    sh_channel_own(channel, &client_events, fresh);
    return true;
}

sh_channel_stats sh_supply_stats(const sh_supply *supply)
{
    sh_channel_stats total = {0};
    if (supply == NULL)
        return total;
    total = supply->stats;
    for (const client *each = supply->clients; each != NULL; each = each->next)
        sh_channel_stats_count(&total, each->channel);
    return total;
}

/* ---- life ------------------------------------------------------------------------------------ */

sh_status sh_supply_new(sh_supply **supply, const sh_supply_options *options)
{
    sh_supply *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the data that a device supplies");
    fresh->options = *options;
    sh_data_identity(fresh->identity, options->device);
    *supply = fresh;
    return SH_OK;
}

void sh_supply_close(sh_supply *supply)
{
    while (supply != NULL && supply->clients != NULL) {
        sh_channel *channel = supply->clients->channel;
        forget(supply->clients);
        sh_channel_close(channel);
    }
}

static void pass(void *context)
{
    (void)context;
}

void sh_supply_free(sh_supply *supply)
{
    if (supply == NULL)
        return;
    if (supply->has_thread) {
        pthread_join(supply->thread, NULL);
        sh_loop_call(supply->options.loop, pass, NULL); /* waits for its post to run */
    }
    sh_manifest_free(supply->made);
    free(supply);
}
