/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network between simulated devices. virtual_loop.c, virtual_channel.c and virtual_listener.c
 * implement net/loop.h, net/channel.h and net/listener.h. Packets between devices arrive in order
 * after the link's delay. Packets on a cut link wait.
 *
 * Threads: virtual ones. Only one runs at a time, so there are no locks.
 */
#ifndef SHOAL_SIM_VIRTUAL_NETWORK_H
#define SHOAL_SIM_VIRTUAL_NETWORK_H

#include "net/listener.h"
#include "virtual_threads.h"

typedef struct network_link {
    uint64_t delay_ns;
    uint64_t bytes_per_s;
    bool cut;
} network_link;

/* A change affects packets sent or waiting afterwards. */
network_link *network_link_of(uint32_t from, uint32_t to);

/* Draws all delays, and rates of at least `bytes_per_s`. `window`: the bytes of a connection that
 * may be on their way. */
void network_draw_links(uint64_t bytes_per_s, size_t window);
size_t network_window_bytes(void);

/* Both ends of a device's connections lose their peer. `gone`: its process has ended, so it is
 * unreachable from now on. */
void network_reset(uint32_t device, bool gone);

/* Gives a device the address of another, whose process has ended, and frees the ports there. */
void network_take_over(uint32_t device, uint32_t from);

void network_host_of(uint32_t device, char host[SH_ADDRESS_TEXT]);

void network_heal(void);

/* Runs the task on the loop's thread at `due_ns`, after earlier tasks. */
void loop_at(sh_loop *loop, uint64_t due_ns, sh_loop_task *task, void *context);

/* Whether a loop has channels that are not closed. */
bool loop_has_channels(const sh_loop *loop);

/* Reports that an invariant does not hold, and ends the process (device_sim.c). */
void violated(const char *invariant, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* For channels: the listener at an address, or NULL. */
sh_listener *network_find_listener(const char *host, uint16_t port);
sh_loop *listener_loop(const sh_listener *listener);
bool listener_knows(const sh_listener *listener, const char *identity,
                    const unsigned char key[SH_KEY_BYTES]);
void listener_take(sh_listener *listener, sh_channel *channel, const char *identity);
uint32_t listener_device(const sh_listener *listener);
const char *listener_host(const sh_listener *listener);

/* For the listener: the server's side of a connection. */
void channel_set_host(sh_channel *channel, const char *host);

#endif
