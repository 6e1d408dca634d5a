/* SPDX-License-Identifier: Apache-2.0 */
/* Makes functions that have a safer equal compile errors. The build forces it into every file. */
#ifndef SHOAL_BASE_BANNED_H
#define SHOAL_BASE_BANNED_H

/* Their headers first, so that the poison meets uses only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
/* With clang these are macros of the C library. */
#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll atof gets
#endif

#endif
