/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only way to create a status other than SH_OK, so that each has a message.
 *
 *     if (batch == 0)
 *         return sh_fail(SH_INVALID, "--batch-size 0: a batch needs at least one sample");
 *     SH_TRY(open_labels(&file, path));
 *
 * Threads: any; each thread has its own message.
 */
#ifndef SHOAL_BASE_FAIL_H
#define SHOAL_BASE_FAIL_H

#include <stddef.h>

#include "shoal/status.h"

#define SH_MESSAGE_BYTES 1024

#define SH_TRY(expression)                                                                         \
    do {                                                                                           \
        const sh_status sh_try_status_ = (expression);                                             \
        if (sh_try_status_ != SH_OK)                                                               \
            return sh_try_status_;                                                                 \
    } while (0)

/* Stores the status and, on failure, jumps to `done`. */
#define SH_TRY_DONE(expression)                                                                    \
    do {                                                                                           \
        status = (expression);                                                                     \
        if (status != SH_OK)                                                                       \
            goto done;                                                                             \
    } while (0)

/* Returns `code`. The message is one line without a final full stop. */
sh_status sh_fail(sh_status code, const char *format, ...) SHOAL_CHECKED
    __attribute__((format(printf, 2, 3)));

/* Reports a failed system call: derives the code from `error` (an errno value) and appends its
 * text, and the remedy if one is known (no space, no permission, too many files). */
sh_status sh_fail_errno(int error, const char *format, ...) SHOAL_CHECKED
    __attribute__((format(printf, 2, 3)));

/* Prepends "context: " to a failure's message and returns `code`; SH_OK does nothing. */
sh_status sh_fail_in(sh_status code, const char *format, ...) SHOAL_CHECKED
    __attribute__((format(printf, 2, 3)));

sh_status sh_fail_memory(size_t bytes, const char *purpose) SHOAL_CHECKED;

/* Tells the compiler that outputs are set whenever a call returned SH_OK. */
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
