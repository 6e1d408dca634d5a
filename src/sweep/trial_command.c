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

/* Replaces $NAME by the environment variable and $$ by $. */
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
            return sh_fail(
                SH_NOT_FOUND,
                "'%s': $%s: no such environment variable: set it, or write $$ for the sign itself",
                setting, name);
        text += letters > 0 ? letters + 1 : text[0] == '$' && text[1] == '$' ? 2 : 1;
        length += (size_t)snprintf(out + length, TEXT_BYTES - length, "%s", value);
        if (length >= TEXT_BYTES)
            return sh_fail(SH_LIMIT, "'%s' is longer than %d bytes", setting, TEXT_BYTES);
    }
    out[length] = '\0';
    return SH_OK;
}

static sh_status add_job(maker *self, const char *const settings[SH_SETTING_COUNT], bool lab)
{
    char text[TEXT_BYTES], option[TEXT_BYTES + 32];
    for (int i = 0; i < SH_SETTING_COUNT; i++) {
        const sh_setting each = (sh_setting)i;
        const sh_option *found = sh_study_option(each);
        /* The lab's file has these for each device. */
        const bool of_devices =
            each == SH_SETTING_devices || each == SH_SETTING_memory || each == SH_SETTING_lanes;
        if (settings[i] == NULL || found == NULL || (lab && of_devices))
            continue;
        SH_TRY(expand(text, found->name, settings[i]));
        if (found->argument)
            snprintf(option, sizeof option, "%s", text);
        else if (found->kind == SH_OPTION_FLAG || found->kind == SH_OPTION_SWITCH)
            snprintf(option, sizeof option, "--%s", found->name);
        else
            snprintf(option, sizeof option, "--%s=%s", found->name, text);
        add(self, option);
    }
    return SH_OK;
}

/* ---- the lab's file ---- */

/* Quotes for the shell inside a TOML string in which the lab expands $. */
static void write_argument(FILE *file, const char *text)
{
    fputc('\'', file);
    for (; *text != '\0'; text++)
        switch (*text) {
        case '\'':
            fputs("'\\\"'\\\"'", file); /* ends the quotes, adds '"'"', starts them again */
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

static sh_status begin(maker *self)
{
    sh_arena_init(&self->command.arena);
    self->command.arguments =
        sh_arena_take(&self->command.arena, ARGUMENTS_MAX, sizeof *self->command.arguments);
    return self->command.arguments == NULL ? sh_fail_memory(0, "a command") : SH_OK;
}

/* The first device reads the original data, the others a copy. */
static sh_status make_lab_file(maker *self, const char *const settings[SH_SETTING_COUNT])
{
    char data[TEXT_BYTES];
    size_t bytes;
    maker job = {.count = 0};
    sh_status status;
    SH_TRY_DONE(begin(&job));
    SH_TRY_DONE(add_job(&job, settings, true));
    SH_TRY_DONE(expand(data, "data", settings[SH_SETTING_data]));
    if (job.lacks_memory)
        SH_TRY_DONE(sh_fail_memory(TEXT_BYTES, "a command"));
    FILE *file = open_memstream(&self->command.lab_file, &bytes);
    if (file == NULL)
        SH_TRY_DONE(sh_fail_memory(0, "a file of the lab"));
    fputs("[job]\ncommand = \"", file);
    for (size_t i = 0; i < job.count; i++) {
        fputs(i > 0 ? " " : "", file);
        write_argument(file, job.command.arguments[i]);
    }
    fputs("\"\n\n[links]\n", file);
    if (settings[SH_SETTING_link] != NULL)
        write_text(file, "rate", settings[SH_SETTING_link]);
    if (settings[SH_SETTING_delay] != NULL)
        write_text(file, "delay", settings[SH_SETTING_delay]);

    /* "mnist:FOLDER" names a folder; digits are generated. */
    const bool drawn = strncmp(data, "digits", 6) == 0 && (data[6] == '\0' || data[6] == ':');
    const char *colon = strchr(data, ':'), *count = settings[SH_SETTING_devices];
    const unsigned long devices = count == NULL ? 1 : strtoul(count, NULL, 10);
    for (unsigned long first = 0; first < 2 && first < devices; first++) {
        fprintf(file, "\n[[device]]\ncount = %lu\n", first == 0 ? 1 : devices - 1);
        if (settings[SH_SETTING_cpu] != NULL)
            fprintf(file, "cpu = %s\n", settings[SH_SETTING_cpu]);
        if (settings[SH_SETTING_ram] != NULL)
            write_text(file, "memory", settings[SH_SETTING_ram]);
        if (settings[SH_SETTING_lanes] != NULL)
            fprintf(file, "lanes = %s\n", settings[SH_SETTING_lanes]);
        if (settings[SH_SETTING_memory] != NULL)
            fprintf(file, "options = \"--memory=%s\"\n", settings[SH_SETTING_memory]);
        if (!drawn && first > 0)
            write_text(file, "data", colon == NULL ? data : colon + 1);
    }
    if (fclose(file) != 0)
        status = sh_fail_memory(0, "a file of the lab");
done:
    sh_arena_release(&job.command.arena);
    return status;
}

sh_status sh_trial_command_make(sh_trial_command *command,
                                const char *const settings[SH_SETTING_COUNT],
                                const sh_trial_place *place)
{
    char path[SH_PATH_BYTES], summary[SH_PATH_BYTES];
    const bool lab = sh_study_trial_is_lab(settings);
    maker self = {.count = 0};
    sh_status status;
    SH_TRY_DONE(begin(&self));
    if (lab && place->lab == NULL)
        SH_TRY_DONE(sh_fail(SH_NOT_FOUND,
                            "'cpu', 'link', 'delay' and 'ram' need the lab, which is missing: name "
                            "its program with 'lab: PATH' in the study, or with SHOAL_LAB"));
    SH_TRY_DONE(sh_path_join(path, place->folder, lab ? SH_TRIAL_LAB_FILE : "run"));
    SH_TRY_DONE(sh_path_join(summary, place->folder, SH_TRIAL_SUMMARY));
    const char *const of_lab[] = {place->lab, "run",         path,        "--quiet",
                                  "--folder", place->folder, "--program", place->program};
    const char *const of_train[] = {place->program, "train",  "--quiet", "--run",
                                    path,           "--json", summary};
    const size_t words = lab ? sizeof of_lab / sizeof *of_lab : sizeof of_train / sizeof *of_train;
    for (size_t i = 0; i < words; i++)
        add(&self, lab ? of_lab[i] : of_train[i]);
    SH_TRY_DONE(lab ? make_lab_file(&self, settings) : add_job(&self, settings, false));
    if (self.lacks_memory)
        SH_TRY_DONE(sh_fail_memory(TEXT_BYTES, "a command"));
done:
    if (status == SH_OK)
        *command = self.command;
    else
        sh_trial_command_release(&self.command);
    return status;
}

void sh_trial_command_release(sh_trial_command *command)
{
    sh_arena_release(&command->arena);
    free(command->lab_file);
}
