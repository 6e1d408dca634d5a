/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample of the monitor as a message: the known figures only.
 *
 *     double values[SH_FIGURE_COUNT];
 *     sh_sample_message_write(&message, values, &sample);
 *     SH_TRY(sh_sample_message_read(&sample, &message));
 *
 * Threads: any; values.
 */
#ifndef SHOAL_NODE_SAMPLE_MESSAGE_H
#define SHOAL_NODE_SAMPLE_MESSAGE_H

#include "monitor/sample.h"
#include "net/message.h"

/* `values` has SH_FIGURE_COUNT places and must outlive the message. */
void sh_sample_message_write(Shoal__Sample *message, double *values, const sh_sample *sample);

/* SH_FORMAT: unknown figures. */
sh_status sh_sample_message_read(sh_sample *sample, const Shoal__Sample *message) SHOAL_CHECKED;

#endif
