/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads or writes a byte range of an open file without moving its position.
 *
 * Failures have the system's error, without the file's name.
 *
 *     size_t got;
 *     SH_TRY(sh_extent_read(&got, fd, offset, bytes, sizeof bytes));
 *     if (got < sizeof bytes)
 *         return sh_fail(SH_CORRUPT, "%s: became shorter while it was in use", name);
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_EXTENT_H
#define SHOAL_DATA_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* `*got` is less than `count` at the end of the file. */
sh_status sh_extent_read(size_t *got, int fd, uint64_t offset, uint8_t *bytes,
                         size_t count) SHOAL_CHECKED;

/* SH_CORRUPT if the file ends earlier. */
sh_status sh_extent_read_all(int fd, uint64_t offset, uint8_t *bytes, size_t count) SHOAL_CHECKED;

sh_status sh_extent_write(int fd, uint64_t offset, const uint8_t *bytes,
                          size_t count) SHOAL_CHECKED;

/* Loads bytes into the system's page cache, blocking. False if some do not exist. */
bool sh_extent_touch(int fd, uint64_t offset, size_t count);

#endif
