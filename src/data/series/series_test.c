/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>

#include "base/scratch.h"
#include "data/dataset.h"

static char folder[SCRATCH_BYTES + 16];

static int set_up(void **state)
{
    scratch_set_up(state);
    snprintf(folder, sizeof folder, "%s/data", scratch_folder);
    return setenv("XDG_CACHE_HOME", scratch_folder, 1) + mkdir(folder, 0700);
}

static sh_status open_data(sh_dataset **data, const char *name, const sh_read_options *options)
{
    char spec[sizeof folder + 64];
    snprintf(spec, sizeof spec, "series:%s%s%s", folder, name[0] == '\0' ? "" : "/", name);
    return sh_dataset_open(data, spec, options);
}

static void put(const char *below, int rows, double level, const char *(*label)(int row))
{
    char path[sizeof folder + 128];
    snprintf(path, sizeof path, "%s/%s", folder, below);
    char *slash = strrchr(path + strlen(folder) + 1, '/');
    if (slash != NULL) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "i,level%s\n", label == NULL ? "" : ",what");
    for (int i = 0; i < rows; i++)
        fprintf(file, "%d,%d%s%s\n", i, (int)level, label == NULL ? "" : ",",
                label == NULL ? "" : label(i));
    assert_int_equal(fclose(file), 0);
}

static double plain(const json_t *about, size_t column, float value)
{
    const json_t *columns = json_object_get(json_object_get(about, "inputs"), "columns");
    const json_t *c = json_array_get(columns, column);
    return (double)value * json_real_value(json_object_get(c, "deviation")) +
           json_real_value(json_object_get(c, "mean"));
}

static void windows_of_folders(void **state)
{
    (void)state;
    enum { WINDOW = 8 };
    char name[64];
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "%s/%d.csv", i % 2 == 0 ? "up" : "down", i);
        put(name, 20, 100 + i, NULL);
    }
    sh_dataset *data;
    assert_ok(open_data(&data, "", &(sh_read_options){.window = WINDOW}));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_true(info->channels == 2 && info->height == 1 && info->width == WINDOW);
    assert_true(info->outputs == 2 && info->target == SH_TARGET_CLASS);
    assert_int_equal(info->count[0] + info->count[1], 10 * 4); /* at rows 0, 4, 8 and 12 */
    json_t *about = json_loads(sh_dataset_description(data), 0, NULL);
    unsigned in[SH_SPLITS] = {0};
    double sum = 0, squares = 0;
    for (int split = 0; split < SH_SPLITS; split++)
        for (uint32_t k = 0; k < info->count[split]; k++) {
            float sample[2 * WINDOW];
            int32_t class = -1;
            assert_ok(sh_dataset_read(data, (sh_split)split, k, sample, &class));
            const double level = plain(about, 1, sample[WINDOW]),
                         first = plain(about, 0, sample[0]);
            const long file = lround(level) - 100;
            in[split] |= 1u << file;
            assert_int_equal(class, file % 2 == 0 ? 1 : 0);
            assert_int_equal(lround(first) % 4, 0);
            for (int t = 0; t < WINDOW; t++) {
                assert_int_equal(lround(plain(about, 0, sample[t])), lround(first) + t);
                sum += split == 0 ? (double)sample[t] : 0;
                squares += split == 0 ? (double)sample[t] * (double)sample[t] : 0;
            }
        }
    assert_int_equal(in[0] & in[1], 0);
    assert_int_equal(in[0] | in[1], 1023);
    assert_true(fabs(sum / (info->count[0] * WINDOW)) < 1e-6);
    assert_true(fabs(squares / (info->count[0] * WINDOW) - 1) < 1e-6);
    json_decref(about);
    sh_dataset_close(data);
}

static void groups_stand_in_one_split(void **state)
{
    (void)state;
    char name[64];
    for (int i = 0; i < 24; i++) {
        const int group = i / 4;
        snprintf(name, sizeof name, "%s.%d.%d.csv", i % 2 == 0 ? "up" : "down", group, i);
        put(name, 8, group, NULL);
    }
    sh_dataset *data;
    assert_ok(open_data(&data, "",
                        &(sh_read_options){.window = 8, .label_from = "{label}.{group}.{}.csv"}));
    const sh_dataset_info *info = sh_dataset_about(data);
    json_t *about = json_loads(sh_dataset_description(data), 0, NULL);
    unsigned in[SH_SPLITS] = {0};
    for (int split = 0; split < SH_SPLITS; split++)
        for (uint32_t k = 0; k < info->count[split]; k++) {
            float sample[16];
            int32_t class = -1;
            assert_ok(sh_dataset_read(data, (sh_split)split, k, sample, &class));
            in[split] |= 1u << lround(plain(about, 1, sample[8]));
        }
    assert_int_equal(in[0] & in[1], 0);
    assert_int_equal(in[0] | in[1], 63);
    json_decref(about);
    sh_dataset_close(data);
}

static const char *alternating(int row)
{
    return row / 20 % 2 == 0 ? "on" : "off";
}

