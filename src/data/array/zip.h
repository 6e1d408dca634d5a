/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads members of a zip archive written by numpy.savez or numpy.savez_compressed (.npz).
 *
 * PKWARE's APPNOTE.TXT defines the format. Members must be stored or deflated. Archives of 4 GB or
 * more (zip64), archives of several parts, and encrypted members are rejected.
 *
 *     sh_zip_member member;
 *     SH_TRY(sh_zip_find(&member, fd, file_bytes, "x.npy"));
 *     SH_TRY(sh_zip_open(&inner, &at, fd, file_bytes, &member)); // at byte `at` of `inner`
 *     close(inner);
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_ARRAY_ZIP_H
#define SHOAL_DATA_ARRAY_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_zip_member {
    uint64_t head_at;      /* offset of its local header */
    uint64_t packed_bytes; /* in the archive */
    uint64_t bytes;        /* unpacked */
    uint32_t crc;          /* of the unpacked bytes */
    bool deflated;
} sh_zip_member;

/*
 * SH_NOT_FOUND if the archive is intact but has no such member; SH_FORMAT (not an archive),
 * SH_CORRUPT (damaged), SH_UNSUPPORTED, SH_LIMIT. The caller adds the archive's name to the
 * message.
 */
sh_status sh_zip_find(sh_zip_member *member, int fd, uint64_t file_bytes,
                      const char *name) SHOAL_CHECKED;

/*
 * The member's bytes begin at `*at` of the descriptor `*inner`, which is owned: close it. For a
 * stored member, `*inner` is a duplicate of `fd`. A deflated one is unpacked into an unnamed
 * temporary file, and its CRC is checked. Fails with SH_CORRUPT, SH_NO_SPACE.
 */
sh_status sh_zip_open(int *inner, uint64_t *at, int fd, uint64_t file_bytes,
                      const sh_zip_member *member) SHOAL_CHECKED;

#endif
