/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of noise, of any shape: for measuring how fast a model trains where its data is not at
 * hand.
 *
 *     SH_TRY(sh_noise_open(&data, &(sh_dataset_info){.channels = 3, .height = 32, .width = 32,
 *                                                    .classes = 10, .count = {64, 16}}));
 *     sh_dataset_close(data);
 *
 * Threads: as dataset.h.
 */
#ifndef SHOAL_DATA_NOISE_H
#define SHOAL_DATA_NOISE_H

#include "data/dataset.h"

/* As `info` says; its name and fingerprint do not matter. Owned: sh_dataset_close it. */
sh_status sh_noise_open(sh_dataset **dataset, const sh_dataset_info *info) SHOAL_CHECKED;

#endif
