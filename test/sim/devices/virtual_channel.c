/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net/channel.h over the simulated network. A frame is sent as a whole: its body is copied when the
 * transmission starts, on_sent is called when it ends, and it arrives in order after the link's
 * delay. If a receiver pauses, the window fills and the sender waits.
 *
 * Tasks and packets refer to the connection, because channels may be freed before they arrive.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "virtual_network.h"

#define RETRY_NS (20 * VIRTUAL_MS) /* packets on a cut link are retried */

typedef struct packet {
    struct packet *next;
    sh_frame head;
    unsigned char *body;
    bool is_end;
    sh_status why;
} packet;

typedef struct queue {
    packet *first, **last;
} queue;

typedef struct sending {
    struct sending *next;
    sh_frame head;
    const void *body;     /* lent by the owner */
    unsigned char *owned; /* a control message */
} sending;

typedef struct connection {
    struct connection *next;
    uint32_t users;
    uint64_t number;
    sh_channel *ends[2]; /* client, server; NULL: gone */
    queue ways[2];       /* to end 0, to end 1 */
    uint64_t due_ns[2];
    uint32_t devices[2];
} connection;

struct sh_channel {
    sh_loop *loop;
    const sh_channel_events *events;
    void *context;
    connection *line;
    uint32_t side;
    enum { CONNECTING, OPEN, FLUSHING, SAID_GOODBYE, CLOSED } phase;
    bool paused, in_turn, flush_when_open;
    char identity[SH_IDENTITY_TEXT], host[SH_ADDRESS_TEXT], peer_host[SH_ADDRESS_TEXT];
    char target[SH_ADDRESS_TEXT];
    uint16_t port;
    unsigned char key[SH_KEY_BYTES];
    sending *first, **last;
    size_t in_flight; /* bytes not yet taken by the other end */
    uint64_t wire_free_ns, moved_ns;
    queue came;
    sh_channel_stats stats;
};

typedef struct errand {
    connection *line;
    uint32_t side;
    sh_frame head;
    sh_status why;
    char reason[160];
} errand;

static connection *lines;
static uint64_t line_count;

static void *get(size_t bytes)
{
    void *block = calloc(1, bytes);
    if (block == NULL)
        abort();
    return block;
}

static connection *hold(connection *line)
{
    line->users++;
    return line;
}

static void clear_queue(queue *all)
{
    while (all->first != NULL) {
        packet *gone = all->first;
        all->first = gone->next;
        free(gone->body);
        free(gone);
    }
    all->last = &all->first;
}

static void let_go(connection *line)
{
    if (--line->users > 0)
        return;
    for (connection **place = &lines; *place != NULL; place = &(*place)->next)
        if (*place == line) {
            *place = line->next;
            break;
        }
    clear_queue(&line->ways[0]);
    clear_queue(&line->ways[1]);
    free(line);
}

static errand *errand_new(connection *line, uint32_t side)
{
    errand *fresh = get(sizeof *fresh);
    fresh->line = hold(line);
    fresh->side = side;
    return fresh;
}

static sh_channel *errand_end(errand *done)
{
    sh_channel *channel = done->line->ends[done->side];
    return channel;
}

static void errand_free(errand *done)
{
    let_go(done->line);
    free(done);
}

/* ---- the life of a channel ------------------------------------------------------------------- */

static sh_channel *channel_new(sh_loop *loop, connection *line, uint32_t side,
                               const sh_channel_events *events, void *context)
{
    sh_channel *fresh = get(sizeof *fresh);
    *fresh = (sh_channel){
        .loop = loop, .events = events, .context = context, .line = hold(line), .side = side};
    fresh->last = &fresh->first;
    fresh->came.last = &fresh->came.first;
    fresh->moved_ns = virtual_now_ns();
    line->ends[side] = fresh;
    return fresh;
}

