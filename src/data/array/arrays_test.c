/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>

#include "data/array/array_fixture.h"
#include "data/dataset.h"

static char folder[SCRATCH_BYTES + 16];

static int set_up(void **state)
{
    scratch_set_up(state);
    snprintf(folder, sizeof folder, "%s/data", scratch_folder);
    return setenv("XDG_CACHE_HOME", scratch_folder, 1) + mkdir(folder, 0700);
}

static sh_status open_data(sh_dataset **data, const sh_read_options *options)
{
    char spec[sizeof folder + 8];
    snprintf(spec, sizeof spec, "npy:%s", folder);
    return sh_dataset_open(data, spec, options);
}

static void assert_notes(const sh_dataset *data, const char *expected)
{
    char text[1024] = "";
    json_t *about = json_loads(sh_dataset_description(data), 0, NULL);
    assert_non_null(about);
    size_t i, used = 0;
    json_t *each;
    json_array_foreach(json_object_get(about, "notes"), i, each) used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s\n", json_string_value(each));
    assert_string_equal(text, expected);
    json_decref(about);
}

static void write_named(const char *name, const char *type, const char *shape, const void *numbers,
                        size_t bytes)
{
    array_write(folder, name, type, shape, numbers, bytes);
}

/* [N][H][W][3] and [N][3][H][W] give the same samples. */
static void pictures_of_both_orders(void **state)
{
    (void)state;
    enum { N = 4, H = 5, W = 2, C = 3 };
    static uint8_t last[N][H][W][C], first[N][C][H][W];
    static const uint8_t classes[N] = {0, 2, 1, 0};
    for (size_t i = 0; i < sizeof last; i++)
        ((uint8_t *)last)[i] = (uint8_t)(i * 5);
    for (int n = 0; n < N; n++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                for (int c = 0; c < C; c++)
                    first[n][c][y][x] = last[n][y][x][c];
    for (int turn = 0; turn < 2; turn++) {
        sh_dataset *data;
        const void *pixels = turn == 0 ? (const void *)last : (const void *)first;
        const char *shape = turn == 0 ? "(4, 5, 2, 3)" : "(4, 3, 5, 2)";
        write_named("x_train", "|u1", shape, pixels, sizeof last);
        write_named("x_test", "|u1", shape, pixels, sizeof last);
        write_named("y_train", "|u1", "(4,)", classes, sizeof classes);
        write_named("y_test", "|u1", "(4,)", classes, sizeof classes);
        assert_ok(open_data(&data, NULL));
        const sh_dataset_info *info = sh_dataset_about(data);
        assert_int_equal(info->element, SH_ELEMENT_BYTE);
        assert_true(info->channels == C && info->height == H && info->width == W);
        assert_true(info->count[0] == N && info->count[1] == N && info->outputs == 3);
        for (int n = 0; n < N; n++) {
            uint8_t sample[C * H * W];
            int32_t class = -1;
            assert_ok(sh_dataset_read(data, (sh_split)(n % 2), (uint32_t)n, sample, &class));
            assert_memory_equal(sample, first[n], sizeof sample);
            assert_int_equal(class, classes[n]);
        }
        assert_notes(data, turn == 0 ? "x_train.npy is taken as [N][height][width][channels]: 3 "
                                       "channels of 5 x 2\n"
                                     : "x_train.npy is taken as [N][channels][height][width]: 3 "
                                       "channels of 5 x 2\n");
        sh_dataset_close(data);
    }
}

static void features_are_standardised(void **state)
{
    (void)state;
    enum { N = 200, F = 3 };
    static double x[N][F];
    static int32_t y[N];
    for (int n = 0; n < N; n++) {
        x[n][0] = n;
        x[n][1] = 4;
        x[n][2] = n % 7 * 1e6;
        y[n] = n % 5;
    }
    write_named("x", "<f8", "(200, 3)", x, sizeof x);
    write_named("y", "<i4", "(200,)", y, sizeof y);
    sh_dataset *data;
    assert_ok(open_data(&data, &(sh_read_options){.val_split = 0.25f}));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_true(info->channels == 1 && info->height == 1 && info->width == F);
    assert_int_equal(info->element, SH_ELEMENT_FLOAT);
    assert_in_range(info->count[SH_SPLIT_VALIDATION], 30, 70);
    assert_int_equal(info->count[0] + info->count[1], N);
    double sum[F] = {0}, squares[F] = {0};
    for (uint32_t i = 0; i < info->count[0]; i++) {
        float sample[F];
        int32_t class = -1;
        assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, i, sample, &class));
        for (int f = 0; f < F; f++) {
            sum[f] += (double)sample[f];
            squares[f] += (double)sample[f] * (double)sample[f];
        }
        assert_in_range(class, 0, 4);
    }
    for (int f = 0; f < F; f++) {
        assert_true(fabs(sum[f] / info->count[0]) < 1e-6);
        assert_true(fabs(squares[f] / info->count[0] - (f == 1 ? 0 : 1)) < 1e-5);
    }
    char expected[256];
    snprintf(
        expected, sizeof expected,
        "there is no x_val or x_test: %u of 200 samples, chosen by number, are for validation\n"
        "1 of 3 features never change in the training samples\n",
        info->count[1]);
    assert_notes(data, expected);
    sh_dataset_close(data);
}

