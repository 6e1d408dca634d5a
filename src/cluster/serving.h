/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which devices serve, that is, sum a shard of every span for the others (reduce/servers.c): all of
 * a view, or those that the user chose. The weights do not depend on it.
 *
 *     sh_serving serving = {.on = true};
 *     SH_TRY(sh_serving_parse(&serving, "0,2"));            // --servers; without: all devices
 *     sh_serving_seat(&serving, seats, seat_count);
 *
 * Threads: any; values.
 */
#ifndef SHOAL_CLUSTER_SERVING_H
#define SHOAL_CLUSTER_SERVING_H

#include "base/fail.h"
#include "cluster/directive.h"

#define SH_SERVING_TEXT 128

typedef struct sh_serving {
    bool on;        /* false: a ring sums */
    uint32_t count; /* chosen; 0: all serve */
    uint32_t devices[SH_DEVICES_MAX];
} sh_serving;

/* Parses device numbers separated by commas; `on` is unchanged. SH_INVALID: another form. */
sh_status sh_serving_parse(sh_serving *serving, const char *text) SHOAL_CHECKED;

/* Sets the servers of a view. False: none of the chosen has a seat, so all serve. */
bool sh_serving_seat(const sh_serving *serving, sh_seat *seats, uint32_t count);

/* "..." replaces devices that do not fit. */
void sh_serving_print(const sh_serving *serving, char text[SH_SERVING_TEXT]);

#endif
