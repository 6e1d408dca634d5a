/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options and statistics of the TCP sockets of channels.
 *
 *     sh_socket_configure(fd);
 *     ... from time to time: if (sh_socket_is_cut_off(fd)) close(fd);
 *
 * Threads: any; one at a time for each socket.
 */
#ifndef SHOAL_NET_SOCKET_H
#define SHOAL_NET_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#define SH_SOCKET_TRIES 3 /* without an answer until a peer is cut off: 1.4 s if it is near */
#define SH_SOCKET_PROBE_SECONDS 1 /* of silence before a keepalive probe */

/* Sends small messages at once (no Nagle) and enables keepalive probes. Ignores errors. */
void sh_socket_configure(int fd);

/*
 * True if SH_SOCKET_TRIES retransmissions or probes in a row got no answer, so the peer's system is
 * gone or cut off. A system answers even if its process reads nothing. A distant peer has time: the
 * first timeout follows from the measured round-trip time, at least 200 ms, and each further one is
 * twice as long (RFC 6298).
 */
bool sh_socket_is_cut_off(int fd);

#define SH_SOCKET_CRUMB 16384 /* bytes; fewer are not progress */

/* Counts consecutive looks that found unacknowledged bytes while the peer acknowledged fewer than
 * SH_SOCKET_CRUMB bytes since the count began. Initially zero. */
typedef struct sh_socket_crawl {
    uint64_t acknowledged; /* bytes when the count began */
    uint32_t looks;
} sh_socket_crawl;

void sh_socket_look(int fd, sh_socket_crawl *crawl);

/* Zero if not available. */
typedef struct sh_socket_traffic {
    uint64_t sent_segments, received_segments;
    /* Time with bytes to send or unacknowledged while the peer had room in its window: a peer that
     * reads late does not count. */
    uint64_t busy_ns;
} sh_socket_traffic;

void sh_socket_traffic_get(int fd, sh_socket_traffic *traffic);

#endif
