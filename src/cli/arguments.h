/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command-line arguments by a table: options (shoal/options.h) with a type and a range, which are
 * stored into the fields of a struct, and positional arguments anywhere between them.
 *
 *     static const sh_option options[] = {
 *         {.kind = SH_OPTION_U32, .name = "batch-size", .value = "N", .min = 1,
 *          .offset = offsetof(struct values, batch_size), .help = "samples of one step"},
 *         {.kind = SH_OPTION_END},
 *     };
 *     if (sh_arguments_parse(&arguments, options, &values, argc, argv) != SH_OK)
 *         return sh_console_misuse("train", "%s", sh_message());
 *
 * An option is written "--name value" or "--name=value", in full; the last one counts. A value that
 * begins with "--" needs the second form. An option with a value for `alone` may be written without
 * one; the next argument is its value only if it begins with a digit. Behind "--" all arguments are
 * positional; "-" always is.
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

#define SH_POSITIONALS_MAX (1 << 20) /* of a command that takes any number */

typedef struct sh_arguments {
    bool help; /* --help or -h was there; nothing else was looked at */
    size_t positional_count;
    const char **positionals; /* room for argc of them, the caller's; texts borrowed from argv */
} sh_arguments;

/*
 * Parses `argc` arguments into `arguments`, whose `positionals` is set (the program's and the
 * command's names are not among them). On failure the message names the option and what it may be,
 * and some of `values` may have been stored.
 */
sh_status sh_arguments_parse(sh_arguments *arguments, const sh_option *options, void *values,
                             int argc, char *const *argv) SHOAL_CHECKED;

/* What the option's field holds, for help: "64". `text` is empty for kinds without a default. */
void sh_option_default(const sh_option *option, const void *values, char text[32]);

#endif
