/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: servers of real devices on the loopback (reduce/engine_fixture.h).
 *
 *     world w = world_of(3, 0x5);      // ranks 0 and 2 of 3 serve
 *
 * Threads: one test's.
 */
#ifndef SHOAL_REDUCE_SERVERS_FIXTURE_H
#define SHOAL_REDUCE_SERVERS_FIXTURE_H

#include "reduce/engine_fixture.h"
#include "reduce/servers.h"

static inline void make_servers(rank *self)
{
    sh_servers *servers;
    assert_ok(sh_servers_new(&servers, &(sh_servers_options){.loop = self->loop,
                                                             .view = 7,
                                                             .rank = self->index,
                                                             .devices = self->of->devices,
                                                             .serves = self->of->serves}));
    self->links = servers;
    self->engine = sh_servers_engine(servers);
}

static inline void link_servers(rank *self)
{
    char identity[32];
    for (uint32_t to = self->index + 1; to < self->of->devices; to++) {
        const sh_channel_target target = target_of(self, to, identity);
        if (sh_servers_links(self->of->serves, self->index, to))
            assert_ok(sh_servers_connect(self->links, to, &target));
    }
}

static inline sh_status accept_lower(rank *self, uint32_t from, sh_channel *channel)
{
    assert_true(from < self->index && sh_servers_links(self->of->serves, from, self->index));
    return sh_servers_take(self->links, from, channel);
}

static inline void abort_servers(rank *self, const char *reason)
{
    sh_servers_abort(self->links, SH_ABORTED, reason);
}

static inline bool decides(const rank *self)
{
    return self->index == 0 && self->of->serves[0];
}

static const engine_kind servers_kind = {
    .make = make_servers,
    .link = link_servers,
    .accept = accept_lower,
    .abort = abort_servers,
    .decides = decides,
};

/* Servers by a mask, one bit a rank. */
static inline world world_of(uint32_t devices, uint32_t mask)
{
    world w = {.kind = &servers_kind, .devices = devices};
    for (uint32_t i = 0; i < devices; i++)
        w.serves[i] = (mask >> i & 1) != 0;
    return w;
}

#endif
