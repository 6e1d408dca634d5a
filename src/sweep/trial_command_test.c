/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/trial_command.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"

static const sh_trial_place place = {"f", "/bin/shoal", "/lab/lab"};

static void assert_command(const char *const *settings, const char *expected)
{
    sh_trial_command command;
    char text[4096] = "";
    assert_ok(sh_trial_command_make(&command, settings, &place));
    for (size_t i = 0, length = 0; command.arguments[i] != NULL; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i > 0 ? " " : "",
                                   command.arguments[i]);
    assert_string_equal(text, expected);
    sh_trial_command_release(&command);
}

static void trains_here(void **state)
{
    (void)state;
    setenv("SHOAL_TEST_PLACE", "/a b", 1);
    assert_command((const char *[SH_SETTING_COUNT]){[SH_SETTING_model] = "lenet",
                                                    [SH_SETTING_data] = "mnist:$SHOAL_TEST_PLACE/m",
                                                    [SH_SETTING_nesterov] = "true",
                                                    [SH_SETTING_memory] = "40M",
                                                    [SH_SETTING_lanes] = "1",
                                                    [SH_SETTING_lr] = "0.1",
                                                    [SH_SETTING_devices] = "3"},
                   "/bin/shoal train --quiet --run f/run --json f/summary.json lenet mnist:/a b/m "
                   "--lr=0.1 --nesterov --memory=40M --lanes=1 --devices=3");
}

static void trains_in_the_lab(void **state)
{
    (void)state;
    sh_trial_command command;
    const char *settings[SH_SETTING_COUNT] = {
        [SH_SETTING_model] = "lenet",  [SH_SETTING_data] = "mnist:/a'$$\"b\\",
        [SH_SETTING_steps] = "3",      [SH_SETTING_memory] = "40M",
        [SH_SETTING_lanes] = "1",      [SH_SETTING_cpu] = "0.2",
        [SH_SETTING_link] = "100Mbit", [SH_SETTING_delay] = "2ms",
        [SH_SETTING_ram] = "512M",     [SH_SETTING_devices] = "3"};
    assert_command(settings, "/lab/lab run f/lab.toml --quiet --folder f --program /bin/shoal");
    assert_ok(sh_trial_command_make(&command, settings, &place));
    assert_string_equal(command.lab_file,
                        "[job]\n"
                        "command = \"'lenet' 'mnist:/a'\\\"'\\\"'$$\\\"b\\\\' '--steps=3'\"\n"
                        "\n[links]\nrate = \"100Mbit\"\ndelay = \"2ms\"\n"
                        "\n[[device]]\ncount = 1\ncpu = 0.2\nmemory = \"512M\"\nlanes = 1\n"
                        "options = \"--memory=40M\"\n"
                        "\n[[device]]\ncount = 2\ncpu = 0.2\nmemory = \"512M\"\nlanes = 1\n"
                        "options = \"--memory=40M\"\n"
                        "data = \"/a'$\\\"b\\\\\"\n");
    sh_trial_command_release(&command);
}

static void knows_which_data_have_a_folder(void **state)
{
    (void)state;
    static const struct {
        const char *data, *line;
    } cases[] = {{"digits", NULL},
                 {"digits:600/100", NULL},
                 {"cifar10:/c", "data = \"/c\"\n"},
                 {"/c", "data = \"/c\"\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_trial_command command;
        const char *settings[SH_SETTING_COUNT] = {[SH_SETTING_model] = "lenet",
                                                  [SH_SETTING_data] = cases[i].data,
                                                  [SH_SETTING_cpu] = "1",
                                                  [SH_SETTING_devices] = "2"};
        assert_ok(sh_trial_command_make(&command, settings, &place));
        const char *found = strstr(command.lab_file, "\ndata");
        assert_true((found == NULL) == (cases[i].line == NULL));
        if (found != NULL)
            assert_string_equal(found + 1, cases[i].line);
        sh_trial_command_release(&command);
    }
}

static void refuses_what_it_cannot_do(void **state)
{
    (void)state;
    sh_trial_command command;
    unsetenv("SHOAL_TEST_NOWHERE");
    const char *settings[SH_SETTING_COUNT] = {
        [SH_SETTING_model] = "lenet", [SH_SETTING_data] = "$SHOAL_TEST_NOWHERE/x"};
    assert_fails(sh_trial_command_make(&command, settings, &place), SH_NOT_FOUND,
                 "'data': $SHOAL_TEST_NOWHERE: no such environment variable: set it");
    settings[SH_SETTING_data] = "digits";
    settings[SH_SETTING_cpu] = "1";
    assert_fails(sh_trial_command_make(&command, settings, &(sh_trial_place){"f", "/p", NULL}),
                 SH_NOT_FOUND, "need the lab, which is missing: name its program");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trains_here),
        cmocka_unit_test(trains_in_the_lab),
        cmocka_unit_test(knows_which_data_have_a_folder),
        cmocka_unit_test(refuses_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
