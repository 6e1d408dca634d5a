/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's devices (shoal/device_info.h) as a message. Reading checks every number.
 *
 *     SH_TRY(sh_roster_message_new(&roster, &list, samples));
 *     Shoal__Message message = SH_MESSAGE_INIT(ROSTER, roster, &roster->body);
 *     ...
 *     free(roster);
 *     SH_TRY(sh_roster_read(&list, message->roster));
 *
 * Threads: any; values.
 */
#ifndef SHOAL_NODE_ROSTER_MESSAGE_H
#define SHOAL_NODE_ROSTER_MESSAGE_H

#include "monitor/sample.h"
#include "net/message.h"
#include "shoal/device_info.h"

/* Borrows from the list. */
typedef struct sh_roster_message {
    Shoal__Roster body;
    struct sh_roster_entry_message *entries;
} sh_roster_message;

/* `samples`: the newest of each device, or NULL; read during the call. Their figures replace those
 * of the list. `*message` is owned: free(). SH_NO_MEMORY. */
sh_status sh_roster_message_new(sh_roster_message **message, const sh_device_list *list,
                                const sh_sample *const *samples) SHOAL_CHECKED;

/* `*list` is owned: sh_device_list_release. SH_FORMAT: inconsistent. SH_NO_MEMORY. */
sh_status sh_roster_read(sh_device_list *list, const Shoal__Roster *body) SHOAL_CHECKED;

#endif
