/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/suggestion.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "shoal/about.h"
#include "shoal/train.h"

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

sh_option *sh_command_options(const sh_command *command)
{
    size_t count = 0, most = 1;
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
        most++;
    for (const sh_option *each = command->options; each->kind != SH_OPTION_END; each++)
        most++;
    sh_option *all = calloc(most, sizeof *all);
    if (all == NULL)
        return NULL;
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++) {
        const bool on_paper = command->trains == SH_TRAINS_ON_PAPER && each->plan != NULL;
        const bool reads = command->trains == SH_READS && sh_option_reads(each) &&
                           each->offset != offsetof(sh_job, normalize); /* applied after reading */
        if (each->argument || each->derived ||
            (command->trains != SH_TRAINS && !on_paper && !reads))
            continue;
        sh_option *own = &all[count++];
        *own = *each;
        if (own->owner == SH_OPTION_OF_JOB) { /* values begin with sh_train_options */
            own->offset += offsetof(sh_train_options, job);
            own->given += offsetof(sh_train_options, given);
        }
        if (on_paper && own->plan[0] != '\0')
            own->help = own->plan;
    }
    for (const sh_option *each = command->options; each->kind != SH_OPTION_END; each++)
        all[count++] = *each;
    for (size_t i = 1; i < count; i++) /* a stable sort */
        for (size_t j = i; j > 0 && all[j - 1].help_at > all[j].help_at; j--) {
            const sh_option later = all[j - 1];
            all[j - 1] = all[j];
            all[j] = later;
        }
    return all;
}

void *sh_command_values(const sh_command *command)
{
    void *values = calloc(1, command->values_bytes > 0 ? command->values_bytes : 1);
    if (values != NULL && command->trains != SH_TRAINS_NOT)
        sh_train_options_init(values);
    if (values != NULL && command->init != NULL)
        command->init(values);
    return values;
}

int sh_command_take_job(const sh_command *command, const sh_arguments *arguments, sh_job *job)
{
    const char *model = arguments->positionals[0], *data = arguments->positionals[1];
    if (strlen(model) >= sizeof job->model)
        return sh_console_misuse(command->name, "%s: MODEL is too long", command->name);
    if (strlen(data) >= sizeof job->data)
        return sh_console_misuse(command->name, "%s: DATA is too long", command->name);
    snprintf(job->model, sizeof job->model, "%s", model);
    snprintf(job->data, sizeof job->data, "%s", data);
    if (sh_names_check(model, data) != SH_OK)
        return sh_console_misuse(command->name, "%s", sh_message());
    return SH_EXIT_DONE;
}

int sh_command_run(const sh_command *command, int argc, char *const *argv)
{
    sh_option *options = sh_command_options(command);
    void *values = sh_command_values(command);
    const char *name = command->name, *usage = command->usage;
    sh_arguments arguments = {.positionals = calloc((size_t)argc + 1, sizeof(char *))};
    int code;
    if (options == NULL || values == NULL || arguments.positionals == NULL) {
        code = sh_console_fail("not enough memory");
    } else if (sh_arguments_parse(&arguments, options, values, argc, argv) != SH_OK) {
        code = sh_console_misuse(name, "%s", sh_message());
    } else if (arguments.help) {
        code =
            sh_command_help(command, stdout) ? SH_EXIT_DONE : sh_console_fail("not enough memory");
    } else if (arguments.positional_count > command->positionals_most) {
        code = sh_console_misuse(name, "%s: unexpected argument '%.160s'", name,
                                 arguments.positionals[command->positionals_most]);
    } else if (arguments.positional_count < command->positionals_least) {
        size_t length = strcspn(usage, "["); /* usage begins with the positional arguments */
        while (length > 0 && usage[length - 1] == ' ')
            length--;
        code = sh_console_misuse(name, "%s: needs %.*s", name, (int)length, usage);
    } else {
        code = command->run(&arguments, values);
    }
    free(arguments.positionals);
    free(values);
    free(options);
    return code;
}

int sh_command_print_table(sh_table *table, const char *before)
{
    return sh_table_print(table, stdout, before) ? SH_EXIT_DONE
                                                 : sh_console_fail("not enough memory");
}

