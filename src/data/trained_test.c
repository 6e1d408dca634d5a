/* SPDX-License-Identifier: Apache-2.0 */
#include "data/trained.h"

#include <stdlib.h>
#include <string.h>

#include "base/test.h"

#define HEAD                                                                                       \
    "\"format\": \"photos\", \"channels\": 1, \"height\": 8, \"width\": 9, \"element\": "          \
    "\"byte\", "                                                                                   \
    "\"samples\": [8, 2], \"fingerprint\": \"ab\", "
#define TASK "\"target\": \"classification\", \"outputs\": 2, "
#define FIGURES "\"mean\": [0.5], \"deviation\": [0.25]"

static void a_set_becomes_a_text_and_back(void **state)
{
    (void)state;
    sh_dataset *digits;
    char *text;
    sh_trained *trained;
    assert_ok(sh_dataset_open(&digits, "digits:60/20", NULL));
    const sh_dataset_info *info = sh_dataset_about(digits);
    assert_ok(sh_trained_text(&text, digits));
    assert_ok(sh_trained_parse(&trained, text));
    assert_string_equal(trained->info.name, "digits");
    assert_string_equal(trained->info.fingerprint, info->fingerprint);
    assert_memory_equal(trained->info.mean, info->mean, sizeof info->mean[0]);
    assert_memory_equal(trained->info.deviation, info->deviation, sizeof info->deviation[0]);
    assert_int_equal(trained->info.count[SH_SPLIT_TRAIN], 60);
    assert_int_equal(trained->info.count[SH_SPLIT_VALIDATION], 20);
    assert_int_equal(trained->info.outputs, 10);
    assert_null(trained->about);
    assert_ok(sh_trained_check(trained, info, NULL));
    sh_trained_free(trained);
    free(text);
    sh_dataset_close(digits);
}

static void classes_are_found_by_name(void **state)
{
    (void)state;
    sh_trained *trained;
    uint32_t number = 7;
    assert_ok(sh_trained_parse(&trained,
                               "{" HEAD TASK FIGURES
                               ", \"description\": {\"classes\": [\"daisy\", \"rose\"]}}"));
    assert_ok(sh_trained_class(&number, trained, "rose"));
    assert_int_equal(number, 1);
    assert_fails(sh_trained_class(&number, trained, "tul\nip"), SH_MISMATCH,
                 "the run does not know the class 'tul?ip'; it knows daisy, rose");
    const sh_dataset_info *info = &trained->info;
    assert_ok(sh_trained_check(trained, info, "{\"classes\": [\"daisy\", \"rose\"]}"));
    assert_fails(sh_trained_check(trained, info, "{\"classes\": [\"rose\", \"daisy\"]}"),
                 SH_MISMATCH, "class 0 is 'rose', which was class 1 in the training");
    assert_fails(sh_trained_check(trained, info, "{\"classes\": [\"daisy\", \"tulip\"]}"),
                 SH_MISMATCH, "the run does not know the class 'tulip'");
    sh_trained_free(trained);
}

static void other_samples_are_refused(void **state)
{
    (void)state;
    sh_trained *trained;
    assert_ok(sh_trained_parse(&trained, "{" HEAD TASK FIGURES "}"));
    sh_dataset_info info = trained->info;
    info.height = 20; /* images may be resized */
    assert_ok(sh_trained_check(trained, &info, NULL));
    info.outputs = 3;
    assert_fails(sh_trained_check(trained, &info, NULL), SH_MISMATCH,
                 "photos has 3 classes, but the run was trained with 2");
    info.target = SH_TARGET_NUMBERS;
    assert_fails(sh_trained_check(trained, &info, NULL), SH_MISMATCH,
                 "has targets for regression, but the run was trained for classification");
    info = trained->info;
    info.channels = 3;
    assert_fails(sh_trained_check(trained, &info, NULL), SH_MISMATCH, "3x8x9 bytes");
    sh_trained_free(trained);
}

static void malformed_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{" HEAD TASK "\"mean\": [], \"deviation\": [0.25]}",
        "{" HEAD TASK "\"mean\": [0.5], \"deviation\": [0]}",
        "{" HEAD TASK "\"mean\": [0.5], \"deviation\": [\"x\"]}",
        "{" HEAD "\"target\": \"magic\", \"outputs\": 2, " FIGURES "}",
        "{" HEAD "\"target\": \"classification\", \"outputs\": 0, " FIGURES "}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sh_trained *trained;
        assert_fails(sh_trained_parse(&trained, texts[i]), SH_FORMAT,
                     "the checkpoint's description of the training data is malformed");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_becomes_a_text_and_back),
        cmocka_unit_test(classes_are_found_by_name),
        cmocka_unit_test(other_samples_are_refused),
        cmocka_unit_test(malformed_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
