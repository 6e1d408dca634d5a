/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A secure channel: frames both ways over one TLS connection, never blocking.
 *
 *     const sh_channel_target job = {.host = token.host, .port = token.port,
 *                                    .identity = SH_TOKEN_IDENTITY, .key = key};
 *     SH_TRY(sh_channel_connect(&channel, loop, &job, &events, node));
 *     ... on_open: SH_TRY(sh_channel_send_control(channel, hello, hello_bytes));
 *     sh_channel_flush_close(channel);
 *
 * Threads: loop only, functions and callbacks alike. No callback comes from inside a function
 * called here; every function may be called from inside a callback.
 *
 * Life: a channel is freed after its on_close, which comes once and last; or at sh_channel_close,
 * after which no callback comes.
 */
#ifndef SHOAL_NET_CHANNEL_H
#define SHOAL_NET_CHANNEL_H

#include "net/address.h"
#include "net/frame.h"
#include "net/loop.h"
#include "net/sink.h"
#include "net/socket.h"
#include "net/tls.h"

#define SH_CHANNEL_TURN_BYTES (256u * 1024) /* read, and written, before others have their turn */
#define SH_CHANNEL_PATIENCE_MS 10000        /* to connect, for each address; for the handshake */
#define SH_CHANNEL_GOODBYE_MS 5000          /* without progress, after sh_channel_flush_close */

typedef struct sh_channel sh_channel;

typedef enum sh_flow {
    SH_FLOW_TAKE,   /* the sink was filled in */
    SH_FLOW_PAUSE,  /* read nothing more until sh_channel_resume, then ask again */
    SH_FLOW_REFUSE, /* this must not come: close the channel */
} sh_flow;

/* What an owner hears of its channels. None may block. Those that are NULL are left out. */
typedef struct sh_channel_events {
    /* Both sides have proved that they know the key. Not for channels from a listener. */
    void (*on_open)(void *context, sh_channel *channel);
    /* The header of a raw frame came: where does its body go? NULL refuses all. */
    sh_flow (*on_frame)(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink);
    /* The body of a raw frame is in its sink. */
    void (*on_done)(void *context, sh_channel *channel, const sh_frame *head);
    /* A control frame came. `body` is borrowed until it returns. NULL refuses all. */
    void (*on_control)(void *context, sh_channel *channel, const uint8_t *body, size_t bytes);
    /* A raw frame was written: its body belongs to the caller of sh_channel_send again. */
    void (*on_sent)(void *context, sh_channel *channel, const sh_frame *head);
    /*
     * The end. SH_OK: one side said goodbye between two frames. SH_REFUSED: the key was not
     * accepted. SH_MISMATCH: the peer does not know the key. SH_NETWORK: not reached, or lost in
     * the handshake. SH_PEER_LOST: lost later. SH_FORMAT, SH_CORRUPT: the peer sent what it must
     * not. `reason` is borrowed until it returns. Bodies that were lent are free again.
     */
    void (*on_close)(void *context, sh_channel *channel, sh_status why, const char *reason);
} sh_channel_events;

/* Copied by sh_channel_connect. */
typedef struct sh_channel_target {
    const char *host; /* name or numeric address, IPv6 without brackets */
    uint16_t port;
    const char *identity;     /* whose key it is: "join", "link/3/1>2" */
    const unsigned char *key; /* SH_KEY_BYTES */
    uint32_t patience_ms;     /* 0: SH_CHANNEL_PATIENCE_MS */
} sh_channel_target;

typedef struct sh_channel_stats {
    uint64_t sent_bytes; /* on the wire, encryption and headers included */
    uint64_t received_bytes;
    sh_socket_traffic traffic;
} sh_channel_stats;

/*
 * Starts to connect; what becomes of it is told by on_open or on_close. A host that is a name is
 * looked up before this returns, which may block for as long as the system asks for it. `events`
 * and `context` are borrowed until the end of the channel. SH_NO_MEMORY, SH_INVALID.
 */
sh_status sh_channel_connect(sh_channel **channel, sh_loop *loop, const sh_channel_target *target,
                             const sh_channel_events *events, void *context) SHOAL_CHECKED;

/* The server's side of a socket that was accepted; for net/listener.h. `fd` is owned on success. */
sh_status sh_channel_accept(sh_channel **channel, sh_loop *loop, sh_tls_server *server, int fd,
                            uint32_t patience_ms, const sh_channel_events *events,
                            void *context) SHOAL_CHECKED;

/* Hands the channel to another owner; frames come to it from now on. Borrowed as above. */
void sh_channel_own(sh_channel *channel, const sh_channel_events *events, void *context);

/* The events that it has now. */
const sh_channel_events *sh_channel_owner(const sh_channel *channel);

/*
 * Queues a raw frame. `body` (head->bytes) is borrowed until on_sent for it, or the end of the
 * channel. SH_LIMIT: SH_OUTBOX_FRAMES_MAX wait. SH_STOPPED: the channel is closing.
 */
sh_status sh_channel_send(sh_channel *channel, const sh_frame *head,
                          const void *body) SHOAL_CHECKED;

/* Queues a control frame; the message is copied. SH_LIMIT, SH_STOPPED, SH_NO_MEMORY. */
sh_status sh_channel_send_control(sh_channel *channel, const void *message,
                                  size_t bytes) SHOAL_CHECKED;

/* After SH_FLOW_PAUSE: on_frame is asked again, soon. Fine where nothing is paused. While a channel
 * is paused, it does not notice that its peer left. */
void sh_channel_resume(sh_channel *channel);

/*
 * Writes what is queued, says goodbye, and waits for the peer to have taken it; what comes in is
 * dropped. Ends with on_close.
 */
void sh_channel_flush_close(sh_channel *channel);

/* Closes and frees at once; what is queued is dropped. NULL is fine. */
void sh_channel_close(sh_channel *channel);

void sh_channel_stats_get(const sh_channel *channel, sh_channel_stats *stats);

/* Adds what a channel has moved so far. NULL is fine. */
void sh_channel_stats_count(sh_channel_stats *total, const sh_channel *channel);

static inline void sh_channel_stats_add(sh_channel_stats *total, sh_channel_stats more)
{
    total->sent_bytes += more.sent_bytes;
    total->received_bytes += more.received_bytes;
    total->traffic.sent_segments += more.traffic.sent_segments;
    total->traffic.received_segments += more.traffic.received_segments;
    total->traffic.busy_ns += more.traffic.busy_ns;
}

/* For how long something has waited to be taken by the peer while hardly anything was: the link, or
 * the peer, stands still. 0: it does not. */
uint32_t sh_channel_stuck_ms(const sh_channel *channel);

/* Under whose key the other side came in, or this side went; "" before. Borrowed as the channel. */
const char *sh_channel_identity(const sh_channel *channel);

/* As sh_tls_binding; on both sides from the time that the channel is open. */
sh_status sh_channel_binding(const sh_channel *channel,
                             unsigned char binding[SH_LEADER_BINDING_BYTES]) SHOAL_CHECKED;

/* The numeric host by which this connection reaches this device; no port. Once connected. */
void sh_channel_local_address(const sh_channel *channel, char text[SH_ADDRESS_TEXT]);

/* The other side's numeric host, without and with its port. */
void sh_channel_peer_host(const sh_channel *channel, char text[SH_ADDRESS_TEXT]);
void sh_channel_peer_address(const sh_channel *channel, char text[SH_ADDRESS_TEXT]);

#endif
