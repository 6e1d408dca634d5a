/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a packed file by decoding every sample of a source once, on all cores.
 *
 * Writes packed/DIGEST.part and records finished samples in packed/DIGEST.done, to resume after an
 * interruption. The complete file is synced, then renamed.
 *
 *     SH_TRY(sh_packing_make(&fd, path, source, &options));
 *     SH_TRY(sh_packed_open(&dataset, format, fd, path));
 *
 * Threads: any; processes that pack one source wait for each other.
 */
#ifndef SHOAL_DATA_PACKING_H
#define SHOAL_DATA_PACKING_H

#include "base/cache.h"
#include "data/source.h"

/*
 * Opens or makes the packed file. The caller closes `*fd`. Without a writable cache folder the file
 * is unnamed. Fails with
 *
 *     SH_CORRUPT    damaged samples, unless options->skip_damaged (the message names the first and
 *                   counts all; the log has each: data.damaged), or changed sources
 *     SH_INVALID    a split has no samples left
 *     SH_NO_SPACE   before decoding: the bytes needed and available
 *     others        from the source's `read` and the disk
 */
sh_status sh_packing_make(int *fd, char path[SH_CACHE_PATH], const sh_source *source,
                          const sh_read_options *options) SHOAL_CHECKED;

#endif
