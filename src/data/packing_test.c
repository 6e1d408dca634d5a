/* SPDX-License-Identifier: Apache-2.0 */
#include "data/packing.h"

#include <fcntl.h>
#include <stdatomic.h>

#include "base/scratch.h"
#include "data/packed.h"
#include "data/packed_head.h"

enum { DAMAGED_MOST = 120 };
enum { SIDE = 24, TRAIN = 700, VALIDATION = 300, CHANNELS = 3, PIXELS = CHANNELS * SIDE * SIDE };

typedef struct made_source {
    sh_source base;
    atomic_uint reads;
    uint32_t fails_at; /* fatal failure of this read; 0: none */
    uint32_t damaged[DAMAGED_MOST];
    uint32_t damaged_count;
    bool changed;
} made_source;

static uint8_t pixel_of(sh_split split, uint32_t index, size_t i)
{
    return (uint8_t)(index * 7 + i * 13 + (size_t)split * 101 + i / SIDE);
}

static sh_status made_read(const sh_source *source, sh_split split, uint32_t index, void *sample,
                           void *target)
{
    made_source *made = (made_source *)(uintptr_t)source;
    const uint32_t number = 1 + atomic_fetch_add(&made->reads, 1);
    if (made->fails_at > 0 && number >= made->fails_at)
        return sh_fail(SH_IO, "the disk is gone");
    for (uint32_t i = 0; i < made->damaged_count && split == SH_SPLIT_TRAIN; i++)
        if (made->damaged[i] == index)
            return sh_fail(SH_CORRUPT, "roses/%u.jpg: is cut off", index);
    if (source->info.element == SH_ELEMENT_FLOAT) {
        for (size_t i = 0; i < PIXELS; i++)
            ((float *)sample)[i] = (float)pixel_of(split, index, i) / 3;
        ((float *)target)[0] = (float)index;
        ((float *)target)[1] = -1.5f;
        return SH_OK;
    }
    for (size_t i = 0; i < PIXELS; i++)
        ((uint8_t *)sample)[i] = pixel_of(split, index, i);
    *(int32_t *)target = (int32_t)(index % 5);
    return SH_OK;
}

static sh_status made_unchanged(const sh_source *source)
{
    const made_source *made = (const made_source *)source;
    return made->changed ? sh_fail(SH_CORRUPT, "the folder has changed while it was packed")
                         : SH_OK;
}

static void made_name(const sh_source *source, sh_split split, uint32_t index, char *text,
                      size_t bytes)
{
    (void)source;
    snprintf(text, bytes, "%d/%u", (int)split, index);
}

static void made_close(sh_source *source)
{
    json_decref(source->about);
}

static const sh_source_ops made_ops = {made_read, made_unchanged, made_name, made_close};
static const sh_format made_format = {.name = "made", .usage = "made:DIR"};

static made_source make_source(bool numbers)
{
    made_source made = {.base = {.ops = &made_ops, .place = "made"}};
    sh_dataset_info *info = &made.base.info;
    *info = (sh_dataset_info){.name = "made",
                              .channels = CHANNELS,
                              .height = SIDE,
                              .width = SIDE,
                              .outputs = numbers ? 2 : 5,
                              .element = numbers ? SH_ELEMENT_FLOAT : SH_ELEMENT_BYTE,
                              .target = numbers ? SH_TARGET_NUMBERS : SH_TARGET_CLASS,
                              .count = {TRAIN, VALIDATION}};
    memset(made.base.digest, numbers ? 'b' : 'a', SH_DIGEST_TEXT - 1);
    made.base.about = json_pack("{s:[s,s,s,s,s]}", "classes", "a", "b", "c", "d", "e");
    assert_non_null(made.base.about);
    return made;
}

static sh_status open_made(sh_dataset **data, made_source *made, bool skip)
{
    int fd;
    char path[SH_CACHE_PATH];
    const sh_read_options options = {.skip_damaged = skip};
    SH_TRY(sh_packing_make(&fd, path, &made->base, &options));
    return sh_packed_open(data, &made_format, fd, path);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    return setenv("XDG_CACHE_HOME", scratch_folder, 1);
}

static void assert_samples(const sh_dataset *data, sh_split split, uint32_t first, uint32_t shift)
{
    for (uint32_t i = first; i < sh_dataset_about(data)->count[split]; i++) {
        uint8_t bytes[PIXELS];
        int32_t class = -1;
        assert_ok(sh_dataset_read(data, split, i, bytes, &class));
        assert_int_equal(class, (i + shift) % 5);
        for (size_t k = 0; k < PIXELS; k += 97)
            assert_int_equal(bytes[k], pixel_of(split, i + shift, k));
    }
}

