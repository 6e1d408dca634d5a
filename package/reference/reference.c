/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

#include "cli/console.h"
#include "shoal/about.h"

static size_t line_bytes(const char *line)
{
    const size_t length = strcspn(line, "\n");
    return length + (line[length] == '\n');
}

static bool is_literal(const char *line)
{
    return line[0] == ' ' && line[1] == ' ';
}

bool sh_block_next(sh_block *block, const char **details)
{
    const char *at = *details;
    *block = (sh_block){0};
    if (at == NULL)
        return false;
    for (; *at == '\n'; at++)
        block->apart = true;
    if (*at == '\0')
        return false;
    block->text = at;
    block->literal = is_literal(at);
    block->examples = strncmp(at, "examples:\n", 10) == 0 || strncmp(at, "example:\n", 9) == 0;
    while (*at != '\0' && *at != '\n' && is_literal(at) == block->literal)
        at += line_bytes(at);
    block->bytes = (size_t)(at - block->text);
    *details = at;
    return true;
}

const char *sh_value_name(sh_value_kind kind)
{
    static const char *const names[] = {
        [SH_VALUE_ANY] = "any",       [SH_VALUE_WORDS] = "words", [SH_VALUE_FILE] = "file",
        [SH_VALUE_FOLDER] = "folder", [SH_VALUE_MODEL] = "model", [SH_VALUE_DATA] = "data",
    };
    return names[kind];
}

static sh_value_kind kind_of(const char *label)
{
    static const struct {
        const char *label;
        sh_value_kind kind;
    } kinds[] = {
        {"FILE", SH_VALUE_FILE},   {"FILES", SH_VALUE_FILE}, {"STUDY.yaml", SH_VALUE_FILE},
        {"RUN", SH_VALUE_FILE},    {"DIR", SH_VALUE_FOLDER}, {"FOLDER", SH_VALUE_FOLDER},
        {"MODEL", SH_VALUE_MODEL}, {"DATA", SH_VALUE_DATA},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(label, kinds[i].label) == 0)
            return kinds[i].kind;
    return SH_VALUE_ANY;
}

/* The strategies as they are typed, up to the colon of those with a number: "sync ps-bounded:". */
static void strategy_words(char words[512])
{
    static const char *const helps[] = {
#define SH_STRATEGY(noun, help) help,
#include "train/strategies.def"
#undef SH_STRATEGY
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof helps / sizeof *helps; i++) {
        const char *name = helps[i] + strspn(helps[i], " ");
        size_t length = strcspn(name, " :");
        length += name[length] == ':';
        used += (size_t)snprintf(words + used, 512 - used, "%s%.*s", i > 0 ? " " : "", (int)length,
                                 name);
    }
}

sh_value_kind sh_option_value(const sh_option *option, char words[512])
{
    words[0] = '\0';
    if (option->value == NULL)
        return SH_VALUE_ANY;
    if (strcmp(option->name, "strategy") == 0) {
        strategy_words(words);
        return SH_VALUE_WORDS;
    }
    if (option->words == NULL)
        return kind_of(option->value);
    snprintf(words, 512, "%s", option->words);
    for (char *c = words; *c != '\0'; c++)
        if (*c == '|')
            *c = ' ';
    return SH_VALUE_WORDS;
}