static void channel_free(sh_channel *channel)
{
    while (channel->first != NULL) {
        sending *gone = channel->first;
        channel->first = gone->next;
        sh_key_free(gone->owned, gone->owned != NULL ? gone->head.bytes : 0);
        free(gone);
    }
    clear_queue(&channel->came);
    let_go(channel->line);
    free(channel);
}

static void detach(sh_channel *channel)
{
    channel->phase = CLOSED;
    if (channel->line->ends[channel->side] == channel)
        channel->line->ends[channel->side] = NULL;
}

static void arrive(void *context);

static void send_packet(connection *line, uint32_t to, packet *fresh)
{
    const network_link *link = network_link_of(line->devices[1 - to], line->devices[to]);
    const uint64_t bytes = SH_FRAME_BYTES + (fresh->is_end ? 0 : fresh->head.bytes);
    uint64_t due_ns = virtual_now_ns() + link->delay_ns + bytes * 1000000000u / link->bytes_per_s;
    if (due_ns < line->due_ns[to])
        due_ns = line->due_ns[to];
    line->due_ns[to] = due_ns;
    fresh->next = NULL;
    *line->ways[to].last = fresh;
    line->ways[to].last = &fresh->next;
    sh_channel *end = line->ends[to];
    if (end != NULL)
        loop_at(end->loop, due_ns, arrive, errand_new(line, to));
}

static void send_end(connection *line, uint32_t to, sh_status why)
{
    packet *fresh = get(sizeof *fresh);
    fresh->is_end = true;
    fresh->why = why;
    send_packet(line, to, fresh);
}

