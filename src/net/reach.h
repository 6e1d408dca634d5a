/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By which addresses other devices are likely to reach this one: those of its network interfaces.
 *
 *     sh_reach list[SH_REACH_MAX];
 *     size_t count = sh_reach_read(list);
 *     count = sh_reach_choose(list, count, false);
 *     if (count > 0)
 *         sh_address_print_host(text, &list[0].address);
 *
 * Threads: any.
 */
#ifndef SHOAL_NET_REACH_H
#define SHOAL_NET_REACH_H

#include <net/if.h>
#include <stdbool.h>

#include "net/address.h"

#define SH_REACH_MAX 64

/* One address of one interface. */
typedef struct sh_reach {
    char name[IF_NAMESIZE];
    bool running; /* up, and with a carrier */
    bool loopback;
    bool bridge;  /* its folder in /sys says so */
    bool outward; /* the system sends from this address to hosts far away */
    sh_address address;
} sh_reach;

/* The system's interfaces with an address, one entry an address. Returns how many; those beyond the
 * room are left out. */
size_t sh_reach_read(sh_reach list[SH_REACH_MAX]);

/*
 * Keeps the entries by which other devices are likely to reach this one, best first, and returns
 * how many: IPv4 before IPv6, and what is outward before what is not. Left out are loopbacks,
 * interfaces without a carrier, and bridges of containers and virtual machines (by their names, or
 * by `bridge`) unless they are outward. Link-local addresses stay only if there is no other.
 * `v4_only`: IPv6 is left out too.
 */
size_t sh_reach_choose(sh_reach *list, size_t count, bool v4_only);

#endif
