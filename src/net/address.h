/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket addresses: lookup by host name, and conversion to text.
 *
 *     sh_address found[SH_ADDRESS_FOUND_MAX];
 *     size_t count;
 *     SH_TRY(sh_address_find(found, &count, "pi.local", 7077));
 *
 * Threads: any.
 */
#ifndef SHOAL_NET_ADDRESS_H
#define SHOAL_NET_ADDRESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/fail.h"

#define SH_ADDRESS_FOUND_MAX 8
#define SH_ADDRESS_TEXT 96 /* IPv6 with zone, brackets and port, and the final zero */

typedef struct sh_address {
    struct sockaddr_storage storage;
    socklen_t bytes;
} sh_address;

/* Looks up the TCP addresses of a host, best first. A numeric host returns at once; a name may
 * block for seconds. SH_NETWORK: no address was found. */
sh_status sh_address_find(sh_address found[SH_ADDRESS_FOUND_MAX], size_t *count, const char *host,
                          uint16_t port) SHOAL_CHECKED;

/* Prints the host without the port: "10.0.0.1", "fe80::1%eth0"; IPv4-mapped IPv6 as IPv4. */
void sh_address_print_host(char text[SH_ADDRESS_TEXT], const sh_address *address);

/* The same with the port: "[::1]:7077". */
void sh_address_print(char text[SH_ADDRESS_TEXT], const sh_address *address);

/* The local and the remote address of a connected socket; all zero if there is none. */
void sh_address_of_socket(sh_address *address, int fd);
void sh_address_of_peer(sh_address *address, int fd);

uint16_t sh_address_port(const sh_address *address);

#endif
