/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame's step is the number of the lap, and its hop is the kind of the message:
 *
 *     WANT     to the dealer    requests an update; bucket 1: the lap must end soon
 *     GRANT    from the dealer  update number `bucket`
 *     NUMBERS  to each server   of an update, before its words
 *     WORDS    to each server   those of its shard
 *     TAKEN    from each server the update is in the shard
 *     DONE     to the dealer    all servers have answered TAKEN
 *     PULL     to each server   an update was granted: requests its shard of the weights
 *     WEIGHTS  from each server the shard's current weights
 *     END      from the dealer  all `bucket` updates are in all shards; the state
 *     FINAL    from each server its shard of array `bucket`
 *
 * A PULL follows the previous WORDS in the channel, so the weights include the device's own
 * updates. A device sends DONE after all servers have answered, so no shard changes after END, and
 * what is sent then need not be copied. WEIGHTS are copied, because other updates may arrive
 * meanwhile. The copy is in the memory of the peer's words, which are applied by then; the peer
 * sends none before it has all weights.
 *
 * A frame of the next lap pauses its channel until that lap begins here. No frame of this lap can
 * follow it, because a device begins the next lap after all frames of this one; the same holds for
 * the parts of a following reduction. Only a WANT may be late, even by several laps, from a device
 * that did not know of the end; it is dropped.
 *
 * Everything belongs to the loop, except what the round's lock guards.
 */
#include "reduce/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "reduce/dispatcher.h"

enum { WANT, GRANT, NUMBERS, WORDS, TAKEN, DONE, PULL, WEIGHTS, END, FINAL };

typedef struct peer {
    bool has_numbers; /* the words come next */
    bool owes;        /* a server that has not applied our update yet */
    bool gives;       /* a server that was asked for its shard */
    uint32_t finals;  /* arrays whose shard arrived */
    void *words;      /* of its update, with room for our shard as floats */
    void *numbers;
} peer;

struct sh_exchange {
    sh_exchange_options options;
    sh_round *round;
    uint32_t rank, devices, dealer;
    sh_exchange_lap lap;
    uint32_t number; /* of the open or last lap, from 1 */
    bool open;
    bool ended; /* by END */
    bool asked; /* for an update */
    uint32_t count;
    sh_dispatcher dispatcher;
    sh_dispatcher_device *receivers;  /* of the dispatcher */
    uint32_t answers, shards, finals; /* still to arrive */
    uint32_t under_way;               /* frames being written */
    size_t room_elements;             /* in the peers' words */
    size_t room_bytes;                /* in their numbers */
    peer *peers;                      /* by rank */

    /* Guarded by the round's lock; its condition signals changes. */
    bool granted, pushing, over;
    uint32_t update;
};

typedef struct shard {
    size_t first, end;
} shard;

static bool serves(const sh_exchange *exchange, uint32_t rank)
{
    return exchange->options.serves[rank];
}

static shard shard_of(const sh_exchange *exchange, uint32_t rank)
{
    const size_t number = exchange->options.shards[rank];
    const size_t elements = exchange->lap.elements, count = exchange->options.server_count;
    return (shard){elements * number / count, elements * (number + 1) / count};
}

static size_t float_bytes(shard part)
{
    return (part.end - part.first) * sizeof(float);
}

static size_t words_at(const sh_exchange *exchange, size_t element)
{
    return exchange->lap.word_offset(exchange->lap.context, element);
}

