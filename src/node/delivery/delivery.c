/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of the data set, on any thread, request blocks. The loop requests them from sources and
 * receives them in *slots*, a few per source. The keeper thread checks blocks and writes them to
 * the cache, because a slow SD card would block the loop.
 *
 *     slot:  FREE --requested--> ASKED --received--> FULL --kept or refused--> FREE
 *
 * `lock` guards shared data; channels and the timer belong to the loop. The timer handles cases
 * without events: reconnecting, silent sources, blocks that all sources refused.
 */
#include "node/delivery/delivery.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "data/fetch.h"
#include "data/mirror.h"
#include "node/delivery/slow_source.h"

#define TICK_MS 500
#define LOST_TICKS 20   /* ticks without any source before giving up */
#define LULL_TICKS 4    /* ticks of a lull before other sources are asked */
#define SILENT_TICKS 20 /* ticks before reconnecting if there are no others */
#define FORGIVE_TICKS 2 /* between requests of a block that all refused */
#define TRIES 4         /* rounds of refusals by all sources while a reader waits */
#define FAILURES 3      /* failed connections until a source is given up, except the first */

typedef enum slot_state { SLOT_FREE, SLOT_ASKED, SLOT_FULL } slot_state;

typedef struct slot {
    slot_state state;
    uint32_t source, block;
    size_t bytes;
    uint8_t *data;
    struct slot *next;
} slot;

/* Used by the loop; the slots are shared. */
typedef struct source {
    sh_delivery *of;
    uint32_t index;
    sh_source about;
    sh_channel *channel;
    bool open;
    uint32_t failures;
    sh_slow_source slow;
    slot slots[SH_DELIVERY_WINDOW];
} source;

struct sh_delivery {
    sh_loop *loop;
    sh_mailbox *mailbox;
    uint64_t limit_bytes;

    /* Of the loop. */
    source sources[SH_SOURCES_MAX];
    uint32_t source_count;
    sh_timer *tick;
    bool told;       /* SH_MAIL_DATA */
    uint8_t *packed; /* the manifest; the caller's after SH_MAIL_DATA */
    size_t packed_bytes;
    uint32_t lost_ticks, ticks;
    char reason[SH_MESSAGE_BYTES];
    sh_channel_stats closed;

    sh_mirror *mirror; /* borrowed from the data set; set before the keeper starts */
    const sh_manifest *manifest;
    bool has_keeper;
    pthread_t keeper;

    pthread_mutex_t lock; /* guards all below, and the slots */
    pthread_cond_t news;  /* for the keeper */
    bool begun, ending, failed, request_posted, warned;
    bool wants_all, asked_all; /* unread blocks are wanted too; they are on the list */
    bool complete;
    sh_fetch *fetch;
    uint8_t *tries; /* per block: refusals by all sources while a reader waited */
    bool *awaited;  /* per block: a reader waits */
    uint32_t kept;
    uint32_t refused;
    slot *first, *last; /* the keeper's queue */
};

static void request_due(void *context);

/* Any thread, without the lock. */
static void request_soon(sh_delivery *delivery)
{
    pthread_mutex_lock(&delivery->lock);
    const bool post = delivery->begun && !delivery->request_posted && !delivery->ending;
    /* Under the lock, so that nothing is posted after the end begins. */
    if (post)
        delivery->request_posted = sh_loop_post(delivery->loop, request_due, delivery) == SH_OK;
    pthread_mutex_unlock(&delivery->lock);
}

/* SH_STOPPED, the job's end, is not a failure. Any thread, without the lock. */
static void give_up(sh_delivery *delivery, sh_status status, const char *reason)
{
    pthread_mutex_lock(&delivery->lock);
    const bool first = !delivery->failed && !delivery->ending;
    delivery->failed = true;
    pthread_mutex_unlock(&delivery->lock);
    if (!first)
        return;
    if (status != SH_STOPPED)
        sh_log(SH_LOG_WARN, "data.failed", "status=%d reason=\"%s\"", (int)status, reason);
    sh_mirror_fail(delivery->mirror, status, reason);
}

/* ---- the keeper ------------------------------------------------------------------------------ */

