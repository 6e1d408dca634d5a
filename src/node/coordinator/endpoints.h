/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses at which the devices of a job listen, in a file beside the run's token. A restarted
 * coordinator asks them whether another device has continued the job: before it continues, and
 * repeatedly later, because a device may be silent for a while.
 *
 *     SH_TRY(sh_endpoints_write(&endpoints, path));
 *     ... after a restart ...
 *     sh_endpoints_read(&endpoints, path);
 *
 * One line per endpoint: host, space, port. Threads: any; values.
 */
#ifndef SHOAL_NODE_ENDPOINTS_H
#define SHOAL_NODE_ENDPOINTS_H

#include "node/member/discovery.h"

typedef struct sh_endpoints {
    uint32_t count;
    sh_endpoint items[SH_DISCOVERY_ENDPOINTS_MAX]; /* the newest last */
} sh_endpoints;

/* Adds an endpoint, or makes it the newest. Drops the oldest if there are too many. */
void sh_endpoints_add(sh_endpoints *endpoints, const sh_endpoint *endpoint);

/* Only the owner can read the file. Fails as sh_file_replace_private does. */
sh_status sh_endpoints_write(const sh_endpoints *endpoints, const char *path) SHOAL_CHECKED;

/* Reads the valid lines of the file; no endpoints if there is no file. */
void sh_endpoints_read(sh_endpoints *endpoints, const char *path);

#endif
