/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses at which the devices of a job listen or listened. A device that lost the
 * coordinator asks them who coordinates the job now. A coordinator asks them whether another device
 * has continued its job, when it starts again and repeatedly later.
 *
 *     sh_endpoints_add(&endpoints, &endpoint);
 *     SH_TRY(sh_endpoints_write(&endpoints, path));
 *     ... after a restart ...
 *     sh_endpoints_read(&endpoints, path);
 *
 * Format of the file: a line per endpoint: host, space, port.
 *
 * Threads: any; values.
 */
#ifndef SHOAL_NODE_ENDPOINTS_H
#define SHOAL_NODE_ENDPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "net/token.h"

#define SH_ENDPOINTS_MAX 17

typedef struct sh_endpoint {
    uint32_t device;
    char host[SH_TOKEN_HOST];
    uint16_t port; /* 0: it cannot be reached */
} sh_endpoint;

typedef struct sh_endpoints {
    uint32_t count;
    sh_endpoint items[SH_ENDPOINTS_MAX]; /* newest last */
} sh_endpoints;

/* The endpoint at an address of a token, of no device in particular. */
sh_endpoint sh_endpoint_of(const sh_token_address *address);

/* Whether the addresses are equal, of any device. */
bool sh_endpoint_equals(const sh_endpoint *a, const sh_endpoint *b);

/* Adds an endpoint, or makes it the newest. Drops the oldest if there are too many. */
void sh_endpoints_add(sh_endpoints *endpoints, const sh_endpoint *endpoint);

/* Only the owner can read the file. Fails as sh_file_replace_private does. */
sh_status sh_endpoints_write(const sh_endpoints *endpoints, const char *path) SHOAL_CHECKED;

/* Ignores invalid lines. No endpoints if there is no file. */
void sh_endpoints_read(sh_endpoints *endpoints, const char *path);

#endif
