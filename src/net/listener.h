/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener: accepts connections and admits clients that prove a key. A stranger is a connection
 * that has not finished the handshake. The cost of strangers is bounded: their number (the oldest
 * is closed for a new one), their time, and their lines in the log. They never take reserved file
 * descriptors (base/descriptors.h).
 *
 *     const sh_listener_options options = {.port = 7077, .on_accept = welcome, .context = node};
 *     SH_TRY(sh_listener_open(&listener, loop, &options));
 *     SH_TRY(sh_listener_allow(listener, SH_TOKEN_IDENTITY, key));
 *     ...
 *     sh_listener_close(listener);
 *
 * Threads: loop only, functions and callbacks alike.
 */
#ifndef SHOAL_NET_LISTENER_H
#define SHOAL_NET_LISTENER_H

#include "net/channel.h"

#define SH_LISTENER_STRANGERS_MAX 64
#define SH_LISTENER_KEYS_MAX 4096      /* identities at a time */
#define SH_LISTENER_REFUSALS_LOGGED 20 /* per window; the rest is counted */
#define SH_LISTENER_WINDOW_MS 10000

typedef struct sh_listener sh_listener;

/* A client has proved the key of `identity` (borrowed during the call). The callback takes over the
 * channel with sh_channel_own; otherwise the listener closes it. */
typedef void sh_listener_accept(void *context, sh_channel *channel, const char *identity);

typedef struct sh_listener_options {
    const char *host;   /* address or name to listen on; NULL: all, IPv4 and IPv6 */
    uint16_t port;      /* 0: any free port */
    const char *option; /* the program's option, for messages; NULL: "--listen" */
    sh_listener_accept *on_accept;
    void *context;          /* borrowed until sh_listener_close */
    uint32_t patience_ms;   /* of a handshake; 0: SH_CHANNEL_PATIENCE_MS */
    uint32_t window_ms;     /* 0: SH_LISTENER_WINDOW_MS */
    uint32_t strangers_max; /* 0: SH_LISTENER_STRANGERS_MAX */
} sh_listener_options;

/* Owned: sh_listener_close. SH_NETWORK: the port is taken, or the address is not this device's.
 * SH_PERMISSION: the port needs special rights. */
sh_status sh_listener_open(sh_listener **listener, sh_loop *loop,
                           const sh_listener_options *options) SHOAL_CHECKED;

uint16_t sh_listener_port(const sh_listener *listener);

/* Admits `identity` with this key, which replaces an earlier key and ends its handshakes. Both are
 * copied. SH_LIMIT: SH_LISTENER_KEYS_MAX are allowed. SH_INVALID: a malformed identity. */
sh_status sh_listener_allow(sh_listener *listener, const char *identity,
                            const unsigned char key[SH_KEY_BYTES]) SHOAL_CHECKED;

/* Ends the key's handshakes too. Open channels stay open. */
void sh_listener_forbid(sh_listener *listener, const char *identity);

/* Closes strangers and wipes the keys. Accepted channels stay open. NULL is fine. */
void sh_listener_close(sh_listener *listener);

#endif
