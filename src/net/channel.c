/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel moves through these phases, only to the right:
 *
 *     START -> CONNECT -> HANDSHAKE -> OPEN -> FLUSH -> LINGER -> CLOSED
 *     (a client)          (a server)           (sh_channel_flush_close)
 *
 * All work is done in turns. A turn runs when the socket is ready, when another function requested
 * one (`again`, `queued`), or when the deadline of the phase has passed. It reads and writes a
 * bounded number of bytes and sets the events for the next turn. Only turns make callbacks, so a
 * public function never calls back into its caller. A channel that is closed during its own turn is
 * freed at its end.
 *
 * TLS may buffer bytes, so a turn reads until TLS needs more from the socket, or requests another
 * turn.
 *
 * If sending fails, the peer may have sent the reason before. Writing then ends (`mute`), and
 * reading continues to the end of the stream. LINGER waits until the peer has closed its side,
 * because closing a socket with unread bytes discards bytes in flight to the peer.
 */
#include "net/channel.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "net/inbox.h"
#include "net/outbox.h"
#include "net/socket.h"
#include "net/token.h"

#define DISCARD_BYTES 16384
#define REASON_BYTES 512
#define WATCH_MS 200 /* between two checks of an open connection */

enum phase { START, CONNECT, HANDSHAKE, OPEN, FLUSH, LINGER, CLOSED };

struct sh_channel {
    sh_loop *loop;
    const sh_channel_events *events;
    void *context;
    enum phase phase;
    bool is_client, in_turn;
    bool closing;
    bool paused;
    bool mute; /* sending has failed */
    bool more; /* this turn reached its limit */
    bool read_waits_for_write, write_waits;
    bool reading, writing; /* read_event and write_event are added */
    int fd;
    sh_tls *tls;
    struct event read_event, write_event, queued, again, deadline;
    uint32_t patience_ms;
    sh_inbox inbox;
    sh_outbox *outbox; /* NULL before the first use */
    sh_address local, peer;
    sh_channel_stats stats; /* final once the connection is closed */
    sh_socket_crawl crawl;
    /* Clients only: */
    sh_address found[SH_ADDRESS_FOUND_MAX];
    size_t found_count, tried;
    int connect_error; /* errno of the last address tried */
    char not_found[SH_MESSAGE_BYTES];
    char target[SH_TOKEN_HOST + 16]; /* "HOST:PORT" as given */
    char identity[SH_IDENTITY_TEXT];
    unsigned char key[SH_KEY_BYTES];
};

static void take_turn(sh_channel *channel, bool may_read);

/* ---- events ---------------------------------------------------------------------------------- */

static bool set_timer(struct event *timer, uint32_t after_ms)
{
    const struct timeval after = {.tv_sec = (time_t)(after_ms / 1000),
                                  .tv_usec = (suseconds_t)(after_ms % 1000) * 1000};
    return event_add(timer, &after) == 0;
}

/* Requests a turn in the next round of the loop, after the other channels. */
static void ask_for_turn(sh_channel *channel)
{
    if (!set_timer(&channel->again, 0))
        event_active(&channel->again, EV_TIMEOUT, 0); /* out of memory: early rather than never */
}

static void on_readable(evutil_socket_t fd, short what, void *argument)
{
    (void)fd;
    (void)what;
    take_turn(argument, true);
}

static void on_writable(evutil_socket_t fd, short what, void *argument)
{
    (void)fd;
    (void)what;
    sh_channel *channel = argument;
    take_turn(channel, channel->phase != OPEN || channel->read_waits_for_write);
}

static void stop_waiting(sh_channel *channel)
{
    if (channel->reading)
        event_del(&channel->read_event);
    if (channel->writing)
        event_del(&channel->write_event);
    channel->reading = channel->writing = false;
}

