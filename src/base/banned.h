/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that have a safer equal are compile errors. Forced into every source file by the build.
 */
#ifndef SHOAL_BASE_BANNED_H
#define SHOAL_BASE_BANNED_H

/* Their headers first, so that the poison meets uses only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll atof gets
#endif

#endif
