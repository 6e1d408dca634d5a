/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File descriptors: how many this process may have, and whether few are left. Connections take one
 * each, and whoever connects decides how many there are; so some are kept for the program's own
 * files: a checkpoint, the journal, a device's links.
 *
 *     sh_descriptors_raise();                          // a program, at its start
 *     const int fd = accept(listening, NULL, NULL);
 *     if (sh_descriptors_are_short(fd))
 *         close(that of somebody who has not proved who he is);
 *
 * Threads: any; raise before others begin.
 */
#ifndef SHOAL_BASE_DESCRIPTORS_H
#define SHOAL_BASE_DESCRIPTORS_H

#include <stdbool.h>

/* Kept for the program's own files. A training on eight devices opens twenty besides connections.
 */
#define SH_DESCRIPTORS_RESERVE 32

/* Beyond it a limit is not raised: as many as a job has devices and strangers, many times over. */
#define SH_DESCRIPTORS_MOST 65536

/* Raises the process's limit to what the system allows. Best effort. It is the process's, not the
 * library's: only a program calls it. */
void sh_descriptors_raise(void);

/* Whether fewer than the reserve are left, as `fresh` tells, which the system has just given: it is
 * the lowest that was free. */
bool sh_descriptors_are_short(int fresh);

#endif
