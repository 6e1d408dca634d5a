/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "cli/command.h"

#include <stdlib.h>

#define COLUMNS 100

static void every_command_is_found_and_described(void **state)
{
    (void)state;
    size_t count = 0;
    for (const sh_command *const *at = sh_command_all(); *at != NULL; at++, count++) {
        const sh_command *command = *at;
        assert_ptr_equal(sh_command_find(command->name), command);
        assert_non_null(command->usage);
        assert_non_null(command->summary);
        assert_non_null(command->run);
        assert_true(command->positionals_least <= command->positionals_most);
        assert_true(command->positionals_most <= SH_POSITIONALS_MAX);
    }
    assert_true(count >= 6);
    assert_null(sh_command_find("flounder"));
}

static void check_option(const sh_command *command, const sh_option *options,
                         const sh_option *option)
{
    if (strspn(option->name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(option->name))
        fail_msg("%s --%s: odd letters", command->name, option->name);
    for (const sh_option *other = options; other != option; other++)
        if (strcmp(other->name, option->name) == 0)
            fail_msg("%s --%s is given twice", command->name, option->name);
    if (option->help == NULL || (option->kind != SH_OPTION_FLAG &&
                                 option->kind != SH_OPTION_SWITCH && option->value == NULL))
        fail_msg("%s --%s: not described", command->name, option->name);
    if (option->offset >= command->values_bytes)
        fail_msg("%s --%s: stored outside of the values", command->name, option->name);
}

static void options_are_unique_and_described(void **state)
{
    (void)state;
    for (const sh_command *const *at = sh_command_all(); *at != NULL; at++) {
        sh_option *options = sh_command_options(*at);
        assert_non_null(options);
        for (const sh_option *option = options; option->kind != SH_OPTION_END; option++)
            check_option(*at, options, option);
        free(options);
    }
}

static void help_names_all_options_and_fits_the_screen(void **state)
{
    (void)state;
    for (const sh_command *const *at = sh_command_all(); *at != NULL; at++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *file = open_memstream(&text, &bytes);
        assert_non_null(file);
        assert_true(sh_command_help(*at, file));
        fclose(file);
        sh_option *options = sh_command_options(*at);
        assert_non_null(options);
        for (const sh_option *option = options; option->kind != SH_OPTION_END; option++) {
            char name[64];
            snprintf(name, sizeof name, "\n  --%s ", option->name);
            const bool shown = !option->hidden;
            if ((strstr(text, name) != NULL) != shown)
                fail_msg("%s --%s: in help or not", (*at)->name, option->name);
        }
        for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
            if (strcspn(line, "\n") > COLUMNS)
                fail_msg("too long for help: %.*s", (int)strcspn(line, "\n"), line);
        free(text);
        free(options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_is_found_and_described),
        cmocka_unit_test(options_are_unique_and_described),
        cmocka_unit_test(help_names_all_options_and_fits_the_screen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