static void channels_are_standardised(void **state)
{
    (void)state;
    enum { N = 3, C = 2, P = 4 };
    static float x[N][C][P];
    static const float y[N] = {1, 2, 6};
    for (int n = 0; n < N; n++)
        for (int p = 0; p < P; p++) {
            x[n][0][p] = p % 2 == 0 ? 10 : 30;
            x[n][1][p] = n == 0 ? -5 : 5;
        }
    static const char *const names[] = {"x_train", "x_val"};
    for (int i = 0; i < 2; i++) {
        write_named(names[i], "<f4", "(3, 2, 2, 2)", x, sizeof x);
        write_named(i == 0 ? "y_train" : "y_val", "<f4", "(3,)", y, sizeof y);
    }
    sh_dataset *data;
    float sample[C * P], target = 0;
    assert_ok(open_data(&data, NULL));
    assert_int_equal(sh_dataset_about(data)->target, SH_TARGET_NUMBERS);
    assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, 2, sample, &target));
    assert_true(sample[0] == -1 && sample[1] == 1 && sample[3] == 1);
    const double mean = 5.0 / 3,
                 deviation = sqrt(((-5 - mean) * (-5 - mean) + 2 * (5 - mean) * (5 - mean)) / 3);
    assert_true(fabs((double)sample[C * P - 1] - (5 - mean) / deviation) < 1e-6);
    assert_true(fabs((double)target - 3 / sqrt(14.0 / 3)) < 1e-6);
    sh_dataset_close(data);
    const sh_read_options options = {.task = "reconstruction"};
    assert_ok(open_data(&data, &options));
    assert_int_equal(sh_dataset_about(data)->target, SH_TARGET_SAMPLE);
    assert_int_equal(sh_dataset_about(data)->outputs, C * P);
    sh_dataset_close(data);
}

static void numbers_that_are_not_finite_are_named(void **state)
{
    (void)state;
    enum { N = 20 };
    static float x[N][2];
    static int32_t y[N];
    for (int n = 0; n < N; n++) {
        x[n][0] = (float)n;
        x[n][1] = (float)(n % 3);
        y[n] = n % 2;
    }
    x[4][1] = NAN;
    x[9][0] = INFINITY;
    write_named("x", "<f4", "(20, 2)", x, sizeof x);
    write_named("y", "<i4", "(20,)", y, sizeof y);
    sh_dataset *data;
    assert_fails(open_data(&data, NULL), SH_CORRUPT, "2 of 20 samples cannot be read");
    assert_fails(open_data(&data, NULL), SH_CORRUPT, "x.npy: number 1 of sample 4 is NaN");
    assert_fails(open_data(&data, NULL), SH_CORRUPT, "x.npy: number 0 of sample 9 is infinite");
    assert_ok(open_data(&data, &(sh_read_options){.skip_damaged = true}));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_int_equal(info->count[0] + info->count[1], N - 2);
    sh_dataset_close(data);
}

static void classes_that_are_missing_are_noted(void **state)
{
    (void)state;
    static const int32_t x[6] = {1, 2, 3, 4, 5, 6}, train[6] = {0, 1, 3, 0, 1, 5},
                         validation[6] = {0, 1, 4, 0, 0, 5};
    write_named("x_train", "<i4", "(6, 1)", x, sizeof x);
    write_named("y_train", "<i4", "(6,)", train, sizeof train);
    write_named("x_val", "<i4", "(6, 1)", x, sizeof x);
    write_named("y_val", "<i4", "(6,)", validation, sizeof validation);
    sh_dataset *data;
    assert_ok(open_data(&data, NULL));
    assert_int_equal(sh_dataset_about(data)->outputs, 6);
    assert_notes(data, "1 of 6 classes are in neither split: 2\n"
                       "1 of 6 classes are only in the validation split: 4\n1 of 6 classes are "
                       "only in the training split: 3\n");
    sh_dataset_close(data);
}

