/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion for three shells. For bash these are tables, which package/completion.bash reads; zsh
 * and fish have their own words for the same, so the whole file is made here.
 */
#include <stdlib.h>
#include <string.h>

#include "reference.h"

static void write_commands(FILE *file, const char *before)
{
    for (const sh_command *const *each = sh_command_all(); *each != NULL; each++)
        fprintf(file, "%s%s", before, (*each)->name);
}

/* ---- bash ------------------------------------------------------------------------------------ */

/* Three functions put what they know into _shoal_reply: the options and positional arguments of a
 * command, and what an option's value may be (they return 1 for an option without a value). */
void sh_bash_tables_write(FILE *file)
{
    char words[512];
    sh_place place;
    fputs("# shellcheck shell=bash\n# Made from the tables in src/cli by "
          "package/reference.\n_shoal_commands='",
          file);
    write_commands(file, " ");
    fputs("'\n_shoal_models='", file);
    sh_models_print(file, " ");
    fputs("'\n_shoal_formats='", file);
    sh_formats_print(file, " ");
    fputs("'\n_shoal_options() {\n    case $1 in\n", file);
    for (const sh_command *const *each = sh_command_all(); *each != NULL; each++) {
        sh_option *options = sh_shown_options(*each);
        fprintf(file, "    %s) _shoal_reply='", (*each)->name);
        for (const sh_option *option = options; option->kind != SH_OPTION_END; option++)
            fprintf(file, "--%s ", option->name);
        fputs("--help' ;;\n", file);
        free(options);
    }
    fputs("    esac\n}\n_shoal_places() {\n    case $1 in\n", file);
    for (const sh_command *const *each = sh_command_all(); *each != NULL; each++) {
        const char *usage = (*each)->usage;
        fprintf(file, "    %s) _shoal_reply=(", (*each)->name);
        while (sh_place_next(&place, &usage))
            fprintf(file, "'%s%s%s%s' ", place.repeated ? "*" : "", sh_value_name(place.kind),
                    place.words[0] != '\0' ? " " : "", place.words);
        fputs(") ;;\n", file);
    }
    fputs("    esac\n}\n_shoal_value() {\n    case \"$1 $2\" in\n", file);
    for (const sh_command *const *each = sh_command_all(); *each != NULL; each++) {
        sh_option *options = sh_shown_options(*each);
        for (const sh_option *option = options; option->kind != SH_OPTION_END; option++) {
            if (option->value == NULL || option->alone != NULL)
                continue;
            const char *kind = sh_value_name(sh_option_value(option, words));
            fprintf(file, "    '%s --%s'", (*each)->name, option->name);
            if (option->letter != 0)
                fprintf(file, " | '%s -%c'", (*each)->name, option->letter);
            fprintf(file, ") _shoal_reply='%s%s%s' ;;\n", kind, words[0] != '\0' ? " " : "", words);
        }
        free(options);
    }
    fputs("    *) return 1 ;;\n    esac\n}\n", file);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* Text between single quotes, in a specification of _arguments. */
static void zsh_text(FILE *file, const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c == '\'')
            fputs("'\\''", file);
        else if (strchr("[]:\\", *c) != NULL)
            fprintf(file, "\\%c", *c);
        else
            fputc(*c, file);
}

static void zsh_action(FILE *file, sh_value_kind kind, const char *words)
{
    static const char *const actions[] = {
        [SH_VALUE_ANY] = " ",
        [SH_VALUE_FILE] = "_files",
        [SH_VALUE_FOLDER] = "_files -/",
        [SH_VALUE_MODEL] = "_shoal_models",
        [SH_VALUE_DATA] = "_shoal_data",
    };
    if (kind != SH_VALUE_WORDS) {
        fputs(actions[kind], file);
        return;
    }
    fputc('(', file);
    zsh_text(file, words);
    fputc(')', file);
}

static void zsh_option(FILE *file, const sh_option *option)
{
    char words[512];
    const sh_value_kind kind = sh_option_value(option, words);
    for (int form = 0; form < (option->letter != 0 ? 2 : 1); form++) {
        if (form == 0)
            fprintf(file, "            '--%s%s[", option->name, option->value != NULL ? "=" : "");
        else
            fprintf(file, "            '-%c[", option->letter);
        zsh_text(file, option->help);
        fputc(']', file);
        if (option->value != NULL) {
            fputs(option->alone != NULL ? "::" : ":", file);
            zsh_text(file, option->value);
            fputc(':', file);
            zsh_action(file, kind, words);
        }
        fputs("' \\\n", file);
    }
}