static void keep(sh_delivery *delivery, slot *s)
{
    char reason[SH_MESSAGE_BYTES];
    const sh_status status = sh_mirror_put(delivery->mirror, s->block, s->data, s->bytes);
    snprintf(reason, sizeof reason, "%s", status == SH_OK ? "" : sh_message());
    pthread_mutex_lock(&delivery->lock);
    bool warn = false;
    if (status == SH_OK) {
        sh_fetch_done(delivery->fetch, s->block);
        delivery->awaited[s->block] = false;
        delivery->kept++;
    } else if (status == SH_CORRUPT) {
        sh_fetch_refuse(delivery->fetch, s->block, s->source);
        delivery->refused++;
        warn = !delivery->warned;
        delivery->warned = true;
    }
    pthread_mutex_unlock(&delivery->lock);
    if (status == SH_CORRUPT) {
        const uint32_t device = delivery->sources[s->source].about.device;
        sh_log(SH_LOG_WARN, "data.block_refused", "block=%u device=%u reason=\"%s\"", s->block,
               device, reason);
        snprintf(reason, sizeof reason,
                 "device %u sent a wrong block of the data set; such blocks are refused and "
                 "fetched again",
                 device);
        if (warn)
            sh_mailbox_post_text(delivery->mailbox, SH_MAIL_NOTE, SH_OK, reason);
    } else if (status != SH_OK) {
        give_up(delivery, status, reason);
    }
}

/* `*next` is NULL: put all missing blocks on the list. False at the end. */
static bool take(sh_delivery *delivery, slot **next)
{
    pthread_mutex_lock(&delivery->lock);
    while (delivery->first == NULL && !delivery->ending &&
           (!delivery->wants_all || delivery->asked_all))
        pthread_cond_wait(&delivery->news, &delivery->lock);
    const bool goes_on = !delivery->ending;
    *next = delivery->first;
    if (goes_on && delivery->first != NULL)
        delivery->first = delivery->first->next;
    pthread_mutex_unlock(&delivery->lock);
    return goes_on;
}

static void *keeper_main(void *argument)
{
    sh_delivery *delivery = argument;
    for (slot *s; take(delivery, &s);) {
        if (s != NULL)
            keep(delivery, s);
        for (uint32_t i = 0; s == NULL && i < delivery->manifest->blocks; i++) {
            if (sh_mirror_has(delivery->mirror, i))
                continue;
            pthread_mutex_lock(&delivery->lock);
            sh_fetch_need(delivery->fetch, i, SH_FETCH_LATER);
            pthread_mutex_unlock(&delivery->lock);
        }
        pthread_mutex_lock(&delivery->lock);
        if (s != NULL)
            s->state = SLOT_FREE;
        else
            delivery->asked_all = true;
        const bool complete = delivery->asked_all && sh_fetch_left(delivery->fetch) == 0;
        const bool news = complete && !delivery->complete;
        delivery->complete = delivery->complete || complete;
        const uint32_t kept = delivery->kept, refused = delivery->refused;
        pthread_mutex_unlock(&delivery->lock);
        if (news) {
            char text[SH_MESSAGE_BYTES];
            sh_log(SH_LOG_INFO, "data.complete", "fetched=%u refused=%u damaged=%u", kept, refused,
                   sh_mirror_counted(delivery->mirror).damaged);
            snprintf(text, sizeof text,
                     "the data set is complete: %u blocks of %u fetched, %u refused", kept,
                     delivery->manifest->blocks, refused);
            sh_mailbox_post_text(delivery->mailbox, SH_MAIL_NOTE, SH_OK, text);
        }
        request_soon(delivery);
    }
    return NULL;
}

/* ---- the manifest ---------------------------------------------------------------------------- */

