/* SPDX-License-Identifier: Apache-2.0 */
#include "node/link.h"

sh_status sh_link_prepare(sh_ring **ring, sh_loop *loop, const sh_view *view)
{
    return sh_ring_new(ring, &(sh_ring_options){.loop = loop,
                                                .view = view->number,
                                                .rank = view->rank,
                                                .devices = view->devices});
}

/* A call to link, carried out on the loop's thread. */
typedef struct link_request {
    sh_ring *ring;
    const sh_view *view;
} link_request;

static void do_connect(void *context)
{
    const link_request *asked = context;
    char identity[SH_LINK_IDENTITY];
    sh_view_identity(identity, asked->view, asked->view->rank);
    const sh_channel_target next = {
        .host = asked->view->next_host,
        .port = asked->view->next_port,
        .identity = identity,
        .key = asked->view->key_to_next,
    };
    if (sh_ring_connect(asked->ring, &next) != SH_OK)
        sh_ring_abort(asked->ring, SH_NETWORK, sh_message());
}

void sh_link_connect(sh_ring *ring, sh_loop *loop, const sh_view *view)
{
    sh_loop_call(loop, do_connect, &(link_request){ring, view});
}
