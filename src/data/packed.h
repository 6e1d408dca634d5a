/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed sets: what people have (source.h), made once into a file of samples of one size
 * (packed_head.h), which training reads and other devices get block by block.
 *
 *     const sh_format faces_format = {.name = "faces", .open = sh_packed_dataset,
 *                                     .look = faces_look, ...};
 *
 * The file lies in the cache folder as packed/DIGEST, the digest being that of the sources and of
 * every option that decides the samples (sh_source), so a folder that has changed is packed anew,
 * and so is one whose packed file is damaged or of another version. Files of sets that have not
 * been opened for longest go when others need room.
 *
 * Threads: any; several processes may open one set at once: one packs, the others wait.
 */
#ifndef SHOAL_DATA_PACKED_H
#define SHOAL_DATA_PACKED_H

#include "data/source.h"

/*
 * A packed file as a data set: `fd` is taken over (owned) also on failure, `path` is for messages.
 * Fails with SH_FORMAT, SH_VERSION, SH_CORRUPT (its size, its fingerprint; verified.h says when
 * that is computed), SH_REFUSED where another user owns it or may write it.
 */
sh_status sh_packed_open(sh_dataset **dataset, const sh_format *format, int fd,
                         const char *path) SHOAL_CHECKED;

/*
 * A format's `open`: looks through the source, finds the packed set of it or makes it (packing.h).
 * Blocking, for as long as decoding all samples takes. Fails as `look` and sh_packing_make do, and
 * with SH_INVALID where the spec names nothing.
 */
sh_status sh_packed_dataset(sh_dataset **dataset, const sh_format *format, const char *argument,
                            const sh_read_options *options) SHOAL_CHECKED;

#endif
