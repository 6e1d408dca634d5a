/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a channel asks of a TCP socket beyond bytes.
 *
 *     sh_socket_settle(fd);
 *     ... from time to time: if (sh_socket_is_cut_off(fd)) close(fd);
 *
 * Threads: any, one at a time for a socket.
 */
#ifndef SHOAL_NET_SOCKET_H
#define SHOAL_NET_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#define SH_SOCKET_TRIES 3         /* in vain, until a peer is cut off: 1.4 s where it was near */
#define SH_SOCKET_PROBE_SECONDS 1 /* without a byte, until the peer is asked, and asked again */

/* Has small messages go at once, and a peer that is silent asked whether it is there. What the
 * system refuses of it is left out: it only serves to be faster. */
void sh_socket_settle(int fd);

/*
 * Whether what was sent, or asked, SH_SOCKET_TRIES times has got no answer: the peer's system is
 * cut off from this one, or gone. It answers for a process that takes nothing, so that is not cut
 * off. Nor is one that is far away: TCP waits for twice as long each time, beginning with what the
 * way there and back has taken so far, 200 ms at least (RFC 6298).
 */
bool sh_socket_is_cut_off(int fd);

#define SH_SOCKET_CRUMB 16384 /* bytes: hardly anything */

/* Counts looks in a row that found unacknowledged bytes, while the peer acknowledged less than
 * SH_SOCKET_CRUMB bytes in all of them. Zeroed to begin with. */
typedef struct sh_socket_crawl {
    uint64_t acknowledged; /* bytes, when the count began */
    uint32_t looks;
} sh_socket_crawl;

/* One look. A peer that takes nothing looks like a link that carries nothing. */
void sh_socket_look(int fd, sh_socket_crawl *crawl);

/* What TCP counts of a connection; zero where nobody can tell. */
typedef struct sh_socket_traffic {
    uint64_t sent_segments, received_segments;
    /* How long something waited to be sent, or for its acknowledgement, while the peer had room: a
     * peer that computes long and reads late makes no link look slow. */
    uint64_t busy_ns;
} sh_socket_traffic;

void sh_socket_traffic_get(int fd, sh_socket_traffic *traffic);

#endif
