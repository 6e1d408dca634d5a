/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the build makes of the tables of commands and options (cli/command.h): manual pages, tables
 * for the completions of three shells, and docs/commands.md. The program reference does this at
 * build time and is not installed.
 *
 *     for (const sh_command *const *each = sh_command_all(); *each != NULL; each++)
 *         sh_manual_write(*each, stdout);
 *
 * Threads: main only.
 */
#ifndef SHOAL_PACKAGE_REFERENCE_H
#define SHOAL_PACKAGE_REFERENCE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"

/* ---- what the tables say -------------------------------------------------------------------- */

/* A part of a command's details: a paragraph, or lines that are kept as they are. */
typedef struct sh_block {
    const char *text; /* borrowed from the details; whole lines */
    size_t bytes;
    bool literal;  /* its lines begin with two spaces */
    bool examples; /* the line "examples:", which a literal block follows */
    bool apart;    /* a blank line is before it */
} sh_block;

/* Takes the next part of `*details` and moves it on; false at the end. */
bool sh_block_next(sh_block *block, const char **details);

/* What a value may be, for completion. */
typedef enum sh_value_kind {
    SH_VALUE_ANY, /* nothing to offer */
    SH_VALUE_WORDS,
    SH_VALUE_FILE,
    SH_VALUE_FOLDER,
    SH_VALUE_MODEL, /* a built-in model or an ONNX file */
    SH_VALUE_DATA,  /* a format of data with its path, or a path alone */
} sh_value_kind;

/* One word for each kind, as completions have it: "file". */
const char *sh_value_name(sh_value_kind kind);

/* Of an option's value; SH_VALUE_WORDS puts the words with spaces between into `words`. */
sh_value_kind sh_option_value(const sh_option *option, char words[512]);

/* A positional argument, from a command's usage. */
typedef struct sh_place {
    char label[32]; /* "MODEL" */
    bool repeated;  /* any number of them */
    sh_value_kind kind;
    char words[512];
} sh_place;

/* Takes the next positional argument of `*usage` and moves it on; false at the end. */
bool sh_place_next(sh_place *place, const char **usage);

/* Prints the built-in models, or the formats of data, with `before` in front of each. */
void sh_models_print(FILE *file, const char *before);
void sh_formats_print(FILE *file, const char *before);

/* Environment variables (`file` false) or files (`file` true) of a command; NULL stands for the
 * program. */
typedef struct sh_surrounding {
    bool file;
    const char *commands; /* " train join " */
    const char *name, *text;
} sh_surrounding;

/* The next that the command has, from `*at` on, which begins at 0; NULL at the end. Static. */
const sh_surrounding *sh_surrounding_next(const sh_command *command, bool file, size_t *at);

/* Exit code number `index` of the command, and its meaning; false behind the last. */
bool sh_exit_code_at(const sh_command *command, size_t index, int *code, const char **text);

/* The options that help shows; SH_OPTION_END ends them. Owned: free(). Ends the program where
 * memory is out. */
sh_option *sh_shown_options(const sh_command *command);

/* The default that help shows, "" where there is none. */
void sh_shown_default(const sh_command *command, const sh_option *option, char text[32]);

/* ---- what is made of them ------------------------------------------------------------------- */

void sh_manual_write(const sh_command *command, FILE *file); /* NULL: shoal(1) */
void sh_commands_page_write(FILE *file);
void sh_bash_tables_write(FILE *file);
void sh_zsh_completion_write(FILE *file);
void sh_fish_completion_write(FILE *file);

#endif
