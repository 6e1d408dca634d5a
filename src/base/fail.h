/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failing: the only way to make a status other than SH_OK, so that none exists without a message.
 *
 *     if (batch == 0)
 *         return sh_fail(SH_INVALID, "--batch-size 0: a batch needs at least one sample");
 *     SH_TRY(open_labels(&file, path));
 *
 * Threads: any; the message belongs to the calling thread. What crosses threads carries its own
 * text.
 */
#ifndef SHOAL_BASE_FAIL_H
#define SHOAL_BASE_FAIL_H

#include <stddef.h>

#include "shoal/status.h"

#define SH_MESSAGE_BYTES 1024

/* Returns from the calling function with the status of a failed expression. */
#define SH_TRY(expression)                                                                         \
    do {                                                                                           \
        const sh_status sh_try_status_ = (expression);                                             \
        if (sh_try_status_ != SH_OK)                                                               \
            return sh_try_status_;                                                                 \
    } while (0)

/* Jumps to `done` with `status` set to that of a failed expression; for functions that clean up. */
#define SH_TRY_DONE(expression)                                                                    \
    do {                                                                                           \
        status = (expression);                                                                     \
        if (status != SH_OK)                                                                       \
            goto done;                                                                             \
    } while (0)

/* Sets the message and returns `code`. The message is one line without a final stop. */
sh_status sh_fail(sh_status code, const char *format, ...) SHOAL_CHECKED
    __attribute__((format(printf, 2, 3)));

/*
 * As sh_fail for a failed system call: takes the code from `error` (an errno value) and appends its
 * text, and the remedy where one is known (no space, no permission, too many files).
 */
sh_status sh_fail_errno(int error, const char *format, ...) SHOAL_CHECKED
    __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the message of a failure and returns `code` unchanged; SH_OK does
 * nothing. */
sh_status sh_fail_in(sh_status code, const char *format, ...) SHOAL_CHECKED
    __attribute__((format(printf, 2, 3)));

/* The failure for memory that could not be had: `bytes` and what they were for. */
sh_status sh_fail_memory(size_t bytes, const char *purpose) SHOAL_CHECKED;

/*
 * Tells the compiler what it cannot see: a failure is never SH_OK, so outputs are set wherever a
 * call returned SH_OK.
 */
static inline SHOAL_CHECKED sh_status sh_fail_is_failure(sh_status code)
{
    if (code == SH_OK)
        __builtin_unreachable();
    return code;
}

#define sh_fail(...) sh_fail_is_failure((sh_fail)(__VA_ARGS__))
#define sh_fail_errno(...) sh_fail_is_failure((sh_fail_errno)(__VA_ARGS__))
#define sh_fail_memory(...) sh_fail_is_failure((sh_fail_memory)(__VA_ARGS__))

#endif
