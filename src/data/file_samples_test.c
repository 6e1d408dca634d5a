/* SPDX-License-Identifier: Apache-2.0 */
#include "data/file_samples.h"

#include <math.h>

#include "base/scratch.h"

#define TRAINED(format, shape, element, about) TRAINED_AS(format, shape, element, "", about)
#define TRAINED_AS(format, shape, element, scale, about)                                           \
    "{\"format\": \"" format "\", " shape ", \"element\": \"" element                              \
    "\", \"target\": \"classification\", \"outputs\": 2, \"samples\": [8, 2], \"mean\": [" scale   \
    "]"                                                                                            \
    ", \"deviation\": [" scale "], \"fingerprint\": \"ab\", \"description\": {" about "}}"
#define SHAPE(channels, height, width)                                                             \
    "\"channels\": " #channels ", \"height\": " #height ", \"width\": " #width
#define TABLE                                                                                      \
    "\"target\": \"size\", \"inputs\": ["                                                          \
    "{\"name\": \"age\", \"column\": 1, \"kind\": \"number\", \"mean\": 10.0, \"deviation\": 2.0," \
    " \"median\": 9.0, \"missing\": false}, {\"name\": \"colour\", \"column\": 2, \"kind\": "      \
    "\"category\", \"categories\": [\"red\", \"blue\"]}]"
#define SLOTS 3

static sh_file_samples *samples_of(sh_trained **trained, const char *text)
{
    sh_file_samples *files;
    const sh_read_options options = {.resize = 0};
    assert_ok(sh_trained_parse(trained, text));
    assert_ok(sh_file_samples_new(&files, *trained, &options, SLOTS));
    return files;
}

