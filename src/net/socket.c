/* SPDX-License-Identifier: Apache-2.0 */
#include "net/socket.h"

#include <linux/sockios.h>
#include <linux/tcp.h> /* the C library's header has fewer counters */
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static void set(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof value);
}

void sh_socket_configure(int fd)
{
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, SH_SOCKET_PROBE_SECONDS);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, SH_SOCKET_PROBE_SECONDS);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, SH_SOCKET_TRIES);
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/* TCP counts retransmissions and probes of a closed window. An answer resets both. */
bool sh_socket_is_cut_off(int fd)
{
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
           info.tcpi_retransmits + info.tcpi_probes >= SH_SOCKET_TRIES;
}

#define ACKED_END (offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof(uint64_t))

void sh_socket_look(int fd, sh_socket_crawl *crawl)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    int unacknowledged = 0;
    const bool known = getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
                       bytes >= ACKED_END && /* emulators and old kernels return less */
                       ioctl(fd, SIOCOUTQ, &unacknowledged) == 0;
    const bool crawls = known && unacknowledged > 0 &&
                        info.tcpi_bytes_acked - crawl->acknowledged < SH_SOCKET_CRUMB;
    if (crawls)
        crawl->looks++;
    else
        *crawl = (sh_socket_crawl){.acknowledged = info.tcpi_bytes_acked};
}

void sh_socket_traffic_get(int fd, sh_socket_traffic *traffic)
{
    struct tcp_info info = {0}; /* older kernels fill in less */
    socklen_t bytes = sizeof info;
    *traffic = (sh_socket_traffic){0};
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0)
        return;
    *traffic = (sh_socket_traffic){info.tcpi_segs_out, info.tcpi_segs_in,
                                   (info.tcpi_busy_time - info.tcpi_rwnd_limited) * 1000};
}
