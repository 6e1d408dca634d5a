/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed sets: user data (source.h) converted once into a file of equally sized samples
 * (packed_head.h), which training reads and other devices fetch in blocks.
 *
 * The file is packed/DIGEST in the cache folder. The digest covers the sources and all options that
 * affect samples, so a changed source is packed again, as is a damaged file or another version. The
 * least recently opened files make room for others.
 *
 *     const sh_format faces_format = {.name = "faces", .open = sh_packed_dataset,
 *                                     .look = faces_look, ...};
 *
 * Threads: any; of concurrent processes one packs a set and the others wait.
 */
#ifndef SHOAL_DATA_PACKED_H
#define SHOAL_DATA_PACKED_H

#include "data/source.h"

/* Takes ownership of `fd`, also on failure. `path` is for messages. Fails with SH_FORMAT,
 * SH_VERSION, SH_CORRUPT (size or fingerprint), SH_REFUSED (another user owns or may write it). */
sh_status sh_packed_open(sh_dataset **dataset, const sh_format *format, int fd,
                         const char *path) SHOAL_CHECKED;

/* A format's `open`: finds or makes the packed set, blocking while samples are decoded. Fails like
 * `look` and sh_packing_make, and with SH_INVALID (empty spec). */
sh_status sh_packed_dataset(sh_dataset **dataset, const sh_format *format, const char *argument,
                            const sh_read_options *options) SHOAL_CHECKED;

#endif
