/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/study_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"

static sh_study *parsed(const char *text)
{
    sh_study *study = NULL;
    assert_ok(sh_study_parse(&study, "s.yaml", text, strlen(text)));
    return study;
}

static const char *setting(const sh_study *study, size_t trial, sh_setting which)
{
    assert_in_range(trial, 0, study->trial_count - 1);
    const char *value = study->trials[trial].settings[which];
    return value == NULL ? "" : value;
}

static void multiplies_what_a_block_has(void **state)
{
    (void)state;
    sh_study *study =
        parsed("name: two\n"
               "lab: ../lab\n"
               "all: {data: digits, seed: [1, 2], lr: 0.10}\n"
               "blocks:\n"
               "  - name: first\n"
               "    devices: [1..3, 8]\n"
               "    model: lenet\n"
               "    exclude: [{seed: 2, devices: [1, 8]}, {seed: 1, devices: 2}]\n"
               "  - {model: [mlp:4-2, lenet], seed: null, nesterov: [true, false]}\n");
    assert_string_equal(study->name, "two");
    assert_string_equal(study->lab, "../lab");
    static const char *const expected[][5] = {
        /* block, model, seed, devices, nesterov */
        {"first", "lenet", "1", "1", ""},   {"first", "lenet", "1", "3", ""},
        {"first", "lenet", "1", "8", ""},   {"first", "lenet", "2", "2", ""},
        {"first", "lenet", "2", "3", ""},   {"block 2", "mlp:4-2", "", "", "true"},
        {"block 2", "mlp:4-2", "", "", ""}, {"block 2", "lenet", "", "", "true"},
        {"block 2", "lenet", "", "", ""},
    };
    assert_int_equal(study->trial_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < study->trial_count; i++) {
        assert_string_equal(study->trials[i].block, expected[i][0]);
        assert_string_equal(setting(study, i, SH_SETTING_model), expected[i][1]);
        assert_string_equal(setting(study, i, SH_SETTING_seed), expected[i][2]);
        assert_string_equal(setting(study, i, SH_SETTING_devices), expected[i][3]);
        assert_string_equal(setting(study, i, SH_SETTING_nesterov), expected[i][4]);
        assert_string_equal(setting(study, i, SH_SETTING_lr), "0.1");
        assert_false(sh_study_trial_is_lab(study->trials[i].settings));
    }
    sh_study_free(study);
}

/* Notation and order of the settings do not count. */
static void names_a_trial_by_its_settings(void **state)
{
    (void)state;
    sh_study *one =
        parsed("blocks: [{model: lenet, data: digits, lr: 0.02, devices: 2, cpu: 0.5}]");
    sh_study *same = parsed("all: {devices: 02, lr: 2e-2, cpu: '0.50'}\n"
                            "blocks:\n"
                            "- {data: digits, model: mlp:4-2}\n"
                            "- {data: 'digits', model: \"lenet\", nesterov: false}\n");
    assert_string_equal(one->trials[0].id, same->trials[1].id);
    assert_string_not_equal(same->trials[0].id, same->trials[1].id);
    assert_int_equal(strlen(one->trials[0].id), SH_TRIAL_ID_BYTES - 1);
    assert_true(sh_study_trial_is_lab(one->trials[0].settings));
    /* Existing databases contain this id. */
    assert_string_equal(one->trials[0].id, "29cf4850dc6a");
    sh_study_free(one);
    sh_study_free(same);
}

#define BLOCK "blocks:\n- model: lenet\n  data: digits\n"

