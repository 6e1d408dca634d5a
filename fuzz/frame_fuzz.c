/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of frames in pieces, cut as the first byte says. Accepted headers encode to the same
 * bytes.
 */
#include "net/inbox.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_head(const sh_inbox *inbox)
{
    unsigned char again[SH_FRAME_BYTES];
    sh_frame_encode(again, &inbox->head);
    if (memcmp(again, inbox->wire, sizeof again) != 0)
        abort();
}

static sh_status feed(sh_inbox *inbox, const uint8_t *data, size_t size, size_t most)
{
    static uint64_t sums[64];
    static const size_t widths[] = {0, sizeof(uint32_t), sizeof(uint64_t)};
    while (size > 0) {
        void *place;
        size_t room;
        sh_inbox_event event;
        SH_TRY(sh_inbox_place(inbox, &place, &room));
        size_t piece = room < most ? room : most;
        piece = piece < size ? piece : size;
        memcpy(place, data, piece);
        data += piece;
        size -= piece;
        SH_TRY(sh_inbox_filled(inbox, piece, &event));
        if (event == SH_INBOX_ASK) {
            check_head(inbox);
            const sh_sink sink = {
                .adds = widths[inbox->head.hop % 3], .data = sums, .bytes = sizeof sums};
            SH_TRY(sh_inbox_take(inbox, &sink, &event));
        }
        if (event == SH_INBOX_CONTROL || event == SH_INBOX_DONE)
            sh_inbox_next(inbox);
    }
    return SH_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    sh_inbox inbox = {0};
    if (feed(&inbox, data + 1, size - 1, (size_t)data[0] + 1) != SH_OK && sh_message()[0] == 0)
        abort(); /* a failure without a message */
    sh_inbox_release(&inbox);
    return 0;
}
