/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>

#include "data/dataset.h"
#include "data/fixture.h"

static fixture place;
static const sh_read_options usual;

static int set_up(void **state)
{
    (void)state;
    fixture_new(&place);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_remove(&place);
    return 0;
}

static sh_status open_path(sh_dataset **data, const char *path, const sh_read_options *options)
{
    char spec[2 * SCRATCH_BYTES];
    snprintf(spec, sizeof spec, "table:%s", path);
    return sh_dataset_open(data, spec, options);
}

static sh_status open_text(sh_dataset **data, const char *text, const sh_read_options *options)
{
    fixture_write(&place, "t.csv", text, strlen(text));
    return open_path(data, fixture_path(&place, "t.csv"), options);
}

/* x is 0 .. rows - 1, c one of three words, y whether x is odd. */
static char *rule(int rows, const char *header)
{
    static const char *const words[] = {"red", "green", "blue"};
    const size_t bytes = (size_t)rows * 32 + 64;
    char *text = malloc(bytes);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, bytes, "%s", header);
    for (int i = 0; i < rows; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%d,%s,%d\n", i, words[i % 3], i % 2);
    return text;
}

/* /list[index]/key of the description. */
static double figure(const sh_dataset *data, const char *list, size_t index, const char *key)
{
    json_t *about = json_loads(sh_dataset_description(data), 0, NULL);
    assert_non_null(about);
    const json_t *value = json_object_get(json_array_get(json_object_get(about, list), index), key);
    assert_true(json_is_number(value));
    const double number = json_number_value(value);
    json_decref(about);
    return number;
}

static void expect_about(const sh_dataset *data, const char *part)
{
    const char *about = sh_dataset_description(data);
    if (about == NULL || strstr(about, part) == NULL)
        fail_msg("'%s' lacks '%s'", about, part);
}

static void samples_are_rows(void **state)
{
    (void)state;
    enum { ROWS = 300 };
    char *text = rule(ROWS, "x,c,y\n");
    sh_dataset *data;
    assert_ok(open_text(&data, text, &usual));
    free(text);
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_string_equal(info->name, "table");
    assert_int_equal(info->channels * info->height, 1);
    assert_int_equal(info->width, 4);
    assert_int_equal(info->element, SH_ELEMENT_FLOAT);
    assert_int_equal(info->target, SH_TARGET_CLASS);
    assert_int_equal(info->outputs, 2);
    assert_int_equal(info->count[0] + info->count[1], ROWS);
    assert_in_range(info->count[SH_SPLIT_VALIDATION], ROWS / 10, ROWS * 3 / 10);
    expect_about(data, "\"classes\":[\"0\",\"1\"]");
    expect_about(data, "\"categories\":[\"blue\",\"green\",\"red\"]");
    expect_about(data, "\"line 1 is the header\"");

    const double mean = figure(data, "inputs", 0, "mean");
    const double deviation = figure(data, "inputs", 0, "deviation");
    double sum = 0, squares = 0;
    int seen[ROWS] = {0};
    for (int split = 0; split < SH_SPLITS; split++)
        for (uint32_t i = 0; i < info->count[split]; i++) {
            float inputs[4];
            int32_t class;
            assert_ok(sh_dataset_read(data, (sh_split)split, i, inputs, &class));
            const int x = (int)lround((double)inputs[0] * deviation + mean);
            assert_in_range(x, 0, ROWS - 1);
            assert_int_equal(class, x % 2);
            for (int k = 0; k < 3; k++) /* categories: blue, green, red; x % 3: red, green, blue */
                assert_true(inputs[1 + k] == (2 - x % 3 == k ? 1 : 0));
            seen[x]++;
            sum += split == SH_SPLIT_TRAIN ? (double)inputs[0] : 0;
            squares += split == SH_SPLIT_TRAIN ? (double)inputs[0] * (double)inputs[0] : 0;
        }
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(seen[i], 1);
    const double count = info->count[SH_SPLIT_TRAIN];
    assert_true(fabs(sum / count) < 1e-5 && fabs(squares / count - 1) < 1e-5);
    sh_dataset_close(data);
}