static void says_where_and_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "s.yaml: is empty"},
        {"blocks: [", "s.yaml:2:1: not YAML: "},
        {"- a\n", "s.yaml:1:1: a study must be a mapping"},
        {"name: x\n", "s.yaml:1:1: a study needs 'blocks'"},
        {"blocks: {}\n", "s.yaml:1:9: 'blocks' must be a list"},
        {"blocks: []\n", "s.yaml:1:9: no trial remains"},
        {"block: []\n", "s.yaml:1:1: 'block' is unknown here; did you mean 'blocks'?"},
        {"name: x\nname: y\n", "s.yaml:2:1: 'name' is here twice"},
        {"name: [x]\n" BLOCK, "s.yaml:1:7: 'name' must be text"},
        {"lab: ''\n" BLOCK, "s.yaml:1:6: 'lab' must be text"},
        {"all: 3\n" BLOCK, "s.yaml:1:6: 'all' must be a mapping"},
        {"? [a]\n: b\n" BLOCK, "s.yaml:1:3: a name must be here"},
        {BLOCK "  modle: x\n", "s.yaml:4:3: 'modle' is unknown here; did you mean 'model'?"},
        {BLOCK "  zzzzz: x\n", "s.yaml:4:3: 'zzzzz' is unknown here: see shoal sweep --help"},
        {BLOCK "  model: x\n", "s.yaml:4:3: 'model' is here twice"},
        {BLOCK "  devices: none\n", "s.yaml:4:12: 'devices' must be a whole number from 1, or a "
                                    "range such as 1..10, not 'none'"},
        {BLOCK "  devices: 0\n", "not '0'"},
        {BLOCK "  devices: 3..1\n", "not '3..1'"},
        {BLOCK "  devices: -1\n", "not '-1'"},
        {BLOCK "  devices: {a: 1}\n", "s.yaml:4:12: 'devices' must be a value or a list"},
        {BLOCK "  devices: []\n", "s.yaml:4:12: 'devices' must be a value or a list"},
        {BLOCK "  devices: [[1]]\n", "s.yaml:4:13: 'devices' must be a whole number"},
        {BLOCK "  devices: [1..3, 2]\n", "s.yaml:4:19: 2 is here twice"},
        {BLOCK "  devices: 1..300\n", "s.yaml:4: more than 256 values"},
        {BLOCK "  lr: fast\n", "'lr' must be a number from 0, such as 0.01, not 'fast'"},
        {BLOCK "  lr: -1\n", "not '-1'"},
        {BLOCK "  lr: 1e999\n", "not '1e999'"},
        {BLOCK "  lr: nan\n", "not 'nan'"},
        {BLOCK "  lr: 0x1\n", "not '0x1'"},
        {BLOCK "  nesterov: 1\n", "'nesterov' must be true or false, not '1'"},
        {BLOCK "  link: 100\n", "'link' must be a rate with its unit, such as 100Mbit"},
        {BLOCK "  delay: 5 ms\n", "'delay' must be a time with its unit, such as 5ms"},
        {BLOCK "  ram: 5X\n", "'ram' must be bytes, such as 96M"},
        {BLOCK "  strategy: ''\n", "'strategy' must be text"},
        {BLOCK "  strategy: --help\n", "'strategy' must be text, not '--help'"},
        {BLOCK "  strategy: \"a\\nb\"\n", "s.yaml:4:13: 'strategy' must be text"},
        {BLOCK "  batch-size: 8\n  batch-per-device: 8\n", "s.yaml:2:3: 'batch-size' and "},
        {BLOCK "  exclude: 3\n", "s.yaml:4:12: 'exclude' must be a list"},
        {BLOCK "  exclude: [{}]\n", "s.yaml:4:13: a rule of 'exclude' must name something"},
        {BLOCK "  exclude: [{seed: 7}]\n", "s.yaml:4:13: this rule of 'exclude' removes no trial"},
        {BLOCK "  exclude: [{seeds: 7}]\n", "s.yaml:4:14: 'seeds' is unknown here; did you mean"},
        {BLOCK "  exclude: [{model: lenet}]\n", "s.yaml:2:1: no trial remains"},
        {"blocks: [{data: digits}]\n", "s.yaml:1:10: this block needs 'model'"},
        {"blocks: [{model: lenet}]\n", "s.yaml:1:10: this block needs 'data'"},
        {BLOCK "  devices: 1..200\n  seed: 1..200\n", "s.yaml:2: more than 10000 trials"},
        {BLOCK
         "  devices: 1..256\n  seed: 1..256\n  wire: 1..256\n  grain: 1..256\n  lanes: 1..256\n"
         "  workers: 1..256\n  epochs: 1..256\n  steps: 1..256\n  resize: 1..256\n",
         "more than 10000 trials"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_study *study = NULL;
        const sh_status status =
            sh_study_parse(&study, "s.yaml", cases[i].text, strlen(cases[i].text));
        if (status == SH_OK || strstr(sh_message(), cases[i].message) == NULL)
            fail_msg("%s: '%s' lacks '%s'", cases[i].text, status == SH_OK ? "" : sh_message(),
                     cases[i].message);
        assert_true(status == SH_FORMAT || status == SH_LIMIT);
        assert_null(study);
    }
}

static void refuses_what_is_too_large(void **state)
{
    (void)state;
    sh_study *study;
    char *text = calloc(1, SH_STUDY_BYTES_MAX + 2);
    assert_non_null(text);
    memset(text, '#', SH_STUDY_BYTES_MAX + 1);
    assert_fails(sh_study_parse(&study, "s.yaml", text, SH_STUDY_BYTES_MAX + 1), SH_LIMIT,
                 "s.yaml: has more than 262144 bytes");
    free(text);
}

static void finds_what_a_filter_asks_for(void **state)
{
    (void)state;
    const char *settings[SH_SETTING_COUNT] = {
        [SH_SETTING_model] = "lenet", [SH_SETTING_devices] = "10", [SH_SETTING_data] = "a=b"};
    static const struct {
        const char *filter;
        bool matches;
    } cases[] = {
        {"model=lenet", true},
        {"model=lene", false},
        {"devices=1", false},
        {"devices=1,devices=10", true},
        {"devices=10,devices=1", true},
        {"model=lenet,devices=1", false},
        {"seed=", true},
        {"seed=1", false},
        {"data=a=b", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(sh_study_check_filter(cases[i].filter));
        if (sh_study_matches(cases[i].filter, settings) != cases[i].matches)
            fail_msg("%s", cases[i].filter);
    }
    assert_fails(sh_study_check_filter("model=a,colour=red"), SH_INVALID, "'colour=red': must be");
    assert_fails(sh_study_check_filter("model"), SH_INVALID, "'model': must be SETTING=VALUE");
    assert_fails(sh_study_check_filter(""), SH_INVALID, "'': must be");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiplies_what_a_block_has),
        cmocka_unit_test(names_a_trial_by_its_settings),
        cmocka_unit_test(says_where_and_what_is_wrong),
        cmocka_unit_test(refuses_what_is_too_large),
        cmocka_unit_test(finds_what_a_filter_asks_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
