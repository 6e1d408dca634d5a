/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named tensors as NumPy keeps them: a zip archive with an array (.npy) for each.
 *
 *     SH_TRY(sh_npz_write("model.npz", tensors, count));       // numpy.load("model.npz")[name]
 *
 * Members are stored, not compressed, and dated 1 January 1980: equal input gives equal bytes.
 *
 * Threads: any.
 */
#ifndef SHOAL_STORE_NPZ_H
#define SHOAL_STORE_NPZ_H

#include "store/safetensors.h"

/* Replaces `path` by a file of these tensors, in this order, atomically (store/file.h). SH_LIMIT
 * where it would have 4 GiB or more. */
sh_status sh_npz_write(const char *path, const sh_stored_tensor *tensors,
                       size_t count) SHOAL_CHECKED;

#endif