bool sh_place_next(sh_place *place, const char **usage)
{
    const char *at = *usage;
    *place = (sh_place){0};
    for (;;) {
        at += strspn(at, " []");
        if (*at == '\0' || strncmp(at, "options", 7) == 0)
            return false;
        if (*at != '-')
            break;
        at += strcspn(at, " "); /* an option and its value */
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    const size_t length = strcspn(at, " ].|"); /* "TOKEN|-": the dash needs no completion */
    snprintf(place->label, sizeof place->label, "%.*s", (int)length, at);
    if (strncmp(at, "STUDY.yaml", 10) == 0)
        snprintf(place->label, sizeof place->label, "STUDY.yaml");
    const char *end = at + strcspn(at, " ");
    place->repeated = strstr(at, "...") != NULL && strstr(at, "...") < end;
    place->kind = kind_of(place->label);
    if (strcmp(place->label, "COMMAND") == 0) {
        size_t used = 0;
        for (const sh_command *const *each = sh_command_all(); *each != NULL; each++)
            used += (size_t)snprintf(place->words + used, sizeof place->words - used, "%s ",
                                     (*each)->name);
        snprintf(place->words + used, sizeof place->words - used, "exit-codes");
        place->kind = SH_VALUE_WORDS;
    }
    *usage = end;
    return true;
}

/* "name", with a colon where something has to follow it. */
static void print_name(FILE *file, const char *before, const char *name, const char *usage)
{
    fprintf(file, "%s%s%s", before, name, usage[strlen(name)] == ':' ? ":" : "");
}

void sh_models_print(FILE *file, const char *before)
{
    sh_model_info info;
    for (size_t i = 0; sh_model_list(i, &info) == SH_OK; i++)
        print_name(file, before, info.name, info.usage);
}

void sh_formats_print(FILE *file, const char *before)
{
    sh_data_info info;
    for (size_t i = 0; sh_data_list(i, &info) == SH_OK; i++)
        print_name(file, before, info.name, info.usage);
}

const sh_surrounding *sh_surrounding_next(const sh_command *command, bool file, size_t *at)
{
    static const sh_surrounding all[] = {
#define SH_VARIABLE(commands, name, text) {false, commands, name, text},
#define SH_FILE(commands, name, text) {true, commands, name, text},
#include "surroundings.def"
    };
    char name[32] = "";
    if (command != NULL)
        snprintf(name, sizeof name, " %s ", command->name);
    while (*at < sizeof all / sizeof *all) {
        const sh_surrounding *one = &all[(*at)++];
        if (one->file == file && (one->commands[0] == '\0' || strstr(one->commands, name) != NULL))
            return one;
    }
    return NULL;
}

bool sh_exit_code_at(const sh_command *command, size_t index, int *code, const char **text)
{
    static const struct {
        int code;
        const char *text;
    } all[] = {
#define EXIT_ENTRY(name, code, text) {code, text},
        SH_EXIT_MAP(EXIT_ENTRY)
#undef EXIT_ENTRY
    };
    if (index >= sizeof all / sizeof *all)
        return false;
    *code = all[index].code;
    *text = all[index].text;
    return command == NULL || command->stops || *code <= SH_EXIT_USAGE;
}

static void *need(void *memory)
{
    if (memory == NULL) {
        fputs("reference: not enough memory\n", stderr);
        exit(1);
    }
    return memory;
}

sh_option *sh_shown_options(const sh_command *command)
{
    sh_option *options = need(sh_command_options(command));
    size_t count = 0;
    for (const sh_option *each = options; each->kind != SH_OPTION_END; each++)
        if (!each->hidden)
            options[count++] = *each;
    options[count] = (sh_option){.kind = SH_OPTION_END};
    return options;
}

void sh_shown_default(const sh_command *command, const sh_option *option, char text[32])
{
    text[0] = '\0';
    if (!option->shows_default)
        return;
    void *values = need(sh_command_values(command));
    sh_option_default(option, values, text);
    free(values);
}

static int write_manual(const char *topic)
{
    const sh_command *command = sh_command_find(topic);
    if (command == NULL && strcmp(topic, "shoal") != 0)
        return 2;
    sh_manual_write(command, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int code = 0;
    if (strcmp(what, "man") == 0 && argc == 3)
        code = write_manual(argv[2]);
    else if (strcmp(what, "markdown") == 0)
        sh_commands_page_write(stdout);
    else if (strcmp(what, "bash") == 0)
        sh_bash_tables_write(stdout);
    else if (strcmp(what, "zsh") == 0)
        sh_zsh_completion_write(stdout);
    else if (strcmp(what, "fish") == 0)
        sh_fish_completion_write(stdout);
    else
        code = 2;
    if (code == 2)
        fputs("usage: reference man shoal|COMMAND, or reference markdown|bash|zsh|fish\n", stderr);
    return fflush(stdout) == 0 ? code : 1;
}
