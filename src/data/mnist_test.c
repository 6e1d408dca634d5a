/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "data/dataset.h"
#include "data/fixture.h"

enum { HEIGHT = 2, WIDTH = 3, TRAIN = 5, VALIDATION = 4, PIXELS = HEIGHT * WIDTH };

static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
static const uint8_t train_labels[TRAIN] = {2, 0, 1, 6, 2};
static const uint8_t validation_labels[VALIDATION] = {6, 5, 0, 1};

static uint8_t level(int split, uint32_t sample, uint32_t pixel)
{
    return (uint8_t)(split * 100 + (int)sample * 20 + (int)pixel * 3);
}

typedef struct content {
    uint8_t bytes[64];
    size_t count;
} content;

static content images_of(int split, uint32_t count, uint8_t height, uint8_t width)
{
    content c = {.bytes = {0, 0, 8, 3, 0, 0, 0, (uint8_t)count, 0, 0, 0, height, 0, 0, 0, width},
                 .count = 16};
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < (uint32_t)height * width; k++)
            c.bytes[c.count++] = level(split, i, k);
    return c;
}

static content labels_of(const uint8_t *labels, uint32_t count)
{
    content c = {.bytes = {0, 0, 8, 1, 0, 0, 0, (uint8_t)count}, .count = 8};
    for (uint32_t i = 0; i < count; i++)
        c.bytes[c.count++] = labels[i];
    return c;
}

static content content_of(int file)
{
    switch (file) {
    case 0:
        return images_of(0, TRAIN, HEIGHT, WIDTH);
    case 1:
        return labels_of(train_labels, TRAIN);
    case 2:
        return images_of(1, VALIDATION, HEIGHT, WIDTH);
    default:
        return labels_of(validation_labels, VALIDATION);
    }
}

static void put(fixture *s, int file, const content *c, bool packed)
{
    char name[64];
    snprintf(name, sizeof name, "data/%s%s", names[file], packed ? ".gz" : "");
    if (packed)
        fixture_gzip(s, name, c->bytes, c->count);
    else
        fixture_write(s, name, c->bytes, c->count);
}

/* Bit i of `packed`: file i is gzipped. */
static void make_set(fixture *s, unsigned packed)
{
    fixture_new(s);
    assert_int_equal(mkdir(fixture_path(s, "data"), 0700), 0);
    for (int file = 0; file < 4; file++) {
        const content c = content_of(file);
        put(s, file, &c, (packed >> file & 1) != 0);
    }
}

static sh_status open_named(sh_dataset **data, fixture *s, const char *name)
{
    char spec[sizeof s->path + 8];
    const int length = snprintf(spec, sizeof spec, "mnist:%s", fixture_path(s, name));
    assert_in_range(length, 1, sizeof spec - 1);
    return sh_dataset_open(data, spec, NULL);
}

static sh_status open_set(sh_dataset **data, fixture *s)
{
    return open_named(data, s, "data");
}

static void assert_sample(const sh_dataset *data, sh_split split, uint32_t index)
{
    uint8_t bytes[PIXELS + 1];
    int32_t label = -1;
    bytes[PIXELS] = 77;
    assert_ok(sh_dataset_read(data, split, index, bytes, &label));
    assert_int_equal(label,
                     split == SH_SPLIT_TRAIN ? train_labels[index] : validation_labels[index]);
    for (uint32_t k = 0; k < PIXELS; k++)
        assert_int_equal(bytes[k], level((int)split, index, k));
    assert_int_equal(bytes[PIXELS], 77);
}

static void plain_and_packed_files_are_the_same_data(void **state)
{
    (void)state;
    char print[SH_DIGEST_TEXT] = "";
    for (unsigned packed = 0; packed < 16; packed += 5) {
        fixture s;
        sh_dataset *data;
        make_set(&s, packed);
        assert_ok(packed == 5 ? sh_dataset_open(&data, fixture_path(&s, "data"), NULL)
                              : open_set(&data, &s));
        const sh_dataset_info *info = sh_dataset_about(data);
        assert_string_equal(info->name, "mnist");
        assert_int_equal(info->channels, 1);
        assert_int_equal(info->height, HEIGHT);
        assert_int_equal(info->width, WIDTH);
        assert_int_equal(info->outputs, 7);
        assert_int_equal(info->count[0], TRAIN);
        assert_int_equal(info->count[1], VALIDATION);
        for (uint32_t i = 0; i < TRAIN; i++)
            assert_sample(data, SH_SPLIT_TRAIN, i);
        for (uint32_t i = VALIDATION; i-- > 0;)
            assert_sample(data, SH_SPLIT_VALIDATION, i);
        assert_int_equal(strlen(info->fingerprint), SH_DIGEST_TEXT - 1);
        if (packed > 0)
            assert_string_equal(info->fingerprint, print);
        snprintf(print, sizeof print, "%s", info->fingerprint);
        sh_dataset_close(data);
        fixture_remove(&s);
    }
}

