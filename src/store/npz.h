/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes named tensors in the npz format of NumPy: a zip archive with an array (.npy) for each.
 *
 * Members are not compressed, and their date is 1 January 1980, so equal input gives equal bytes.
 *
 *     SH_TRY(sh_npz_write("model.npz", tensors, count));       // numpy.load("model.npz")[name]
 *
 * Threads: any.
 */
#ifndef SHOAL_STORE_NPZ_H
#define SHOAL_STORE_NPZ_H

#include "store/safetensors.h"

/* Replaces `path` atomically (store/file.h). Everything is borrowed during the call. SH_LIMIT: the
 * file would have 4 GiB or more. */
sh_status sh_npz_write(const char *path, const sh_stored_tensor *tensors,
                       size_t count) SHOAL_CHECKED;

#endif
