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
 *     if (sh_arguments_parse(&arguments, options, &values, argc, argv) != SH_OK)
 *         return sh_console_misuse("train", "%s", sh_message());
 *
 * Options are "--name value" or "--name=value", unabbreviated; the last one counts. A value that
 * begins with "--" needs the second form. The value of an option with `alone` is optional: the next
 * argument is its value only if it begins with a digit. After "--", all arguments are positional;
 * "-" always is.
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

#define SH_POSITIONALS_MAX (1 << 20) /* for any number of them */

typedef struct sh_arguments {
    bool help; /* --help or -h was given; the rest is not parsed */
    size_t positional_count;
    const char *
        *positionals; /* space for argc of them, provided by the caller; texts borrowed from argv */
} sh_arguments;

/*
 * Parses `argc` arguments, without the names of program and command, into `arguments`, whose
 * `positionals` is set. On failure, the message names the option and its allowed values; some
 * `values` may be stored.
 */
sh_status sh_arguments_parse(sh_arguments *arguments, const sh_option *options, void *values,
                             int argc, char *const *argv) SHOAL_CHECKED;

/* Formats the option's field for help: "64". `text` is empty for kinds without a default. */
void sh_option_default(const sh_option *option, const void *values, char text[32]);

#endif
