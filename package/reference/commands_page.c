/* SPDX-License-Identifier: Apache-2.0 */
/* docs/commands.md: all commands on one page. */
#include <stdlib.h>
#include <string.h>

#include "cli/console.h"
#include "reference.h"
#include "shoal/about.h"

static void write_details(FILE *file, const char *details)
{
    sh_block block;
    bool after_literal = false;
    while (sh_block_next(&block, &details)) {
        if (block.apart || block.literal || after_literal)
            fputc('\n', file);
        for (const char *line = block.text; line < block.text + block.bytes;) {
            const int length = (int)strcspn(line, "\n");
            fprintf(file, "%s%.*s\n", block.literal ? "  " : "", length, line);
            line += length + 1;
        }
        after_literal = block.literal;
    }
}

static void write_exit_codes(FILE *file, const sh_command *command)
{
    int code;
    const char *text;
    fputs("\nExit codes:", file);
    for (size_t i = 0; sh_exit_code_at(command, i, &code, &text); i++)
        fprintf(file, "%s %d", i > 0 ? "," : "", code);
    fputs(".\n", file);
}

static void write_variables(FILE *file, const sh_command *command)
{
    size_t at = 0;
    const sh_surrounding *one = sh_surrounding_next(command, false, &at);
    if (one == NULL)
        return;
    fputs("\nEnvironment: ", file);
    while (one != NULL) {
        fprintf(file, "`%s`", one->name);
        one = sh_surrounding_next(command, false, &at);
        fputs(one != NULL ? ", " : ".\n", file);
    }
}

static void write_command(FILE *file, const sh_command *command)
{
    fprintf(file, "\n## shoal %s\n\n    shoal %s %s\n\nshoal %s %s.\n", command->name,
            command->name, command->usage, command->name, command->summary);
    if (command->details != NULL) {
        fputc('\n', file);
        write_details(file, command->details);
    }
    if (strstr(command->usage, "DATA") != NULL)
        fputs("\nDATA is one of the [formats](#data).\n", file);
    fputc('\n', file);
    if (command->trains == SH_TRAINS) /* the page that says which options belong to the job */
        fputs("Options: [options.md](options.md).\n", file);
    else if (!sh_command_markdown(command, file))
        exit(1);
    write_exit_codes(file, command);
    write_variables(file, command);
}

void sh_commands_page_write(FILE *file)
{
    int code;
    const char *text;
    sh_data_info info;
    size_t at = 0;
    fputs("# Commands\n\n"
          "All commands, from the tables in the code. `cmake --build build/release --target "
          "commands_page` writes this\n"
          "page, and a test compares it. Every command also takes `--help`. Each has a manual "
          "page, such as\n"
          "`man shoal-train`.\n\n"
          "| command | what it does |\n|---|---|\n",
          file);
    for (const sh_command *const *each = sh_command_all(); *each != NULL; each++)
        fprintf(file, "| [shoal %s](#shoal-%s) | %s |\n", (*each)->name, (*each)->name,
                (*each)->summary);
    for (const sh_command *const *each = sh_command_all(); *each != NULL; each++)
        write_command(file, *each);
    fputs("\n## Data\n\n| DATA | what it is |\n|---|---|\n", file);
    for (size_t i = 0; sh_data_list(i, &info) == SH_OK; i++)
        fprintf(file, "| `%s` | %s |\n", info.usage, info.summary);
    fputs("| `DIR` | a folder that is recognised by its files |\n"
          "\n## Exit codes\n\n| code | meaning |\n|---|---|\n",
          file);
    for (size_t i = 0; sh_exit_code_at(NULL, i, &code, &text); i++)
        fprintf(file, "| %d | %s |\n", code, text);
    fputs("\n## Environment\n\n| variable | what it does |\n|---|---|\n", file);
    for (const sh_surrounding *one; (one = sh_surrounding_next(NULL, false, &at)) != NULL;)
        fprintf(file, "| `%s` | %s |\n", one->name, one->text);
    at = 0;
    fputs("\n## Files\n\n| file | what it is |\n|---|---|\n", file);
    for (const sh_surrounding *one; (one = sh_surrounding_next(NULL, true, &at)) != NULL;)
        fprintf(file, "| `%s` | %s |\n", one->name, one->text);
}