static void other_content_has_another_fingerprint(void **state)
{
    (void)state;
    fixture s;
    make_set(&s, 0);
    sh_dataset *data;
    assert_ok(open_set(&data, &s));
    char print[SH_DIGEST_TEXT];
    snprintf(print, sizeof print, "%s", sh_dataset_about(data)->fingerprint);
    sh_dataset_close(data);
    for (int file = 0; file < 4; file++) {
        const content good = content_of(file);
        content bad = good;
        bad.bytes[bad.count - 1] ^= 1;
        put(&s, file, &bad, false);
        assert_ok(open_set(&data, &s));
        assert_string_not_equal(print, sh_dataset_about(data)->fingerprint);
        sh_dataset_close(data);
        put(&s, file, &good, false);
    }
    fixture_remove(&s);
}

#define IMAGES(count) 0, 0, 8, 3, 0, 0, 0, count
#define SIDES(height, width) 0, 0, 0, height, 0, 0, 0, width
#define LABELS(count) 0, 0, 8, 1, 0, 0, 0, count

static const struct header_case {
    const char *what;
    int file; /* the changed file */
    size_t count;
    uint8_t bytes[16];
    uint64_t file_bytes;
    sh_status code;
    const char *part;
} headers[] = {
    {"empty", 0, 0, {0}, 0, SH_CORRUPT, "cut off: 0 bytes, the header alone takes 16"},
    {"short", 1, 7, {LABELS(1)}, 7, SH_CORRUPT, "7 bytes, the header alone takes 8"},
    {"short magic", 1, 3, {0, 0, 8}, 3, SH_CORRUPT, "3 bytes, the header alone takes 8"},
    {"gzip", 0, 16, {0x1f, 0x8b, 8}, 900, SH_FORMAT, "is gzipped but its name"},
    {"short gzip", 0, 2, {0x1f, 0x8b}, 2, SH_FORMAT, "add .gz to its name"},
    {"swapped",
     0,
     8,
     {LABELS(5)},
     13,
     SH_FORMAT,
     "holds labels (it begins with 0x00000801) instead of images (0x00000803); are the two files "
     "swapped?"},
    {"swapped back",
     1,
     16,
     {IMAGES(2), SIDES(3, 4)},
     40,
     SH_FORMAT,
     "holds images (it begins with 0x00000803) instead of labels (0x00000801)"},
    {"png",
     0,
     16,
     {0x89, 'P', 'N', 'G'},
     40,
     SH_FORMAT,
     "is not an IDX file of images: it begins with 0x89504e47, expected 0x00000803"},
    {"floats", 1, 8, {0, 0, 0xd, 1, 0, 0, 0, 1}, 12, SH_FORMAT, "begins with 0x00000d01"},
    {"no images", 0, 16, {IMAGES(0), SIDES(3, 4)}, 16, SH_FORMAT, "holds no images"},
    {"no labels", 1, 8, {LABELS(0)}, 8, SH_FORMAT, "holds no labels"},
    {"flat", 0, 16, {IMAGES(1), SIDES(0, 4)}, 16, SH_FORMAT, "of 0 x 4 pixels; 1 to 4096"},
    {"thin", 0, 16, {IMAGES(1), SIDES(4, 0)}, 16, SH_FORMAT, "of 4 x 0 pixels"},
    {"tall", 0, 16, {IMAGES(1), 0, 0, 0x10, 1, 0, 0, 0, 1}, 4113, SH_FORMAT, "of 4097 x 1 pixels"},
    {"absurd: 2^96 bytes, 0 modulo 2^64",
     0,
     16,
     {0, 0, 8, 3, 0x80, 0, 0, 0, 0x80, 0, 0, 0, 0x80, 0, 0, 0},
     16,
     SH_FORMAT,
     "of 2147483648 x 2147483648 pixels"},
    {"most that fits",
     0,
     16,
     {0, 0, 8, 3, 255, 255, 255, 255, 0, 0, 0x10, 0, 0, 0, 0x10, 0},
     16,
     SH_CORRUPT,
     "16 bytes, its header promises 72057594021150736 (4294967295 images of 4096 x 4096)"},
    {"cut",
     0,
     16,
     {IMAGES(2), SIDES(3, 4)},
     39,
     SH_CORRUPT,
     "is cut off: 39 bytes, its header promises 40 (2 images of 3 x 4); copy or download it again"},
    {"trailing", 0, 16, {IMAGES(2), SIDES(3, 4)}, 41, SH_CORRUPT, "too long: 41 bytes"},
    {"cut labels", 1, 8, {LABELS(5)}, 12, SH_CORRUPT, "12 bytes, its header promises 13"},
    {"trailing label", 1, 8, {LABELS(5)}, 14, SH_CORRUPT, "promises 13 (5 labels)"},
};