static void samples_are_packed_once(void **state)
{
    (void)state;
    made_source made = make_source(false);
    sh_dataset *data;
    char fingerprint[SH_DIGEST_TEXT];
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(open_made(&data, &made, false));
        const sh_dataset_info *info = sh_dataset_about(data);
        assert_int_equal(info->count[SH_SPLIT_TRAIN], TRAIN);
        assert_int_equal(info->count[SH_SPLIT_VALIDATION], VALIDATION);
        assert_string_equal(sh_dataset_description(data),
                            "{\"classes\":[\"a\",\"b\",\"c\",\"d\",\"e\"]}");
        assert_samples(data, SH_SPLIT_TRAIN, 0, 0);
        assert_samples(data, SH_SPLIT_VALIDATION, 0, 0);
        if (turn == 0)
            snprintf(fingerprint, sizeof fingerprint, "%s", info->fingerprint);
        assert_string_equal(info->fingerprint, fingerprint);
        assert_int_equal(strlen(info->fingerprint), SH_DIGEST_TEXT - 1);
        sh_dataset_close(data);
    }
    assert_int_equal(made.reads, TRAIN + VALIDATION);
    made_close(&made.base);
}

static made_source *looked_at;

static sh_status made_look(sh_source **source, const sh_format *format, const char *argument,
                           const sh_read_options *options)
{
    (void)format;
    (void)argument;
    (void)options;
    json_incref(looked_at->base.about); /* released by made_close */
    *source = &looked_at->base;
    return SH_OK;
}

static void a_changed_set_is_packed_anew(void **state)
{
    (void)state;
    static const sh_format format = {.name = "made", .usage = "made:DIR", .look = made_look};
    static const off_t places[] = {SH_PACKED_ABOUT_AT + 3, 200000, -1};
    const sh_read_options options = {.skip_damaged = false};
    made_source made = make_source(false);
    sh_dataset *data;
    char path[SCRATCH_BYTES + 128];
    looked_at = &made;
    snprintf(path, sizeof path, "%s/shoal/packed/%s", scratch_folder, made.base.digest);
    assert_ok(sh_packed_dataset(&data, &format, "x", &options));
    sh_dataset_close(data);
    for (uint32_t turn = 0; turn < sizeof places / sizeof *places; turn++) {
        uint8_t byte;
        const int file = open(path, O_RDWR | O_CLOEXEC);
        assert_true(file >= 0);
        if (places[turn] < 0) {
            assert_int_equal(fchmod(file, 0660), 0);
        } else {
            assert_int_equal(pread(file, &byte, 1, places[turn]), 1);
            byte ^= 0xff;
            assert_int_equal(pwrite(file, &byte, 1, places[turn]), 1);
        }
        close(file);
        assert_ok(sh_packed_dataset(&data, &format, "x", &options));
        assert_int_equal(made.reads, (turn + 2) * (TRAIN + VALIDATION));
        assert_samples(data, SH_SPLIT_TRAIN, 0, 0);
        sh_dataset_close(data);
    }
    made_close(&made.base);
}

static void normalisation_is_of_the_training_samples(void **state)
{
    (void)state;
    made_source made = make_source(false);
    sh_dataset *data;
    assert_ok(open_made(&data, &made, false));
    const sh_dataset_info *info = sh_dataset_about(data);
    for (size_t c = 0; c < CHANNELS; c++) {
        double sum = 0, squares = 0;
        for (uint32_t i = 0; i < TRAIN; i++)
            for (size_t k = c * SIDE * SIDE; k < (c + 1) * SIDE * SIDE; k++) {
                const double x = pixel_of(SH_SPLIT_TRAIN, i, k) / 255.0;
                sum += x;
                squares += x * x;
            }
        const double count = TRAIN * SIDE * SIDE, mean = sum / count;
        assert_float_equal(info->mean[c], (float)mean, 1e-6);
        assert_float_equal(info->deviation[c] * info->deviation[c],
                           (float)(squares / count - mean * mean), 1e-6);
    }
    sh_dataset_close(data);
    made_close(&made.base);
}

static void numbers_keep_their_bits(void **state)
{
    (void)state;
    made_source made = make_source(true);
    sh_dataset *data;
    float sample[PIXELS], target[2];
    assert_ok(open_made(&data, &made, false));
    for (uint32_t i = 0; i < VALIDATION; i += 7) {
        assert_ok(sh_dataset_read(data, SH_SPLIT_VALIDATION, i, sample, target));
        assert_true(target[0] == (float)i && target[1] == -1.5f);
        for (size_t k = 0; k < PIXELS; k += 11)
            assert_true(sample[k] == (float)pixel_of(SH_SPLIT_VALIDATION, i, k) / 3);
    }
    sh_dataset_close(data);
    made_close(&made.base);
}