static void tell_data(sh_delivery *delivery, sh_status status, const char *reason)
{
    if (delivery->told)
        return;
    delivery->told = true;
    sh_mailbox_post_text(delivery->mailbox, SH_MAIL_DATA, status, reason);
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Requests the lost source's blocks from others. */
static void lose(source *from, const char *reason)
{
    sh_delivery *delivery = from->of;
    sh_channel_stats_count(&delivery->closed, from->channel);
    from->channel = NULL;
    if (from->open)
        sh_log(SH_LOG_INFO, "data.source_lost", "device=%u reason=\"%s\"", from->about.device,
               reason);
    from->failures += !from->open;
    from->open = false;
    sh_slow_source_end(&from->slow);
    snprintf(delivery->reason, sizeof delivery->reason, "%s", reason);
    if (!delivery->told && from->index == 0) {
        free(delivery->packed);
        delivery->packed = NULL;
    }
    pthread_mutex_lock(&delivery->lock);
    for (int i = 0; i < SH_DELIVERY_WINDOW; i++)
        if (from->slots[i].state == SLOT_ASKED)
            from->slots[i].state = SLOT_FREE;
    if (delivery->begun)
        sh_fetch_remove_source(delivery->fetch, from->index);
    pthread_mutex_unlock(&delivery->lock);
    request_soon(delivery);
}

static void drop(source *from, const char *reason)
{
    sh_channel *channel = from->channel;
    lose(from, reason);
    sh_channel_close(channel);
}

/* NULL: no free slot, or no block. */
static slot *claim(source *to)
{
    sh_delivery *delivery = to->of;
    slot *claimed = NULL;
    pthread_mutex_lock(&delivery->lock);
    const bool may = delivery->begun && !delivery->failed &&
                     (sh_fetch_is_urgent(delivery->fetch) ||
                      sh_fetch_asked(delivery->fetch, to->index) < SH_DELIVERY_SPARE);
    for (int i = 0; i < SH_DELIVERY_WINDOW && claimed == NULL && may; i++) {
        slot *s = &to->slots[i];
        if (s->state != SLOT_FREE || !sh_fetch_next(&s->block, delivery->fetch, to->index))
            continue;
        s->state = SLOT_ASKED;
        s->source = to->index;
        claimed = s;
    }
    pthread_mutex_unlock(&delivery->lock);
    return claimed;
}

static void fill(source *to)
{
    const sh_manifest *manifest = to->of->manifest;
    for (slot *s; to->open && (s = claim(to)) != NULL;) {
        const sh_block block = sh_manifest_block(manifest, s->block);
        const sh_frame head = sh_block_frame(s->block, &block);
        s->bytes = block.bytes;
        if (s->data == NULL)
            s->data = malloc(manifest->block_bytes);
        const sh_status status = s->data != NULL
                                     ? sh_channel_send(to->channel, &head, NULL)
                                     : sh_fail_memory(manifest->block_bytes, "a block of the data");
        if (status != SH_OK)
            drop(to, sh_message());
    }
}

static void request_due(void *context)
{
    sh_delivery *delivery = context;
    pthread_mutex_lock(&delivery->lock);
    delivery->request_posted = false;
    pthread_mutex_unlock(&delivery->lock);
    for (uint32_t i = 0; i < delivery->source_count; i++)
        fill(&delivery->sources[i]);
}

static void on_open(void *context, sh_channel *channel)
{
    source *to = context;
    to->open = true;
    to->failures = 0;
    if (to->of->told)
        fill(to);
    else if (sh_channel_send(channel, &(sh_frame){.kind = SH_FRAME_MANIFEST}, NULL) != SH_OK)
        drop(to, sh_message());
}

/* Answers arrive in order. */
static slot *asked_slot(source *from, uint32_t block)
{
    slot *found = NULL;
    pthread_mutex_lock(&from->of->lock);
    for (int i = 0; i < SH_DELIVERY_WINDOW; i++)
        if (from->slots[i].state == SLOT_ASKED && from->slots[i].block == block)
            found = &from->slots[i];
    pthread_mutex_unlock(&from->of->lock);
    return found;
}

static sh_flow on_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    source *from = context;
    sh_delivery *delivery = from->of;
    (void)channel;
    if (head->kind == SH_FRAME_MANIFEST) {
        if (from->index != 0 || delivery->told || delivery->packed != NULL || head->bytes == 0 ||
            head->bytes > SH_MANIFEST_BYTES_MOST)
            return SH_FLOW_REFUSE;
        delivery->packed = malloc(head->bytes);
        delivery->packed_bytes = head->bytes;
        *sink = (sh_sink){.data = delivery->packed, .bytes = head->bytes};
        return delivery->packed != NULL ? SH_FLOW_TAKE : SH_FLOW_REFUSE;
    }
    const slot *s = head->kind == SH_FRAME_BLOCK ? asked_slot(from, head->step) : NULL;
    if (s == NULL || (head->bytes != 0 && head->bytes != s->bytes))
        return SH_FLOW_REFUSE;
    *sink = (sh_sink){.data = s->data, .bytes = head->bytes};
    return SH_FLOW_TAKE;
}