int sh_command_write_json(const char *path, json_t *root, int code)
{
    if (path == NULL)
        json_decref(root);
    else if (sh_json_file_write(path, root) != SH_OK)
        return sh_console_fail("%s", sh_message());
    return code;
}

bool sh_command_help(const sh_command *command, FILE *file)
{
    sh_option *options = sh_command_options(command);
    void *values = sh_command_values(command);
    sh_table *table = sh_table_new("<<", NULL);
    bool good = options != NULL && values != NULL;
    for (const sh_option *each = options; good && each->kind != SH_OPTION_END; each++) {
        char chosen[32] = "";
        if (each->hidden)
            continue;
        if (each->shows_default)
            sh_option_default(each, values, chosen);
        const char letter[] = {',', ' ', '-', each->letter, '\0'};
        sh_table_format(table, "--%s%s%s%s", each->name, each->value != NULL ? " " : "",
                        each->value != NULL ? each->value : "", each->letter != 0 ? letter : "");
        sh_table_format(table, "%s%s%s%s", each->help, chosen[0] != '\0' ? " (default " : "",
                        chosen, chosen[0] != '\0' ? ")" : "");
    }
    if (good) {
        sh_table_add(table, "--help");
        sh_table_add(table, "show this");
        fprintf(file, "shoal %s %s\n%s\n", command->name, command->usage, command->summary);
        if (command->details != NULL)
            fprintf(file, "\n%s", command->details);
        if (strstr(command->usage, "DATA") != NULL) {
            sh_table *data = sh_table_new("<<", NULL);
            sh_data_info info;
            for (size_t i = 0; sh_data_list(i, &info) == SH_OK; i++) {
                sh_table_add(data, info.usage);
                sh_table_add(data, info.summary);
            }
            sh_table_add(data, "DIR");
            sh_table_add(data, "a folder that is recognised by its files");
            fputs("\ndata:\n", file);
            good = sh_table_print(data, file, "  ");
        }
        fputs("\noptions:\n", file);
        good = sh_table_print(table, file, "  ") && good;
    } else {
        sh_table_free(table);
    }
    free(values);
    free(options);
    return good;
}

static void print_range(const sh_option *option, FILE *file)
{
    const bool is_float = option->kind == SH_OPTION_FLOAT;
    if (option->words != NULL && !option->suggests)
        for (const char *c = option->words; *c != '\0'; c++)
            fputs(*c == '|' ? ", " : (const char[]){*c, '\0'}, file);
    else if (is_float && option->max != 0)
        fprintf(file, "%g to %s%g", option->min, option->below ? "below " : "", option->max);
    else if (is_float)
        fprintf(file, "%s%g", option->above ? "above " : "from ", option->min);
    else if (option->kind == SH_OPTION_U32 && option->max != 0)
        fprintf(file, "%.0f to %.0f", option->min, option->max);
    else if (option->kind == SH_OPTION_U32 || option->kind == SH_OPTION_U64)
        fprintf(file, "from %.0f", option->min);
}

bool sh_command_markdown(const sh_command *command, FILE *file)
{
    static const char *const owners[] = {
        [SH_OPTION_OF_PROGRAM] = "the program",
        [SH_OPTION_OF_JOB] = "the job",
        [SH_OPTION_OF_DEVICE] = "the device",
    };
    sh_option *options = sh_command_options(command);
    void *values = sh_command_values(command);
    const bool good = options != NULL && values != NULL;
    if (good)
        fputs("| option | what it does | default | range | belongs to |\n|---|---|---|---|---|\n",
              file);
    for (const sh_option *each = options; good && each->kind != SH_OPTION_END; each++) {
        char usual[32] = "";
        if (each->hidden)
            continue;
        if (each->shows_default || each->kind == SH_OPTION_NAME)
            sh_option_default(each, values, usual);
        const char letter[] = {',', ' ', '-', each->letter, '\0'};
        fprintf(file, "| `--%s%s%s%s` | %s | %s | ", each->name, each->value != NULL ? " " : "",
                each->value != NULL ? each->value : "", each->letter != 0 ? letter : "", each->help,
                usual);
        print_range(each, file);
        fprintf(file, " | %s%s |\n", owners[each->owner],
                each->resume ? ", and may change with `--resume`" : "");
    }
    free(values);
    free(options);
    return good;
}
