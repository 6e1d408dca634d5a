/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/trial_command.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/file.h"
#include "sweep/study_file.h"

#define ARGUMENTS_MAX (SH_SETTING_COUNT + 12)
#define TEXT_BYTES (2 * SH_STUDY_TEXT_BYTES + SH_PATH_BYTES)

typedef struct maker {
    sh_trial_command command;
    size_t count;
    bool lacks_memory;
} maker;

static void add(maker *self, const char *text)
{
    char *copy = sh_arena_text(&self->command.arena, text);
    self->lacks_memory |= copy == NULL;
    self->command.arguments[self->count++] = copy;
}

/* $NAME by what the environment has, $$ by $. */
static sh_status expand(char out[TEXT_BYTES], const char *setting, const char *text)
{
    size_t length = 0;
    while (*text != '\0') {
        char name[64];
        size_t letters = 0;
        const char *value = name;
        if (*text == '$')
            while (letters + 1 < sizeof name &&
                   (isalnum((unsigned char)text[1 + letters]) || text[1 + letters] == '_'))
                letters++;
        snprintf(name, sizeof name, "%.*s", letters > 0 ? (int)letters : 1,
                 text + (letters > 0 ? 1 : 0));
        if (letters > 0 && (value = getenv(name)) == NULL)
            return sh_fail(SH_NOT_FOUND,
                           "'%s': $%s: there is no such environment variable: set it, or write $$ "
                           "for the sign itself",
                           setting, name);
        text += letters > 0 ? letters + 1 : text[0] == '$' && text[1] == '$' ? 2 : 1;
        length += (size_t)snprintf(out + length, TEXT_BYTES - length, "%s", value);
        if (length >= TEXT_BYTES)
            return sh_fail(SH_LIMIT, "'%s' is longer than %d bytes", setting, TEXT_BYTES);
    }
    out[length] = '\0';
    return SH_OK;
}

/* What the lab says of each device by itself. */
static bool is_of_devices(sh_setting setting)
{
    return setting == SH_SETTING_devices || setting == SH_SETTING_memory ||
           setting == SH_SETTING_lanes;
}

static bool is_of_lab(sh_setting setting)
{
    return setting == SH_SETTING_cpu || setting == SH_SETTING_link || setting == SH_SETTING_delay ||
           setting == SH_SETTING_ram;
}

/* MODEL, DATA and options, as they follow `shoal train`. */
static sh_status add_job(maker *self, const char *const settings[SH_SETTING_COUNT], bool lab)
{
    char text[TEXT_BYTES], option[TEXT_BYTES + 32];
    for (int i = 0; i < SH_SETTING_COUNT; i++) {
        const sh_setting each = (sh_setting)i;
        const char *name = sh_setting_name(each);
        if (settings[i] == NULL || is_of_lab(each) || (lab && is_of_devices(each)))
            continue;
        SH_TRY(expand(text, name, settings[i]));
        const bool is_name = each == SH_SETTING_model || each == SH_SETTING_data;
        if (each == SH_SETTING_nesterov)
            snprintf(option, sizeof option, "--%s", name);
        else
            snprintf(option, sizeof option, is_name ? "%s%s" : "--%s=%s", is_name ? "" : name,
                     text);
        add(self, option);
    }
    return SH_OK;
}

/* ---- the lab's file ---- */

/* As a shell takes it, within a TOML string, in which a $ stands for the environment. */
static void write_argument(FILE *file, const char *text)
{
    fputc('\'', file);
    for (; *text != '\0'; text++)
        switch (*text) {
        case '\'':
            fputs("'\\\"'\\\"'", file); /* leaves the quotes, and comes back */
            break;
        case '\\':
            fputs("\\\\", file);
            break;
        case '"':
            fputs("\\\"", file);
            break;
        case '$':
            fputs("$$", file);
            break;
        default:
            fputc(*text, file);
        }
    fputc('\'', file);
}

