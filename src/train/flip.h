/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a bit of this device's weights flips during a training, as it would in faulty memory.
 * The environment asks for it:
 *
 *     SHOAL_TEST_FLIP=DEVICE@STEPS   on the device of that name, when so many steps are applied,
 *                                    before the stage that follows; once
 *
 *     SHOAL_TEST_FLIP=DEVICE@STEPS+  and is stuck from then on, whatever is written there
 *
 *     SHOAL_TEST_FLIP=DEVICE@gift    in each stripe of a replica that the device of that name
 *                                    gives to another one (train/replica_sender.h); its own stays
 * right
 *
 *     SHOAL_TEST_FLIP=first-grain    in the hash that devices compare before they train
 *
 *     SH_TRY(sh_flip_arm(&flip, "laptop"));
 *     if (flip.armed)
 *         sh_flip_when_due(&flip, replica);     // before each stage
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_TRAIN_FLIP_H
#define SHOAL_TRAIN_FLIP_H

#include <stdbool.h>

#include "base/digest.h"
#include "train/replica.h"

typedef struct sh_flip {
    bool armed;
    uint64_t steps;
    bool sticks, stuck; /* the bit is to stay as it is once it has flipped; and it does */
    uint32_t value;     /* of the bit that is stuck */
    bool in_gifts;      /* it flips in what this device gives to others */
} sh_flip;

/* Armed, or in_gifts, if the environment names this device. SH_INVALID: it has another form. */
sh_status sh_flip_arm(sh_flip *flip, const char *device) SHOAL_CHECKED;

/* Flips the bit where the replica has come so far, under its lock, and disarms, or keeps the bit as
 * it is from then on. */
void sh_flip_when_due(sh_flip *flip, sh_replica *replica);

/* Changes the digest of that gradient where the environment asks for it. */
void sh_flip_first_grain(char hex[SH_DIGEST_TEXT]);

#endif
