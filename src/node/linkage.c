/* SPDX-License-Identifier: Apache-2.0 */
#include "node/linkage.h"

/* A ring knows its neighbours by their place only. */
static void on_ring_broken(void *context, bool next)
{
    const sh_linkage *linkage = context;
    const uint32_t step = next ? 1 : linkage->devices - 1;
    linkage->on_broken(linkage->context, (linkage->rank + step) % linkage->devices);
}

static void on_ring_linked(void *context)
{
    const sh_linkage *linkage = context;
    linkage->on_linked(linkage->context);
}

static sh_status make_ring(sh_linkage *linkage, const sh_linkage_options *options)
{
    return sh_ring_new(&linkage->ring, &(sh_ring_options){.loop = options->loop,
                                                          .view = options->directive->ring,
                                                          .rank = options->rank,
                                                          .devices = linkage->devices,
                                                          .on_linked = on_ring_linked,
                                                          .on_broken = on_ring_broken,
                                                          .context = linkage});
}

static sh_status make_servers(sh_linkage *linkage, const sh_linkage_options *options,
                              const bool *serves)
{
    return sh_servers_new(&linkage->servers, &(sh_servers_options){.loop = options->loop,
                                                                   .view = options->directive->ring,
                                                                   .rank = options->rank,
                                                                   .devices = linkage->devices,
                                                                   .serves = serves,
                                                                   .on_linked = options->on_linked,
                                                                   .on_broken = options->on_broken,
                                                                   .context = options->context});
}

sh_status sh_linkage_new(sh_linkage *linkage, const sh_linkage_options *options)
{
    const sh_directive *directive = options->directive;
    bool serves[SH_DEVICES_MAX], any = false;
    for (uint32_t i = 0; i < directive->seat_count; i++) {
        serves[i] = directive->seats[i].serves;
        any = any || serves[i];
    }
    *linkage = (sh_linkage){.rank = options->rank,
                            .devices = directive->seat_count,
                            .on_linked = options->on_linked,
                            .on_broken = options->on_broken,
                            .context = options->context};
    return any ? make_servers(linkage, options, serves) : make_ring(linkage, options);
}

sh_engine *sh_linkage_engine(const sh_linkage *linkage)
{
    return linkage->servers != NULL ? sh_servers_engine(linkage->servers)
                                    : sh_ring_engine(linkage->ring);
}

sh_status sh_linkage_connect(const sh_linkage *linkage, uint32_t rank,
                             const sh_channel_target *target)
{
    return linkage->servers != NULL ? sh_servers_connect(linkage->servers, rank, target)
                                    : sh_ring_connect(linkage->ring, target);
}

sh_status sh_linkage_take(const sh_linkage *linkage, uint32_t rank, sh_channel *channel)
{
    return linkage->servers != NULL ? sh_servers_take(linkage->servers, rank, channel)
                                    : sh_ring_take_previous(linkage->ring, channel);
}

void sh_linkage_abort(const sh_linkage *linkage, sh_status status, const char *reason)
{
    if (linkage->servers != NULL)
        sh_servers_abort(linkage->servers, status, reason);
    else
        sh_ring_abort(linkage->ring, status, reason);
}

sh_channel_stats sh_linkage_stats(const sh_linkage *linkage)
{
    return linkage->servers != NULL ? sh_servers_stats(linkage->servers)
                                    : sh_ring_stats(linkage->ring);
}