/* False: memory is out. */
static bool want(struct event *event, bool *added, bool wanted)
{
    if (wanted == *added)
        return true;
    *added = wanted;
    return (wanted ? event_add(event, NULL) : event_del(event)) == 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void let_go(sh_channel *channel)
{
    sh_channel_stats_get(channel, &channel->stats);
    stop_waiting(channel);
    event_del(&channel->queued);
    event_del(&channel->again);
    event_del(&channel->deadline);
    sh_tls_free(channel->tls);
    channel->tls = NULL;
    if (channel->fd >= 0)
        close(channel->fd);
    channel->fd = -1;
    sh_key_wipe(channel->key, sizeof channel->key);
    channel->phase = CLOSED;
}

static void channel_free(sh_channel *channel)
{
    sh_inbox_release(&channel->inbox);
    sh_outbox_free(channel->outbox);
    free(channel);
}

static void end(sh_channel *channel, sh_status why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Call it in a turn only. */
static void end(sh_channel *channel, sh_status why, const char *format, ...)
{
    assert(channel->in_turn);
    if (channel->phase == CLOSED)
        return;
    char reason[REASON_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    let_go(channel);
    if (channel->events->on_close != NULL)
        channel->events->on_close(channel->context, channel, why, reason);
}

/* The current failure says how the peer broke the protocol. */
static void violation(sh_channel *channel, sh_status why)
{
    char peer[SH_ADDRESS_TEXT];
    sh_address_print(peer, &channel->peer);
    sh_log(SH_LOG_WARN, "net.violation", "peer=%s reason=\"%s\"", peer, sh_message());
    end(channel, why, "%s violated the protocol: %s", peer, sh_message());
}

static void tls_ended(sh_channel *channel)
{
    const char *reason;
    const sh_status why = sh_tls_failure(channel->tls, &reason);
    char peer[SH_ADDRESS_TEXT];
    sh_address_print(peer, &channel->peer);
    if (channel->phase != HANDSHAKE)
        end(channel, why, "%s: %s", peer, reason);
    else if (!channel->is_client)
        end(channel, why, "%s", reason);
    else if (why == SH_REFUSED && strcmp(channel->identity, SH_TOKEN_IDENTITY) == 0)
        end(channel, why, "the job did not accept the token: %s", reason);
    else if (why == SH_REFUSED)
        end(channel, why, "%s did not accept the key of '%s': %s", channel->target,
            channel->identity, reason);
    else if (why == SH_MISMATCH)
        end(channel, why, "%s is not this job: %s", channel->target, reason);
    else
        end(channel, why, "%s: %s", channel->target, reason);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void assign_socket(sh_channel *channel, int fd)
{
    struct event_base *base = sh_loop_base(channel->loop);
    sh_socket_configure(fd);
    channel->fd = fd;
    event_assign(&channel->read_event, base, fd, EV_READ | EV_PERSIST, on_readable, channel);
    event_assign(&channel->write_event, base, fd, EV_WRITE | EV_PERSIST, on_writable, channel);
}

/* After the last address, closes the channel. */
static void connect_next(sh_channel *channel)
{
    if (channel->fd >= 0) {
        stop_waiting(channel);
        close(channel->fd);
        channel->fd = -1;
    }
    channel->phase = CONNECT;
    while (channel->tried < channel->found_count) {
        const sh_address *address = &channel->found[channel->tried++];
        const struct sockaddr *name = (const struct sockaddr *)&address->storage;
        const int fd = socket(address->storage.ss_family, SOCK_STREAM, 0);
        if (fd >= 0 && evutil_make_socket_nonblocking(fd) == 0 &&
            evutil_make_socket_closeonexec(fd) == 0 &&
            (connect(fd, name, address->bytes) == 0 || errno == EINPROGRESS || errno == EINTR)) {
            assign_socket(channel, fd);
            set_timer(&channel->deadline, channel->patience_ms);
            return;
        }
        channel->connect_error = errno;
        if (fd >= 0)
            close(fd);
    }
    if (channel->found_count == 0)
        end(channel, SH_NETWORK, "%s", channel->not_found);
    else
        end(channel, SH_NETWORK, "could not reach %s: %s; is the job still running?",
            channel->target, strerror(channel->connect_error));
}

static void start_handshake(sh_channel *channel)
{
    channel->phase = HANDSHAKE;
    sh_address_of_socket(&channel->local, channel->fd);
    sh_address_of_peer(&channel->peer, channel->fd);
    set_timer(&channel->deadline, channel->patience_ms);
}

static void check_connected(sh_channel *channel)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    if (getsockopt(channel->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0)
        error = errno;
    if (error != 0) {
        channel->connect_error = error;
        connect_next(channel);
        return;
    }
    sh_address peer;
    sh_address_of_peer(&peer, channel->fd);
    if (peer.bytes == 0)
        return;
    const sh_status status =
        sh_tls_connect(&channel->tls, channel->fd, channel->identity, channel->key);
    sh_key_wipe(channel->key, sizeof channel->key);
    if (status != SH_OK)
        end(channel, status, "%s", sh_message());
    else
        start_handshake(channel);
}

static void on_deadline(evutil_socket_t fd, short what, void *argument)
{
    (void)fd;
    (void)what;
    sh_channel *channel = argument;
    const bool open = channel->phase == OPEN;
    char peer[SH_ADDRESS_TEXT];
    channel->in_turn = true;
    switch (channel->phase) {
    case OPEN:
        if (sh_socket_is_cut_off(channel->fd)) {
            sh_address_print(peer, &channel->peer);
            end(channel, SH_PEER_LOST, "%s: the connection is cut: no data arrives", peer);
        } else {
            sh_socket_look(channel->fd, &channel->crawl);
            set_timer(&channel->deadline, WATCH_MS);
        }
        break;
    case CONNECT:
        channel->connect_error = ETIMEDOUT;
        connect_next(channel);
        break;
    case HANDSHAKE:
        if (channel->is_client)
            end(channel, SH_NETWORK, "%s did not answer the handshake in time", channel->target);
        else
            end(channel, SH_REFUSED, "the handshake timed out");
        break;
    case LINGER:
        end(channel, SH_OK, "closed; the peer did not close its side");
        break;
    default:
        end(channel, SH_PEER_LOST, "the peer did not read the last messages in time");
        break;
    }
    channel->in_turn = false;
    if (channel->phase == CLOSED)
        channel_free(channel);
    else if (!open)
        take_turn(channel, true);
}

/* ---- a turn ---------------------------------------------------------------------------------- */

static void shake_hands(sh_channel *channel)
{
    const sh_tls_flow flow = sh_tls_handshake(channel->tls);
    if (flow == SH_TLS_WAIT && sh_tls_write_error(channel->tls) != 0) {
        end(channel, SH_NETWORK, "%s: the connection ended in the handshake: %s",
            channel->is_client ? channel->target : "the client",
            strerror(sh_tls_write_error(channel->tls)));
        return;
    }
    if (flow == SH_TLS_WAIT) {
        channel->write_waits = sh_tls_wants_write(channel->tls);
        return;
    }
    if (flow != SH_TLS_DONE) {
        tls_ended(channel);
        return;
    }
    set_timer(&channel->deadline, WATCH_MS);
    memcpy(channel->identity, sh_tls_identity(channel->tls), sizeof channel->identity);
    channel->phase = channel->closing ? FLUSH : OPEN;
    if (channel->phase == FLUSH)
        set_timer(&channel->deadline, SH_CHANNEL_GOODBYE_MS);
    else if (channel->events->on_open != NULL)
        channel->events->on_open(channel->context, channel);
}

/* After a callback the channel may be in any later phase. */
static void handle(sh_channel *channel, sh_inbox_event event)
{
    sh_inbox *inbox = &channel->inbox;
    const sh_frame head = inbox->head;
    if (event == SH_INBOX_ASK) {
        sh_sink sink = {0};
        const sh_flow flow =
            channel->events->on_frame == NULL
                ? SH_FLOW_REFUSE
                : channel->events->on_frame(channel->context, channel, &head, &sink);
        if (channel->phase != OPEN)
            return;
        channel->paused = flow == SH_FLOW_PAUSE;
        if (flow == SH_FLOW_REFUSE)
            violation(channel,
                      sh_fail(SH_FORMAT,
                              "an unexpected frame: kind %u, bucket %u, view %lu, step %lu, hop "
                              "%u, attempt %u, %lu bytes",
                              (unsigned)head.kind, (unsigned)head.bucket, (unsigned long)head.view,
                              (unsigned long)head.step, (unsigned)head.hop, (unsigned)head.attempt,
                              (unsigned long)head.bytes));
        else if (flow == SH_FLOW_TAKE && sh_inbox_take(inbox, &sink, &event) != SH_OK)
            violation(channel, SH_FORMAT);
    }
    if (event == SH_INBOX_CONTROL && channel->events->on_control == NULL)
        violation(channel, sh_fail(SH_FORMAT, "an unexpected control frame"));
    else if (event == SH_INBOX_CONTROL)
        channel->events->on_control(channel->context, channel, inbox->control, head.bytes);
    else if (event == SH_INBOX_DONE && channel->events->on_done != NULL)
        channel->events->on_done(channel->context, channel, &head);
    if (channel->phase == OPEN && (event == SH_INBOX_CONTROL || event == SH_INBOX_DONE))
        sh_inbox_next(inbox);
}

static bool read_once(sh_channel *channel, void *place, size_t room, size_t *got)
{
    char peer[SH_ADDRESS_TEXT];
    switch (sh_tls_read(channel->tls, place, room, got)) {
    case SH_TLS_DONE:
        return true;
    case SH_TLS_WAIT:
        channel->read_waits_for_write = sh_tls_wants_write(channel->tls);
        break;
    case SH_TLS_END:
        sh_address_print(peer, &channel->peer);
        if (channel->phase == OPEN && !sh_inbox_is_between(&channel->inbox))
            end(channel, SH_PEER_LOST, "%s closed the connection in the middle of a frame", peer);
        else if (channel->phase == FLUSH)
            end(channel, SH_PEER_LOST, "%s closed the connection before the last messages", peer);
        else
            end(channel, SH_OK, "%s closed the connection", peer);
        break;
    case SH_TLS_FAILED:
        if (channel->phase == LINGER)
            end(channel, SH_OK, "closed");
        else
            tls_ended(channel);
        break;
    }
    return false;
}

static void read_frames(sh_channel *channel)
{
    sh_inbox *inbox = &channel->inbox;
    size_t used = 0;
    channel->read_waits_for_write = false;
    if (inbox->waits == SH_INBOX_ASK && !channel->paused)
        handle(channel, SH_INBOX_ASK);
    while (channel->phase == OPEN && !channel->paused) {
        if (used >= SH_CHANNEL_TURN_BYTES) {
            channel->more = true;
            return;
        }
        void *place;
        size_t room, got;
        const sh_status placed = sh_inbox_place(inbox, &place, &room);
        if (placed != SH_OK) {
            end(channel, placed, "%s", sh_message());
            return;
        }
        if (!read_once(channel, place, room, &got))
            return;
        used += got;
        sh_inbox_event event;
        const sh_status filled = sh_inbox_filled(inbox, got, &event);
        if (filled == SH_OK)
            handle(channel, event);
        else if (filled == SH_FORMAT)
            violation(channel, filled);
        else
            end(channel, filled, "%s", sh_message());
    }
}

static void discard(sh_channel *channel)
{
    unsigned char dropped[DISCARD_BYTES];
    size_t used = 0, got;
    channel->read_waits_for_write = false;
    while (channel->phase == FLUSH || channel->phase == LINGER) {
        if (used >= SH_CHANNEL_TURN_BYTES) {
            channel->more = true;
            return;
        }
        if (!read_once(channel, dropped, sizeof dropped, &got))
            return;
        used += got;
    }
}

/* The write waits for room, or without end if sending has failed. */
static void write_waits(sh_channel *channel)
{
    const int error = sh_tls_write_error(channel->tls);
    if (error == 0) {
        channel->write_waits = sh_tls_wants_write(channel->tls);
        return;
    }
    channel->mute = true;
    char peer[SH_ADDRESS_TEXT];
    sh_address_print(peer, &channel->peer);
    if (channel->phase != OPEN)
        end(channel, SH_PEER_LOST, "%s: the connection ended: %s", peer, strerror(error));
}

/* True: TLS has all frames. False: nothing more to write in this turn. */
static bool give_frames(sh_channel *channel, size_t *used)
{
    const unsigned char *bytes;
    size_t count, put;
    while (sh_outbox_peek(channel->outbox, &bytes, &count)) {
        if (*used >= SH_CHANNEL_TURN_BYTES) {
            channel->more = true;
            return false;
        }
        const sh_tls_flow flow = sh_tls_write(channel->tls, bytes, count, &put);
        if (flow == SH_TLS_WAIT)
            write_waits(channel);
        else if (flow != SH_TLS_DONE)
            tls_ended(channel);
        if (flow != SH_TLS_DONE)
            return false;
        *used += put;
        if (channel->phase == FLUSH)
            set_timer(&channel->deadline, SH_CHANNEL_GOODBYE_MS);
        sh_outbox_advance(channel->outbox, put);
    }
    return true;
}

/* A frame counts as sent when the kernel has it, because the owner may then close the channel. */
static void write_frames(sh_channel *channel)
{
    size_t used = 0;
    bool more = channel->outbox != NULL;
    while (more && !channel->mute && (channel->phase == OPEN || channel->phase == FLUSH)) {
        sh_tls_gather(channel->tls);
        more = give_frames(channel, &used);
        if (channel->phase == CLOSED || channel->mute)
            return;
        if (sh_tls_flush(channel->tls) == SH_TLS_WAIT) {
            write_waits(channel);
            return;
        }
        sh_frame head;
        while (channel->phase != CLOSED && sh_outbox_pop_sent(channel->outbox, &head))
            if (channel->events->on_sent != NULL)
                channel->events->on_sent(channel->context, channel, &head);
        more = more && !sh_outbox_is_empty(channel->outbox);
    }
}

static void say_goodbye(sh_channel *channel)
{
    if (channel->outbox != NULL && !sh_outbox_is_empty(channel->outbox))
        return;
    const sh_tls_flow flow = sh_tls_close_notify(channel->tls);
    if (flow == SH_TLS_WAIT) {
        write_waits(channel);
        return;
    }
    if (flow == SH_TLS_FAILED) {
        tls_ended(channel);
        return;
    }
    shutdown(channel->fd, SHUT_WR);
    channel->phase = LINGER;
    set_timer(&channel->deadline, SH_CHANNEL_GOODBYE_MS);
}

static void take_turn(sh_channel *channel, bool may_read)
{
    assert(!channel->in_turn && channel->phase != CLOSED);
    channel->in_turn = true;
    channel->more = channel->write_waits = false;
    if (channel->phase == START)
        connect_next(channel);
    else if (channel->phase == CONNECT)
        check_connected(channel);
    if (channel->phase == HANDSHAKE)
        shake_hands(channel);
    if (channel->phase == OPEN && may_read)
        read_frames(channel);
    if (channel->phase == OPEN || channel->phase == FLUSH)
        write_frames(channel);
    if (channel->phase == FLUSH)
        say_goodbye(channel);
    if (channel->phase == FLUSH || channel->phase == LINGER)
        discard(channel);

    const bool read = channel->phase > CONNECT && !(channel->phase == OPEN && channel->paused);
    const bool write =
        channel->phase == CONNECT || channel->write_waits || channel->read_waits_for_write;
    if (channel->fd >= 0 && (!want(&channel->read_event, &channel->reading, read) ||
                             !want(&channel->write_event, &channel->writing, write)))
        end(channel, SH_NO_MEMORY, "the event loop cannot watch another socket");
    else if (channel->phase != CLOSED && channel->more)
        ask_for_turn(channel);
    channel->in_turn = false;
    if (channel->phase == CLOSED)
        channel_free(channel);
}

/* ---- what owners call ------------------------------------------------------------------------ */

static sh_status channel_new(sh_channel **channel, sh_loop *loop, uint32_t patience_ms,
                             const sh_channel_events *events, void *context)
{
    assert(sh_loop_is_current(loop));
    sh_channel *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a channel");
    fresh->loop = loop;
    fresh->events = events;
    fresh->context = context;
    fresh->fd = -1;
    fresh->patience_ms = patience_ms == 0 ? SH_CHANNEL_PATIENCE_MS : patience_ms;
    event_assign(&fresh->queued, sh_loop_base(loop), -1, 0, on_writable, fresh);
    event_assign(&fresh->again, sh_loop_base(loop), -1, 0, on_readable, fresh);
    event_assign(&fresh->deadline, sh_loop_base(loop), -1, 0, on_deadline, fresh);
    *channel = fresh;
    return SH_OK;
}

sh_status sh_channel_connect(sh_channel **channel, sh_loop *loop, const sh_channel_target *target,
                             const sh_channel_events *events, void *context)
{
    if (!sh_identity_is_valid(target->identity))
        return sh_fail(SH_INVALID, "an identity needs 1 to 63 printable characters");
    sh_channel *fresh;
    SH_TRY(channel_new(&fresh, loop, target->patience_ms, events, context));
    fresh->is_client = true;
    fresh->phase = START;
    snprintf(fresh->target, sizeof fresh->target,
             strchr(target->host, ':') != NULL ? "[%s]:%u" : "%s:%u", target->host,
             (unsigned)target->port);
    snprintf(fresh->identity, sizeof fresh->identity, "%s", target->identity);
    memcpy(fresh->key, target->key, SH_KEY_BYTES);
    if (sh_address_find(fresh->found, &fresh->found_count, target->host, target->port) != SH_OK)
        snprintf(fresh->not_found, sizeof fresh->not_found, "%s", sh_message());
    ask_for_turn(fresh);
    *channel = fresh;
    return SH_OK;
}

sh_status sh_channel_accept(sh_channel **channel, sh_loop *loop, sh_tls_server *server, int fd,
                            uint32_t patience_ms, const sh_channel_events *events, void *context)
{
    sh_tls *tls;
    SH_TRY(sh_tls_accept(&tls, server, fd));
    sh_channel *fresh;
    const sh_status status = channel_new(&fresh, loop, patience_ms, events, context);
    if (status != SH_OK) {
        sh_tls_free(tls);
        return status;
    }
    fresh->tls = tls;
    assign_socket(fresh, fd);
    start_handshake(fresh);
    ask_for_turn(fresh);
    *channel = fresh;
    return SH_OK;
}

void sh_channel_own(sh_channel *channel, const sh_channel_events *events, void *context)
{
    assert(sh_loop_is_current(channel->loop));
    channel->events = events;
    channel->context = context;
}

const sh_channel_events *sh_channel_owner(const sh_channel *channel)
{
    return channel->events;
}

static sh_status can_send(sh_channel *channel)
{
    assert(sh_loop_is_current(channel->loop));
    if (channel->phase > OPEN || channel->closing)
        return sh_fail(SH_STOPPED, "the channel is closing");
    return channel->outbox == NULL ? sh_outbox_new(&channel->outbox) : SH_OK;
}

/*
 * Requests a turn in this round of the loop, unless a running one writes the frame. It needs a
 * separate event, `queued`: libevent treats an active event as added, so if write_event were made
 * active, a later event_add of it would do nothing.
 */
static void write_soon(sh_channel *channel)
{
    if (channel->phase == OPEN && !channel->in_turn && !channel->writing && !channel->mute)
        event_active(&channel->queued, EV_TIMEOUT, 0);
}

sh_status sh_channel_send(sh_channel *channel, const sh_frame *head, const void *body)
{
    SH_TRY(can_send(channel));
    SH_TRY(sh_outbox_push(channel->outbox, head, body));
    write_soon(channel);
    return SH_OK;
}

sh_status sh_channel_send_control(sh_channel *channel, const void *message, size_t bytes)
{
    SH_TRY(can_send(channel));
    SH_TRY(sh_outbox_push_control(channel->outbox, message, bytes));
    write_soon(channel);
    return SH_OK;
}

void sh_channel_resume(sh_channel *channel)
{
    assert(sh_loop_is_current(channel->loop));
    if (!channel->paused || channel->phase != OPEN)
        return;
    channel->paused = false;
    ask_for_turn(channel);
}

void sh_channel_flush_close(sh_channel *channel)
{
    assert(sh_loop_is_current(channel->loop));
    if (channel->phase > OPEN || channel->closing)
        return;
    channel->closing = true;
    if (channel->phase != OPEN)
        return; /* shake_hands continues */
    channel->phase = FLUSH;
    set_timer(&channel->deadline, SH_CHANNEL_GOODBYE_MS);
    ask_for_turn(channel);
}

void sh_channel_close(sh_channel *channel)
{
    if (channel == NULL)
        return;
    assert(sh_loop_is_current(channel->loop));
    if (channel->phase == CLOSED)
        return; /* called from on_close: the end of the turn frees it */
    if (channel->phase == OPEN || channel->phase == FLUSH)
        if (sh_tls_close_notify(channel->tls) == SH_TLS_WAIT)
            channel->mute = true; /* no room for the goodbye */
    let_go(channel);
    if (!channel->in_turn)
        channel_free(channel);
}

void sh_channel_stats_get(const sh_channel *channel, sh_channel_stats *stats)
{
    *stats = channel->stats;
    if (channel->tls == NULL)
        return;
    stats->sent_bytes = sh_tls_bytes_sent(channel->tls);
    stats->received_bytes = sh_tls_bytes_received(channel->tls);
    sh_socket_traffic_get(channel->fd, &stats->traffic);
}

void sh_channel_stats_count(sh_channel_stats *total, const sh_channel *channel)
{
    sh_channel_stats stats;
    if (channel == NULL)
        return;
    sh_channel_stats_get(channel, &stats);
    sh_channel_stats_add(total, stats);
}

uint32_t sh_channel_stuck_ms(const sh_channel *channel)
{
    return channel->phase == OPEN ? channel->crawl.looks * WATCH_MS : 0;
}

const char *sh_channel_identity(const sh_channel *channel)
{
    return channel->tls != NULL ? sh_tls_identity(channel->tls) : channel->identity;
}

sh_status sh_channel_binding(const sh_channel *channel,
                             unsigned char binding[SH_LEADER_BINDING_BYTES])
{
    if (channel->tls == NULL)
        return sh_fail(SH_INVALID, "this connection has no binding: it is not open");
    return sh_tls_binding(channel->tls, binding);
}

void sh_channel_local_address(const sh_channel *channel, char text[SH_ADDRESS_TEXT])
{
    sh_address_print_host(text, &channel->local);
}

void sh_channel_peer_host(const sh_channel *channel, char text[SH_ADDRESS_TEXT])
{
    sh_address_print_host(text, &channel->peer);
}

void sh_channel_peer_address(const sh_channel *channel, char text[SH_ADDRESS_TEXT])
{
    sh_address_print(text, &channel->peer);
}
