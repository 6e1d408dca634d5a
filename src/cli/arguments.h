/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command-line arguments by a table: options with a type and a range, which are stored into the
 * fields of a struct, and positional arguments anywhere between them.
 *
 *     static const sh_option options[] = {
 *         {.kind = SH_OPTION_U32, .name = "batch-size", .value = "N", .min = 1,
 *          .offset = offsetof(struct values, batch_size), .help = "samples of one step"},
 *         {.kind = SH_OPTION_END},
 *     };
 *     if (!sh_arguments_parse(&arguments, &trouble, options, &values, argc, argv))
 *         return sh_console_misuse("train", "%s", trouble.text);
 *
 * An option is written "--name value" or "--name=value", in full; the last one counts. A value that
 * begins with "--" needs the second form. Behind "--" all arguments are positional; "-" always is.
 *
 * Threads: any.
 */
#ifndef SHOAL_CLI_ARGUMENTS_H
#define SHOAL_CLI_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/trouble.h"

#define SH_POSITIONALS_MAX 64

typedef enum sh_option_kind {
    SH_OPTION_END,   /* ends the table */
    SH_OPTION_FLAG,  /* bool: set to true; takes no value */
    SH_OPTION_U32,   /* uint32_t: whole number */
    SH_OPTION_U64,   /* uint64_t: whole number */
    SH_OPTION_BYTES, /* uint64_t: "96M"; K, M, G, T are powers of 1024 */
    SH_OPTION_FLOAT, /* float: finite */
    SH_OPTION_TEXT,  /* const char *: not empty, no control characters; borrowed from argv */
    SH_OPTION_NAME,  /* char[max + 1]: as a text, but copied */
} sh_option_kind;

typedef struct sh_option {
    sh_option_kind kind;
    bool hidden;        /* not in help */
    bool shows_default; /* help shows what the field holds before parsing */
    char letter;        /* its short form, "-o"; 0: none */
    const char *name;   /* without its dashes */
    const char *value;  /* what help calls the value: "N" */
    const char *help;   /* one line */
    size_t offset;      /* of the field */
    uint64_t min;
    uint64_t max;   /* 0: what the type holds; a float is below it; texts have so many bytes */
    uint32_t marks; /* added to `marks` of the arguments when the option is used */
} sh_option;

typedef struct sh_arguments {
    bool help; /* --help or -h was there; nothing else was looked at */
    uint32_t marks;
    size_t positional_count;
    const char *positionals[SH_POSITIONALS_MAX]; /* borrowed from argv */
} sh_arguments;

/*
 * Parses `argc` arguments (the program's and the command's names are not among them). On failure
 * the trouble names the option and what it may be, and some of `values` may have been stored.
 */
bool sh_arguments_parse(sh_arguments *arguments, sh_trouble *trouble, const sh_option *options,
                        void *values, int argc, char *const *argv);

/* What the option's field holds, for help: "64". `text` is empty for kinds without a default. */
void sh_option_default(const sh_option *option, const void *values, char text[32]);

#endif