static void on_done(void *context, sh_channel *channel, const sh_frame *head)
{
    source *from = context;
    sh_delivery *delivery = from->of;
    (void)channel;
    if (head->kind == SH_FRAME_MANIFEST) {
        tell_data(delivery, SH_OK, "");
        return;
    }
    slot *s = asked_slot(from, head->step);
    pthread_mutex_lock(&delivery->lock);
    if (head->bytes == 0) {
        sh_fetch_refuse(delivery->fetch, s->block, from->index);
        s->state = SLOT_FREE;
    } else {
        s->state = SLOT_FULL;
        s->next = NULL;
        *(delivery->first == NULL ? &delivery->first : &delivery->last->next) = s;
        delivery->last = s;
        pthread_cond_signal(&delivery->news);
    }
    pthread_mutex_unlock(&delivery->lock);
    fill(from);
}

static void on_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    source *from = context;
    Shoal__Message *message;
    (void)channel;
    if (sh_message_unpack(&message, body, bytes) != SH_OK) {
        drop(from, sh_message());
        return;
    }
    if (message->body_case == SHOAL__MESSAGE__BODY_REFUSE && from->index == 0)
        tell_data(from->of, SH_REFUSED, message->refuse->reason);
    sh_message_free(message);
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    (void)channel;
    lose(context, why == SH_OK ? "it closed the connection" : reason);
}

static const sh_channel_events source_events = {
    .on_open = on_open,
    .on_frame = on_frame,
    .on_done = on_done,
    .on_control = on_control,
    .on_close = on_close,
};

static void connect_to(source *to)
{
    char identity[SH_LINK_IDENTITY];
    sh_data_identity(identity, to->about.device);
    if (sh_channel_connect(&to->channel, to->of->loop,
                           &(sh_channel_target){.host = to->about.route.host,
                                                .port = to->about.route.port,
                                                .identity = identity,
                                                .key = to->about.route.key},
                           &source_events, to) != SH_OK) {
        to->channel = NULL;
        to->failures++;
        snprintf(to->of->reason, sizeof to->of->reason, "%s", sh_message());
    }
}

/* ---- events of the timer --------------------------------------------------------------------- */

static bool has_others(const source *s)
{
    const sh_delivery *delivery = s->of;
    bool others = false;
    for (uint32_t i = 0; i < delivery->source_count; i++)
        others = others || (i != s->index && delivery->sources[i].open);
    return others;
}

/* Connects when due, and drops a source that sends almost nothing. A source that owes the manifest
 * gets more time, because making it may take long. */
static void tend(source *s)
{
    sh_channel_stats stats;
    bool owes = false;
    if (s->channel == NULL && (s->index == 0 || s->failures < FAILURES) &&
        !sh_slow_source_is_paused(&s->slow))
        connect_to(s);
    if (s->channel == NULL || !s->open || !s->of->told)
        return;
    sh_channel_stats_get(s->channel, &stats);
    pthread_mutex_lock(&s->of->lock);
    for (int i = 0; i < SH_DELIVERY_WINDOW; i++)
        owes = owes || s->slots[i].state == SLOT_ASKED;
    pthread_mutex_unlock(&s->of->lock);
    const bool others = has_others(s);
    if (sh_slow_source_look(&s->slow, owes, stats.received_bytes) <
        (others ? LULL_TICKS : SILENT_TICKS))
        return;
    if (others)
        sh_slow_source_drop(&s->slow);
    drop(s, "almost no data comes from it");
}

/* Requests blocks again that all sources refused, but not forever while a reader waits. */
static void ask_again(sh_delivery *delivery, uint64_t open)
{
    uint32_t block = 0;
    bool hopeless = false;
    pthread_mutex_lock(&delivery->lock);
    const bool stuck = sh_fetch_stuck(&block, delivery->fetch, open);
    if (stuck && delivery->awaited[block])
        hopeless = ++delivery->tries[block] == TRIES;
    if (stuck)
        sh_fetch_clear_refusals(delivery->fetch);
    pthread_mutex_unlock(&delivery->lock);
    if (hopeless) {
        char text[SH_MESSAGE_BYTES];
        snprintf(text, sizeof text,
                 "block %u of the data set cannot be fetched: no device has it unchanged since the "
                 "job began; check if their files have changed",
                 block);
        give_up(delivery, SH_CORRUPT, text);
    } else if (stuck) {
        request_soon(delivery);
    }
}

