/* SPDX-License-Identifier: Apache-2.0 */
#include "data/dataset.h"

#include <fcntl.h>

#include <jansson.h>

#include "data/photos/photo_fixture.h"
#include "data/photos/photo_golden.h"
#include "data/source.h"

enum { PIXELS = PHOTO_SIDE * PHOTO_SIDE };

static sh_status open_photos(sh_dataset **data, fixture *s, const sh_read_options *options)
{
    char spec[SCRATCH_BYTES + 16];
    snprintf(spec, sizeof spec, "photos:%s/photos", s->folder);
    return sh_dataset_open(data, spec, options);
}

/* Writes three classes in train and val. */
static void put_classes(fixture *s, uint32_t count)
{
    static const char *const parts[] = {"train/a", "train/b", "train/c", "val/a", "val/b", "val/c"};
    for (uint32_t i = 0; i < 6 * count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s/%u.png", parts[i % 6], 100 + i / 6);
        photo_put(s, name, i);
    }
}

static const sh_read_options as_drawn = {.resize = PHOTO_SIDE};

static void grey_photos_are_packed_as_drawn(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data;
    fixture_new(&s);
    put_classes(&s, 5);
    assert_ok(open_photos(&data, &s, &as_drawn));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_int_equal(info->channels, 1);
    assert_int_equal(info->height, PHOTO_SIDE);
    assert_int_equal(info->width, PHOTO_SIDE);
    assert_int_equal(info->element, SH_ELEMENT_BYTE);
    assert_int_equal(info->target, SH_TARGET_CLASS);
    assert_int_equal(info->outputs, 3);
    for (uint32_t split = 0; split < SH_SPLITS; split++) {
        assert_int_equal(info->count[split], 15);
        for (uint32_t i = 0; i < 15; i++) {
            uint8_t sample[PIXELS];
            int32_t class = -1;
            assert_ok(sh_dataset_read(data, (sh_split)split, i, sample, &class));
            assert_int_equal(class, i / 5);
            const uint32_t number = i % 5 * 6 + split * 3 + i / 5;
            for (uint32_t k = 0; k < PIXELS; k++)
                assert_int_equal(sample[k], photo_pixel(number, k));
        }
    }
    assert_string_equal(sh_dataset_description(data),
                        "{\"classes\":[\"a\",\"b\",\"c\"],\"inputs\":{\"channels\":1,"
                        "\"exif\":true,\"fit\":\"crop\",\"kind\":\"photo\",\"side\":12},"
                        "\"notes\":[]}");
    sh_dataset_close(data);
    fixture_remove(&s);
}

static void sizes_and_kinds_may_be_mixed(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data;
    fixture_new(&s);
    put_classes(&s, 2);
    for (size_t i = 0; i < sizeof golden_photos / sizeof *golden_photos; i++) {
        char name[64];
        snprintf(name, sizeof name, "train/b/%s.jpg", golden_photos[i].name);
        photo_write(&s, name, golden_photos[i].file, golden_photos[i].bytes);
    }
    assert_ok(open_photos(&data, &s, NULL));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_int_equal(info->channels, 3);
    assert_int_equal(info->height, SH_READ_SIDE);
    assert_int_equal(info->count[SH_SPLIT_TRAIN], 6 + sizeof golden_photos / sizeof *golden_photos);
    uint8_t sample[3 * SH_READ_SIDE * SH_READ_SIDE];
    int32_t class;
    assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, 0, sample, &class));
    const size_t plane = SH_READ_SIDE * SH_READ_SIDE;
    assert_memory_equal(sample, sample + plane, 2 * plane);
    sh_dataset_close(data);
    fixture_remove(&s);
}

static void options_decide_the_samples(void **state)
{
    (void)state;
    fixture s;
    char prints[4][SH_DIGEST_TEXT];
    static const sh_read_options options[] = {
        {.resize = 7}, {.resize = 7, .fit = "pad"}, {.resize = 8}, {.resize = 7, .no_exif = true}};
    fixture_new(&s);
    put_classes(&s, 2);
    for (size_t i = 0; i < 4; i++) {
        sh_dataset *data;
        assert_ok(open_photos(&data, &s, &options[i]));
        snprintf(prints[i], sizeof prints[i], "%s", sh_dataset_about(data)->fingerprint);
        sh_dataset_close(data);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(prints[i], prints[k]);
    }
    sh_dataset *data = NULL;
    assert_fails(open_photos(&data, &s, &(sh_read_options){.fit = "squeeze"}), SH_INVALID,
                 "--fit squeeze: must be crop, pad or stretch");
    assert_fails(open_photos(&data, &s, &(sh_read_options){.resize = 1025}), SH_INVALID,
                 "--resize 1025: photos can be resized to at most 1024");
    assert_null(data);
    fixture_remove(&s);
}

