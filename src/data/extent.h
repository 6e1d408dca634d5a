/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A range of bytes of an open file, read or written without moving its position.
 *
 *     size_t got;
 *     SH_TRY(sh_extent_read(&got, fd, offset, bytes, sizeof bytes));
 *     if (got < sizeof bytes)
 *         return sh_fail(SH_CORRUPT, "%s: became shorter while it was in use", name);
 *
 * Threads: any, several at once on one file.
 */
#ifndef SHOAL_DATA_EXTENT_H
#define SHOAL_DATA_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* Reads `count` bytes at `offset`; `*got` is less than `count` where the file ends. Fails with the
 * system's error, without the file's name. */
sh_status sh_extent_read(size_t *got, int fd, uint64_t offset, uint8_t *bytes,
                         size_t count) SHOAL_CHECKED;

/* Reads all `count` bytes at `offset`; SH_CORRUPT where the file ends before. */
sh_status sh_extent_read_all(int fd, uint64_t offset, uint8_t *bytes, size_t count) SHOAL_CHECKED;

/* Writes all `count` bytes at `offset`. Fails with the system's error, without the file's name. */
sh_status sh_extent_write(int fd, uint64_t offset, const uint8_t *bytes,
                          size_t count) SHOAL_CHECKED;

/* Brings the bytes into the system's page cache, and waits for them; whether all are there. */
bool sh_extent_touch(int fd, uint64_t offset, size_t count);

#endif