static void headers_are_checked(void **state)
{
    (void)state;
    fixture s;
    make_set(&s, 0);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        const struct header_case *c = &headers[i];
        sh_dataset *data = NULL;
        content bad = {.count = c->count}, good = content_of(c->file);
        char path[64], part[256];
        memcpy(bad.bytes, c->bytes, c->count);
        put(&s, c->file, &bad, false);
        snprintf(path, sizeof path, "data/%s", names[c->file]);
        assert_int_equal(truncate(fixture_path(&s, path), (off_t)c->file_bytes), 0);
        const sh_status status = open_set(&data, &s);
        snprintf(part, sizeof part, "/%s: ", names[c->file]);
        if (status != c->code || strstr(sh_message(), c->part) == NULL ||
            strstr(sh_message(), part) == NULL)
            fail_msg("%s: %s (%s)", c->what, sh_message(), sh_status_text(status));
        assert_null(data);
        put(&s, c->file, &good, false);
    }
    fixture_remove(&s);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data = NULL;
    make_set(&s, 0);
    assert_int_equal(unlink(fixture_path(&s, "data/t10k-images-idx3-ubyte")), 0);
    assert_int_equal(mkdir(fixture_path(&s, "data/t10k-images-idx3-ubyte"), 0700), 0);
    assert_fails(open_set(&data, &s), SH_FORMAT, "/t10k-images-idx3-ubyte: is not a regular file");
    assert_int_equal(rmdir(fixture_path(&s, "data/t10k-images-idx3-ubyte")), 0);
    content cut = content_of(2);
    cut.count--;
    put(&s, 2, &cut, true);
    assert_fails(open_set(&data, &s), SH_CORRUPT,
                 "/t10k-images-idx3-ubyte.gz: is cut off: 39 bytes, its header promises 40");
    assert_null(data);
    fixture_remove(&s);
}

static void a_file_that_shrinks_is_noticed(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data;
    uint8_t bytes[PIXELS];
    int32_t label = -7;
    make_set(&s, 0);
    assert_ok(open_set(&data, &s));
    assert_int_equal(
        truncate(fixture_path(&s, "data/train-images-idx3-ubyte"), 16 + TRAIN * PIXELS - 1), 0);
    assert_sample(data, SH_SPLIT_TRAIN, TRAIN - 2);
    assert_true(sh_dataset_touch(data, SH_SPLIT_TRAIN, TRAIN - 2));
    assert_false(sh_dataset_touch(data, SH_SPLIT_TRAIN, TRAIN - 1));
    assert_fails(sh_dataset_read(data, SH_SPLIT_TRAIN, TRAIN - 1, bytes, &label), SH_CORRUPT,
                 "/train-images-idx3-ubyte: became shorter while it was in use");
    assert_int_equal(label, -7);
    sh_dataset_close(data);
    fixture_remove(&s);
}

static void files_that_do_not_go_together_are_refused(void **state)
{
    (void)state;
    static const uint8_t many[6] = {0, 0, 7, 0, 0, 0};
    const struct {
        int file;
        content content;
        sh_status code;
        const char *part;
    } cases[] = {
        {1, labels_of(train_labels, 4), SH_MISMATCH,
         "train-images-idx3-ubyte holds 5 images, but "},
        {1, labels_of(train_labels, 4), SH_MISMATCH, "4 labels: they do not belong together"},
        {3, labels_of(many, 6), SH_MISMATCH, "t10k-images-idx3-ubyte holds 4 images, but "},
        {3, labels_of(many, 4), SH_FORMAT,
         "t10k-labels-idx1-ubyte: label 7 of sample 2 is out of range 0 to 6"},
        {2, images_of(1, 4, 3, 3), SH_MISMATCH, "holds images of 2 x 3 pixels, but "},
        {2, images_of(1, 4, 3, 3), SH_MISMATCH, "t10k-images-idx3-ubyte of 3 x 3"},
        {0, labels_of(train_labels, 5), SH_FORMAT, "are the two files swapped?"},
        {3, images_of(1, 4, 2, 3), SH_FORMAT, "t10k-labels-idx1-ubyte: holds images"},
    };
    fixture s;
    make_set(&s, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_dataset *data = NULL;
        put(&s, cases[i].file, &cases[i].content, false);
        assert_fails(open_set(&data, &s), cases[i].code, cases[i].part);
        assert_null(data);
        const content good = content_of(cases[i].file);
        put(&s, cases[i].file, &good, false);
    }
    fixture_remove(&s);
}

