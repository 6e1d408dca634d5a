/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a training went, as a table: what SHOAL_PROFILE asks for.
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

/* The level that "0", "1" or "2" means; NULL and "" are 0. False for anything else. */
bool sh_profile_level_of(sh_profile_level *level, const char *text);

/* Operators, what is outside, nodes where there are any, and the next bottleneck. */
void sh_profile_output_print(const sh_profile *profile, FILE *file);

#endif
