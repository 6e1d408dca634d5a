/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects everything wrong with a folder or file for one message: the first ones in words, the
 * others as a count.
 *
 *     sh_diagnostics bad = {0};
 *     sh_diagnostics_add(&bad, "%s: holds no photos", name);
 *     SH_TRY(sh_diagnostics_fail(&bad, SH_INVALID, folder));   // SH_OK if there are none
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BASE_DIAGNOSTICS_H
#define SHOAL_BASE_DIAGNOSTICS_H

#include "base/fail.h"

#define SH_DIAGNOSTICS_NAMED 6
#define SH_DIAGNOSTICS_BYTES 720

/* All zero at first. */
typedef struct sh_diagnostics {
    size_t count, used;
    char text[SH_DIAGNOSTICS_BYTES];
} sh_diagnostics;

/* Control characters and malformed UTF-8 become '?'. */
void sh_diagnostics_add(sh_diagnostics *diagnostics, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* SH_OK if there are none, else "place: this; that; and 3 more". */
sh_status sh_diagnostics_fail(const sh_diagnostics *diagnostics, sh_status code,
                              const char *place) SHOAL_CHECKED;

#endif
