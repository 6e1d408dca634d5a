/* SPDX-License-Identifier: Apache-2.0 */
#include "node/protocol/sample_message.h"

#include <math.h>

void sh_sample_message_write(Shoal__Sample *message, double *values, const sh_sample *sample)
{
    shoal__sample__init(message);
    message->at_ns = sample->at_ns;
    message->figures = values;
    for (int k = 0; k < SH_FIGURE_COUNT; k++)
        if (isfinite(sample->figures[k])) {
            message->known |= 1ULL << k;
            message->figures[message->n_figures++] = sample->figures[k];
        }
}

sh_status sh_sample_message_read(sh_sample *sample, const Shoal__Sample *message)
{
    size_t next = 0;
    sh_sample_clear(sample);
    sample->at_ns = message->at_ns;
    if (message->known >> SH_FIGURE_COUNT != 0 ||
        (size_t)__builtin_popcountll(message->known) != message->n_figures)
        return sh_fail(SH_FORMAT, "a sample with unknown figures");
    for (int k = 0; k < SH_FIGURE_COUNT; k++)
        if ((message->known >> k & 1) != 0)
            sample->figures[k] = message->figures[next++];
    return SH_OK;
}
