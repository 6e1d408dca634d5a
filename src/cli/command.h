/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of commands, for parsing, help, errors and documents.
 *
 * A command is one file that defines its entry. Add new ones to SH_COMMAND_MAP.
 *
 *     const sh_command *command = sh_command_find("train");
 *     return sh_command_run(command, argc - 2, argv + 2);
 *
 * Threads: main only.
 */
#ifndef SHOAL_CLI_COMMAND_H
#define SHOAL_CLI_COMMAND_H

#include <jansson.h>
#include <stdio.h>

#include "base/table.h"
#include "cli/arguments.h"
#include "shoal/job.h"

typedef enum sh_command_training {
    SH_TRAINS_NOT,
    SH_TRAINS,
    SH_TRAINS_ON_PAPER,
    SH_READS /* only options that determine how data are read */
} sh_command_training;

typedef struct sh_command {
    const char *name;
    const char *usage;   /* after the name: "MODEL DATA [options]" */
    const char *summary; /* half a line: "trains here; other devices may join" */
    const char *details; /* more help */

    const sh_option *options;   /* its own; ended by SH_OPTION_END */
    size_t values_bytes;        /* of the struct for option values; 0: none */
    sh_command_training trains; /* its training options, stored in the sh_train_options that begins
                                 * the struct */
    void (*init)(void *values); /* optional: sets defaults other than zero */

    bool stops; /* a signal ends it gracefully, with a special exit code */

    size_t positionals_least, positionals_most;

    /* Prints the results; returns the exit code. */
    int (*run)(const sh_arguments *arguments, void *values);
} sh_command;

/* All commands in the order of help. X gets the name in sh_<name>_command. */
#define SH_COMMAND_MAP(X)                                                                          \
    X(train)                                                                                       \
    X(join)                                                                                        \
    X(eval)                                                                                        \
    X(predict)                                                                                     \
    X(export)                                                                                      \
    X(data)                                                                                        \
    X(bench)                                                                                       \
    X(report)                                                                                      \
    X(plan)                                                                                        \
    X(devices)                                                                                     \
    X(sweep)                                                                                       \
    X(runs)                                                                                        \
    X(top)                                                                                         \
    X(hand_over)                                                                                   \
    X(models)                                                                                      \
    X(version)                                                                                     \
    X(help)

#define SH_COMMAND_DECLARE(name) extern const sh_command sh_##name##_command;
SH_COMMAND_MAP(SH_COMMAND_DECLARE)
#undef SH_COMMAND_DECLARE

/* Ended by NULL; static. */
const sh_command *const *sh_command_all(void);

/* NULL: unknown. */
const sh_command *sh_command_find(const char *name);

/* Suggests the nearest name; returns the exit code. */
int sh_command_unknown(const char *name);

/* All options of a command in the order of help, ended by SH_OPTION_END. Offsets refer to its
 * values. Owned: free(). NULL: out of memory. */
sh_option *sh_command_options(const sh_command *command);

/* The values with their defaults. Owned: free(). NULL: out of memory. */
void *sh_command_values(const sh_command *command);

/* Takes the arguments after the command's name; returns the exit code. */
int sh_command_run(const sh_command *command, int argc, char *const *argv);

/* Copies MODEL and DATA into the job. Returns the exit code: a usage error if one is too long or
 * unknown. */
int sh_command_take_job(const sh_command *command, const sh_arguments *arguments, sh_job *job);

/* Prints on standard output, each line after `before`, and frees the table; returns the exit
 * code. */
int sh_command_print_table(sh_table *table, const char *before);

/* Takes `root` over and writes it to the file of --json; NULL: nothing. Returns `code`, or reports
 * a failed write and returns SH_EXIT_FAILURE. */
int sh_command_write_json(const char *path, json_t *root, int code);

/* Writes help on a command, or its options as a Markdown table; false: out of memory. */
bool sh_command_help(const sh_command *command, FILE *file);
bool sh_command_markdown(const sh_command *command, FILE *file);

#endif
