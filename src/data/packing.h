/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the file of a packed set: decodes every sample of a source, on all cores, each once.
 *
 *     SH_TRY(sh_packing_make(&fd, path, source, &options));
 *     SH_TRY(sh_packed_open(&dataset, format, fd, path));
 *
 * It writes packed/DIGEST.part and notes in packed/DIGEST.done which samples are in it, so what is
 * interrupted goes on where it was. The file gets its name when it is whole and on the disk.
 *
 * Threads: any; processes that pack the same source wait for each other.
 */
#ifndef SHOAL_DATA_PACKING_H
#define SHOAL_DATA_PACKING_H

#include "base/cache.h"
#include "data/source.h"

/*
 * Opens the packed file of the source, made now where it is not there: `*fd` is owned: close it.
 * Where no cache folder can be written it is a file without a name. Fails with
 *
 *     SH_CORRUPT    samples are damaged, unless options->skip_damaged: names the first ones, counts
 *                   all, and the log has each (data.damaged); or sources changed meanwhile
 *     SH_INVALID    nothing is left of a split
 *     SH_NO_SPACE   before anything is decoded: what it takes and what there is
 *     others        as the source's `read` and the disk do
 */
sh_status sh_packing_make(int *fd, char path[SH_CACHE_PATH], const sh_source *source,
                          const sh_read_options *options) SHOAL_CHECKED;

#endif