static void a_folder_is_recognised(void **state)
{
    (void)state;
    static const int32_t x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0, 1, 0, 0, 1, 1};
    sh_dataset *data;
    write_named("X_train", "<i4", "(6, 1)", x, sizeof x);
    write_named("y_train", "<i4", "(6,)", y, sizeof y);
    assert_ok(sh_dataset_open(&data, folder, NULL));
    assert_string_equal(sh_dataset_about(data)->name, "npy");
    sh_dataset_close(data);
}

static void bad_arrays_are_refused(void **state)
{
    (void)state;
    static const float numbers[64] = {0};
    static const int32_t y[4] = {0, 1, 0, 1};
    static const struct {
        const char *shape, *y_shape;
        size_t bytes, y_bytes;
        sh_status code;
        const char *message;
    } cases[] = {
        {"(4,)", "(4,)", 16, 16, SH_INVALID, "x.npy: has 1 dimensions; samples are [N][features]"},
        {"(1, 1, 1, 1, 1)", "(1,)", 4, 4, SH_INVALID, "has 5 dimensions"},
        {"(0, 3)", "(0,)", 0, 0, SH_INVALID, "x.npy: is empty"},
        {"(4, 0)", "(4,)", 0, 16, SH_INVALID, "x.npy: is empty"},
        {"(4, 2)", "(3,)", 32, 12, SH_MISMATCH, "x.npy has 4 samples, but y.npy 3 targets"},
        {"(4, 2)", "()", 32, 4, SH_MISMATCH, "but y.npy 1 targets"},
        {"(9223372036854775808, 1)", "(4,)", 32, 16, SH_LIMIT, "x.npy: has a shape of more bytes"},
        {"(4, 2)", "(4,)", 31, 16, SH_CORRUPT, "x.npy: is cut off"},
        {"(1, 2)", "(1,)", 8, 4, SH_INVALID, "one class"},
    };
    sh_dataset *data;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_named("x", "<f4", cases[i].shape, numbers, cases[i].bytes);
        write_named("y", "<i4", cases[i].y_shape, y, cases[i].y_bytes);
        assert_fails(open_data(&data, NULL), cases[i].code, cases[i].message);
    }
    static const uint8_t wide[2 * 65537];
    write_named("x", "|u1", "(2, 65537)", wide, sizeof wide);
    assert_fails(open_data(&data, NULL), SH_LIMIT, "dimension 1 is 65537");
}

static void arrays_that_are_missing_are_named(void **state)
{
    (void)state;
    static const float x[4] = {1, 2, 3, 4};
    static const int32_t y[4] = {0, 1, 0, 1};
    sh_dataset *data;
    assert_fails(open_data(&data, NULL), SH_NOT_FOUND, "has neither x.npy nor x_train.npy");
    write_named("x_train", "<f4", "(4, 1)", x, sizeof x);
    assert_fails(open_data(&data, NULL), SH_NOT_FOUND, "--task reconstruction");
    write_named("y_train", "<i4", "(4,)", y, sizeof y);
    write_named("x_test", "<f4", "(4, 1)", x, sizeof x);
    assert_fails(open_data(&data, NULL), SH_NOT_FOUND, "y_train.npy, but not the other split's");
    write_named("y_test", "<i4", "(4,)", y, sizeof y);
    write_named("x_test", "<f4", "(4, 1, 1)", x, sizeof x);
    assert_fails(open_data(&data, NULL), SH_MISMATCH, "different shapes");
    write_named("x_test", "<f4", "(4, 1)", x, sizeof x);
    assert_ok(open_data(&data, NULL));
    sh_dataset_close(data);
    assert_fails(sh_dataset_open(&data, "npy:/nothing/here", NULL), SH_NOT_FOUND, "/nothing/here");
    assert_fails(sh_dataset_open(&data, "npy", NULL), SH_INVALID, "write npy:PATH");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(pictures_of_both_orders),
        WITH_FOLDER(features_are_standardised),
        WITH_FOLDER(channels_are_standardised),
        WITH_FOLDER(numbers_that_are_not_finite_are_named),
        WITH_FOLDER(classes_that_are_missing_are_noted),
        WITH_FOLDER(a_folder_is_recognised),
        WITH_FOLDER(bad_arrays_are_refused),
        WITH_FOLDER(arrays_that_are_missing_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
