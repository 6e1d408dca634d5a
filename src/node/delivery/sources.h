/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has the data, as a device that is admitted hears of it; as values and in a message.
 *
 *     sh_sources_write(&message, &sources);
 *     welcome.n_sources = sources.count;
 *     welcome.sources = message.list;
 *     ...
 *     SH_TRY(sh_sources_read(&sources, received->sources, received->n_sources));
 *
 * Threads: any; values.
 */
#ifndef SHOAL_NODE_SOURCES_H
#define SHOAL_NODE_SOURCES_H

#include "node/mail/orders.h"

#define SH_SOURCES_MAX 4

typedef struct sh_source {
    uint32_t device;
    sh_route route;
} sh_source;

typedef struct sh_sources {
    uint32_t count; /* the first is the coordinator's device */
    sh_source items[SH_SOURCES_MAX];
} sh_sources;

/* "data/DEVICE": under whose key others take the data from a device. */
void sh_data_identity(char identity[SH_LINK_IDENTITY], uint32_t device);

/* As protobuf-c wants them: the sources must outlive it. */
typedef struct sh_sources_message {
    Shoal__Donor items[SH_SOURCES_MAX], *list[SH_SOURCES_MAX];
} sh_sources_message;

void sh_sources_write(sh_sources_message *message, const sh_sources *sources);

/* SH_FORMAT where they make no sense. */
sh_status sh_sources_read(sh_sources *sources, Shoal__Donor *const *items,
                          size_t count) SHOAL_CHECKED;

#endif
