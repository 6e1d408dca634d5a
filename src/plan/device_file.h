/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of this device, which `bench` measures and `plan` reads: device.json in the user's
 * cache folder.
 *
 * Format: a JSON object {"format": "shoal.device", "version": 2, "variant": text, "lanes": n,
 * "rates": {"matrix": [one, all], "convolution": .., "copy": .., "triad": ..}, "operations":
 * [[name, class (16 hexadecimal digits), size, flops, bytes, seconds, count], ...]}. Units as in
 * plan/measurement.h. Reading refuses a damaged file or another version with the advice to measure
 * again.
 *
 *     char path[SH_PATH_BYTES];
 *     SH_TRY(sh_device_file_path(path));
 *     SH_TRY(sh_device_file_write(path, &known));
 *     SH_TRY(sh_device_file_read(&known, path));
 *
 * Threads: any.
 */
#ifndef SHOAL_PLAN_DEVICE_FILE_H
#define SHOAL_PLAN_DEVICE_FILE_H

#include "plan/measurement.h"
#include "store/file.h"

#define SH_DEVICE_FILE_MOST_BYTES ((size_t)16 << 20)

/*
 * $XDG_CACHE_HOME/shoal/device.json, or ~/.cache/shoal/device.json. SH_NOT_FOUND: neither
 * XDG_CACHE_HOME nor HOME is an absolute path.
 */
sh_status sh_device_file_path(char path[SH_PATH_BYTES]) SHOAL_CHECKED;

/* Replaces the file atomically; creates a missing folder (mode 0700). */
sh_status sh_device_file_write(const char *path, const sh_measurements *known) SHOAL_CHECKED;

/* `*known` is owned: sh_measurements_release. SH_NOT_FOUND (no file), SH_VERSION, SH_CORRUPT. */
sh_status sh_device_file_read(sh_measurements *known, const char *path) SHOAL_CHECKED;

/* The message names the error and its place. */
sh_status sh_device_file_parse(sh_measurements *known, const char *text,
                               size_t bytes) SHOAL_CHECKED;

#endif