static void damaged_samples_are_named_or_left_out(void **state)
{
    (void)state;
    made_source made = make_source(false);
    sh_dataset *data = NULL;
    made.damaged[0] = 0;
    made.damaged[1] = 333;
    made.damaged[2] = TRAIN - 1;
    made.damaged_count = 3;
    for (int turn = 0; turn < 2; turn++)
        assert_fails(
            open_made(&data, &made, false), SH_CORRUPT,
            "3 of 1000 samples cannot be read; repair or remove them, or leave them out with "
            "--skip-damaged: roses/0.jpg: is cut off; roses/333.jpg: is cut off; "
            "roses/699.jpg: is cut off");
    assert_ok(open_made(&data, &made, true));
    assert_int_equal(sh_dataset_about(data)->count[SH_SPLIT_TRAIN], TRAIN - 3);
    assert_int_equal(sh_dataset_about(data)->count[SH_SPLIT_VALIDATION], VALIDATION);
    assert_samples(data, SH_SPLIT_TRAIN, 332, 2);
    assert_samples(data, SH_SPLIT_VALIDATION, 0, 0);
    assert_string_equal(sh_dataset_description(data),
                        "{\"classes\":[\"a\",\"b\",\"c\",\"d\",\"e\"],\"notes\":["
                        "\"left out, damaged: roses/0.jpg: is cut off\","
                        "\"left out, damaged: roses/333.jpg: is cut off\","
                        "\"left out, damaged: roses/699.jpg: is cut off\"]}");
    sh_dataset_close(data);
    assert_fails(open_made(&data, &made, false), SH_CORRUPT, "3 of 1000 samples cannot be read");
    const uint32_t reads = made.reads;
    assert_ok(open_made(&data, &made, true));
    assert_int_equal(made.reads, reads);
    assert_int_equal(sh_dataset_about(data)->count[SH_SPLIT_TRAIN], TRAIN - 3);
    sh_dataset_close(data);
    made_close(&made.base);
}

/* The longer description moves all samples in the file. */
static void many_damaged_samples_are_counted(void **state)
{
    (void)state;
    made_source made = make_source(false);
    sh_dataset *data = NULL;
    made.damaged_count = DAMAGED_MOST;
    for (uint32_t i = 0; i < DAMAGED_MOST; i++)
        made.damaged[i] = i;
    assert_ok(open_made(&data, &made, true));
    assert_int_equal(sh_dataset_about(data)->count[SH_SPLIT_TRAIN], TRAIN - DAMAGED_MOST);
    assert_samples(data, SH_SPLIT_TRAIN, 0, DAMAGED_MOST);
    assert_samples(data, SH_SPLIT_VALIDATION, 0, 0);
    const char *about = sh_dataset_description(data);
    assert_non_null(strstr(about, "\"left out, damaged: roses/99.jpg: is cut off\","
                                  "\"left out, damaged: 20 more\"]"));
    assert_null(strstr(about, "roses/100.jpg"));
    sh_dataset_close(data);
    made_close(&made.base);
}

static void make_old(const char *path, bool old)
{
    const struct timespec then[] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = 1}};
    scratch_write(path, "x", 1);
    if (old)
        assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
}

static void stale_parts_are_removed(void **state)
{
    (void)state;
    static const struct {
        char digit;
        const char *ending;
        bool old, stays;
    } files[] = {
        {'1', ".part", true, false}, {'1', ".done", true, false}, {'2', ".part", false, true},
        {'3', "", true, true},       {'a', ".none", true, true},
    };
    made_source made = make_source(false);
    sh_dataset *data;
    char paths[sizeof files / sizeof *files][SCRATCH_BYTES + 128], name[SH_DIGEST_TEXT] = "";
    snprintf(paths[0], sizeof *paths, "%s/shoal", scratch_folder);
    assert_int_equal(mkdir(paths[0], 0700), 0);
    snprintf(paths[0], sizeof *paths, "%s/shoal/packed", scratch_folder);
    assert_int_equal(mkdir(paths[0], 0700), 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        memset(name, files[i].digit, SH_DIGEST_TEXT - 1);
        snprintf(paths[i], sizeof *paths, "%s/shoal/packed/%s%s", scratch_folder, name,
                 files[i].ending);
        make_old(paths[i], files[i].old);
    }
    assert_ok(open_made(&data, &made, false));
    sh_dataset_close(data);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_int_equal(access(paths[i], F_OK) == 0, files[i].stays);
    made_close(&made.base);
}

static void a_split_without_samples_is_refused(void **state)
{
    (void)state;
    made_source made = make_source(false);
    sh_dataset *data = NULL;
    made.base.info.count[SH_SPLIT_TRAIN] = 2;
    made.damaged[1] = 1;
    made.damaged_count = 2;
    assert_fails(open_made(&data, &made, true), SH_INVALID,
                 "no training sample can be read: roses/1.jpg");
    made_close(&made.base);
}

