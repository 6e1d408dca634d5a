/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A secure channel: sends and receives frames over one TLS connection without blocking.
 *
 *     const sh_channel_target job = {.host = token.host, .port = token.port,
 *                                    .identity = SH_TOKEN_IDENTITY, .key = key};
 *     SH_TRY(sh_channel_connect(&channel, loop, &job, &events, node));
 *     ... on_open: SH_TRY(sh_channel_send_control(channel, hello, hello_bytes));
 *     sh_channel_flush_close(channel);
 *
 * Threads: loop only, functions and callbacks alike. The functions never make callbacks before they
 * return. Callbacks may call every function.
 *
 * A channel is freed after its on_close, which is called once and last, or by sh_channel_close,
 * after which no callback is made.
 */
#ifndef SHOAL_NET_CHANNEL_H
#define SHOAL_NET_CHANNEL_H

#include "net/address.h"
#include "net/frame.h"
#include "net/loop.h"
#include "net/sink.h"
#include "net/socket.h"
#include "net/tls.h"

#define SH_CHANNEL_TURN_BYTES (256u * 1024) /* most bytes read, and written, per turn */
#define SH_CHANNEL_PATIENCE_MS 10000 /* for each address to connect to, and for the handshake */
#define SH_CHANNEL_GOODBYE_MS 5000   /* without progress after sh_channel_flush_close */

typedef struct sh_channel sh_channel;

typedef enum sh_flow {
    SH_FLOW_TAKE,   /* the sink was filled in */
    SH_FLOW_PAUSE,  /* stop reading until sh_channel_resume, then call on_frame again */
    SH_FLOW_REFUSE, /* a protocol error: close the channel */
} sh_flow;

/* Callbacks must not block. A NULL callback is not called. */
typedef struct sh_channel_events {
    /* Both sides proved that they know the key. Not called for channels from a listener. */
    void (*on_open)(void *context, sh_channel *channel);
    /* A raw frame's header arrived: fills in `sink` for the body. NULL refuses all frames. */
    sh_flow (*on_frame)(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink);
    /* The body of a raw frame is in its sink. */
    void (*on_done)(void *context, sh_channel *channel, const sh_frame *head);
    /* `body` is borrowed for the call. NULL refuses all frames. */
    void (*on_control)(void *context, sh_channel *channel, const uint8_t *body, size_t bytes);
    /* A raw frame was written: its body is no longer borrowed. */
    void (*on_sent)(void *context, sh_channel *channel, const sh_frame *head);
    /*
     * SH_OK: one side closed between two frames. SH_REFUSED: the key was not accepted. SH_MISMATCH:
     * the peer does not know it. SH_NETWORK: not reached, or lost in the handshake. SH_PEER_LOST:
     * lost later. SH_FORMAT, SH_CORRUPT: the peer sent invalid bytes. `reason` is borrowed during
     * the call. Bodies are no longer borrowed.
     */
    void (*on_close)(void *context, sh_channel *channel, sh_status why, const char *reason);
} sh_channel_events;

/* Copied by sh_channel_connect. */
typedef struct sh_channel_target {
    const char *host; /* IPv6 without brackets */
    uint16_t port;
    const char *identity;     /* of the key: "join", "link/3/1>2" */
    const unsigned char *key; /* SH_KEY_BYTES */
    uint32_t patience_ms;     /* 0: SH_CHANNEL_PATIENCE_MS */
} sh_channel_target;

typedef struct sh_channel_stats {
    uint64_t sent_bytes; /* with encryption and headers */
    uint64_t received_bytes;
    sh_socket_traffic traffic;
} sh_channel_stats;

/*
 * Starts to connect; on_open or on_close follows. A host name is resolved before this function
 * returns, which may block for seconds. `events` and `context` are borrowed until the channel is
 * freed. SH_NO_MEMORY, SH_INVALID.
 */
sh_status sh_channel_connect(sh_channel **channel, sh_loop *loop, const sh_channel_target *target,
                             const sh_channel_events *events, void *context) SHOAL_CHECKED;

/* Makes the server's side, for net/listener.h. Owns `fd` on success. */
sh_status sh_channel_accept(sh_channel **channel, sh_loop *loop, sh_tls_server *server, int fd,
                            uint32_t patience_ms, const sh_channel_events *events,
                            void *context) SHOAL_CHECKED;

/* Gives the channel to another owner, who gets all further events. Borrowed as above. */
void sh_channel_own(sh_channel *channel, const sh_channel_events *events, void *context);

const sh_channel_events *sh_channel_owner(const sh_channel *channel);

/* Queues a raw frame. `body` (head->bytes) is borrowed until on_sent for this frame, or until the
 * channel is closed. SH_LIMIT: SH_OUTBOX_FRAMES_MAX frames wait. SH_STOPPED: closing. */
sh_status sh_channel_send(sh_channel *channel, const sh_frame *head,
                          const void *body) SHOAL_CHECKED;

/* Queues a control frame; copied. SH_LIMIT, SH_STOPPED, SH_NO_MEMORY. */
sh_status sh_channel_send_control(sh_channel *channel, const void *message,
                                  size_t bytes) SHOAL_CHECKED;

/* Calls on_frame again. While paused, a lost peer is not noticed. */
void sh_channel_resume(sh_channel *channel);

/* Writes the queued frames, closes this side, and waits until the peer has closed its side. Frames
 * that arrive are dropped. on_close follows. */
void sh_channel_flush_close(sh_channel *channel);

/* Closes and frees at once; drops queued frames. NULL is fine. */
void sh_channel_close(sh_channel *channel);

void sh_channel_stats_get(const sh_channel *channel, sh_channel_stats *stats);

/* Adds a channel's statistics to `total`. NULL is fine. */
void sh_channel_stats_count(sh_channel_stats *total, const sh_channel *channel);

static inline void sh_channel_stats_add(sh_channel_stats *total, sh_channel_stats more)
{
    total->sent_bytes += more.sent_bytes;
    total->received_bytes += more.received_bytes;
    total->traffic.sent_segments += more.traffic.sent_segments;
    total->traffic.received_segments += more.traffic.received_segments;
    total->traffic.busy_ns += more.traffic.busy_ns;
}

/* How long bytes have waited while the peer acknowledged almost nothing (net/socket.h), or 0. */
uint32_t sh_channel_stuck_ms(const sh_channel *channel);

/* The identity of the connection's key; "" if not yet known. Borrowed like the channel. */
const char *sh_channel_identity(const sh_channel *channel);

/* The same as sh_tls_binding, once the channel is open. */
sh_status sh_channel_binding(const sh_channel *channel,
                             unsigned char binding[SH_LEADER_BINDING_BYTES]) SHOAL_CHECKED;

/* Prints the numeric host of this side without the port, once connected. */
void sh_channel_local_address(const sh_channel *channel, char text[SH_ADDRESS_TEXT]);

/* Print the numeric host of the peer without and with the port. */
void sh_channel_peer_host(const sh_channel *channel, char text[SH_ADDRESS_TEXT]);
void sh_channel_peer_address(const sh_channel *channel, char text[SH_ADDRESS_TEXT]);

#endif