static void a_file_is_cut_in_time(void **state)
{
    (void)state;
    enum { WINDOW = 8 };
    put("one.csv", 400, 1, alternating);
    sh_dataset *data;
    const sh_read_options options = {
        .window = WINDOW, .stride = 2, .val_split = 0.25f, .target = "what"};
    assert_ok(open_data(&data, "one.csv", &options));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_int_equal(info->channels, 2);
    json_t *about = json_loads(sh_dataset_description(data), 0, NULL);
    for (int split = 0; split < SH_SPLITS; split++)
        for (uint32_t k = 0; k < info->count[split]; k++) {
            float sample[2 * WINDOW];
            int32_t class = -1;
            assert_ok(sh_dataset_read(data, (sh_split)split, k, sample, &class));
            const int first = (int)lround(plain(about, 0, sample[0]));
            int on = 0;
            for (int t = 0; t < WINDOW; t++)
                on += alternating(first + t)[1] == 'n';
            assert_true(on <= 2 || on >= 6);
            assert_int_equal(class, on >= 6 ? 1 : 0);
            assert_true(split == 0 ? first + 2 * WINDOW <= 300 : first >= 300);
        }
    /* Of the ten windows in a run of 20 rows, one has 4 rows of each label. */
    assert_int_equal(info->count[1], 47 - 4);
    json_decref(about);
    sh_dataset_close(data);
    assert_ok(open_data(&data, "one.csv", &(sh_read_options){.window = WINDOW}));
    assert_int_equal(sh_dataset_about(data)->outputs, 2); /* the last column has words */
    sh_dataset_close(data);
    assert_ok(
        open_data(&data, "one.csv",
                  &(sh_read_options){.window = 16, .task = "reconstruction", .target = "what"}));
    assert_int_equal(sh_dataset_about(data)->outputs, 2 * 16);
    sh_dataset_close(data);
}

/* The note is the same in every locale. */
static void a_column_of_time_is_dropped(void **state)
{
    (void)state;
    char path[sizeof folder + 16];
    FILE *file;
    sh_dataset *data;
    snprintf(path, sizeof path, "%s/t.csv", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "Timestamp,x,what\n");
    for (int i = 0; i < 100; i++)
        fprintf(file, "%d.%d,%d,%s\n", i / 2, i % 2 * 5, i % 9, i / 3 % 2 == 0 ? "on" : "off");
    assert_int_equal(fclose(file), 0);
    assert_ok(open_data(&data, "t.csv", &(sh_read_options){.window = 2, .stride = 1}));
    assert_int_equal(sh_dataset_about(data)->channels, 1);
    const char *about = sh_dataset_description(data);
    assert_non_null(strstr(about, "column Timestamp is dropped; rows are 0.5 apart in it"));
    assert_non_null(strstr(about, "\"interval\":0.5"));
    assert_null(strstr(about, "does not"));
    sh_dataset_close(data);

    /* One time decreases and one repeats. */
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "Timestamp,x,what\n");
    for (int i = 0; i < 100; i++)
        fprintf(file, "%d,%d,%s\n",
                i == 40   ? 2
                : i == 60 ? 59
                          : i,
                i % 9, i / 3 % 2 == 0 ? "on" : "off");
    assert_int_equal(fclose(file), 0);
    assert_ok(open_data(&data, "t.csv", &(sh_read_options){.window = 2, .stride = 1}));
    assert_non_null(strstr(sh_dataset_description(data),
                           "the time does not increase at 2 rows, first at line 42 of t.csv; rows "
                           "are kept in the order of the file"));
    sh_dataset_close(data);
}

static const char *always(int row)
{
    (void)row;
    return "on";
}

static void bad_series_are_refused(void **state)
{
    (void)state;
    sh_dataset *data;
    put("one.csv", 50, 1, always);
    assert_fails(open_data(&data, "one.csv", NULL), SH_INVALID, "all windows are of one class, on");
    put("one.csv", 50, 1, alternating);
    assert_fails(open_data(&data, "one.csv", NULL), SH_INVALID,
                 "the longest of 1 files has 50 rows, fewer than a window of 128");
    assert_fails(open_data(&data, "one.csv", &(sh_read_options){.window = 30}), SH_INVALID,
                 "no window is left for training");
    assert_fails(open_data(&data, "one.csv", &(sh_read_options){.task = "regression"}),
                 SH_UNSUPPORTED, "classification or reconstruction");
    assert_fails(open_data(&data, "one.csv", &(sh_read_options){.target = "i,what"}), SH_INVALID,
                 "one column of labels");
    put("two.csv", 50, 1, NULL);
    assert_fails(open_data(&data, "two.csv", NULL), SH_INVALID, "name the column with --target");
    assert_fails(open_data(&data, "", NULL), SH_MISMATCH, "two.csv: has 2 columns");
    assert_fails(sh_dataset_open(&data, "series", NULL), SH_INVALID, "write series:PATH");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(windows_of_folders),     WITH_FOLDER(groups_stand_in_one_split),
        WITH_FOLDER(a_file_is_cut_in_time),  WITH_FOLDER(a_column_of_time_is_dropped),
        WITH_FOLDER(bad_series_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
