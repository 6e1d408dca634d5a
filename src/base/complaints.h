/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects everything wrong with a folder or file for one message: the first ones in words, the
 * others as a count.
 *
 *     sh_complaints bad = {0};
 *     sh_complaints_add(&bad, "%s: holds no photos", name);
 *     SH_TRY(sh_complaints_fail(&bad, SH_INVALID, folder));   // SH_OK if there are none
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BASE_COMPLAINTS_H
#define SHOAL_BASE_COMPLAINTS_H

#include "base/fail.h"

#define SH_COMPLAINTS_NAMED 6
#define SH_COMPLAINTS_BYTES 720

typedef struct sh_complaints {
    size_t count, used;
    char text[SH_COMPLAINTS_BYTES];
} sh_complaints;

/* Adds one. Control characters and malformed UTF-8 become '?'. */
void sh_complaints_add(sh_complaints *complaints, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* SH_OK if there are none, else the failure: "place: this; that; and 3 more". */
sh_status sh_complaints_fail(const sh_complaints *complaints, sh_status code,
                             const char *place) SHOAL_CHECKED;

#endif
