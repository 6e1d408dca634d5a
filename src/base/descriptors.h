/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit on file descriptors. Each connection uses one, and remote hosts decide how many
 * connections there are, so a reserve is kept for the program's own files.
 *
 *     const int fd = accept(listening, NULL, NULL);
 *     if (sh_descriptors_are_short(fd))
 *         close(a connection that is not authenticated yet);
 *
 * Threads: any; call sh_descriptors_raise before starting threads.
 */
#ifndef SHOAL_BASE_DESCRIPTORS_H
#define SHOAL_BASE_DESCRIPTORS_H

#include <stdbool.h>

/* Training on eight devices opens twenty besides connections. */
#define SH_DESCRIPTORS_RESERVE 32

/* The limit is never raised beyond this. */
#define SH_DESCRIPTORS_MOST 65536

/* Raises the process's limit to what the system allows, if possible. Only a program calls it, never
 * the library. */
void sh_descriptors_raise(void);

/* Whether fewer than the reserve are left. `fresh` was just opened: the lowest free one. */
bool sh_descriptors_are_short(int fresh);

#endif
