/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The internal part of a stop request (public part: shoal/train.h): a flag that can be read at any
 * time, and a file descriptor to wait on, which becomes readable.
 *
 *     if (sh_stop_requested(stop))
 *         part.stop = true;
 *
 * Threads: any; requesting is also safe in a signal handler.
 */
#ifndef SHOAL_BASE_STOP_H
#define SHOAL_BASE_STOP_H

#include <stdbool.h>

#include "shoal/train.h"

/* Always false for NULL. */
bool sh_stop_requested(const sh_stop *stop);

/* Readable once a stop was requested; -1 for NULL. Borrowed until sh_stop_free. */
int sh_stop_fd(const sh_stop *stop);

#endif
