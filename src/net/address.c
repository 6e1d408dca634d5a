/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

sh_status sh_address_find(sh_address found[SH_ADDRESS_FOUND_MAX], size_t *count, const char *host,
                          uint16_t port)
{
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    const struct addrinfo wanted = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    const int error = getaddrinfo(host, service, &wanted, &list);
    if (error != 0)
        return sh_fail(SH_NETWORK,
                       "could not find the address of '%s': %s; check the spelling, or "
                       "use a numeric address",
                       host, gai_strerror(error));
    size_t used = 0;
    for (const struct addrinfo *item = list; item != NULL; item = item->ai_next) {
        if (used == SH_ADDRESS_FOUND_MAX || item->ai_addrlen > sizeof found->storage)
            break;
        memset(&found[used], 0, sizeof found[used]);
        memcpy(&found[used].storage, item->ai_addr, item->ai_addrlen);
        found[used++].bytes = item->ai_addrlen;
    }
    freeaddrinfo(list);
    if (used == 0)
        return sh_fail(SH_NETWORK, "'%s' has no address", host);
    *count = used;
    return SH_OK;
}

void sh_address_print_host(char text[SH_ADDRESS_TEXT], const sh_address *address)
{
    struct sockaddr_in6 v6;
    char host[NI_MAXHOST];
    snprintf(text, SH_ADDRESS_TEXT, "unknown");
    if (address->bytes == 0 ||
        getnameinfo((const struct sockaddr *)&address->storage, address->bytes, host, sizeof host,
                    NULL, 0, NI_NUMERICHOST) != 0)
        return;
    const char *start = host;
    if (address->storage.ss_family == AF_INET6) {
        memcpy(&v6, &address->storage, sizeof v6);
        if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
            start = strrchr(host, ':') + 1; /* "::ffff:10.0.0.1" */
    }
    snprintf(text, SH_ADDRESS_TEXT, "%.80s", start);
}

uint16_t sh_address_port(const sh_address *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    switch (address->storage.ss_family) {
    case AF_INET:
        memcpy(&v4, &address->storage, sizeof v4);
        return ntohs(v4.sin_port);
    case AF_INET6:
        memcpy(&v6, &address->storage, sizeof v6);
        return ntohs(v6.sin6_port);
    default:
        return 0;
    }
}

void sh_address_print(char text[SH_ADDRESS_TEXT], const sh_address *address)
{
    char host[SH_ADDRESS_TEXT];
    sh_address_print_host(host, address);
    snprintf(text, SH_ADDRESS_TEXT, strchr(host, ':') != NULL ? "[%.80s]:%u" : "%.80s:%u", host,
             (unsigned)sh_address_port(address));
}

void sh_address_of_socket(sh_address *address, int fd)
{
    *address = (sh_address){.bytes = sizeof address->storage};
    if (getsockname(fd, (struct sockaddr *)&address->storage, &address->bytes) != 0)
        *address = (sh_address){.bytes = 0};
}

void sh_address_of_peer(sh_address *address, int fd)
{
    *address = (sh_address){.bytes = sizeof address->storage};
    if (getpeername(fd, (struct sockaddr *)&address->storage, &address->bytes) != 0)
        *address = (sh_address){.bytes = 0};
}
