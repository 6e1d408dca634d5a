/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands, in one table: parsing, help, errors and the documents' table all come from it.
 *
 *     const sh_command *command = sh_command_find("train");
 *     return sh_command_run(command, argc - 2, argv + 2);
 *
 * A command is one file, which defines its entry; a new one gets a line in SH_COMMAND_MAP.
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
    SH_READS /* only what says how data are read */
} sh_command_training;

typedef struct sh_command {
    const char *name;
    const char *usage;   /* behind the name: "MODEL DATA [options]" */
    const char *summary; /* half a line: "trains here; other devices may join" */
    const char *details; /* further lines of its help: what the arguments may be, examples */

    const sh_option *options;   /* its own; a table that SH_OPTION_END ends */
    size_t values_bytes;        /* of the struct that options are stored into; 0: none */
    sh_command_training trains; /* which options of a training it takes beside its own: into the
                                   sh_train_options that the struct begins with */
    void (*init)(void *values); /* optional: sets what differs from zero */

    bool stops; /* a signal ends it gracefully, with an exit code of its own */

    /* How many positional arguments there may be. */
    size_t positionals_least, positionals_most;

    /* Does it, prints what there is to say, and returns the exit code. */
    int (*run)(const sh_arguments *arguments, void *values);
} sh_command;

/* The commands that there are, in the order of help: X is each file's entry, sh_<name>_command. */
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

/* All commands; NULL ends the list. Static storage. */
const sh_command *const *sh_command_all(void);

/* Finds a command by name, or returns NULL. */
const sh_command *sh_command_find(const char *name);

/* Prints that the command is unknown, with the nearest name; returns the exit code. */
int sh_command_unknown(const char *name);

/* All options that it takes, in the order of help; SH_OPTION_END ends them. Offsets are within its
 * values. Owned: free(). NULL where memory is out. */
sh_option *sh_command_options(const sh_command *command);

/* Its values before any option is parsed. Owned: free(). NULL where memory is out. */
void *sh_command_values(const sh_command *command);

/* Parses the arguments behind the command's name, runs it, and returns the exit code. */
int sh_command_run(const sh_command *command, int argc, char *const *argv);

/* Copies the two positional arguments MODEL and DATA into the job. Returns the exit code: a usage
 * error where one does not fit, or names nothing that there is. */
int sh_command_take_job(const sh_command *command, const sh_arguments *arguments, sh_job *job);

/* Prints the table on standard output, each line behind `before`, and frees it; returns the exit
 * code. */
int sh_command_print_table(sh_table *table, const char *before);

/* Writes `root`, which it takes over, to the file of --json, or nothing where `path` is NULL.
 * Returns `code`; where the file cannot be written, it says so and returns SH_EXIT_FAILURE. */
int sh_command_write_json(const char *path, json_t *root, int code);

/* Help on one command, and its options as a table of Markdown; false where memory is out. */
bool sh_command_help(const sh_command *command, FILE *file);
bool sh_command_markdown(const sh_command *command, FILE *file);

#endif
