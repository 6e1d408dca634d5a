/* SPDX-License-Identifier: Apache-2.0 */
#include "data/dataset_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"
#include "shoal/about.h"

static void digits_are_as_documented(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint32_t train, validation;
    } cases[] = {{"digits", 10000, 2000}, {"digits:7/1", 7, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_dataset *data;
        assert_ok(sh_dataset_open(&data, cases[i].spec, NULL));
        const sh_dataset_info *info = sh_dataset_about(data);
        assert_string_equal(info->name, "digits");
        assert_int_equal(info->channels, 1);
        assert_int_equal(info->height, 28);
        assert_int_equal(info->width, 28);
        assert_int_equal(info->outputs, 10);
        assert_int_equal(info->count[SH_SPLIT_TRAIN], cases[i].train);
        assert_int_equal(info->count[SH_SPLIT_VALIDATION], cases[i].validation);
        sh_dataset_close(data);
    }
}

static void samples_that_are_not_there_are_refused(void **state)
{
    (void)state;
    sh_dataset *data;
    uint8_t pixels[28 * 28];
    int32_t label = -7;
    assert_ok(sh_dataset_open(&data, "digits:7/3", NULL));
    assert_ok(sh_dataset_read(data, SH_SPLIT_VALIDATION, 2, pixels, &label));
    label = -7;
    assert_fails(sh_dataset_read(data, SH_SPLIT_VALIDATION, 3, pixels, &label), SH_INVALID,
                 "digits has no validation sample 3: there are 3");
    assert_fails(sh_dataset_read(data, SH_SPLIT_TRAIN, UINT32_MAX, pixels, &label), SH_INVALID,
                 "digits has no training sample 4294967295: there are 7");
    assert_fails(sh_dataset_read(data, (sh_split)2, 0, pixels, &label), SH_INVALID,
                 "digits has no split number 2");
    assert_int_equal(label, -7);
    sh_dataset_close(data);
    sh_dataset_close(NULL);
}

static void unknown_specs_say_what_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        sh_status code;
        const char *part;
    } cases[] = {
        {"", SH_INVALID, "unknown data '': use digits, mnist:DIR, cifar10:DIR, cifar100:DIR, "},
        {"cats", SH_INVALID,
         "unknown data 'cats': use digits, mnist:DIR, cifar10:DIR, cifar100:DIR, "},
        {"digit", SH_INVALID, "unknown data 'digit': did you mean digits"},
        {"minst:/tmp/x", SH_INVALID, "unknown data 'minst:/tmp/x': did you mean mnist:DIR? use "},
        {"cifar:/tmp/x", SH_INVALID, "did you mean cifar10:DIR? use "},
        {"digitss", SH_INVALID, "unknown data 'digitss'"},
        {"cats:/tmp/x", SH_NOT_FOUND, "cats:/tmp/x: cannot open the data folder: No such file"},
        {"./cats", SH_NOT_FOUND, "./cats: cannot open the data folder: No such file"},
        {"/dev/null", SH_INVALID, "/dev/null: is not a folder"},
        {"/dev/null/x", SH_NOT_FOUND, "/dev/null/x: cannot open the data folder: Not a directory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_dataset *data = NULL;
        assert_fails(sh_dataset_open(&data, cases[i].spec, NULL), cases[i].code, cases[i].part);
        assert_null(data);
    }
}

static void formats_are_listed_for_help(void **state)
{
    (void)state;
    static const char *const usages[] = {"digits", "mnist:DIR", "cifar10:DIR", "cifar100:DIR"};
    sh_data_info info;
    size_t count = 0;
    for (; sh_data_list(count, &info) == SH_OK; count++) {
        if (count < sizeof usages / sizeof *usages)
            assert_string_equal(info.usage, usages[count]);
        assert_int_equal(strncmp(info.usage, info.name, strlen(info.name)), 0);
        assert_true(strlen(info.summary) > 0);
        assert_string_not_equal(info.name, "noise");
    }
    assert_true(count > sizeof usages / sizeof *usages);
    assert_int_equal(sh_data_list(count, &info), SH_NOT_FOUND);
}

static void what_desktops_leave_is_hidden(void **state)
{
    (void)state;
    static const char *const hidden[] = {".",         ".DS_Store",   "._1.jpg", "Thumbs.db",
                                         "thumbs.DB", "desktop.ini", "__MACOSX"};
    static const char *const shown[] = {"a.b", "Thumbs", "Thumbs.db.jpg", "desktop", "_"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        assert_true(sh_name_is_hidden(hidden[i]));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        assert_false(sh_name_is_hidden(shown[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_as_documented),
        cmocka_unit_test(samples_that_are_not_there_are_refused),
        cmocka_unit_test(unknown_specs_say_what_is_known),
        cmocka_unit_test(formats_are_listed_for_help),
        cmocka_unit_test(what_desktops_leave_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