void sh_zsh_completion_write(FILE *file)
{
    sh_place place;
    fputs("#compdef shoal\n# Made from the tables in src/cli by package/reference.\n\n"
          "_shoal_models() {\n    local -a models=(auto",
          file);
    sh_models_print(file, " ");
    fputs(")\n    _alternative 'models:model:compadd -a models' 'files:ONNX file:_files -g "
          "\"*.onnx\"'\n}\n\n"
          "_shoal_data() {\n    local -a formats=(",
          file);
    sh_formats_print(file, " ");
    fputs(")\n    if compset -P '[a-z0-9]##:'; then\n        _files\n    else\n"
          "        _alternative 'formats:format of data:compadd -S \"\" -a formats' "
          "'files:path:_files'\n"
          "    fi\n}\n\n"
          "_shoal() {\n    setopt local_options extended_glob\n    local context state line\n"
          "    local -a commands=(\n",
          file);
    for (const sh_command *const *each = sh_command_all(); *each != NULL; each++) {
        fprintf(file, "        '%s:", (*each)->name);
        zsh_text(file, (*each)->summary);
        fputs("'\n", file);
    }
    fputs("    )\n    _arguments -C '1: :->command' '*:: :->arguments'\n"
          "    if [[ $state == command ]]; then\n        _describe command commands\n        "
          "return\n    fi\n"
          "    case $words[1] in\n",
          file);
    for (const sh_command *const *each = sh_command_all(); *each != NULL; each++) {
        const char *usage = (*each)->usage;
        sh_option *options = sh_shown_options(*each);
        fprintf(file, "    %s)\n        _arguments \\\n", (*each)->name);
        for (const sh_option *option = options; option->kind != SH_OPTION_END; option++)
            zsh_option(file, option);
        for (int number = 1; sh_place_next(&place, &usage); number++) {
            if (place.repeated)
                fprintf(file, "            '*:%s:", place.label);
            else
                fprintf(file, "            '%d:%s:", number, place.label);
            zsh_action(file, place.kind, place.words);
            fputs("' \\\n", file);
        }
        fputs("            '--help[show help]'\n        ;;\n", file);
        free(options);
    }
    fputs("    esac\n}\n\n_shoal \"$@\"\n", file);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_text(FILE *file, const char *text)
{
    fputc('\'', file);
    for (const char *c = text; *c != '\0'; c++)
        fprintf(file, *c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
    fputc('\'', file);
}

static void fish_option(FILE *file, const sh_command *command, const sh_option *option)
{
    char words[512];
    const sh_value_kind kind = sh_option_value(option, words);
    fprintf(file, "complete -c shoal -n '__fish_seen_subcommand_from %s' -l %s", command->name,
            option->name);
    if (option->letter != 0)
        fprintf(file, " -s %c", option->letter);
    if (kind == SH_VALUE_FILE)
        fputs(" -r -F", file);
    else if (kind == SH_VALUE_FOLDER)
        fputs(" -x -a '(__fish_complete_directories)'", file);
    else if (option->value != NULL && option->alone == NULL)
        fputs(" -x", file);
    if (words[0] != '\0')
        fprintf(file, " -a '%s'", words);
    fputs(" -d ", file);
    fish_text(file, option->help);
    fputc('\n', file);
}

static void fish_place(FILE *file, const sh_command *command, const sh_place *place)
{
    fprintf(file, "complete -c shoal -n '__fish_seen_subcommand_from %s' ", command->name);
    if (place->kind == SH_VALUE_WORDS) {
        fprintf(file, "-f -a '%s'\n", place->words);
    } else if (place->kind == SH_VALUE_FOLDER) {
        fputs("-f -a '(__fish_complete_directories)'\n", file);
    } else if (place->kind == SH_VALUE_MODEL) {
        fputs("-F -a 'auto", file);
        sh_models_print(file, " ");
        fputs("' -d model\n", file);
    } else if (place->kind == SH_VALUE_DATA) {
        fputs("-F -a '", file);
        sh_formats_print(file, " ");
        fputs("' -d data\n", file);
    } else {
        fputs(place->kind == SH_VALUE_FILE ? "-F\n" : "-f\n", file);
    }
}

void sh_fish_completion_write(FILE *file)
{
    sh_place place;
    fputs("# Made from the tables in src/cli by package/reference.\n"
          "complete -c shoal -n __fish_use_subcommand -f\n",
          file);
    for (const sh_command *const *each = sh_command_all(); *each != NULL; each++) {
        const char *usage = (*each)->usage;
        sh_option *options = sh_shown_options(*each);
        fprintf(file, "complete -c shoal -n __fish_use_subcommand -a %s -d ", (*each)->name);
        fish_text(file, (*each)->summary);
        fputc('\n', file);
        while (sh_place_next(&place, &usage))
            fish_place(file, *each, &place);
        for (const sh_option *option = options; option->kind != SH_OPTION_END; option++)
            fish_option(file, *each, option);
        fprintf(file,
                "complete -c shoal -n '__fish_seen_subcommand_from %s' -l help -d 'show help'\n",
                (*each)->name);
        free(options);
    }
}