static void damaged_photos_are_named(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data = NULL;
    uint8_t png[PHOTO_PNG_BYTES];
    const struct golden_photo *jpeg = &golden_photos[0];
    assert_string_equal(jpeg->name, "jpeg");
    fixture_new(&s);
    put_classes(&s, 4);
    photo_write(&s, "train/a/bomb.png", png, photo_png(png, 60000, 0, 1));
    photo_write(&s, "train/a/large.png", png, photo_png(png, 8000, 0, 1));
    photo_write(&s, "train/a/cut.jpg", jpeg->file, jpeg->bytes - 20);
    photo_text(&s, "train/b/empty.jpg", "");
    photo_text(&s, "train/b/text\n.jpg", "These are words.");
    assert_int_equal(symlink("self.png", photo_path(&s, "val/c/self.png")), 0);
    photo_put(&s, "val/c/x.jpg/inner.png", 3); /* a folder, despite its name */
    assert_fails(open_photos(&data, &s, &as_drawn), SH_CORRUPT, "6 of 31 samples cannot be read");
    static const char *const parts[] = {
        "train/a/bomb.png: is too large: 60000 x 60000 pixels; at most 65535 each way and "
        "268435456",
        "train/a/cut.jpg: is a damaged JPEG: Premature end of JPEG file",
        "train/a/large.png: is a damaged PNG: its ",
        "train/b/empty.jpg: is empty",
        "train/b/text?.jpg: is not a supported image",
        "val/c/self.png: cannot be opened: Too many levels of symbolic links"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(sh_message(), parts[i]) == NULL)
            fail_msg("'%s' lacks '%s'", sh_message(), parts[i]);
    assert_null(data);

    sh_read_options options = as_drawn;
    options.skip_damaged = true;
    assert_ok(open_photos(&data, &s, &options));
    assert_int_equal(sh_dataset_about(data)->count[SH_SPLIT_TRAIN], 12);
    assert_int_equal(sh_dataset_about(data)->count[SH_SPLIT_VALIDATION], 13);
    sh_dataset_close(data);
    fixture_remove(&s);
}

static void photos_without_permission_are_named(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip_because("root may read everything");
    fixture s;
    sh_dataset *data = NULL;
    fixture_new(&s);
    put_classes(&s, 2);
    assert_int_equal(chmod(photo_path(&s, "train/a/100.png"), 0), 0);
    assert_fails(open_photos(&data, &s, NULL), SH_CORRUPT,
                 "train/a/100.png: cannot be opened: Permission denied");
    fixture_remove(&s);
}

static void folders_that_change_are_noticed(void **state)
{
    (void)state;
    static const struct {
        const char *name, *part;
        int what; /* 0: write, 1: write longer, 2: remove */
    } cases[] = {
        {"train/a/100.png", "/photos/train/a/100.png changed while the folder was packed", 1},
        {"train/b/101.png", "/photos/train/b/101.png disappeared while", 2},
        {"train/b/100a.png", "/photos/train/b/100a.png appeared while", 0},
        {"val/c/999.png", "/photos/val/c/999.png appeared while", 0},
        {"val/d/1.png", "class d is only in val/", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture s;
        sh_source *source;
        char folder[SCRATCH_BYTES], name[64];
        fixture_new(&s);
        put_classes(&s, 3);
        snprintf(folder, sizeof folder, "%.4000s/photos", s.folder);
        assert_ok(sh_photos_format.look(&source, &sh_photos_format, folder, &as_drawn));
        assert_ok(source->ops->unchanged(source));
        source->ops->name(source, SH_SPLIT_VALIDATION, 4, name, sizeof name);
        assert_string_equal(name, "val/b/101.png");
        if (cases[i].what == 2)
            assert_int_equal(unlink(photo_path(&s, cases[i].name)), 0);
        else
            photo_text(&s, cases[i].name, "longer than it was, or new");
        assert_fails(source->ops->unchanged(source),
                     cases[i].name[4] == 'd' ? SH_INVALID : SH_CORRUPT, cases[i].part);
        sh_source_close(source);
        fixture_remove(&s);
    }
}

/* Sets the time itself, since the disk's clock may be coarse. */
static void folders_that_changed_are_packed_anew(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data;
    uint8_t sample[PIXELS];
    int32_t class;
    fixture_new(&s);
    put_classes(&s, 2);
    for (uint32_t number = 0; number < 3; number++) {
        const struct timespec times[] = {{.tv_sec = (time_t)number},
                                         {.tv_sec = 9, .tv_nsec = (long)number}};
        photo_put(&s, "train/a/100.png", 50 + number);
        assert_int_equal(utimensat(AT_FDCWD, photo_path(&s, "train/a/100.png"), times, 0), 0);
        assert_ok(open_photos(&data, &s, &as_drawn));
        assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, 0, sample, &class));
        assert_int_equal(sample[5], photo_pixel(50 + number, 5));
        sh_dataset_close(data);
    }
    fixture_remove(&s);
}

