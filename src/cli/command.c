/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/suggestion.h"
#include "cli/console.h"
#include "cli/table.h"

const sh_command *const *sh_command_all(void)
{
    static const sh_command *const commands[] = {
#define COMMAND_ENTRY(name) &sh_##name##_command,
        SH_COMMAND_MAP(COMMAND_ENTRY)
#undef COMMAND_ENTRY
            NULL,
    };
    return commands;
}

const sh_command *sh_command_find(const char *name)
{
    for (const sh_command *const *command = sh_command_all(); *command != NULL; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

int sh_command_unknown(const char *name)
{
    sh_suggestion meant = {.typed = name};
    for (const sh_command *const *command = sh_command_all(); *command != NULL; command++)
        sh_suggestion_offer(&meant, (*command)->name);
    if (meant.name == NULL)
        return sh_console_misuse(NULL, "unknown command '%.160s'", name);
    return sh_console_misuse(NULL, "unknown command '%.160s'; did you mean '%s'?", name,
                             meant.name);
}

/* The first words of the usage, which name the positional arguments. */
static int positional_words(const sh_command *command)
{
    const char *options = strchr(command->usage, '[');
    size_t length = options != NULL ? (size_t)(options - command->usage) : strlen(command->usage);
    while (length > 0 && command->usage[length - 1] == ' ')
        length--;
    return (int)length;
}

static int check_positionals(const sh_command *command, const sh_arguments *arguments)
{
    if (arguments->positional_count > command->positionals_most)
        return sh_console_misuse(command->name, "%s: unexpected argument '%.160s'", command->name,
                                 arguments->positionals[command->positionals_most]);
    if (arguments->positional_count < command->positionals_least)
        return sh_console_misuse(command->name, "%s: needs %.*s", command->name,
                                 positional_words(command), command->usage);
    return SH_EXIT_DONE;
}

static void *values_new(const sh_command *command)
{
    void *values = calloc(1, command->values_bytes > 0 ? command->values_bytes : 1);
    if (values != NULL && command->init != NULL)
        command->init(values);
    return values;
}

int sh_command_run(const sh_command *command, int argc, char *const *argv)
{
    void *values = values_new(command);
    if (values == NULL)
        return sh_console_fail("not enough memory");
    sh_arguments arguments;
    sh_trouble trouble;
    int code = SH_EXIT_DONE;
    if (!sh_arguments_parse(&arguments, &trouble, command->options, values, argc, argv))
        code = sh_console_misuse(command->name, "%s", trouble.text);
    else if (arguments.help)
        code = sh_command_help(command, stdout) ? code : sh_console_fail("not enough memory");
    else if ((code = check_positionals(command, &arguments)) == SH_EXIT_DONE)
        code = command->run(&arguments, values);
    free(values);
    return code;
}

static void add_option(sh_table *table, const sh_option *option, const void *values)
{
    char left[96], right[200], chosen[32] = "";
    snprintf(left, sizeof left, "--%s%s%s", option->name, option->value != NULL ? " " : "",
             option->value != NULL ? option->value : "");
    if (option->shows_default)
        sh_option_default(option, values, chosen);
    snprintf(right, sizeof right, "%s%s%s%s", option->help, chosen[0] != '\0' ? " (default " : "",
             chosen, chosen[0] != '\0' ? ")" : "");
    sh_table_add(table, left);
    sh_table_add(table, right);
}

static bool print_options(const sh_command *command, const void *values, FILE *file)
{
    sh_table *table = sh_table_new("<<");
    for (const sh_option *option = command->options; option->kind != SH_OPTION_END; option++)
        if (!option->hidden)
            add_option(table, option, values);
    sh_table_add(table, "--help");
    sh_table_add(table, "show this");
    fputs("\noptions:\n", file);
    const bool good = sh_table_print(table, file, "  ");
    sh_table_free(table);
    return good;
}

bool sh_command_help(const sh_command *command, FILE *file)
{
    void *values = values_new(command);
    if (values == NULL)
        return false;
    fprintf(file, "shoal %s %s\n%s\n", command->name, command->usage, command->summary);
    if (command->details != NULL)
        fprintf(file, "\n%s", command->details);
    const bool good = print_options(command, values, file);
    free(values);
    return good;
}