/* Called within a task of the loop. */
static void end(sh_channel *channel, sh_status why, const char *reason)
{
    char text[256];
    snprintf(text, sizeof text, "%s: %s", channel->peer_host, reason);
    if (channel->phase == OPEN)
        send_end(channel->line, 1 - channel->side, SH_OK);
    detach(channel);
    channel->in_turn = true;
    if (channel->events->on_close != NULL)
        channel->events->on_close(channel->context, channel, why, why == SH_OK ? "" : text);
    channel_free(channel);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void was_sent(void *context)
{
    errand *done = context;
    sh_channel *channel = errand_end(done);
    if (channel != NULL && channel->phase != CLOSED && channel->events->on_sent != NULL)
        channel->events->on_sent(channel->context, channel, &done->head);
    errand_free(done);
}

static void send_due(sh_channel *channel)
{
    if (channel->phase != OPEN && channel->phase != FLUSHING)
        return;
    const network_link *link = network_link_of(channel->line->devices[channel->side],
                                               channel->line->devices[1 - channel->side]);
    while (channel->first != NULL &&
           (channel->in_flight == 0 ||
            channel->in_flight + channel->first->head.bytes <= network_window_bytes())) {
        sending *next = channel->first;
        packet *fresh = get(sizeof *fresh);
        fresh->head = next->head;
        fresh->body = get(next->head.bytes + 1);
        if (next->head.bytes > 0)
            memcpy(fresh->body, next->owned != NULL ? next->owned : next->body, next->head.bytes);
        channel->in_flight += SH_FRAME_BYTES + next->head.bytes;
        channel->stats.sent_bytes += SH_FRAME_BYTES + next->head.bytes;
        channel->stats.traffic.sent_segments++;
        send_packet(channel->line, 1 - channel->side, fresh);
        if (next->owned == NULL) {
            errand *done = errand_new(channel->line, channel->side);
            done->head = next->head;
            loop_at(channel->loop,
                    virtual_now_ns() + next->head.bytes * UINT64_C(1000000000) / link->bytes_per_s,
                    was_sent, done);
        }
        channel->first = next->next;
        if (channel->first == NULL)
            channel->last = &channel->first;
        sh_key_free(next->owned, next->owned != NULL ? next->head.bytes : 0);
        free(next);
    }
    if (channel->phase == FLUSHING && channel->first == NULL) {
        channel->phase = SAID_GOODBYE;
        send_end(channel->line, 1 - channel->side, SH_OK);
    }
}

static void send_soon(void *context)
{
    errand *asked = context;
    sh_channel *channel = errand_end(asked);
    if (channel != NULL)
        send_due(channel);
    errand_free(asked);
}

static void taken(connection *line, uint32_t by, size_t bytes)
{
    sh_channel *sender = line->ends[1 - by];
    if (sender == NULL)
        return;
    sender->in_flight -= bytes < sender->in_flight ? bytes : sender->in_flight;
    sender->moved_ns = virtual_now_ns();
    loop_at(sender->loop, virtual_now_ns(), send_soon, errand_new(line, 1 - by));
}

static sh_status queue_frame(sh_channel *channel, const sh_frame *head, const void *body,
                             unsigned char *owned)
{
    if (channel->phase > OPEN || channel->flush_when_open) {
        free(owned);
        return sh_fail(SH_STOPPED, "the channel is closing");
    }
    sending *fresh = get(sizeof *fresh);
    *fresh = (sending){.head = *head, .body = body, .owned = owned};
    if (channel->first == NULL && channel->in_flight == 0)
        channel->moved_ns = virtual_now_ns();
    *channel->last = fresh;
    channel->last = &fresh->next;
    loop_at(channel->loop, virtual_now_ns(), send_soon, errand_new(channel->line, channel->side));
    return SH_OK;
}

sh_status sh_channel_send(sh_channel *channel, const sh_frame *head, const void *body)
{
    SH_TRY(sh_frame_check(head));
    return queue_frame(channel, head, body, NULL);
}

sh_status sh_channel_send_control(sh_channel *channel, const void *message, size_t bytes)
{
    unsigned char *owned = get(bytes + 1);
    memcpy(owned, message, bytes);
    const sh_frame head = {.bytes = (uint32_t)bytes, .kind = SH_FRAME_CONTROL};
    return queue_frame(channel, &head, NULL, owned);
}

/* ---- receiving ------------------------------------------------------------------------------- */

typedef enum taking { TAKEN, PAUSED, REFUSED, OVER } taking;

/* Stores the body at the owner's sink. OVER: the owner has closed the channel. */
static taking take_raw(sh_channel *channel, const packet *first)
{
    sh_sink sink = {0};
    const sh_flow flow =
        channel->events->on_frame == NULL
            ? SH_FLOW_REFUSE
            : channel->events->on_frame(channel->context, channel, &first->head, &sink);
    if (channel->phase != OPEN)
        return OVER;
    if (flow == SH_FLOW_PAUSE)
        return PAUSED;
    if (flow == SH_FLOW_REFUSE || sh_sink_check(&sink, first->head.bytes) != SH_OK)
        return REFUSED;
    if (sink.adds > 0)
        sh_sink_add(&sink, 0, first->body, first->head.bytes);
    else if (first->head.bytes > 0)
        memcpy(sink.data, first->body, first->head.bytes);
    return TAKEN;
}

static packet *next_of(queue *all)
{
    packet *first = all->first;
    all->first = first->next;
    if (all->first == NULL)
        all->last = &all->first;
    return first;
}

/* Delivers frames until the owner pauses; the owner may close the channel. */
static void read_frames(sh_channel *channel)
{
    channel->in_turn = true;
    while (channel->came.first != NULL && !channel->paused && channel->phase != CLOSED) {
        packet *first = channel->came.first;
        if (first->is_end) {
            const sh_status why = first->why;
            end(channel, channel->phase == OPEN ? why : SH_OK,
                "the connection ended: without close_notify");
            return;
        }
        if (channel->phase == OPEN && first->head.kind != SH_FRAME_CONTROL) {
            const taking how = take_raw(channel, first);
            channel->paused = how == PAUSED;
            if (how == REFUSED) {
                end(channel, SH_FORMAT, "an unexpected frame");
                return;
            }
            if (how != TAKEN)
                break;
        }
        const size_t bytes = SH_FRAME_BYTES + first->head.bytes;
        first = next_of(&channel->came);
        channel->stats.received_bytes += bytes;
        channel->stats.traffic.received_segments++;
        taken(channel->line, channel->side, bytes);
        if (channel->phase == OPEN && first->head.kind == SH_FRAME_CONTROL &&
            channel->events->on_control != NULL)
            channel->events->on_control(channel->context, channel, first->body, first->head.bytes);
        else if (channel->phase == OPEN && first->head.kind != SH_FRAME_CONTROL &&
                 channel->events->on_done != NULL)
            channel->events->on_done(channel->context, channel, &first->head);
        free(first->body);
        free(first);
    }
    channel->in_turn = false;
    if (channel->phase == CLOSED)
        channel_free(channel);
}

static void arrive(void *context)
{
    errand *came = context;
    connection *line = came->line;
    const uint32_t to = came->side;
    if (line->ways[to].first != NULL &&
        network_link_of(line->devices[1 - to], line->devices[to])->cut) {
        sh_channel *end = line->ends[to];
        if (end != NULL) {
            loop_at(end->loop, virtual_now_ns() + RETRY_NS, arrive, came);
            return;
        }
    }
    sh_channel *channel = line->ends[to];
    if (line->ways[to].first != NULL) {
        packet *first = next_of(&line->ways[to]);
        if (channel == NULL || channel->phase == CONNECTING) {
            free(first->body);
            free(first);
        } else {
            first->next = NULL;
            *channel->came.last = first;
            channel->came.last = &first->next;
            if (!channel->in_turn)
                read_frames(channel);
        }
    }
    errand_free(came);
}

static void read_again(void *context)
{
    errand *asked = context;
    sh_channel *channel = errand_end(asked);
    if (channel != NULL && !channel->in_turn && channel->phase != CONNECTING)
        read_frames(channel);
    errand_free(asked);
}

void sh_channel_resume(sh_channel *channel)
{
    if (!channel->paused || channel->phase != OPEN)
        return;
    channel->paused = false;
    loop_at(channel->loop, virtual_now_ns(), read_again, errand_new(channel->line, channel->side));
}

bool loop_has_channels(const sh_loop *loop)
{
    bool has = false;
    for (const connection *line = lines; line != NULL; line = line->next)
        for (int side = 0; side < 2; side++)
            has = has || (line->ends[side] != NULL && line->ends[side]->loop == loop);
    return has;
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void fail_to_connect(void *context)
{
    errand *failed = context;
    sh_channel *channel = errand_end(failed);
    if (channel != NULL && channel->phase == CONNECTING)
        end(channel, failed->why, failed->reason);
    errand_free(failed);
}

static void refuse(connection *line, sh_status why, const char *reason, uint64_t after_ns)
{
    sh_channel *client = line->ends[0];
    if (client == NULL)
        return;
    errand *failed = errand_new(line, 0);
    failed->why = why;
    snprintf(failed->reason, sizeof failed->reason, "%s", reason);
    loop_at(client->loop, virtual_now_ns() + after_ns, fail_to_connect, failed);
}

static void open_client(void *context)
{
    errand *opened = context;
    sh_channel *channel = errand_end(opened);
    if (channel != NULL && channel->phase == CONNECTING) {
        channel->phase = channel->flush_when_open ? FLUSHING : OPEN;
        if (channel->phase == OPEN && channel->events->on_open != NULL)
            channel->events->on_open(channel->context, channel);
        if (opened->line->ends[0] == channel)
            send_due(channel);
    }
    errand_free(opened);
}

static void try_to_connect(sh_channel *channel);

/* At the listener, on its loop. */
static void knock(void *context)
{
    errand *came = context;
    connection *line = came->line;
    sh_channel *client = line->ends[0];
    if (client != NULL && client->phase == CONNECTING) {
        const uint64_t back_ns = network_link_of(line->devices[1], line->devices[0])->delay_ns;
        sh_listener *door = network_find_listener(client->target, client->port);
        if (door == NULL) {
            refuse(line, SH_NETWORK, "Connection refused", back_ns);
        } else if (!listener_knows(door, client->identity, client->key)) {
            refuse(line, SH_REFUSED, "the job did not accept the token: wrong or expired key",
                   back_ns);
        } else {
            static const sh_channel_events nobody = {.on_close = NULL};
            sh_channel *server = channel_new(listener_loop(door), line, 1, &nobody, NULL);
            server->phase = OPEN;
            snprintf(server->identity, sizeof server->identity, "%s", client->identity);
            snprintf(server->host, sizeof server->host, "%s", listener_host(door));
            snprintf(server->peer_host, sizeof server->peer_host, "%s", client->host);
            loop_at(client->loop, virtual_now_ns() + back_ns, open_client, errand_new(line, 0));
            listener_take(door, server, client->identity);
            if (line->ends[1] == server && server->events == &nobody)
                sh_channel_close(server);
        }
    }
    errand_free(came);
}

static void retry(void *context)
{
    errand *asked = context;
    sh_channel *channel = errand_end(asked);
    if (channel != NULL && channel->phase == CONNECTING)
        try_to_connect(channel);
    errand_free(asked);
}

static void try_to_connect(sh_channel *channel)
{
    connection *line = channel->line;
    sh_listener *door = network_find_listener(channel->target, channel->port);
    if (door == NULL) {
        refuse(line, SH_NETWORK, "Connection refused", VIRTUAL_MS);
        return;
    }
    line->devices[1] = listener_device(door);
    const network_link *there = network_link_of(line->devices[0], line->devices[1]);
    const network_link *back = network_link_of(line->devices[1], line->devices[0]);
    if (there->cut || back->cut) {
        loop_at(channel->loop, virtual_now_ns() + RETRY_NS, retry, errand_new(line, 0));
        return;
    }
    loop_at(listener_loop(door), virtual_now_ns() + 2 * there->delay_ns + back->delay_ns, knock,
            errand_new(line, 1));
}

sh_status sh_channel_connect(sh_channel **channel, sh_loop *loop, const sh_channel_target *target,
                             const sh_channel_events *events, void *context)
{
    connection *line = get(sizeof *line);
    line->number = ++line_count;
    line->ways[0].last = &line->ways[0].first;
    line->ways[1].last = &line->ways[1].first;
    line->devices[0] = virtual_this_device();
    line->next = lines;
    lines = line;
    sh_channel *fresh = channel_new(loop, line, 0, events, context);
    snprintf(fresh->target, sizeof fresh->target, "%s", target->host);
    fresh->port = target->port;
    snprintf(fresh->identity, sizeof fresh->identity, "%s", target->identity);
    memcpy(fresh->key, target->key, SH_KEY_BYTES);
    network_host_of(virtual_this_device(), fresh->host);
    snprintf(fresh->peer_host, sizeof fresh->peer_host, "%s", target->host);
    const uint32_t patience_ms =
        target->patience_ms == 0 ? SH_CHANNEL_PATIENCE_MS : target->patience_ms;
    loop_at(loop, virtual_now_ns(), retry, errand_new(line, 0));
    refuse(line, SH_NETWORK, "Connection timed out", patience_ms * VIRTUAL_MS);
    *channel = fresh;
    return SH_OK;
}

sh_status sh_channel_accept(sh_channel **channel, sh_loop *loop, sh_tls_server *server, int fd,
                            uint32_t patience_ms, const sh_channel_events *events, void *context)
{
    (void)channel;
    (void)loop;
    (void)server;
    (void)fd;
    (void)patience_ms;
    (void)events;
    (void)context;
    return sh_fail(SH_UNSUPPORTED, "the simulated door makes channels itself");
}

/* ---- the rest of the interface --------------------------------------------------------------- */

void sh_channel_own(sh_channel *channel, const sh_channel_events *events, void *context)
{
    channel->events = events;
    channel->context = context;
}

const sh_channel_events *sh_channel_owner(const sh_channel *channel)
{
    return channel->events;
}

static void give_up_goodbye(void *context)
{
    errand *late = context;
    sh_channel *channel = errand_end(late);
    if (channel != NULL && channel->phase >= FLUSHING && channel->phase != CLOSED)
        end(channel, SH_OK, "");
    errand_free(late);
}

void sh_channel_flush_close(sh_channel *channel)
{
    if (channel->phase > OPEN || channel->flush_when_open)
        return;
    channel->flush_when_open = true;
    if (channel->phase != OPEN)
        return;
    channel->phase = FLUSHING;
    channel->paused = false;
    loop_at(channel->loop, virtual_now_ns(), send_soon, errand_new(channel->line, channel->side));
    loop_at(channel->loop, virtual_now_ns(), read_again, errand_new(channel->line, channel->side));
    loop_at(channel->loop, virtual_now_ns() + SH_CHANNEL_GOODBYE_MS * VIRTUAL_MS, give_up_goodbye,
            errand_new(channel->line, channel->side));
}

void sh_channel_close(sh_channel *channel)
{
    if (channel == NULL || channel->phase == CLOSED)
        return;
    if (channel->phase == OPEN || channel->phase == FLUSHING)
        send_end(channel->line, 1 - channel->side, channel->first == NULL ? SH_OK : SH_PEER_LOST);
    const bool in_turn = channel->in_turn;
    detach(channel);
    if (!in_turn)
        channel_free(channel);
}

void sh_channel_stats_get(const sh_channel *channel, sh_channel_stats *stats)
{
    *stats = channel->stats;
}

void sh_channel_stats_count(sh_channel_stats *total, const sh_channel *channel)
{
    if (channel != NULL)
        sh_channel_stats_add(total, channel->stats);
}

uint32_t sh_channel_stuck_ms(const sh_channel *channel)
{
    const bool waits = channel->first != NULL || channel->in_flight > 0;
    if (channel->phase != OPEN || !waits)
        return 0;
    const uint64_t ms = (virtual_now_ns() - channel->moved_ns) / VIRTUAL_MS;
    return ms < 500 ? 0 : (uint32_t)ms;
}

const char *sh_channel_identity(const sh_channel *channel)
{
    return channel->identity;
}

sh_status sh_channel_binding(const sh_channel *channel,
                             unsigned char binding[SH_LEADER_BINDING_BYTES])
{
    memset(binding, 0, SH_LEADER_BINDING_BYTES);
    memcpy(binding, &channel->line->number, sizeof channel->line->number);
    return SH_OK;
}

void sh_channel_local_address(const sh_channel *channel, char text[SH_ADDRESS_TEXT])
{
    snprintf(text, SH_ADDRESS_TEXT, "%s", channel->host);
}

void sh_channel_peer_host(const sh_channel *channel, char text[SH_ADDRESS_TEXT])
{
    snprintf(text, SH_ADDRESS_TEXT, "%s", channel->peer_host);
}

void sh_channel_peer_address(const sh_channel *channel, char text[SH_ADDRESS_TEXT])
{
    snprintf(text, SH_ADDRESS_TEXT, "%.40s:1", channel->peer_host);
}

/* ---- faults ---------------------------------------------------------------------------------- */

void network_reset(uint32_t device, bool gone)
{
    for (connection *line = lines, *next; line != NULL; line = next) {
        next = line->next;
        for (uint32_t side = 0; side < 2; side++) {
            if (line->devices[side] != device || (line->ends[0] == NULL && line->ends[1] == NULL))
                continue;
            hold(line);
            sh_channel *here = line->ends[side], *there = line->ends[1 - side];
            if (there != NULL && there->phase == CONNECTING)
                refuse(line, SH_NETWORK, "Connection reset by peer", VIRTUAL_MS);
            else if (there != NULL)
                send_end(line, 1 - side, SH_PEER_LOST);
            if (here != NULL && !gone && here->phase != CONNECTING)
                send_end(line, side, SH_PEER_LOST);
            else if (gone)
                line->ends[side] = NULL;
            let_go(line);
            break;
        }
    }
}
