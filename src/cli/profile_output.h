/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the profile of a training, which SHOAL_PROFILE requests.
 *
 *     sh_profile_level level;
 *     if (!sh_profile_level_of(&level, getenv("SHOAL_PROFILE")))
 *         return sh_console_fail("...");
 *     sh_profile_output_print(&summary.profile, stderr);
 *
 * Threads: main only.
 */
#ifndef SHOAL_CLI_PROFILE_OUTPUT_H
#define SHOAL_CLI_PROFILE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "shoal/profile.h"

/* The level of "0", "1" or "2"; NULL and "" are 0. False: invalid. */
bool sh_profile_level_of(sh_profile_level *level, const char *text);

void sh_profile_output_print(const sh_profile *profile, FILE *file);

#endif