static void folders_are_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *files[3];
        bool recognised;
    } cases[] = {
        {{"a/1.png", "b/2.JPG"}, true},
        {{"train/a/1.png"}, true},
        {{"labels.csv", "1.png"}, true},
        {{"1.png", "train-images-idx3-ubyte"}, false},
        {{"a/1.wav", "b/2.wav"}, false},
        {{"labels.csv", "1.wav"}, false},
        {{"x.txt"}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture s;
        fixture_new(&s);
        for (size_t k = 0; k < 3 && cases[i].files[k] != NULL; k++)
            photo_text(&s, cases[i].files[k], "?");
        if (sh_photos_format.recognises(&sh_photos_format, fixture_path(&s, "photos")) !=
            cases[i].recognised)
            fail_msg("case %zu", i);
        fixture_remove(&s);
    }
}

/* --- real photos --- */

static double difference(const uint8_t *a, const uint8_t *b, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (uint64_t)abs(a[i] - b[i]);
    return (double)sum / (double)count;
}

/* The nine photos of a name differ only in the number drawn into each. */
static void real_photos_come_out_upright(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES];
    find_real_data(folder, sizeof folder, "exif");
    static const char *const names[] = {"Landscape", "Portrait"};
    enum { SIDE = 48, BYTES = 3 * SIDE * SIDE };
    for (size_t n = 0; n < 2; n++) {
        fixture s;
        sh_source *source;
        uint8_t first[BYTES], sample[BYTES];
        char path[SCRATCH_BYTES + 64], name[64];
        fixture_new(&s);
        for (int i = 0; i <= 8; i++) {
            snprintf(path, sizeof path, "%s/%s_%d.jpg", folder, names[n], i);
            snprintf(name, sizeof name, "train/%s/%d.jpg", names[n], i);
            assert_int_equal(symlink(path, photo_path(&s, name)), 0);
        }
        photo_put(&s, "train/z/1.png", 1);
        photo_put(&s, "val/z/1.png", 1);
        snprintf(path, sizeof path, "%.4000s/photos", s.folder);
        for (int plain = 0; plain < 2; plain++) {
            double most = 0;
            assert_ok(sh_photos_format.look(
                &source, &sh_photos_format, path,
                &(sh_read_options){.resize = SIDE, .fit = "stretch", .no_exif = plain == 1}));
            for (uint32_t i = 0; i <= 8; i++) {
                int32_t class;
                assert_ok(
                    source->ops->read(source, SH_SPLIT_TRAIN, i, i == 0 ? first : sample, &class));
                const double off = i == 0 ? 0 : difference(first, sample, BYTES);
                most = off > most ? off : most;
            }
            assert_true(plain == 1 ? most > 20 : most < 6);
            sh_source_close(source);
        }
        fixture_remove(&s);
    }
}

static void real_folders_are_read(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES];
    find_real_data(folder, sizeof folder, "photos");
    sh_source *source;
    assert_ok(sh_photos_format.look(&source, &sh_photos_format, folder,
                                    &(sh_read_options){.resize = 32}));
    assert_int_equal(source->info.channels, 3);
    assert_int_equal(source->info.outputs, 5);
    assert_int_equal(source->info.count[SH_SPLIT_TRAIN], 325);
    assert_int_equal(source->info.count[SH_SPLIT_VALIDATION], 125);
    for (uint32_t i = 0; i < 325; i += 20) {
        uint8_t sample[3 * 32 * 32];
        int32_t class = -1;
        assert_ok(source->ops->read(source, SH_SPLIT_TRAIN, i, sample, &class));
        assert_int_equal(class, i / 65);
    }
    sh_source_close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grey_photos_are_packed_as_drawn),
        cmocka_unit_test(sizes_and_kinds_may_be_mixed),
        cmocka_unit_test(options_decide_the_samples),
        cmocka_unit_test(damaged_photos_are_named),
        cmocka_unit_test(photos_without_permission_are_named),
        cmocka_unit_test(folders_that_change_are_noticed),
        cmocka_unit_test(folders_that_changed_are_packed_anew),
        cmocka_unit_test(folders_are_recognised),
        cmocka_unit_test(real_photos_come_out_upright),
        cmocka_unit_test(real_folders_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
