/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a zip archive, as numpy.savez and numpy.savez_compressed write it (.npz).
 *
 *     sh_zip_member member;
 *     SH_TRY(sh_zip_find(&member, fd, file_bytes, "x.npy"));
 *     SH_TRY(sh_zip_open(&inner, &at, fd, file_bytes, &member)); // its bytes begin at `at`
 *     close(inner);
 *
 * PKWARE's APPNOTE.TXT defines the format. This reads only what it needs: the central directory at
 * the end, members that are stored or deflated. Archives of 4 GB or more (zip64), of several parts,
 * and encrypted members are refused.
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
    uint64_t head_at;      /* of its local header */
    uint64_t packed_bytes; /* in the archive */
    uint64_t bytes;        /* unpacked */
    uint32_t crc;          /* of the unpacked bytes */
    bool deflated;
} sh_zip_member;

/*
 * Finds a member by its name. SH_NOT_FOUND where the archive is whole and has none of that name;
 * SH_FORMAT, SH_CORRUPT (it is no archive, or damaged), SH_UNSUPPORTED. The caller adds the
 * archive's name.
 */
sh_status sh_zip_find(sh_zip_member *member, int fd, uint64_t file_bytes,
                      const char *name) SHOAL_CHECKED;

/*
 * The bytes of a member in an open file, from `*at` on. `*inner` is owned: close it. Stored bytes
 * stay where they are; deflated ones are unpacked, once, into a file without a name, and checked
 * against their CRC. Fails with SH_CORRUPT, SH_NO_SPACE.
 */
sh_status sh_zip_open(int *inner, uint64_t *at, int fd, uint64_t file_bytes,
                      const sh_zip_member *member) SHOAL_CHECKED;

#endif