static size_t word_bytes(const sh_exchange *exchange, shard part)
{
    return words_at(exchange, part.end) - words_at(exchange, part.first);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* If a frame cannot be sent, the lap fails. */
static void send_to(sh_exchange *exchange, uint32_t to, uint16_t what, uint32_t bucket,
                    const void *body, size_t bytes)
{
    const sh_frame head = {.bytes = (uint32_t)bytes,
                           .kind = SH_FRAME_UPDATE,
                           .bucket = (uint16_t)bucket,
                           .step = exchange->number,
                           .hop = what};
    exchange->under_way++;
    if (sh_links_send(exchange->options.links, to, head, body) != SH_OK)
        sh_round_fail(exchange->round, SH_PEER_LOST, sh_message());
}

static void say(sh_exchange *exchange, uint32_t to, uint16_t what, uint32_t bucket)
{
    send_to(exchange, to, what, bucket, NULL, 0);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void check_end(sh_exchange *exchange)
{
    if (!exchange->open || !exchange->ended || exchange->finals > 0 || exchange->under_way > 0)
        return;
    exchange->open = false;
    pthread_mutex_lock(&exchange->round->lock);
    exchange->over = true;
    sh_round_wake(exchange->round);
    pthread_mutex_unlock(&exchange->round->lock);
}

static void end(sh_exchange *exchange, uint32_t count)
{
    exchange->ended = true;
    exchange->count = count;
    const shard ours = shard_of(exchange, exchange->rank);
    for (uint32_t i = 1; i < exchange->devices && serves(exchange, exchange->rank); i++)
        for (uint32_t a = 0; a < exchange->lap.array_count; a++)
            send_to(exchange, (exchange->rank + i) % exchange->devices, FINAL, a,
                    exchange->lap.arrays[a] + ours.first, float_bytes(ours));
    check_end(exchange);
}

/* ---- dealing --------------------------------------------------------------------------------- */

static void have_weights(sh_exchange *exchange)
{
    const shard ours = shard_of(exchange, exchange->rank);
    if (serves(exchange, exchange->rank))
        memcpy(exchange->lap.weights + ours.first, exchange->lap.arrays[0] + ours.first,
               float_bytes(ours));
    pthread_mutex_lock(&exchange->round->lock);
    exchange->granted = true;
    sh_round_wake(exchange->round);
    pthread_mutex_unlock(&exchange->round->lock);
}

static void be_granted(sh_exchange *exchange, uint32_t update)
{
    exchange->asked = false;
    exchange->update = update;
    for (uint32_t i = 1; i < exchange->devices; i++) {
        const uint32_t to = (exchange->rank + i) % exchange->devices;
        if (!serves(exchange, to))
            continue;
        exchange->peers[to].gives = true;
        exchange->shards++;
        say(exchange, to, PULL, 0);
    }
    if (exchange->shards == 0)
        have_weights(exchange);
}

static void deal(sh_exchange *exchange)
{
    uint32_t device, update;
    while (sh_dispatcher_next(&exchange->dispatcher, &device, &update))
        if (device == exchange->rank)
            be_granted(exchange, update);
        else
            say(exchange, device, GRANT, update);
    if (exchange->ended || !sh_dispatcher_is_over(&exchange->dispatcher))
        return;
    const uint32_t count = exchange->dispatcher.updates;
    for (uint32_t i = 0; i < exchange->devices; i++)
        if (i != exchange->rank)
            send_to(exchange, i, END, count, exchange->lap.state, exchange->lap.state_bytes);
    end(exchange, count);
}

static void want(sh_exchange *exchange, uint32_t device, bool stop)
{
    sh_dispatcher_want(&exchange->dispatcher, device);
    if (stop)
        sh_dispatcher_stop(&exchange->dispatcher);
    deal(exchange);
}

static void finish(sh_exchange *exchange, uint32_t device)
{
    if (sh_dispatcher_finish(&exchange->dispatcher, device))
        deal(exchange);
}

/* ---- updates --------------------------------------------------------------------------------- */

static void be_answered(sh_exchange *exchange)
{
    pthread_mutex_lock(&exchange->round->lock);
    exchange->pushing = false;
    sh_round_wake(exchange->round);
    pthread_mutex_unlock(&exchange->round->lock);
    if (exchange->rank == exchange->dealer)
        finish(exchange, exchange->rank);
    else
        say(exchange, exchange->dealer, DONE, 0);
}

static void do_push(void *context)
{
    sh_exchange *exchange = context;
    const sh_exchange_lap *lap = &exchange->lap;
    for (uint32_t i = 0; i < exchange->devices; i++) {
        const uint32_t to = (exchange->rank + i) % exchange->devices;
        const shard part = shard_of(exchange, to);
        const unsigned char *words =
            (const unsigned char *)lap->words + words_at(exchange, part.first);
        if (!serves(exchange, to))
            continue;
        if (to == exchange->rank) {
            lap->apply(lap->context, part.first, part.end, lap->numbers, words);
            continue;
        }
        exchange->peers[to].owes = true;
        exchange->answers++;
        send_to(exchange, to, NUMBERS, 0, lap->numbers, lap->numbers_bytes);
        send_to(exchange, to, WORDS, 0, words, word_bytes(exchange, part));
    }
    if (exchange->answers == 0)
        be_answered(exchange);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static sh_flow store(sh_sink *sink, void *data, size_t bytes, const sh_frame *head)
{
    *sink = (sh_sink){.data = data, .bytes = bytes};
    return head->bytes == bytes ? SH_FLOW_TAKE : SH_FLOW_REFUSE;
}

sh_flow sh_exchange_on_frame(sh_exchange *exchange, uint32_t from, const sh_frame *head,
                             sh_sink *sink)
{
    peer *one = &exchange->peers[from];
    const sh_exchange_lap *lap = &exchange->lap;
    const bool deals = exchange->rank == exchange->dealer;
    const bool serving = serves(exchange, exchange->rank) && !exchange->ended;
    const shard theirs = shard_of(exchange, from);
    if (head->step == exchange->number + 1)
        return SH_FLOW_PAUSE;
    if (head->hop == WANT && head->step < exchange->number)
        return store(sink, NULL, 0, head); /* late */
    if (head->step != exchange->number || (!exchange->open && head->hop != WANT))
        return SH_FLOW_REFUSE;
    switch (head->hop) {
    case WANT:
    case DONE:
        return deals ? store(sink, NULL, 0, head) : SH_FLOW_REFUSE;
    case GRANT:
        return from == exchange->dealer && exchange->asked && head->bucket < lap->updates
                   ? store(sink, NULL, 0, head)
                   : SH_FLOW_REFUSE;
    case NUMBERS:
        return serving && !one->has_numbers ? store(sink, one->numbers, lap->numbers_bytes, head)
                                            : SH_FLOW_REFUSE;
    case WORDS:
        return serving && one->has_numbers
                   ? store(sink, one->words,
                           word_bytes(exchange, shard_of(exchange, exchange->rank)), head)
                   : SH_FLOW_REFUSE;
    case TAKEN:
        return one->owes ? store(sink, NULL, 0, head) : SH_FLOW_REFUSE;
    case PULL:
        return serving ? store(sink, NULL, 0, head) : SH_FLOW_REFUSE;
    case WEIGHTS:
        return one->gives ? store(sink, lap->weights + theirs.first, float_bytes(theirs), head)
                          : SH_FLOW_REFUSE;
    case END:
        return from == exchange->dealer && !exchange->ended && head->bucket <= lap->updates
                   ? store(sink, lap->state, lap->state_bytes, head)
                   : SH_FLOW_REFUSE;
    case FINAL:
        return serves(exchange, from) && head->bucket == one->finals &&
                       one->finals < lap->array_count
                   ? store(sink, lap->arrays[one->finals] + theirs.first, float_bytes(theirs), head)
                   : SH_FLOW_REFUSE;
    default:
        return SH_FLOW_REFUSE;
    }
}

void sh_exchange_on_done(sh_exchange *exchange, uint32_t from, const sh_frame *head)
{
    peer *one = &exchange->peers[from];
    const sh_exchange_lap *lap = &exchange->lap;
    const shard ours = shard_of(exchange, exchange->rank);
    switch (head->hop) {
    case WANT:
        if (exchange->open && head->step == exchange->number)
            want(exchange, from, head->bucket > 0);
        break;
    case GRANT:
        be_granted(exchange, head->bucket);
        break;
    case NUMBERS:
        one->has_numbers = true;
        break;
    case WORDS:
        one->has_numbers = false;
        lap->apply(lap->context, ours.first, ours.end, one->numbers, one->words);
        say(exchange, from, TAKEN, 0);
        break;
    case TAKEN:
        one->owes = false;
        if (--exchange->answers == 0)
            be_answered(exchange);
        break;
    case PULL:
        memcpy(one->words, lap->arrays[0] + ours.first, float_bytes(ours));
        send_to(exchange, from, WEIGHTS, 0, one->words, float_bytes(ours));
        break;
    case WEIGHTS:
        one->gives = false;
        if (--exchange->shards == 0)
            have_weights(exchange);
        break;
    case DONE:
        finish(exchange, from);
        break;
    case END:
        end(exchange, head->bucket);
        break;
    default:
        one->finals++;
        exchange->finals--;
        check_end(exchange);
    }
}

void sh_exchange_on_sent(sh_exchange *exchange)
{
    exchange->under_way--;
    check_end(exchange);
}

/* ---- the step's side ------------------------------------------------------------------------- */

/* Ends also if the lap is over or failed. */
static sh_status wait_for(sh_exchange *exchange, const bool *flag, bool value)
{
    sh_round *round = exchange->round;
    pthread_mutex_lock(&round->lock);
    while (*flag != value && !exchange->over && round->failure == SH_OK)
        sh_round_await(round);
    const bool failed = *flag != value && !exchange->over;
    pthread_mutex_unlock(&round->lock);
    return failed ? sh_fail(round->failure, "%s", round->reason) : SH_OK;
}

static sh_status make_room(sh_exchange *exchange, const sh_exchange_lap *lap)
{
    const size_t elements = lap->elements / exchange->options.server_count + 1;
    if (!serves(exchange, exchange->rank) ||
        (elements <= exchange->room_elements && lap->numbers_bytes <= exchange->room_bytes))
        return SH_OK;
    exchange->room_elements = exchange->room_bytes = 0; /* also if memory is short */
    for (uint32_t i = 0; i < exchange->devices; i++) {
        peer *one = &exchange->peers[i];
        if (i == exchange->rank)
            continue;
        free(one->words);
        free(one->numbers);
        one->words = one->numbers = NULL;
        SH_TRY(sh_block_new(&one->words, elements * sizeof(float), "updates of other devices"));
        SH_TRY(sh_block_new(&one->numbers, lap->numbers_bytes, "updates of other devices"));
    }
    exchange->room_elements = elements;
    exchange->room_bytes = lap->numbers_bytes;
    return SH_OK;
}

typedef struct question {
    sh_exchange *exchange;
    const sh_exchange_lap *lap;
    bool stop;
} question;

static void do_begin(void *context)
{
    const question *asked = context;
    sh_exchange *exchange = asked->exchange;
    exchange->lap = *asked->lap;
    for (uint32_t i = 0; i < exchange->devices; i++) {
        peer *one = &exchange->peers[i];
        *one = (peer){.words = one->words, .numbers = one->numbers};
    }
    exchange->number++;
    exchange->open = true;
    exchange->ended = exchange->asked = false;
    exchange->answers = exchange->shards = 0;
    exchange->finals = (exchange->options.server_count - serves(exchange, exchange->rank)) *
                       exchange->lap.array_count;
    sh_dispatcher_init(&exchange->dispatcher, exchange->receivers, exchange->devices,
                       exchange->lap.updates, exchange->lap.bound);
    sh_links_resume(exchange->options.links);
}

sh_status sh_exchange_begin(sh_exchange *exchange, const sh_exchange_lap *lap)
{
    assert(lap->updates > 0 && lap->updates <= SH_EXCHANGE_UPDATES_MAX && !exchange->open);
    SH_TRY(make_room(exchange, lap));
    exchange->granted = exchange->pushing = exchange->over = false;
    sh_loop_call(exchange->round->loop, do_begin, &(question){.exchange = exchange, .lap = lap});
    return SH_OK;
}

static void do_want(void *context)
{
    const question *asked = context;
    sh_exchange *exchange = asked->exchange;
    if (exchange->ended)
        return;
    exchange->asked = true;
    if (exchange->rank == exchange->dealer)
        want(exchange, exchange->rank, asked->stop);
    else
        say(exchange, exchange->dealer, WANT, asked->stop);
}

sh_status sh_exchange_take(sh_exchange *exchange, bool stop, uint32_t *update)
{
    sh_loop_call(exchange->round->loop, do_want, &(question){.exchange = exchange, .stop = stop});
    SH_TRY(wait_for(exchange, &exchange->granted, true));
    *update = exchange->granted ? exchange->update : SH_EXCHANGE_OVER;
    exchange->granted = false;
    return SH_OK;
}

sh_status sh_exchange_settle(sh_exchange *exchange)
{
    return wait_for(exchange, &exchange->pushing, false);
}

sh_status sh_exchange_push(sh_exchange *exchange)
{
    exchange->pushing = true;
    sh_loop_call(exchange->round->loop, do_push, exchange);
    return SH_OK;
}

uint32_t sh_exchange_count(const sh_exchange *exchange)
{
    return exchange->count;
}

/* ---- life ------------------------------------------------------------------------------------ */

sh_status sh_exchange_new(sh_exchange **exchange, const sh_exchange_options *options)
{
    sh_exchange *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "updates of other devices");
    fresh->options = *options;
    fresh->round = &options->links->round;
    fresh->devices = options->devices;
    fresh->rank = options->rank;
    fresh->receivers = calloc(fresh->devices, sizeof *fresh->receivers);
    fresh->peers = calloc(fresh->devices, sizeof *fresh->peers);
    if (fresh->receivers == NULL || fresh->peers == NULL) {
        sh_exchange_free(fresh);
        return sh_fail_memory(options->devices * sizeof(peer), "updates of other devices");
    }
    while (!serves(fresh, fresh->dealer))
        fresh->dealer++;
    *exchange = fresh;
    return SH_OK;
}

void sh_exchange_free(sh_exchange *exchange)
{
    if (exchange == NULL)
        return;
    for (uint32_t i = 0; i < exchange->devices && exchange->peers != NULL; i++) {
        free(exchange->peers[i].words);
        free(exchange->peers[i].numbers);
    }
    free(exchange->peers);
    free(exchange->receivers);
    free(exchange);
}
