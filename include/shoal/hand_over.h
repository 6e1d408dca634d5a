/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another device coordinates a running job from now on.
 *
 *     char receiver[SH_NAME_BYTES];
 *     if (sh_hand_over(receiver, "runs/a", NULL) == SH_OK)
 *         printf("%s\n", receiver);
 *
 * Threads: any.
 */
#ifndef SHOAL_HAND_OVER_H
#define SHOAL_HAND_OVER_H

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Asks the coordinator whose run is in the folder `run`; it takes part as a device afterwards, and
 * its run ends. `device`: who is to take its place; NULL: the first that can. `receiver` gets its
 * name. SH_REFUSED says why no device, or not this one, can. SH_NOT_FOUND: there is no such folder.
 * SH_LIMIT: nobody has answered within some seconds, so the run is not at work, or hangs.
 */
SHOAL_API sh_status sh_hand_over(char receiver[SH_NAME_BYTES], const char *run,
                                 const char *device) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