/* Equal content gives the same digest, packed or not. */
static void sets_are_of_content_and_options(void **state)
{
    (void)state;
    char first[SH_DIGEST_TEXT], *text = rule(100, "x,c,y\n");
    sh_dataset *data;
    assert_ok(open_text(&data, text, &usual));
    snprintf(first, sizeof first, "%s", sh_dataset_about(data)->fingerprint);
    sh_dataset_close(data);
    fixture_gzip(&place, "other.csv.gz", text, strlen(text));
    assert_ok(sh_dataset_open(&data, fixture_path(&place, "other.csv.gz"), NULL));
    assert_string_equal(sh_dataset_about(data)->fingerprint, first);
    sh_dataset_close(data);
    static const sh_read_options others[] = {{.target = "c"},
                                             {.inputs = "x"},
                                             {.val_split = 0.5f},
                                             {.task = "regression"},
                                             {.skip_lines = 1}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_ok(open_path(&data, fixture_path(&place, "t.csv"), &others[i]));
        assert_string_not_equal(sh_dataset_about(data)->fingerprint, first);
        sh_dataset_close(data);
    }
    text[strlen(text) - 2] ^= 1;
    assert_ok(open_text(&data, text, &usual));
    assert_string_not_equal(sh_dataset_about(data)->fingerprint, first);
    sh_dataset_close(data);
    free(text);
}

static void numbers_are_targets_too(void **state)
{
    (void)state;
    enum { ROWS = 60 };
    char text[ROWS * 40] = "a,b,c\n";
    size_t used = strlen(text);
    sh_dataset *data;
    for (int i = 0; i < ROWS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d.5,%d\n", i, 2 * i, -i);
    assert_ok(open_text(&data, text, &(sh_read_options){.target = "b,c"}));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_int_equal(info->target, SH_TARGET_NUMBERS);
    assert_int_equal(info->outputs, 2);
    assert_int_equal(info->width, 1);
    expect_about(data, "\"name\":\"b\"");
    const double scale[] = {figure(data, "targets", 0, "deviation"),
                            figure(data, "targets", 1, "deviation"),
                            figure(data, "inputs", 0, "deviation")};
    const double mean[] = {figure(data, "targets", 0, "mean"), figure(data, "targets", 1, "mean"),
                           figure(data, "inputs", 0, "mean")};
    for (uint32_t i = 0; i < info->count[SH_SPLIT_TRAIN]; i++) {
        float input, targets[2];
        assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, i, &input, targets));
        const double a = (double)input * scale[2] + mean[2];
        assert_true(fabs((double)targets[0] * scale[0] + mean[0] - (2 * a + 0.5)) < 1e-3);
        assert_true(fabs((double)targets[1] * scale[1] + mean[1] + a) < 1e-3);
    }
    sh_dataset_close(data);
}

