/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test includes: cmocka with the headers it wants before it, and checks of a
 * status. */
#ifndef SHOAL_BASE_TEST_H
#define SHOAL_BASE_TEST_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "base/fail.h"

/* The call succeeds; prints its message where it does not. */
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        if ((call) != SH_OK)                                                                       \
            fail_msg("%s: %s", #call, sh_message());                                               \
    } while (0)

/* The call fails with this code and a message that has `part` in it. */
#define assert_fails(call, code, part)                                                             \
    do {                                                                                           \
        const sh_status got_ = (call);                                                             \
        if (got_ != (code))                                                                        \
            fail_msg("%s: got '%s', expected '%s' (%s)", #call, sh_status_text(got_),              \
                     sh_status_text(code), sh_message());                                          \
        if (strstr(sh_message(), part) == NULL)                                                    \
            fail_msg("%s: message '%s' lacks '%s'", #call, sh_message(), part);                    \
    } while (0)

#endif
