/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes another device the coordinator of a running job.
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
 * Asks the coordinator that writes the run folder `run`. It then continues as an ordinary device
 * and its run ends. `device`: its successor; NULL: the first that can. `receiver` gets its name.
 * SH_REFUSED: no device, or not this one, can. SH_NOT_FOUND: no such folder. SH_LIMIT: no answer
 * within some seconds; the run is not active, or hangs.
 */
SHOAL_API sh_status sh_hand_over(char receiver[SH_NAME_BYTES], const char *run,
                                 const char *device) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