static void labels_and_the_sample_itself(void **state)
{
    (void)state;
    char text[2000] = "x,hot,wet\n";
    size_t used = strlen(text);
    sh_dataset *data;
    for (int i = 0; i < 60; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%d,%d,%d\n", i, i % 2, i % 3 == 0);
    assert_ok(open_text(&data, text, &(sh_read_options){.target = "hot,wet"}));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_int_equal(info->target, SH_TARGET_LABELS);
    assert_int_equal(info->outputs, 2);
    expect_about(data, "\"classes\":[\"hot\",\"wet\"]");
    const double scale = figure(data, "inputs", 0, "deviation");
    const double mean = figure(data, "inputs", 0, "mean");
    for (uint32_t i = 0; i < info->count[SH_SPLIT_VALIDATION]; i++) {
        float input, labels[2];
        assert_ok(sh_dataset_read(data, SH_SPLIT_VALIDATION, i, &input, labels));
        const int x = (int)lround((double)input * scale + mean);
        assert_true(labels[0] == (float)(x % 2) && labels[1] == (x % 3 == 0 ? 1 : 0));
    }
    sh_dataset_close(data);
    assert_ok(open_text(&data, text, &(sh_read_options){.task = "reconstruction"}));
    assert_int_equal(sh_dataset_about(data)->target, SH_TARGET_SAMPLE);
    assert_int_equal(sh_dataset_about(data)->width, 3);
    assert_int_equal(sh_dataset_about(data)->outputs, 3);
    sh_dataset_close(data);
}

static void messy_tables_are_noted(void **state)
{
    (void)state;
    char text[8000] = "x,same,name,y\n";
    size_t used = strlen(text);
    sh_dataset *data;
    for (int i = 0; i < 200; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s,1,name %d,%s\n",
                                 i % 10 == 0  ? "NA"
                                 : i % 2 == 0 ? "2"
                                              : "3",
                                 i,
                                 i % 25 == 0  ? ""
                                 : i % 3 == 0 ? "yes"
                                              : "no");
    assert_ok(open_text(&data, text, &usual));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_int_equal(info->count[0] + info->count[1], 192);
    assert_int_equal(info->width, 2);
    expect_about(data, "rows without a target, left out: 8");
    expect_about(data, "left out, since most words differ: name");
    expect_about(data, "left out, since all training rows have the same: same");
    expect_about(data, "missing values: x (16)");
    expect_about(data, "\"missing\":true");
    sh_dataset_close(data);

    used = 0;
    for (int i = 0; i < 200; i++) /* 20 distinct rows */
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d\n", i % 20, i % 2);
    assert_ok(open_text(&data, text, &usual));
    info = sh_dataset_about(data);
    assert_int_equal(info->count[0] % 10, 0);
    assert_int_equal(info->count[1] % 10, 0);
    expect_about(data, "there is no header");
    sh_dataset_close(data);
}

static void bad_tables_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        sh_read_options options;
        sh_status status;
        const char *message;
    } cases[] = {
        {"", {0}, SH_FORMAT, "t.csv: is empty"},
        {"a,b\n", {0}, SH_FORMAT, "t.csv: has a header in line 1 and no row below it"},
        {"5,3\n1,2,3\n4,5,6\n", {0}, SH_FORMAT, "write --skip-lines 1"},
        {"a,b\n1,2\n3\n", {0}, SH_FORMAT, "t.csv: line 3 has 1 fields"},
        {"a,b\n1,?\n2,?\n", {0}, SH_FORMAT, "t.csv: all values of the target 'b' are missing"},
        {"a,b\n1,x\n2,x\n", {0}, SH_FORMAT, "t.csv: the target 'b' has only one class"},
        {"a,b\ninf,x\n2,y\n",
         {0},
         SH_FORMAT,
         "t.csv: line 2: 'inf' in the column 'a' is not a finite number; fix it, or leave the "
         "column out with --inputs -a"},
        {"a,b\n1,-inf\n2,1\n",
         {.task = "regression"},
         SH_FORMAT,
         "line 2: '-inf' in the column 'b' is not a finite number; fix it, or remove the line"},
        {"a,b\nnan,x\nNaN,y\n", {0}, SH_FORMAT, "t.csv: no column is left as an input"},
        {"a,b\n1,x\nfew,y\n",
         {.inputs = "a:number"},
         SH_FORMAT,
         "t.csv: line 3: 'few' in the column 'a' is not a number"},
        {"a,b\n1,x\n2,y\n",
         {.inputs = "a:date"},
         SH_FORMAT,
         "line 2: '1' in the column 'a' is not a "
         "date"},
        {"a,b\nlow,x\nmid,y\n",
         {.inputs = "a:ordinal(low;high)"},
         SH_FORMAT,
         "line 3: 'mid' is not in the order of the column 'a'"},
        {"a,price\n1,x\n2,y\n",
         {.target = "prize"},
         SH_NOT_FOUND,
         "t.csv: --target: there is no column 'prize'; is 'price' meant?"},
        {"a,b\n1,\"x\n2,y\n", {0}, SH_FORMAT, "line 2, field 2: its quote is not closed"},
        {"a,b\n1,\xe4\n", {0}, SH_FORMAT, "line 2, field 2: byte 0xe4 is not UTF-8"},
        {"a,b\n1,3\n1,3\n", {.task = "regression"}, SH_INVALID, "cannot be divided"},
        {"a,b\n1,3\n2,3\n3,3\n",
         {.task = "regression"},
         SH_FORMAT,
         "the target 'b' is the same in all training rows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_dataset *data = NULL;
        assert_fails(open_text(&data, cases[i].text, &cases[i].options), cases[i].status,
                     cases[i].message);
        assert_null(data);
    }
}