static void what_was_interrupted_goes_on(void **state)
{
    (void)state;
    made_source made = make_source(false);
    sh_dataset *data = NULL;
    made.fails_at = 601;
    assert_fails(open_made(&data, &made, false), SH_IO, "packing: the disk is gone");
    const uint32_t first = made.reads;
    made.fails_at = 0;
    assert_ok(open_made(&data, &made, false));
    assert_true(made.reads - first < TRAIN + VALIDATION);
    assert_samples(data, SH_SPLIT_TRAIN, 0, 0);
    assert_samples(data, SH_SPLIT_VALIDATION, 0, 0);
    sh_dataset_close(data);
    made_close(&made.base);
}

static void sources_that_change_are_refused(void **state)
{
    (void)state;
    made_source made = make_source(false);
    sh_dataset *data = NULL;
    char packed[SCRATCH_BYTES + 32];
    made.changed = true;
    assert_fails(open_made(&data, &made, false), SH_CORRUPT, "changed while it was packed");
    snprintf(packed, sizeof packed, "%s/shoal/packed", scratch_folder);
    assert_int_equal(scratch_count(packed), 1);
    made_close(&made.base);
}

static void the_fingerprint_is_of_the_content(void **state)
{
    (void)state;
    made_source made = make_source(false), other = make_source(false);
    sh_dataset *first, *second, *third;
    assert_ok(open_made(&first, &made, false));
    memset(made.base.digest, 'c', SH_DIGEST_TEXT - 1); /* as if in another folder */
    assert_ok(open_made(&second, &made, false));
    assert_string_equal(sh_dataset_about(second)->fingerprint,
                        sh_dataset_about(first)->fingerprint);
    assert_int_equal(setenv("XDG_CACHE_HOME", "/proc/none", 1), 0);
    json_object_set_new(other.base.about, "classes", json_string("others"));
    assert_ok(open_made(&third, &other, false));
    assert_string_not_equal(sh_dataset_about(third)->fingerprint,
                            sh_dataset_about(first)->fingerprint);
    assert_samples(third, SH_SPLIT_VALIDATION, 0, 0);
    sh_dataset_close(first);
    sh_dataset_close(second);
    sh_dataset_close(third);
    made_close(&made.base);
    made_close(&other.base);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    made_source made = make_source(false);
    sh_dataset *data;
    assert_ok(open_made(&data, &made, false));
    sh_dataset_close(data);
    char path[SCRATCH_BYTES + 128];
    snprintf(path, sizeof path, "%s/shoal/packed/%s", scratch_folder, made.base.digest);
    static const struct {
        long at;
        uint8_t value;
        sh_status code;
        const char *message;
    } cases[] = {
        {0, 'S', SH_FORMAT, "is not a packed set"}, {8, 9, SH_VERSION, "version 9"},
        {112, 0, SH_FORMAT, "0 x 24 x 24"},         {128, 77, SH_FORMAT, "of an unknown kind"},
        {132, 1, SH_FORMAT, "1 classes"},           {137, 77, SH_FORMAT, "samples"},
        {163, 0xff, SH_FORMAT, "has no mean"},      {50, 'x', SH_FORMAT, "header is invalid"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int fd = open(path, O_RDWR | O_CLOEXEC);
        uint8_t before;
        sh_dataset *none = NULL;
        assert_true(fd >= 0);
        assert_int_equal(pread(fd, &before, 1, cases[i].at), 1);
        assert_int_equal(pwrite(fd, &cases[i].value, 1, cases[i].at), 1);
        assert_fails(sh_packed_open(&none, &made_format, dup(fd), path), cases[i].code,
                     cases[i].message);
        assert_int_equal(pwrite(fd, &before, 1, cases[i].at), 1);
        assert_int_equal(ftruncate(fd, 5000 + (off_t)i), 0);
        assert_fails(sh_packed_open(&none, &made_format, dup(fd), path), SH_CORRUPT, "bytes");
        close(fd);
        assert_int_equal(unlink(path), 0);
        assert_ok(open_made(&data, &made, false));
        sh_dataset_close(data);
    }
    made_close(&made.base);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, scratch_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(samples_are_packed_once),
        TEST(a_changed_set_is_packed_anew),
        TEST(normalisation_is_of_the_training_samples),
        TEST(numbers_keep_their_bits),
        TEST(damaged_samples_are_named_or_left_out),
        TEST(many_damaged_samples_are_counted),
        TEST(stale_parts_are_removed),
        TEST(a_split_without_samples_is_refused),
        TEST(what_was_interrupted_goes_on),
        TEST(sources_that_change_are_refused),
        TEST(the_fingerprint_is_of_the_content),
        TEST(damaged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
