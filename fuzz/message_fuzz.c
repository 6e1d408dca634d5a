/* SPDX-License-Identifier: Apache-2.0 */
/* An accepted message packs to the same bytes. Valid orders and heartbeats are valid again after
 * being written and read. */
#include "net/message.h"

#include <stdlib.h>
#include <string.h>

#include "node/protocol/orders.h"

#define DEVICE 2 /* the receiver of orders; the seeds have a seat for it */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_orders(const Shoal__Order *body)
{
    static sh_orders orders, again;
    static sh_orders_message written;
    if (sh_orders_read(&orders, body, DEVICE) != SH_OK)
        return;
    sh_orders_write(&written, &orders);
    if (sh_orders_read(&again, &written.body, DEVICE) != SH_OK ||
        memcmp(&again, &orders, sizeof again) != 0)
        abort();
}

static void read_heartbeat(const Shoal__Notice *body)
{
    static sh_heartbeat heartbeat, again;
    static sh_heartbeat_message written;
    if (sh_heartbeat_read(&heartbeat, body) != SH_OK)
        return;
    sh_heartbeat_write(&written, &heartbeat);
    if (sh_heartbeat_read(&again, &written.body) != SH_OK ||
        memcmp(&again.notice.held, &heartbeat.notice.held, sizeof again.notice.held) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Shoal__Message *message;
    if (sh_message_unpack(&message, data, size) != SH_OK)
        return 0;
    uint8_t *again;
    size_t count;
    if (sh_message_pack(&again, &count, message) != SH_OK || count != size ||
        memcmp(again, data, size) != 0)
        abort();
    free(again);
    if (message->body_case == SHOAL__MESSAGE__BODY_ORDER)
        read_orders(message->order);
    if (message->body_case == SHOAL__MESSAGE__BODY_NOTICE)
        read_heartbeat(message->notice);
    sh_message_free(message);
    return 0;
}
