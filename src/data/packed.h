/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed sets: user data (source.h) converted once into a file of equally sized samples
 * (packed_head.h), which training reads and other devices fetch in blocks.
 *
 *     const sh_format faces_format = {.name = "faces", .open = sh_packed_dataset,
 *                                     .look = faces_look, ...};
 *
 * The file is packed/DIGEST in the cache folder. The digest covers the sources and all options
 * that affect samples (sh_source), so a changed source is packed again; so is a damaged file or
 * another version. The least recently opened files are removed when others need room.
 *
 * Threads: any; of processes that open one set concurrently, one packs and the others wait.
 */
#ifndef SHOAL_DATA_PACKED_H
#define SHOAL_DATA_PACKED_H

#include "data/source.h"

/*
 * Opens a packed file; takes ownership of `fd`, also on failure. `path` is for messages. Fails
 * with SH_FORMAT, SH_VERSION, SH_CORRUPT (size, or fingerprint as verified.h checks it),
 * SH_REFUSED (another user owns or may write it).
 */
sh_status sh_packed_open(sh_dataset **dataset, const sh_format *format, int fd,
                         const char *path) SHOAL_CHECKED;

/*
 * A format's `open`: surveys the source and finds or makes its packed set (packing.h), blocking
 * while samples are decoded. Fails like `look` and sh_packing_make, and with SH_INVALID (empty
 * spec).
 */
sh_status sh_packed_dataset(sh_dataset **dataset, const sh_format *format, const char *argument,
                            const sh_read_options *options) SHOAL_CHECKED;

#endif
