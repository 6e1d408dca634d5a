/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener owns the channel of a stranger until on_accept gets it. If the handshake fails, the
 * reason is logged. After SH_LISTENER_REFUSALS_LOGGED lines in a window, the other refusals of the
 * window are logged as one count.
 *
 * If there are too many strangers, or few file descriptors are left, the oldest is closed for the
 * newest: a device finishes its handshake in milliseconds.
 */
#include "net/listener.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/log.h"

#define BACKLOG 64
#define ACCEPTS_A_TURN 16
#define REST_MS 1000 /* without accepting, when descriptors or memory are out */

struct allowed {
    char identity[SH_IDENTITY_TEXT];
    unsigned char key[SH_KEY_BYTES];
};

struct stranger {
    struct stranger *next;
    sh_listener *listener;
    sh_channel *channel;
};

struct sh_listener {
    sh_loop *loop;
    sh_listener_options options;
    sh_tls_server *server;
    int fd;
    uint16_t port;
    struct event *readable;
    sh_timer *rest, *window;
    struct allowed *allowed;
    size_t allowed_count, allowed_capacity;
    struct stranger *strangers;
    uint32_t strangers_count;
    uint32_t refusals; /* of the current window; 0: no window is running */
};

/* ---- refusals -------------------------------------------------------------------------------- */

static void end_window(void *context)
{
    sh_listener *listener = context;
    if (listener->refusals > SH_LISTENER_REFUSALS_LOGGED)
        sh_log(SH_LOG_WARN, "net.refused_more", "count=%lu window_ms=%lu",
               (unsigned long)listener->refusals - SH_LISTENER_REFUSALS_LOGGED,
               (unsigned long)listener->options.window_ms);
    listener->refusals = 0;
}

static void log_refusal(sh_listener *listener, const char *peer, const char *reason)
{
    if (listener->refusals == 0 &&
        sh_timer_start(listener->window, listener->options.window_ms, 0) != SH_OK)
        return; /* memory is out: no window would bound the log */
    if (listener->refusals < UINT32_MAX)
        listener->refusals++;
    if (listener->refusals <= SH_LISTENER_REFUSALS_LOGGED)
        sh_log(SH_LOG_WARN, "net.refused", "peer=%s reason=\"%s\"", peer, reason);
}

