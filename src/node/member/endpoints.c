/* SPDX-License-Identifier: Apache-2.0 */
#include "node/member/endpoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/file.h"

#define LINE_BYTES (SH_TOKEN_HOST + 8)

sh_endpoint sh_endpoint_of(const sh_token_address *address)
{
    sh_endpoint endpoint = {.port = address->port};
    memcpy(endpoint.host, address->host, sizeof endpoint.host);
    return endpoint;
}

bool sh_endpoint_equals(const sh_endpoint *a, const sh_endpoint *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

void sh_endpoints_add(sh_endpoints *endpoints, const sh_endpoint *endpoint)
{
    uint32_t at = 0;
    while (at < endpoints->count && !sh_endpoint_equals(&endpoints->items[at], endpoint))
        at++;
    if (at == SH_ENDPOINTS_MAX)
        at = 0;
    if (at < endpoints->count)
        memmove(&endpoints->items[at], &endpoints->items[at + 1],
                (endpoints->count - at - 1) * sizeof *endpoint);
    else
        endpoints->count++;
    endpoints->items[endpoints->count - 1] = *endpoint;
}

sh_status sh_endpoints_write(const sh_endpoints *endpoints, const char *path)
{
    char text[SH_ENDPOINTS_MAX * LINE_BYTES];
    size_t bytes = 0;
    for (uint32_t i = 0; i < endpoints->count; i++)
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%s %u\n",
                                  endpoints->items[i].host, (unsigned)endpoints->items[i].port);
    return sh_file_replace_private(path, text, bytes);
}

static bool read_line(sh_endpoint *endpoint, char *line)
{
    char *blank = strchr(line, ' '), *end;
    if (blank == NULL || blank == line || (size_t)(blank - line) >= sizeof endpoint->host)
        return false;
    const unsigned long port = strtoul(blank + 1, &end, 10);
    if (blank[1] < '0' || blank[1] > '9' || *end != '\0' || port == 0 || port > UINT16_MAX)
        return false;
    *blank = '\0';
    *endpoint = (sh_endpoint){.port = (uint16_t)port};
    snprintf(endpoint->host, sizeof endpoint->host, "%s", line);
    return true;
}

void sh_endpoints_read(sh_endpoints *endpoints, const char *path)
{
    char *text, *rest = NULL;
    sh_endpoint endpoint;
    *endpoints = (sh_endpoints){0};
    if (sh_file_read_own(&text, NULL, path, SH_ENDPOINTS_MAX * LINE_BYTES) != SH_OK)
        return;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        if (read_line(&endpoint, line))
            sh_endpoints_add(endpoints, &endpoint);
    free(text);
}
