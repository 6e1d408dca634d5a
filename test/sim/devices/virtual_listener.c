/* SPDX-License-Identifier: Apache-2.0 */
/* net/listener.h for the simulated network, and the links. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "virtual_network.h"

typedef struct allowed {
    struct allowed *next;
    char identity[SH_IDENTITY_TEXT];
    unsigned char key[SH_KEY_BYTES];
} allowed;

struct sh_listener {
    sh_listener *next;
    sh_loop *loop;
    char host[SH_ADDRESS_TEXT];
    uint16_t port;
    uint32_t device;
    sh_listener_accept *on_accept;
    void *context;
    allowed *first;
};

static sh_listener *doors;
static uint16_t last_port = 7000;
static uint32_t successor = VIRTUAL_DEVICES, successor_of;
static size_t window_bytes;
static network_link links[VIRTUAL_DEVICES][VIRTUAL_DEVICES];

network_link *network_link_of(uint32_t from, uint32_t to)
{
    return &links[from][to];
}

void network_draw_links(uint64_t bytes_per_s, size_t window)
{
    window_bytes = window;
    for (uint32_t a = 0; a < VIRTUAL_DEVICES; a++)
        for (uint32_t b = 0; b < VIRTUAL_DEVICES; b++)
            links[a][b] = (network_link){.delay_ns = (1 + virtual_draw(40)) * VIRTUAL_MS / 10,
                                         .bytes_per_s = bytes_per_s << virtual_draw(5)};
}

size_t network_window_bytes(void)
{
    return window_bytes;
}

void network_host_of(uint32_t device, char host[SH_ADDRESS_TEXT])
{
    snprintf(host, SH_ADDRESS_TEXT, "10.0.0.%u", 1 + (device == successor ? successor_of : device));
}

void network_take_over(uint32_t device, uint32_t from)
{
    successor = device;
    successor_of = from;
    for (sh_listener **place = &doors; *place != NULL;)
        if ((*place)->device == from)
            *place = (*place)->next;
        else
            place = &(*place)->next;
}

void network_heal(void)
{
    for (uint32_t a = 0; a < VIRTUAL_DEVICES; a++)
        for (uint32_t b = 0; b < VIRTUAL_DEVICES; b++)
            links[a][b].cut = false;
}

sh_listener *network_find_listener(const char *host, uint16_t port)
{
    for (sh_listener *each = doors; each != NULL; each = each->next)
        if (each->port == port && strcmp(each->host, host) == 0)
            return each;
    return NULL;
}

sh_loop *listener_loop(const sh_listener *listener)
{
    return listener->loop;
}

uint32_t listener_device(const sh_listener *listener)
{
    return listener->device;
}

const char *listener_host(const sh_listener *listener)
{
    return listener->host;
}

bool listener_knows(const sh_listener *listener, const char *identity,
                    const unsigned char key[SH_KEY_BYTES])
{
    for (const allowed *each = listener->first; each != NULL; each = each->next)
        if (strcmp(each->identity, identity) == 0)
            return memcmp(each->key, key, SH_KEY_BYTES) == 0;
    return false;
}

void listener_take(sh_listener *listener, sh_channel *channel, const char *identity)
{
    listener->on_accept(listener->context, channel, identity);
}

sh_status sh_listener_open(sh_listener **listener, sh_loop *loop,
                           const sh_listener_options *options)
{
    sh_listener *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a door");
    *fresh = (sh_listener){.loop = loop,
                           .port = options->port != 0 ? options->port : ++last_port,
                           .device = virtual_this_device(),
                           .on_accept = options->on_accept,
                           .context = options->context,
                           .next = doors};
    network_host_of(virtual_this_device(), fresh->host);
    if (network_find_listener(fresh->host, fresh->port) != NULL) {
        free(fresh);
        return sh_fail(SH_NETWORK, "the port is taken");
    }
    doors = fresh;
    *listener = fresh;
    return SH_OK;
}

uint16_t sh_listener_port(const sh_listener *listener)
{
    return listener->port;
}

void sh_listener_forbid(sh_listener *listener, const char *identity)
{
    for (allowed **place = &listener->first; *place != NULL; place = &(*place)->next)
        if (strcmp((*place)->identity, identity) == 0) {
            allowed *gone = *place;
            *place = gone->next;
            free(gone);
            return;
        }
}

sh_status sh_listener_allow(sh_listener *listener, const char *identity,
                            const unsigned char key[SH_KEY_BYTES])
{
    sh_listener_forbid(listener, identity);
    allowed *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a key");
    fresh->next = listener->first;
    snprintf(fresh->identity, sizeof fresh->identity, "%s", identity);
    memcpy(fresh->key, key, SH_KEY_BYTES);
    listener->first = fresh;
    return SH_OK;
}

void sh_listener_close(sh_listener *listener)
{
    if (listener == NULL)
        return;
    for (sh_listener **place = &doors; *place != NULL; place = &(*place)->next)
        if (*place == listener) {
            *place = listener->next;
            break;
        }
    while (listener->first != NULL)
        sh_listener_forbid(listener, listener->first->identity);
    free(listener);
}