static void log_stranger(sh_listener *listener, const sh_channel *channel, const char *reason)
{
    char peer[SH_ADDRESS_TEXT];
    sh_channel_peer_address(channel, peer);
    log_refusal(listener, peer, reason);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static struct allowed *find_allowed(sh_listener *listener, const char *identity)
{
    for (size_t i = 0; i < listener->allowed_count; i++)
        if (strcmp(listener->allowed[i].identity, identity) == 0)
            return &listener->allowed[i];
    return NULL;
}

static bool find_key(void *context, const char *identity, unsigned char key[SH_KEY_BYTES])
{
    const struct allowed *allowed = find_allowed(context, identity);
    if (allowed == NULL)
        return false;
    memcpy(key, allowed->key, SH_KEY_BYTES);
    return true;
}

static void drop_stranger(struct stranger *stranger);

static void end_handshakes(sh_listener *listener, const char *identity)
{
    for (struct stranger *stranger = listener->strangers, *next; stranger != NULL;
         stranger = next) {
        next = stranger->next;
        sh_channel *channel = stranger->channel;
        if (strcmp(sh_channel_identity(channel), identity) != 0)
            continue;
        sh_log(SH_LOG_INFO, "net.withdrawn",
               "identity=%s reason=\"the key was withdrawn during the handshake\"", identity);
        drop_stranger(stranger);
        sh_channel_close(channel);
    }
}

sh_status sh_listener_allow(sh_listener *listener, const char *identity,
                            const unsigned char key[SH_KEY_BYTES])
{
    assert(sh_loop_is_current(listener->loop));
    if (!sh_identity_is_valid(identity))
        return sh_fail(SH_INVALID, "an identity needs 1 to 63 printable characters");
    struct allowed *allowed = find_allowed(listener, identity);
    if (allowed != NULL) {
        end_handshakes(listener, identity);
    } else {
        if (listener->allowed_count == SH_LISTENER_KEYS_MAX)
            return sh_fail(SH_LIMIT, "%d identities are allowed already", SH_LISTENER_KEYS_MAX);
        const size_t count = listener->allowed_count;
        if (count == listener->allowed_capacity) {
            /* Not by realloc, which would leave keys in freed memory. */
            const size_t capacity = count == 0 ? 4 : 2 * count;
            struct allowed *larger = calloc(capacity, sizeof *larger);
            if (larger == NULL)
                return sh_fail_memory(capacity * sizeof *larger, "keys of devices");
            if (count > 0)
                memcpy(larger, listener->allowed, count * sizeof *larger);
            sh_key_free(listener->allowed, count * sizeof *larger);
            listener->allowed = larger;
            listener->allowed_capacity = capacity;
        }
        allowed = &listener->allowed[listener->allowed_count++];
        snprintf(allowed->identity, sizeof allowed->identity, "%s", identity);
    }
    memcpy(allowed->key, key, SH_KEY_BYTES);
    return SH_OK;
}

void sh_listener_forbid(sh_listener *listener, const char *identity)
{
    assert(sh_loop_is_current(listener->loop));
    struct allowed *allowed = find_allowed(listener, identity);
    if (allowed == NULL)
        return;
    /* Copied: `identity` may point into the wiped entry. */
    struct allowed gone = *allowed;
    struct allowed *last = &listener->allowed[listener->allowed_count - 1];
    *allowed = *last;
    sh_key_wipe(last, sizeof *last);
    listener->allowed_count--;
    end_handshakes(listener, gone.identity);
    sh_key_wipe(&gone, sizeof gone);
}

/* ---- strangers ------------------------------------------------------------------------------- */

static void drop_stranger(struct stranger *stranger)
{
    sh_listener *listener = stranger->listener;
    struct stranger **place = &listener->strangers;
    while (*place != stranger)
        place = &(*place)->next;
    *place = stranger->next;
    listener->strangers_count--;
    free(stranger);
}

static const sh_channel_events nobody = {.on_open = NULL};

static void stranger_proved(void *context, sh_channel *channel)
{
    struct stranger *stranger = context;
    const sh_listener_options options = stranger->listener->options;
    drop_stranger(stranger);
    sh_channel_own(channel, &nobody, NULL);
    options.on_accept(options.context, channel, sh_channel_identity(channel));
    /* This is the channel's own turn, so it still exists even if the callback closed it. */
    if (sh_channel_owner(channel) == &nobody)
        sh_channel_close(channel);
}

static void stranger_failed(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    (void)why;
    struct stranger *stranger = context;
    log_stranger(stranger->listener, channel, reason);
    drop_stranger(stranger);
}

static const sh_channel_events stranger_events = {
    .on_open = stranger_proved,
    .on_close = stranger_failed,
};

/* The oldest stranger, from `host` if that is not NULL; NULL: none. */
static struct stranger *oldest_stranger(const sh_listener *listener, const char *host)
{
    struct stranger *oldest = NULL; /* the list is sorted newest first */
    for (struct stranger *each = listener->strangers; each != NULL; each = each->next) {
        char other[SH_ADDRESS_TEXT];
        sh_channel_peer_host(each->channel, other);
        if (host == NULL || strcmp(other, host) == 0)
            oldest = each;
    }
    return oldest;
}

/* Closes the oldest stranger from `host`, else the oldest of all. False: there are none. */
static bool displace(sh_listener *listener, const char *host, const char *reason)
{
    struct stranger *gone = oldest_stranger(listener, host);
    if (gone == NULL)
        gone = oldest_stranger(listener, NULL);
    if (gone == NULL)
        return false;
    sh_channel *channel = gone->channel;
    log_stranger(listener, channel, reason);
    drop_stranger(gone);
    sh_channel_close(channel);
    return true;
}

/* False: there is no room. A host that opens too many connections loses its own first. */
static bool make_room(sh_listener *listener, const sh_address *address, int fd)
{
    char host[SH_ADDRESS_TEXT];
    sh_address_print_host(host, address);
    if (listener->strangers_count >= listener->options.strangers_max)
        return displace(
            listener, host,
            "too many connections that have not finished the handshake: the oldest is closed");
    if (!sh_descriptors_are_short(fd))
        return true;
    static const char few[] = "few file descriptors are left (ulimit -n): the oldest connections "
                              "that have not finished the handshake are closed";
    const bool room = displace(listener, host, few);
    (void)displace(listener, host, few); /* close a second one, so that the reserve is restored */
    return room;
}

/* Takes over `fd`. */
static void meet(sh_listener *listener, int fd)
{
    char peer[SH_ADDRESS_TEXT];
    sh_address address;
    sh_address_of_peer(&address, fd);
    if (!make_room(listener, &address, fd)) {
        sh_address_print(peer, &address);
        log_refusal(listener, peer,
                    "no file descriptor is left for another device: raise the limit (ulimit -n)");
        close(fd);
        return;
    }
    struct stranger *stranger = calloc(1, sizeof *stranger);
    if (stranger == NULL || evutil_make_socket_nonblocking(fd) != 0 ||
        evutil_make_socket_closeonexec(fd) != 0 ||
        sh_channel_accept(&stranger->channel, listener->loop, listener->server, fd,
                          listener->options.patience_ms, &stranger_events, stranger) != SH_OK) {
        sh_address_print(peer, &address);
        log_refusal(listener, peer, "not enough memory for another connection");
        close(fd);
        free(stranger);
        return;
    }
    stranger->listener = listener;
    stranger->next = listener->strangers;
    listener->strangers = stranger;
    listener->strangers_count++;
}

static void accept_some(evutil_socket_t fd, short what, void *argument)
{
    (void)what;
    sh_listener *listener = argument;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        const int fresh = accept(fd, NULL, NULL);
        if (fresh >= 0) {
            meet(listener, fresh);
            continue;
        }
        const bool few = errno == EMFILE || errno == ENFILE;
        if (!few && errno != ENOBUFS && errno != ENOMEM)
            return;
        const int error = errno;
        if (few && displace(listener, NULL, "no file descriptor is left (ulimit -n)"))
            continue;
        sh_log(SH_LOG_WARN, "net.accept_failed", "reason=\"%s\"", strerror(error));
        /* The socket stays readable, so without a pause the loop would spin. */
        if (sh_timer_start(listener->rest, REST_MS, 0) == SH_OK)
            event_del(listener->readable);
        return;
    }
}