static void on_tick(void *context)
{
    sh_delivery *delivery = context;
    uint64_t open = 0;
    pthread_mutex_lock(&delivery->lock);
    const bool begun = delivery->begun;
    const bool comes = begun ? sh_fetch_left(delivery->fetch) > 0 : !delivery->told;
    const bool failed = delivery->failed;
    pthread_mutex_unlock(&delivery->lock);
    if (!comes || failed) {
        delivery->lost_ticks = 0;
        return;
    }
    const uint32_t sources = begun ? delivery->source_count : 1;
    for (uint32_t i = 0; i < sources; i++) {
        tend(&delivery->sources[i]);
        open |= (uint64_t)delivery->sources[i].open << i;
    }
    delivery->lost_ticks = open == 0 ? delivery->lost_ticks + 1 : 0;
    if (delivery->lost_ticks >= LOST_TICKS) {
        char text[SH_MESSAGE_BYTES];
        snprintf(text, sizeof text, "no device that has the data can be reached: %.800s",
                 delivery->reason);
        if (delivery->told)
            give_up(delivery, SH_PEER_LOST, text);
        else
            tell_data(delivery, SH_PEER_LOST, text);
    }
    if (open != 0 && begun && ++delivery->ticks % FORGIVE_TICKS == 0)
        ask_again(delivery, open);
}

/* ---- life ------------------------------------------------------------------------------------ */

typedef struct request {
    sh_delivery *delivery;
    sh_status status;
} request;

static void do_start(void *context)
{
    request *asked = context;
    sh_delivery *delivery = asked->delivery;
    asked->status = sh_timer_new(&delivery->tick, delivery->loop, on_tick, delivery);
    if (asked->status == SH_OK)
        asked->status = sh_timer_start(delivery->tick, TICK_MS, TICK_MS);
    if (asked->status == SH_OK)
        connect_to(&delivery->sources[0]);
}

sh_status sh_delivery_start(sh_delivery **delivery, const sh_delivery_options *options)
{
    sh_delivery *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "fetching the data");
    fresh->loop = options->loop;
    fresh->mailbox = options->mailbox;
    fresh->limit_bytes = options->limit_bytes;
    fresh->source_count = options->sources->count;
    for (uint32_t i = 0; i < fresh->source_count; i++) {
        fresh->sources[i].of = fresh;
        fresh->sources[i].index = i;
        fresh->sources[i].about = options->sources->items[i];
    }
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_cond_init(&fresh->news, NULL);
    request asked = {.delivery = fresh};
    sh_loop_call(fresh->loop, do_start, &asked);
    if (asked.status != SH_OK) {
        sh_delivery_stop(fresh);
        sh_delivery_free(fresh);
        return sh_fail(asked.status, "fetching the data: the loop has no timer for it");
    }
    *delivery = fresh;
    return SH_OK;
}

static void on_want(void *context, uint32_t block, bool now)
{
    sh_delivery *delivery = context;
    pthread_mutex_lock(&delivery->lock);
    sh_fetch_need(delivery->fetch, block, now ? SH_FETCH_NOW : SH_FETCH_SOON);
    delivery->awaited[block] = delivery->awaited[block] || now;
    pthread_mutex_unlock(&delivery->lock);
    request_soon(delivery);
}

sh_status sh_delivery_open(sh_dataset **dataset, sh_delivery *delivery, const char *fingerprint)
{
    sh_manifest *manifest;
    sh_mirror *mirror;
    const uint32_t device = delivery->sources[0].about.device;
    SH_TRY(sh_fail_in(sh_manifest_parse(&manifest, delivery->packed, delivery->packed_bytes, NULL),
                      "device %u's description of the data", device));
    const uint32_t blocks = manifest->blocks;
    sh_status status = SH_OK;
    delivery->tries = calloc(blocks, sizeof *delivery->tries);
    delivery->awaited = calloc(blocks, sizeof *delivery->awaited);
    if (strcmp(manifest->info.fingerprint, fingerprint) != 0)
        status = sh_fail(SH_MISMATCH, "device %u offers data other than the job's", device);
    else if (delivery->tries == NULL || delivery->awaited == NULL)
        status = sh_fail_memory(2 * (size_t)blocks, "the list of blocks to fetch");
    else
        status = sh_fetch_new(&delivery->fetch, blocks);
    if (status != SH_OK) {
        sh_manifest_free(manifest);
        return status;
    }
    SH_TRY(sh_mirror_open(&mirror, manifest,
                          &(sh_mirror_options){.limit_bytes = delivery->limit_bytes,
                                               .want = on_want,
                                               .context = delivery}));
    *dataset = sh_mirror_dataset(mirror);
    delivery->manifest = sh_mirror_manifest(mirror);
    delivery->mirror = mirror;
    return SH_OK;
}

