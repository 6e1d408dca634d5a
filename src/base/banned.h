/* SPDX-License-Identifier: Apache-2.0 */
/* Turns functions that have a safer equivalent into compile errors. The build includes it in every
 * file. */
#ifndef SHOAL_BASE_BANNED_H
#define SHOAL_BASE_BANNED_H

/* Included before the poison, which rejects declarations too. */
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
