/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of this device's network interfaces, and the choice of those by which other devices
 * are likely to reach it.
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

typedef struct sh_reach {
    char name[IF_NAMESIZE];
    bool running; /* up and with a carrier */
    bool loopback;
    bool bridge;  /* by its folder in /sys */
    bool outward; /* the source address for remote hosts */
    sh_address address;
} sh_reach;

/* One entry per address. Returns their number, at most SH_REACH_MAX. */
size_t sh_reach_read(sh_reach list[SH_REACH_MAX]);

/*
 * Keeps the entries by which other devices are likely to reach this one, best first, and returns
 * their number. IPv4 comes before IPv6, and outward addresses before others. Removes loopbacks,
 * interfaces without a carrier, and the bridges of containers and virtual machines unless they are
 * outward. Removes link-local addresses if there are others, and IPv6 if `v4_only`.
 */
size_t sh_reach_choose(sh_reach *list, size_t count, bool v4_only);

#endif