static void end_rest(void *context)
{
    sh_listener *listener = context;
    if (event_add(listener->readable, NULL) != 0 &&
        sh_timer_start(listener->rest, REST_MS, 0) != SH_OK)
        sh_log(SH_LOG_ERROR, "net.accept_ended", "port=%u", (unsigned)listener->port);
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Returns 0 or an errno; `fd` is unchanged on failure. */
static int listen_on(int *fd, const sh_address *address)
{
    const int family = address->storage.ss_family;
    const int fresh = socket(family, SOCK_STREAM, 0);
    if (fresh < 0)
        return errno;
    const int on = 1, off = 0;
    const struct sockaddr *name = (const struct sockaddr *)&address->storage;
    setsockopt(fresh, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if ((family == AF_INET6 &&
         setsockopt(fresh, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0) ||
        evutil_make_socket_nonblocking(fresh) != 0 || evutil_make_socket_closeonexec(fresh) != 0 ||
        bind(fresh, name, address->bytes) != 0 || listen(fresh, BACKLOG) != 0) {
        const int error = errno;
        close(fresh);
        return error;
    }
    *fd = fresh;
    return 0;
}

sh_status sh_listener_open(sh_listener **listener, sh_loop *loop,
                           const sh_listener_options *options)
{
    assert(sh_loop_is_current(loop));
    sh_listener *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a listener");
    fresh->loop = loop;
    fresh->fd = -1;
    fresh->options = *options;
    if (options->window_ms == 0)
        fresh->options.window_ms = SH_LISTENER_WINDOW_MS;
    if (options->strangers_max == 0)
        fresh->options.strangers_max = SH_LISTENER_STRANGERS_MAX;
    sh_status status;
    SH_TRY_DONE(sh_tls_server_new(&fresh->server, find_key, fresh));
    const char *host = options->host;
    const char *option = options->option == NULL ? "--listen" : options->option;
    const unsigned port = options->port;
    sh_address found[SH_ADDRESS_FOUND_MAX], bound;
    size_t count = 0;
    SH_TRY_DONE(sh_fail_in(
        sh_address_find(found, &count, host == NULL ? "::" : host, options->port), "%s", option));
    int error = listen_on(&fresh->fd, &found[0]);
    if (error != 0 && error != EADDRINUSE && error != EACCES && host == NULL) {
        /* The system has no IPv6. */
        SH_TRY_DONE(sh_address_find(found, &count, "0.0.0.0", options->port));
        error = listen_on(&fresh->fd, &found[0]);
    }
    if (error == EADDRINUSE)
        SH_TRY_DONE(sh_fail(SH_NETWORK, "port %u is taken: choose another with %s", port, option));
    if (error == EACCES)
        SH_TRY_DONE(sh_fail(SH_PERMISSION,
                            "port %u needs special rights: choose one above 1023 with %s", port,
                            option));
    if (error == EADDRNOTAVAIL)
        SH_TRY_DONE(sh_fail(SH_NETWORK,
                            "%s is not an address of this device: choose another with %s", host,
                            option));
    if (error != 0)
        SH_TRY_DONE(sh_fail_errno(error, "listening on port %u", port));
    sh_address_of_socket(&bound, fresh->fd);
    fresh->port = sh_address_port(&bound);
    SH_TRY_DONE(sh_timer_new(&fresh->rest, loop, end_rest, fresh));
    SH_TRY_DONE(sh_timer_new(&fresh->window, loop, end_window, fresh));
    fresh->readable =
        event_new(sh_loop_base(loop), fresh->fd, EV_READ | EV_PERSIST, accept_some, fresh);
    if (fresh->readable == NULL || event_add(fresh->readable, NULL) != 0)
        SH_TRY_DONE(sh_fail_memory(sizeof *fresh, "a listener"));
    fresh->options.host = fresh->options.option = NULL; /* borrowed only during this call */
    *listener = fresh;
    return SH_OK;
done:
    sh_listener_close(fresh);
    return status;
}

uint16_t sh_listener_port(const sh_listener *listener)
{
    return listener->port;
}

void sh_listener_close(sh_listener *listener)
{
    if (listener == NULL)
        return;
    assert(sh_loop_is_current(listener->loop));
    while (listener->strangers != NULL) {
        sh_channel *channel = listener->strangers->channel;
        drop_stranger(listener->strangers);
        sh_channel_close(channel);
    }
    end_window(listener);
    if (listener->readable != NULL)
        event_free(listener->readable);
    if (listener->fd >= 0)
        close(listener->fd);
    sh_timer_free(listener->rest);
    sh_timer_free(listener->window);
    sh_tls_server_free(listener->server);
    sh_key_free(listener->allowed, listener->allowed_count * sizeof *listener->allowed);
    free(listener);
}
