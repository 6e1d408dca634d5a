/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door: accepts connections and lets in those that prove a key. Strangers cost little: few at a
 * time (the oldest gives way), not for long, and one line in the log. They leave descriptors for
 * the program's own files (base/descriptors.h).
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

#define SH_LISTENER_STRANGERS_MAX 64   /* connections that have not finished the handshake */
#define SH_LISTENER_KEYS_MAX 4096      /* identities that are allowed at a time */
#define SH_LISTENER_REFUSALS_LOGGED 20 /* lines in a window; the others are counted */
#define SH_LISTENER_WINDOW_MS 10000

typedef struct sh_listener sh_listener;

/*
 * A device proved the key of `identity` (borrowed until it returns). The callback takes the channel
 * with sh_channel_own, or closes it; one that is not taken is closed.
 */
typedef void sh_listener_accept(void *context, sh_channel *channel, const char *identity);

typedef struct sh_listener_options {
    const char *host;   /* numeric address or name to listen on; NULL: all, IPv4 and IPv6 */
    uint16_t port;      /* 0: any that is free */
    const char *option; /* that names the port, for messages; NULL: "--listen" */
    sh_listener_accept *on_accept;
    void *context;          /* borrowed until the listener is closed */
    uint32_t patience_ms;   /* for a handshake; 0: SH_CHANNEL_PATIENCE_MS */
    uint32_t window_ms;     /* of counted refusals; 0: SH_LISTENER_WINDOW_MS */
    uint32_t strangers_max; /* 0: SH_LISTENER_STRANGERS_MAX */
} sh_listener_options;

/* Owned: sh_listener_close. SH_NETWORK: the port is taken, or the address is not this device's. */
sh_status sh_listener_open(sh_listener **listener, sh_loop *loop,
                           const sh_listener_options *options) SHOAL_CHECKED;

/* The port that it listens on. */
uint16_t sh_listener_port(const sh_listener *listener);

/*
 * Lets `identity` in with this key from now on, instead of a former one. Both are copied. SH_LIMIT:
 * too many. SH_INVALID: no identity.
 */
sh_status sh_listener_allow(sh_listener *listener, const char *identity,
                            const unsigned char key[SH_KEY_BYTES]) SHOAL_CHECKED;

/* Forgets the key. Channels that came in with it stay; handshakes with it are ended. */
void sh_listener_forbid(sh_listener *listener, const char *identity);

/* Turns strangers away and wipes the keys; channels that were accepted stay. NULL is fine. */
void sh_listener_close(sh_listener *listener);

#endif