static void write_text(FILE *file, const char *key, const char *text)
{
    fprintf(file, "%s = \"", key);
    for (; *text != '\0'; text++)
        fprintf(file, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    fputs("\"\n", file);
}

/* The files of "mnist:FOLDER" are in the folder; digits, which are built in, have none. */
static const char *folder_of(const char *data)
{
    const char *colon = strchr(data, ':');
    if (strncmp(data, "digits", 6) == 0 && (data[6] == '\0' || data[6] == ':'))
        return NULL;
    return colon == NULL ? data : colon + 1;
}

static void write_device(FILE *file, const char *const settings[SH_SETTING_COUNT],
                         unsigned long count, const char *data)
{
    fprintf(file, "\n[[device]]\ncount = %lu\n", count);
    if (settings[SH_SETTING_cpu] != NULL)
        fprintf(file, "cpu = %s\n", settings[SH_SETTING_cpu]);
    if (settings[SH_SETTING_ram] != NULL)
        write_text(file, "memory", settings[SH_SETTING_ram]);
    if (settings[SH_SETTING_lanes] != NULL)
        fprintf(file, "lanes = %s\n", settings[SH_SETTING_lanes]);
    if (settings[SH_SETTING_memory] != NULL)
        fprintf(file, "options = \"--memory=%s\"\n", settings[SH_SETTING_memory]);
    if (data != NULL)
        write_text(file, "data", data);
}

static void write_lab(FILE *file, const maker *job, const char *const settings[SH_SETTING_COUNT],
                      const char *data)
{
    const char *count = settings[SH_SETTING_devices];
    const unsigned long devices = count == NULL ? 1 : strtoul(count, NULL, 10);
    fputs("[job]\ncommand = \"", file);
    for (size_t i = 0; i < job->count; i++) {
        fputs(i > 0 ? " " : "", file);
        write_argument(file, job->command.arguments[i]);
    }
    fputs("\"\n\n[links]\n", file);
    if (settings[SH_SETTING_link] != NULL)
        write_text(file, "rate", settings[SH_SETTING_link]);
    if (settings[SH_SETTING_delay] != NULL)
        write_text(file, "delay", settings[SH_SETTING_delay]);
    write_device(file, settings, 1, NULL);
    if (devices > 1)
        write_device(file, settings, devices - 1, data);
}

static sh_status make_lab_file(maker *self, const maker *job,
                               const char *const settings[SH_SETTING_COUNT])
{
    char data[TEXT_BYTES];
    size_t bytes;
    SH_TRY(expand(data, "data", settings[SH_SETTING_data]));
    FILE *file = open_memstream(&self->command.lab_file, &bytes);
    if (file == NULL)
        return sh_fail_memory(0, "a file of the lab");
    write_lab(file, job, settings, folder_of(data));
    return fclose(file) == 0 ? SH_OK : sh_fail_memory(0, "a file of the lab");
}

static sh_status begin(maker *self)
{
    sh_arena_init(&self->command.arena);
    self->command.arguments =
        sh_arena_take(&self->command.arena, ARGUMENTS_MAX, sizeof *self->command.arguments);
    return self->command.arguments == NULL ? sh_fail_memory(0, "a command") : SH_OK;
}

static sh_status add_lab(maker *self, const char *const settings[SH_SETTING_COUNT],
                         const sh_trial_place *place)
{
    char path[SH_PATH_BYTES];
    maker job = {.count = 0};
    if (place->lab == NULL)
        return sh_fail(SH_NOT_FOUND,
                       "'cpu', 'link', 'delay' and 'ram' need the lab, and there is none: name its "
                       "program with 'lab: PATH' in the study, or with SHOAL_LAB");
    sh_status status = begin(&job);
    if (status == SH_OK)
        status = add_job(&job, settings, true);
    if (status == SH_OK && !job.lacks_memory)
        status = make_lab_file(self, &job, settings);
    self->lacks_memory |= job.lacks_memory;
    sh_arena_release(&job.command.arena);
    SH_TRY(status);
    SH_TRY(sh_path_join(path, place->folder, SH_TRIAL_LAB_FILE));
    const char *const words[] = {place->lab, "run",         path,        "--quiet",
                                 "--folder", place->folder, "--program", place->program};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        add(self, words[i]);
    return SH_OK;
}

static sh_status add_train(maker *self, const char *const settings[SH_SETTING_COUNT],
                           const sh_trial_place *place)
{
    char run[SH_PATH_BYTES], summary[SH_PATH_BYTES];
    SH_TRY(sh_path_join(run, place->folder, "run"));
    SH_TRY(sh_path_join(summary, place->folder, SH_TRIAL_SUMMARY));
    const char *const words[] = {place->program, "train", "--quiet", "--run", run,
                                 "--json",       summary};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        add(self, words[i]);
    return add_job(self, settings, false);
}

sh_status sh_trial_command_make(sh_trial_command *command,
                                const char *const settings[SH_SETTING_COUNT],
                                const sh_trial_place *place)
{
    maker self = {.count = 0};
    sh_status status = begin(&self);
    if (status == SH_OK)
        status = sh_study_trial_is_lab(settings) ? add_lab(&self, settings, place)
                                                 : add_train(&self, settings, place);
    if (status == SH_OK && self.lacks_memory)
        status = sh_fail_memory(TEXT_BYTES, "a command");
    if (status != SH_OK) {
        sh_trial_command_release(&self.command);
        return status;
    }
    *command = self.command;
    return SH_OK;
}

void sh_trial_command_release(sh_trial_command *command)
{
    sh_arena_release(&command->arena);
    free(command->lab_file);
}