static void missing_files_are_named(void **state)
{
    (void)state;
    for (int file = 0; file < 4; file++) {
        fixture s;
        sh_dataset *data = NULL;
        char path[64], part[96];
        make_set(&s, 0);
        snprintf(path, sizeof path, "data/%s", names[file]);
        assert_int_equal(unlink(fixture_path(&s, path)), 0);
        snprintf(part, sizeof part, "and .gz: %s", names[file]);
        assert_fails(open_set(&data, &s), SH_NOT_FOUND, part);
        assert_fails(sh_dataset_open(&data, fixture_path(&s, "data"), NULL), SH_NOT_FOUND, part);
        assert_null(data);
        fixture_remove(&s);
    }
}

static void folders_without_data_say_what_was_looked_for(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data = NULL;
    make_set(&s, 0);
    for (int i = 0; i < 4; i++) {
        assert_fails(open_named(&data, &s, "tmp"), SH_NOT_FOUND, names[i]);
        assert_fails(sh_dataset_open(&data, fixture_path(&s, "tmp"), NULL), SH_NOT_FOUND, names[i]);
    }
    assert_fails(sh_dataset_open(&data, fixture_path(&s, "tmp"), NULL), SH_NOT_FOUND,
                 "/tmp: no data is recognised in this folder; looked for mnist (train-images");
    assert_fails(open_named(&data, &s, "nowhere"), SH_NOT_FOUND,
                 "/nowhere: cannot open the data folder: No such file");
    assert_fails(open_named(&data, &s, "data/t10k-labels-idx1-ubyte"), SH_INVALID,
                 "t10k-labels-idx1-ubyte: is not a folder");
    assert_fails(sh_dataset_open(&data, "mnist", NULL), SH_INVALID, "no folder; write mnist:DIR");
    assert_fails(sh_dataset_open(&data, "mnist:", NULL), SH_INVALID, "no folder; write mnist:DIR");
    assert_null(data);
    fixture_remove(&s);
}

static void folders_without_permission_are_refused(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip_because("root may read everything");
    fixture s;
    sh_dataset *data = NULL;
    make_set(&s, 0);
    assert_int_equal(chmod(fixture_path(&s, "data"), 0), 0);
    assert_fails(open_set(&data, &s), SH_PERMISSION,
                 "/data: cannot read the data folder: Permission denied");
    assert_fails(sh_dataset_open(&data, fixture_path(&s, "data"), NULL), SH_PERMISSION,
                 "/data: cannot read the data folder: Permission denied");
    assert_int_equal(chmod(fixture_path(&s, "data"), 0700), 0);
    assert_int_equal(chmod(fixture_path(&s, "data/t10k-images-idx3-ubyte"), 0), 0);
    assert_fails(open_set(&data, &s), SH_PERMISSION,
                 "/t10k-images-idx3-ubyte: cannot open it: Permission denied");
    assert_null(data);
    fixture_remove(&s);
}

static void damage_in_a_packed_file_is_told(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data = NULL;
    make_set(&s, 15);
    struct stat about;
    assert_int_equal(stat(fixture_path(&s, "data/train-images-idx3-ubyte.gz"), &about), 0);
    assert_int_equal(truncate(s.path, about.st_size - 3), 0);
    assert_fails(open_set(&data, &s), SH_CORRUPT, "train-images-idx3-ubyte.gz: is cut off");
    assert_null(data);
    fixture_remove(&s);
}

static void labels_that_change_under_way_are_noticed(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data;
    uint8_t bytes[PIXELS];
    int32_t label = -7;
    make_set(&s, 0);
    assert_ok(open_set(&data, &s));
    const uint8_t wild[TRAIN] = {2, 200, 1, 6, 2};
    const content changed = labels_of(wild, TRAIN);
    put(&s, 1, &changed, false);
    assert_fails(sh_dataset_read(data, SH_SPLIT_TRAIN, 1, bytes, &label), SH_CORRUPT,
                 "train-labels-idx1-ubyte: changed while it was in use: sample 1: class 200");
    assert_int_equal(label, -7);
    sh_dataset_close(data);
    fixture_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_packed_files_are_the_same_data),
        cmocka_unit_test(other_content_has_another_fingerprint),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_file_that_shrinks_is_noticed),
        cmocka_unit_test(files_that_do_not_go_together_are_refused),
        cmocka_unit_test(missing_files_are_named),
        cmocka_unit_test(folders_without_data_say_what_was_looked_for),
        cmocka_unit_test(folders_without_permission_are_refused),
        cmocka_unit_test(damage_in_a_packed_file_is_told),
        cmocka_unit_test(labels_that_change_under_way_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
