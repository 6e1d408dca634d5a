/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a view to the ring that it describes.
 *
 *     SH_TRY(sh_link_prepare(&ring, loop, &view));   // then open the door to the device before
 *     sh_link_connect(ring, loop, &view);            // when all doors are open
 *
 * Threads: any but the loop's.
 */
#ifndef SHOAL_NODE_LINK_H
#define SHOAL_NODE_LINK_H

#include "node/view.h"
#include "reduce/ring.h"

/* This device's place in the view's ring, without links. Owned: close its engine. */
sh_status sh_link_prepare(sh_ring **ring, sh_loop *loop, const sh_view *view) SHOAL_CHECKED;

/* Links to the next device of the view; what goes wrong ends the ring's rounds. */
void sh_link_connect(sh_ring *ring, sh_loop *loop, const sh_view *view);

#endif
