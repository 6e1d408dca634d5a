/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses command-line arguments by a table of options (shoal/options.h) and stores the values in a
 * struct. Positional arguments may stand between options.
 *
 *     static const sh_option options[] = {
 *         {.kind = SH_OPTION_U32, .name = "batch-size", .value = "N", .min = 1,
 *          .offset = offsetof(struct values, batch_size), .help = "samples of one step"},
 *         {.kind = SH_OPTION_END},
 *     };
 *
 * Options are "--name value" or "--name=value", unabbreviated; the last one counts. A value that
 * begins with "--" needs the second form. An option with `alone` takes the next argument as its
 * value only if it begins with a digit. After "--", all arguments are positional; "-" always is.
 *
 * Threads: any.
 */
#ifndef SHOAL_CLI_ARGUMENTS_H
#define SHOAL_CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shoal/options.h"
#include "shoal/status.h"

#define SH_POSITIONALS_MAX (1 << 20) /* any number of them */

typedef struct sh_arguments {
    bool help; /* --help or -h; the rest is not parsed */
    size_t positional_count;
    const char *
        *positionals; /* space for argc of them, from the caller; texts borrowed from argv */
} sh_arguments;

/*
 * Parses `argc` arguments, without the names of program and command; the `positionals` of
 * `arguments` must be set. A failure names the option and its allowed values; some `values` may be
 * stored.
 */
sh_status sh_arguments_parse(sh_arguments *arguments, const sh_option *options, void *values,
                             int argc, char *const *argv) SHOAL_CHECKED;

/* The field as in help: "64"; empty for kinds without a default. */
void sh_option_default(const sh_option *option, const void *values, char text[32]);

#endif
