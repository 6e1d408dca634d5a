/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/console.h"

typedef struct help_values {
    bool markdown;
} help_values;

static const sh_option options[] = {
    {.kind = SH_OPTION_FLAG,
     .name = "markdown",
     .help = "print the table of commands, or of a command's options, as Markdown",
     .offset = offsetof(help_values, markdown)},
    {.kind = SH_OPTION_END},
};

static int print_exit_codes(void)
{
    static const struct {
        int code;
        const char *text;
    } codes[] = {
#define EXIT_ENTRY(name, code, text) {code, text},
        SH_EXIT_MAP(EXIT_ENTRY)
#undef EXIT_ENTRY
    };
    sh_table *table = sh_table_new("><", NULL);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        sh_table_format(table, "%d", codes[i].code);
        sh_table_add(table, codes[i].text);
    }
    puts("exit codes:");
    const int code = sh_command_print_table(table, "  ");
    puts("A second signal ends the program at once, with the same code and no checkpoint.");
    return code;
}

static int print_markdown(void)
{
    puts("| command | what it does |\n|---|---|");
    for (const sh_command *const *command = sh_command_all(); *command != NULL; command++) {
        printf("| `shoal %s%s", (*command)->name, (*command)->usage[0] != '\0' ? " " : "");
        for (const char *c = (*command)->usage; *c != '\0'; c++)
            printf("%s%c", *c == '|' ? "\\" : "", *c);
        printf("` | %s |\n", (*command)->summary);
    }
    return SH_EXIT_DONE;
}

static int print_overview(void)
{
    sh_table *table = sh_table_new("<<", NULL);
    for (const sh_command *const *command = sh_command_all(); *command != NULL; command++) {
        sh_table_format(table, "%s%s%s", (*command)->name, (*command)->usage[0] != '\0' ? " " : "",
                        (*command)->usage);
        sh_table_add(table, (*command)->summary);
    }
    puts("shoal trains one neural network on many small computers as if they were one.\n");
    puts("usage: shoal COMMAND [arguments]\n");
    const int code = sh_command_print_table(table, "  ");
    puts("\nexamples:\n"
         "  shoal train lenet digits --epochs 2\n"
         "  shoal train lenet mnist:DIR --listen :7700     prints a token for other devices\n"
         "  shoal join 'shoal://...'                       on each of them\n");
    puts("'shoal help COMMAND' shows its options, 'shoal help exit-codes' the exit codes.");
    return code;
}

static int run(const sh_arguments *arguments, void *values)
{
    const help_values *given = values;
    if (arguments->positional_count == 0)
        return given->markdown ? print_markdown() : print_overview();
    const char *topic = arguments->positionals[0];
    if (strcmp(topic, "exit-codes") == 0)
        return print_exit_codes();
    const sh_command *command = sh_command_find(topic);
    if (command == NULL)
        return sh_command_unknown(topic);
    const bool good =
        given->markdown ? sh_command_markdown(command, stdout) : sh_command_help(command, stdout);
    return good ? SH_EXIT_DONE : sh_console_fail("not enough memory");
}

const sh_command sh_help_command = {
    .name = "help",
    .usage = "[COMMAND|exit-codes]",
    .summary = "shows how a command is used",
    .options = options,
    .values_bytes = sizeof(help_values),
    .positionals_most = 1,
    .run = run,
};
