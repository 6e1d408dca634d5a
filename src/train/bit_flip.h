/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: flips a bit of this device's weights during training, as faulty memory would. An
 * environment variable requests it:
 *
 *     SHOAL_TEST_FLIP=DEVICE@STEPS   once, on the device with that name, before the stage that
 *                                    follows after STEPS applied steps
 *     SHOAL_TEST_FLIP=DEVICE@STEPS+  the bit also stays stuck from then on
 *     SHOAL_TEST_FLIP=DEVICE@gift    in each stripe of a replica that the device sends to another
 *                                    one (train/replica_sender.h); its own replica stays correct
 *     SHOAL_TEST_FLIP=DEVICE@lie/N   in what the device adds to the sum of every Nth step
 *     SHOAL_TEST_FLIP=first-grain    in the hash that devices compare before they train
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_TRAIN_BIT_FLIP_H
#define SHOAL_TRAIN_BIT_FLIP_H

#include <stdbool.h>

#include "base/digest.h"
#include "train/replica.h"

typedef struct sh_bit_flip {
    bool armed;
    uint64_t steps;
    bool sticks, stuck;  /* the bit shall stay stuck after the flip; it is stuck now */
    uint32_t value;      /* of the stuck bit */
    bool in_transfers;   /* flip the bit in what this device sends */
    uint32_t lies_every; /* steps; 0: never */
} sh_bit_flip;

/* Sets `armed`, `in_transfers` or `lies_every` if the variable names this device. SH_INVALID: it is
 * malformed. */
sh_status sh_bit_flip_arm(sh_bit_flip *flip, const char *device) SHOAL_CHECKED;

/* Call before each stage. At the requested step: flips the bit under the replica's lock, then
 * disarms or keeps it stuck. */
void sh_bit_flip_when_due(sh_bit_flip *flip, sh_replica *replica);

/* Whether the device lies in the step after `steps` applied ones. */
bool sh_bit_flip_lies(const sh_bit_flip *flip, uint64_t steps);

/* Changes the digest of the first grain if the environment requests it. */
void sh_bit_flip_first_grain(char hex[SH_DIGEST_TEXT]);

#endif