static const char *put(const char *name, const char *text)
{
    static char path[SCRATCH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", scratch_folder, name);
    scratch_write(path, text, strlen(text));
    return path;
}

static void expect_row(sh_file_samples *files, const char *where, const char *target, float age,
                       float red)
{
    uint32_t filled;
    int32_t class = 7;
    float values[3];
    sh_dataset *dataset;
    assert_ok(sh_file_samples_fill(files, 1, &filled));
    assert_int_equal(filled, 1);
    const sh_file_sample *slot = sh_file_samples_slot(files, 0);
    assert_ok(sh_file_samples_dataset(&dataset, files));
    assert_ok(sh_dataset_read(dataset, SH_SPLIT_VALIDATION, 0, values, &class));
    sh_dataset_close(dataset);
    assert_false(slot->failed);
    assert_string_equal(slot->name + strlen(slot->name) - strlen(where), where);
    assert_string_equal(slot->target, target);
    assert_true(values[0] == age && values[1] == red && values[2] == 1 - red);
    assert_int_equal(class, 0);
}

static void expect_failure(sh_file_samples *files, const char *message)
{
    uint32_t filled;
    assert_ok(sh_file_samples_fill(files, 1, &filled));
    assert_int_equal(filled, 1);
    const sh_file_sample *slot = sh_file_samples_slot(files, 0);
    assert_true(slot->failed);
    if (strstr(slot->failure, message) == NULL)
        fail_msg("'%s' is not in '%s'", message, slot->failure);
}

static void expect_end(sh_file_samples *files)
{
    uint32_t filled;
    assert_ok(sh_file_samples_fill(files, SLOTS, &filled));
    assert_int_equal(filled, 0);
}

static void rows_of_tables(void **state)
{
    (void)state;
    sh_trained *trained;
    sh_file_samples *files = samples_of(&trained, TRAINED("table", SHAPE(1, 1, 3), "float", TABLE));
    const char *path = put("t.csv", "size,colour,more,age\nbig,red,5,12\n,blue,6,\nsmall,red,7,x\n"
                                    "big,blue\nbig,blue,8,8\n");
    assert_ok(sh_file_samples_begin(files, &path, 1));
    expect_row(files, "t.csv, line 2", "big", 1, 1);
    expect_row(files, "t.csv, line 3", "", -0.5f, 0);
    expect_failure(files, "line 4: 'x' in the column 'age' is not a number");
    expect_failure(files, "line 5 has 2 fields");
    expect_row(files, "t.csv, line 6", "big", -1, 0);
    expect_end(files);
    put("t.csv", "14,blue\n6,green?\n");
    assert_ok(sh_file_samples_begin(files, &path, 1));
    expect_row(files, "t.csv, line 1", "", 2, 0);
    uint32_t filled;
    assert_ok(sh_file_samples_fill(files, SLOTS, &filled));
    assert_int_equal(filled, 1);
    expect_end(files);
    put("t.csv", "colour,age\nred\nblue,8\n");
    assert_ok(sh_file_samples_begin(files, &path, 1));
    expect_failure(files, "line 2 has 1 fields");
    expect_row(files, "t.csv, line 3", "", -1, 0);
    expect_end(files);
    put("t.csv", "Age,Colour\n14,blue\n");
    assert_ok(sh_file_samples_begin(files, &path, 1));
    expect_failure(files, "columns that the run was trained with are missing: age, colour");
    put("t.csv", "colour,years\nblue,14\n");
    assert_ok(sh_file_samples_begin(files, &path, 1));
    expect_failure(files, "are missing: age");
    put("t.csv", "");
    assert_ok(sh_file_samples_begin(files, &path, 1));
    expect_failure(files, "t.csv: is empty");
    expect_end(files);
    sh_file_samples_free(files);
    sh_trained_free(trained);
}

/* A row is returned even if the pipe is then empty. */
static void rows_of_a_stream(void **state)
{
    (void)state;
    sh_trained *trained;
    sh_file_samples *files = samples_of(&trained, TRAINED("table", SHAPE(1, 1, 3), "float", TABLE));
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_ok(sh_file_samples_begin_stream(files, ends[0]));
    static const char *const lines[] = {"age;colour;size\n12;red\n", "12;red;big\n",
                                        "8;blue;small\n", "8;blue\n", "10;blue;small"};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(write(ends[1], lines[i], strlen(lines[i])), strlen(lines[i]));
        if (i == 0)
            expect_failure(files, "standard input: line 2 has 2 fields");
        else if (i == 1)
            expect_row(files, "line 3", "big", 1, 1);
        else if (i == 2)
            expect_row(files, "line 4", "small", -1, 0);
        else if (i == 3)
            expect_failure(files, "standard input: line 5 has 2 fields");
    }
    close(ends[1]);
    expect_row(files, "line 6", "small", 0, 0);
    expect_end(files);
    close(ends[0]);
    sh_file_samples_free(files);
    sh_trained_free(trained);
}

