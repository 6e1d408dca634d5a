/* SPDX-License-Identifier: Apache-2.0 */
#include "net/reach.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* Connecting a UDP socket sends no packet. */
static bool route_to(sh_address *own, const char *host)
{
    sh_address found[SH_ADDRESS_FOUND_MAX];
    size_t count;
    if (sh_address_find(found, &count, host, 9) != SH_OK)
        return false;
    const int fd = socket(found[0].storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    const bool connected =
        connect(fd, (const struct sockaddr *)&found[0].storage, found[0].bytes) == 0;
    if (connected)
        sh_address_of_socket(own, fd);
    close(fd);
    return connected;
}

static bool same_host(const sh_address *one, const sh_address *other)
{
    char a[SH_ADDRESS_TEXT], b[SH_ADDRESS_TEXT];
    sh_address_print_host(a, one);
    sh_address_print_host(b, other);
    return strcmp(a, b) == 0;
}

static bool is_bridge(const char *name)
{
    char path[64 + IF_NAMESIZE];
    snprintf(path, sizeof path, "/sys/class/net/%s/bridge", name);
    return access(path, F_OK) == 0;
}

size_t sh_reach_read(sh_reach list[SH_REACH_MAX])
{
    /* Unused addresses of documentation (RFC 5737, RFC 3849) are routed outward. */
    sh_address v4 = {.bytes = 0}, v6 = {.bytes = 0};
    const bool has_v4 = route_to(&v4, "192.0.2.1"), has_v6 = route_to(&v6, "2001:db8::1");
    struct ifaddrs *all;
    size_t count = 0;
    if (getifaddrs(&all) != 0)
        return 0;
    for (const struct ifaddrs *each = all; each != NULL && count < SH_REACH_MAX;
         each = each->ifa_next) {
        const int family = each->ifa_addr == NULL ? AF_UNSPEC : each->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6)
            continue;
        sh_reach *one = &list[count++];
        const unsigned running = IFF_UP | IFF_RUNNING;
        *one = (sh_reach){
            .running = (each->ifa_flags & running) == running,
            .loopback = (each->ifa_flags & IFF_LOOPBACK) != 0,
            .bridge = is_bridge(each->ifa_name),
            .address.bytes =
                family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6),
        };
        snprintf(one->name, sizeof one->name, "%s", each->ifa_name);
        memcpy(&one->address.storage, each->ifa_addr, one->address.bytes);
        one->outward =
            (has_v4 && same_host(&v4, &one->address)) || (has_v6 && same_host(&v6, &one->address));
    }
    freeifaddrs(all);
    return count;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Recognises interfaces of containers by their usual names, or by `bridge`. */
static bool is_inner(const sh_reach *one)
{
    static const char *const prefixes[] = {"docker",  "br-",     "virbr", "veth", "cni",
                                           "podman",  "lxc",     "lxd",   "vnet", "vmnet",
                                           "vboxnet", "flannel", "cali"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(one->name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return one->bridge;
}

static bool is_link_local(const sh_address *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (address->storage.ss_family == AF_INET) {
        memcpy(&v4, &address->storage, sizeof v4);
        return ntohl(v4.sin_addr.s_addr) >> 16 == 0xa9fe; /* 169.254 */
    }
    memcpy(&v6, &address->storage, sizeof v6);
    return IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr);
}

/* Rank 1 is best; 0: removed. */
static unsigned rank(const sh_reach *one, bool v4_only)
{
    const bool v6 = one->address.storage.ss_family == AF_INET6;
    if (!one->running || one->loopback || (is_inner(one) && !one->outward) || (v6 && v4_only))
        return 0;
    return 1u + (is_link_local(&one->address) ? 4u : 0u) + (v6 ? 2u : 0u) +
           (one->outward ? 0u : 1u);
}

size_t sh_reach_choose(sh_reach *list, size_t count, bool v4_only)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) { /* a stable insertion sort */
        const sh_reach one = list[i];
        const unsigned own = rank(&one, v4_only);
        size_t at = kept;
        if (own == 0)
            continue;
        for (; at > 0 && rank(&list[at - 1], v4_only) > own; at--)
            list[at] = list[at - 1];
        list[at] = one;
        kept++;
    }
    while (kept > 1 && is_link_local(&list[kept - 1].address) && !is_link_local(&list[0].address))
        kept--;
    return kept;
}
