/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frame headers. Every message and every piece of a tensor on the wire starts with one.
 *
 *     byte  0        4      6        8      12     16    18        20         24
 *           | bytes  | kind | bucket | view | step | hop | attempt | reserved | body ...
 *
 * All fields are little-endian. `bytes` is the size of the body. `reserved` is zero. The body of a
 * control frame is a packed message (net/message.h), and its other fields are zero. In raw frames,
 * which are all others, the senders define the fields:
 *
 *     state, sum, tail           train/transfer.h
 *     segment                    reduce/ring.c, reduce/servers.c
 *     update                     reduce/exchange.c
 *     manifest, block, network   node/delivery/supply.h
 *
 *     unsigned char wire[SH_FRAME_BYTES];
 *     sh_frame_encode(wire, &head);
 *     SH_TRY(sh_frame_decode(&head, wire));
 *
 * Threads: any.
 */
#ifndef SHOAL_NET_FRAME_H
#define SHOAL_NET_FRAME_H

#include <stdint.h>

#include "base/fail.h"

#define SH_FRAME_BYTES 24
#define SH_FRAME_CONTROL_MAX (256u * 1024) /* body bytes */
#define SH_FRAME_RAW_MAX (1u << 30)        /* likewise; receivers expect fewer */

/* Sent on the wire: never renumber, only append. */
typedef enum sh_frame_kind {
    SH_FRAME_CONTROL = 1,
    SH_FRAME_STATE = 2,    /* a piece of the weights and optimiser state */
    SH_FRAME_SEGMENT = 3,  /* a piece of a reduction */
    SH_FRAME_SUM = 4,      /* a piece of a sum, for a device that follows */
    SH_FRAME_TAIL = 5,     /* a stage is complete */
    SH_FRAME_MANIFEST = 6, /* describes a data set; without a body: a request for it */
    SH_FRAME_BLOCK = 7,    /* a piece of a data set; without a body: a request for it */
    SH_FRAME_UPDATE = 8,   /* an update of devices that train independently */
    SH_FRAME_NETWORK = 9,  /* an imported model's skeleton; without a body: a request for it */
} sh_frame_kind;

typedef struct sh_frame {
    uint32_t bytes;
    uint16_t kind;
    uint16_t bucket;
    uint32_t view;
    uint32_t step;
    uint16_t hop;
    uint16_t attempt;
} sh_frame;

/* SH_FORMAT: unknown kind, body too large, or a control frame with nonzero raw fields. */
sh_status sh_frame_check(const sh_frame *head) SHOAL_CHECKED;

void sh_frame_encode(unsigned char wire[SH_FRAME_BYTES], const sh_frame *head);

/* SH_FORMAT: as sh_frame_check, or nonzero reserved bytes. */
sh_status sh_frame_decode(sh_frame *head, const unsigned char wire[SH_FRAME_BYTES]) SHOAL_CHECKED;

#endif