static void files_and_folders(void **state)
{
    (void)state;
    static const char head[] = "P5\n2 2\n255\n";
    sh_trained *trained;
    sh_file_samples *files;
    char first[SCRATCH_BYTES + 8], empty[SCRATCH_BYTES + 8];
    const char photo[] = {0, 64, 127, 1};
    char text[sizeof head + sizeof photo];
    memcpy(text, head, sizeof head - 1);
    memcpy(text + sizeof head - 1, photo, sizeof photo);
    static const char about[] = "{\"format\": \"photos\", " SHAPE(
        1, 2,
        2) ", \"element\": \"byte\", \"target\": "
           "\"classification\", \"outputs\": 2, \"samples\": [8, 2], \"mean\": [0.5], "
           "\"deviation\": "
           "[0.25], \"fingerprint\": \"ab\", \"description\": {\"inputs\": {\"kind\": \"photo\", "
           "\"side\": 2, \"channels\": 1, \"fit\": \"crop\", \"exif\": true}}}";
    put("b.txt", "");
    snprintf(empty, sizeof empty, "%s/empty", scratch_folder);
    assert_int_equal(mkdir(empty, 0700), 0);
    snprintf(first, sizeof first, "%s/a.pgm", scratch_folder);
    scratch_write(first, text, sizeof head - 1 + sizeof photo);
    files = samples_of(&trained, about);
    const char *const paths[] = {first, scratch_folder, empty, "nowhere.jpg"};
    assert_ok(sh_file_samples_begin(files, paths, 4));
    assert_string_equal(sh_file_samples_kind(files), "photos");
    uint32_t filled;
    sh_dataset *dataset;
    uint8_t sample[4];
    int32_t class;
    assert_ok(sh_file_samples_dataset(&dataset, files));
    assert_ok(sh_file_samples_fill(files, SLOTS, &filled));
    assert_int_equal(filled, SLOTS);
    for (uint32_t i = 0; i < 2; i++) {
        assert_ok(sh_dataset_read(dataset, SH_SPLIT_VALIDATION, i, sample, &class));
        assert_false(sh_file_samples_slot(files, i)->failed);
        assert_string_equal(sh_file_samples_slot(files, i)->name, first);
        assert_memory_equal(sample, photo, sizeof photo);
    }
    assert_true(sh_file_samples_slot(files, 2)->failed);
    assert_non_null(strstr(sh_file_samples_slot(files, 2)->failure, "empty: holds no photos"));
    assert_ok(sh_file_samples_fill(files, SLOTS, &filled));
    assert_int_equal(filled, 1);
    assert_ok(sh_dataset_read(dataset, SH_SPLIT_VALIDATION, 0, sample, &class));
    assert_true(sh_file_samples_slot(files, 0)->failed); /* opened only now */
    assert_int_equal(sample[2], 0);
    expect_end(files);
    assert_fails(sh_file_samples_begin_stream(files, 0), SH_UNSUPPORTED, "trained with photos");
    sh_dataset_close(dataset);
    sh_file_samples_free(files);
    sh_trained_free(trained);
}

/* Checkpoints are untrusted. */
static void malformed_descriptions_are_refused(void **state)
{
    (void)state;
#define SOUND(frames, rate)                                                                        \
    "\"inputs\": {\"kind\": \"audio\", \"rate\": " #rate ", \"mels\": 40, \"frames\": " #frames "}"
#define ARRAY(shape, mean)                                                                         \
    "\"inputs\": {\"kind\": \"array\", \"shape\": [" shape "], \"mean\": [" mean                   \
    "], \"deviation\": [1.0, 1.0]}"
#define SERIES(window, columns)                                                                    \
    "\"inputs\": {\"kind\": \"series\", \"window\": " #window ", \"stride\": 2, \"columns\": "     \
    "[" columns "]}"
#define COLUMN "{\"name\": \"x\", \"mean\": 0.0, \"deviation\": 1.0}"
    static const struct {
        const char *text;
        bool fine;
    } cases[] = {
        {TRAINED("audio", SHAPE(1, 98, 40), "float", SOUND(98, 8000)), true},
        {TRAINED("audio", SHAPE(1, 98, 40), "float", SOUND(99, 8000)), false},
        {TRAINED("audio", SHAPE(1, 98, 40), "float", SOUND(98, 80)), false},
        {TRAINED("audio", SHAPE(1, 98, 40), "float", SOUND(98, true)), false},
        {TRAINED("audio", SHAPE(1, 98, 40), "float", ""), false},
        {TRAINED("npy", SHAPE(1, 1, 2), "float", ARRAY("2", "0.0, 0.0")), true},
        {TRAINED("npy", SHAPE(1, 1, 2), "float", ARRAY("2", "0.0")), false},
        {TRAINED("npy", SHAPE(1, 1, 2), "float", ARRAY("3", "0.0, 0.0")), false},
        {TRAINED("npy", SHAPE(1, 1, 2), "float", ARRAY("-2", "0.0, 0.0")), false},
        {TRAINED("npy", SHAPE(1, 1, 2), "float", ARRAY("1, 1, 1, 2", "0.0, 0.0")), false},
        {TRAINED("npy", SHAPE(1, 1, 2), "float", ""), false},
        {TRAINED("series", SHAPE(1, 1, 4), "float", SERIES(4, COLUMN)), true},
        {TRAINED("series", SHAPE(1, 1, 4), "float", SERIES(5, COLUMN)), false},
        {TRAINED("series", SHAPE(1, 1, 4), "float", SERIES(4, COLUMN ", " COLUMN)), false},
        {TRAINED("series", SHAPE(1, 1, 4), "float", SERIES(4, "{\"name\": \"x\"}")), false},
        {TRAINED("series", SHAPE(1, 1, 4), "float", ""), false},
        {TRAINED("table", SHAPE(1, 1, 3), "float", TABLE), true},
        {TRAINED("table", SHAPE(1, 1, 4), "float", TABLE), false},
        {TRAINED("table", SHAPE(1, 1, 3), "float", ""), false},
        {TRAINED("photos", SHAPE(1, 2, 2), "float", ""), false},
        {TRAINED("noise", SHAPE(1, 2, 2), "float", ""), true}, /* for samples in memory */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_trained *trained;
        sh_file_samples *files = NULL;
        const sh_read_options options = {.resize = 0};
        assert_ok(sh_trained_parse(&trained, cases[i].text));
        const sh_status status = sh_file_samples_new(&files, trained, &options, SLOTS);
        if ((status == SH_OK) != cases[i].fine)
            fail_msg("case %zu: %s", i, status == SH_OK ? "taken" : sh_message());
        sh_file_samples_free(files);
        sh_trained_free(trained);
    }
}