sh_status sh_delivery_begin(sh_delivery *delivery)
{
    const uint32_t missing = sh_mirror_missing(delivery->mirror);
    const sh_manifest *m = delivery->manifest;
    char text[SH_MESSAGE_BYTES];
    const int error = sh_thread_start(&delivery->keeper, keeper_main, delivery);
    delivery->has_keeper = error == 0;
    if (error != 0)
        return sh_fail_errno(error, "starting a thread");
    pthread_mutex_lock(&delivery->lock);
    delivery->complete = missing == 0;
    delivery->begun = true;
    pthread_mutex_unlock(&delivery->lock);
    sh_log(SH_LOG_INFO, "data.begin", "root=%.16s blocks=%u missing=%u sources=%u", m->root,
           m->blocks, missing, delivery->source_count);
    if (missing == 0)
        snprintf(text, sizeof text, "the job's data are in the cache");
    else
        snprintf(text, sizeof text,
                 "this device does not have the job's data: fetching %u of %u blocks (%.1f MB in "
                 "all) from %u device%s, and training meanwhile",
                 missing, m->blocks, (double)m->content_bytes / 1e6, delivery->source_count,
                 delivery->source_count == 1 ? "" : "s");
    sh_mailbox_post_text(delivery->mailbox, SH_MAIL_NOTE, SH_OK, text);
    request_soon(delivery);
    return SH_OK;
}

void sh_delivery_complete(sh_delivery *delivery)
{
    pthread_mutex_lock(&delivery->lock);
    delivery->wants_all = true;
    pthread_cond_signal(&delivery->news);
    pthread_mutex_unlock(&delivery->lock);
}

void sh_delivery_fail(sh_delivery *delivery, sh_status status, const char *reason)
{
    pthread_mutex_lock(&delivery->lock);
    const bool begun = delivery->begun;
    pthread_mutex_unlock(&delivery->lock);
    if (begun)
        give_up(delivery, status, reason);
}

bool sh_delivery_is_whole(sh_delivery *delivery)
{
    return sh_mirror_missing(delivery->mirror) == 0;
}

sh_channel_stats sh_delivery_stats(const sh_delivery *delivery)
{
    sh_channel_stats total = {0};
    if (delivery == NULL)
        return total;
    total = delivery->closed;
    for (uint32_t i = 0; i < delivery->source_count; i++)
        sh_channel_stats_count(&total, delivery->sources[i].channel);
    return total;
}

static void do_stop(void *context)
{
    sh_delivery *delivery = context;
    sh_timer_free(delivery->tick);
    delivery->tick = NULL;
    for (uint32_t i = 0; i < delivery->source_count; i++) {
        sh_channel_close(delivery->sources[i].channel);
        delivery->sources[i].channel = NULL;
        delivery->sources[i].open = false;
    }
}

void sh_delivery_stop(sh_delivery *delivery)
{
    if (delivery == NULL)
        return;
    pthread_mutex_lock(&delivery->lock);
    delivery->ending = true;
    pthread_cond_signal(&delivery->news);
    pthread_mutex_unlock(&delivery->lock);
    if (delivery->has_keeper)
        pthread_join(delivery->keeper, NULL);
    delivery->has_keeper = false;
    sh_loop_call(delivery->loop, do_stop, delivery);
    if (delivery->begun)
        sh_mirror_fail(delivery->mirror, SH_STOPPED, "the data are no longer fetched");
}

void sh_delivery_free(sh_delivery *delivery)
{
    if (delivery == NULL)
        return;
    for (uint32_t i = 0; i < delivery->source_count; i++) {
        for (int k = 0; k < SH_DELIVERY_WINDOW; k++)
            free(delivery->sources[i].slots[k].data);
        sh_key_wipe(&delivery->sources[i].about, sizeof delivery->sources[i].about);
    }
    sh_fetch_free(delivery->fetch);
    free(delivery->tries);
    free(delivery->awaited);
    free(delivery->packed);
    pthread_cond_destroy(&delivery->news);
    pthread_mutex_destroy(&delivery->lock);
    free(delivery);
}