static void far_values_are_damage(void **state)
{
    (void)state;
    char *text = rule(400, "x,c,y\n");
    sh_dataset *data = NULL;
    bool refused = false;
    for (int row = 1; row < 40 && !refused; row++) { /* until the row is a validation row */
        char with[16384], old[16], far[16];
        snprintf(old, sizeof old, "\n%d,", row);
        snprintf(far, sizeof far, "\n1e%d,", 60 + row);
        const char *at = strstr(text, old);
        assert_non_null(at);
        snprintf(with, sizeof with, "%.*s%s%s", (int)(at - text), text, far, at + strlen(old));
        const sh_status status = open_text(&data, with, &usual);
        if (status == SH_OK) {
            sh_dataset_close(data);
            continue;
        }
        refused = true;
        char message[128];
        snprintf(message, sizeof message, "line %d: 1e+%d in the column 'x' is too far", row + 2,
                 60 + row);
        assert_fails(status, SH_CORRUPT, message);
        assert_ok(open_text(&data, with, &(sh_read_options){.skip_damaged = true}));
        assert_int_equal(sh_dataset_about(data)->count[0] + sh_dataset_about(data)->count[1], 399);
        sh_dataset_close(data);
    }
    assert_true(refused);
    free(text);
}

static void many_columns_are_read(void **state)
{
    (void)state;
    enum { COLUMNS = 100000, ROWS = 8 };
    char *text = malloc((COLUMNS + 1) * ROWS * 2 + 1);
    sh_dataset *data;
    assert_non_null(text);
    size_t used = 0;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < COLUMNS; i++) {
            text[used++] = (char)('0' + row * (i % 7 + 1) % 10);
            text[used++] = i + 1 < COLUMNS ? ',' : '\n';
        }
    text[used] = '\0';
    assert_fails(open_text(&data, text, &usual), SH_LIMIT,
                 "t.csv: makes 99999 inputs and 1 targets; the limit is 65536 of each");
    assert_ok(open_text(&data, text, &(sh_read_options){.inputs = "1,3,99999"}));
    assert_int_equal(sh_dataset_about(data)->width, 3);
    sh_dataset_close(data);
    memcpy(text + 2 * COLUMNS - 1, ",1\n", 3);
    assert_fails(open_text(&data, text, &usual), SH_LIMIT, "line 1 has more than 100000 fields");
    free(text);
}

/* --- real data --- */

static void open_real(sh_dataset **data, const char *name, const sh_read_options *options)
{
    char path[SCRATCH_BYTES], file[256];
    snprintf(file, sizeof file, "tables/%s", name);
    find_real_data(path, sizeof path, file);
    assert_ok(open_path(data, path, options));
}

static void real_tables_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        sh_read_options options;
        uint32_t rows, width, outputs;
        sh_target target;
    } cases[] = {
        {"wine_data.csv", {.skip_lines = 1}, 178, 13, 3, SH_TARGET_CLASS},
        {"breast_cancer.csv", {.skip_lines = 1}, 569, 30, 2, SH_TARGET_CLASS},
        {"digits.csv.gz", {0}, 1797, 61, 10, SH_TARGET_CLASS},
        {"diabetes.csv", {0}, 442, 10, 1, SH_TARGET_NUMBERS},
        {"diabetes_data.csv.gz", {.task = "reconstruction"}, 442, 10, 10, SH_TARGET_SAMPLE},
        {"titanic.csv", {.target = "Survived"}, 891, 12, 2, SH_TARGET_CLASS},
        {"titanic.csv", {.target = "Age", .inputs = "Sex,Pclass"}, 714, 3, 1, SH_TARGET_NUMBERS},
        {"horse-colic.csv", {.target = "24"}, 300, 48, 2, SH_TARGET_CLASS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_dataset *data;
        open_real(&data, cases[i].name, &cases[i].options);
        const sh_dataset_info *info = sh_dataset_about(data);
        assert_int_equal(info->count[0] + info->count[1], cases[i].rows);
        assert_int_equal(info->width, cases[i].width);
        assert_int_equal(info->outputs, cases[i].outputs);
        assert_int_equal(info->target, cases[i].target);
        sh_dataset_close(data);
    }
}

static void scikit_learns_counts_are_explained(void **state)
{
    (void)state;
    static const char *const names[] = {"tables/wine_data.csv", "tables/breast_cancer.csv"};
    for (int i = 0; i < 2; i++) {
        char path[SCRATCH_BYTES];
        sh_dataset *data;
        find_real_data(path, sizeof path, names[i]);
        assert_fails(open_path(&data, path, &usual), SH_FORMAT, "--skip-lines 1");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(samples_are_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sets_are_of_content_and_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_are_targets_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(labels_and_the_sample_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(messy_tables_are_noted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_tables_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(far_values_are_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_columns_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(real_tables_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scikit_learns_counts_are_explained, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