static void samples_in_memory(void **state)
{
    (void)state;
    static const float numbers[] = {-3, 0.4f, 0.5f, 255, 1, 2, 3, 300, 4, 5, 6, 7, 9, 9, 9, 9};
    static const uint8_t pixels[] = {0, 0, 1, 255, 1, 2, 3, 255, 4, 5, 6, 7, 9, 9, 9, 9};
    static const char *const texts[] = {TRAINED_AS("noise", SHAPE(1, 2, 2), "byte", "0.5", ""),
                                        TRAINED("noise", SHAPE(1, 2, 2), "float", "")};
    const char *const path = "x.png";
    for (size_t i = 0; i < 2; i++) {
        sh_trained *trained;
        sh_dataset *dataset;
        sh_file_samples *files = samples_of(&trained, texts[i]);
        const size_t bytes = i == 0 ? 4 : 16;
        uint32_t filled, told = 0;
        assert_string_equal(sh_file_samples_kind(files), "");
        assert_fails(sh_file_samples_begin(files, &path, 1), SH_UNSUPPORTED,
                     "not made of single files");
        assert_fails(sh_file_samples_begin_stream(files, 0), SH_UNSUPPORTED,
                     "not made of single files");
        assert_fails(sh_file_samples_begin_numbers(files, (float[]){1, 2, NAN, 4}, 1), SH_INVALID,
                     "sample 1, number 3");
        assert_ok(sh_file_samples_dataset(&dataset, files));
        assert_ok(sh_file_samples_begin_numbers(files, numbers, 4));
        for (;;) {
            assert_ok(sh_file_samples_fill(files, SLOTS, &filled));
            if (filled == 0)
                break;
            for (uint32_t k = 0; k < filled; k++, told++) {
                uint8_t sample[16];
                char name[16];
                int32_t class;
                snprintf(name, sizeof name, "sample %u", told + 1);
                assert_string_equal(sh_file_samples_slot(files, k)->name, name);
                assert_ok(sh_dataset_read(dataset, SH_SPLIT_VALIDATION, k, sample, &class));
                assert_memory_equal(sample,
                                    i == 0 ? (const void *)(pixels + 4 * told)
                                           : (const void *)(numbers + 4 * told),
                                    bytes);
            }
        }
        assert_int_equal(told, 4);
        sh_dataset_close(dataset);
        sh_file_samples_free(files);
        sh_trained_free(trained);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_tables, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(rows_of_a_stream, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(files_and_folders, scratch_set_up, scratch_tear_down),
        cmocka_unit_test(samples_in_memory),
        cmocka_unit_test(malformed_descriptions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
