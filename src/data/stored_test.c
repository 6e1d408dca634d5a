/* SPDX-License-Identifier: Apache-2.0 */
#include "data/stored.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/delivery_fixture.h"

/*
 * Samples of 3 x 2 x 2 with 5 classes. A split is a header of 4 bytes, images, then labels in
 * records of 7 bytes; the byte before each label must be 9. If a split has several files, they end
 * within samples.
 */
enum {
    SAMPLES = 11,
    IMAGE = 12,
    RECORD = 7,
    HEAD = 4,
    BYTES = HEAD + SAMPLES * (IMAGE + RECORD),
};

static sh_status check_mark(sh_stored *set, sh_split split, uint32_t index, const uint8_t *label)
{
    const char *name = sh_stored_name(set, split, &index);
    return label[0] == 9 ? SH_OK : sh_fail(SH_FORMAT, "%s: record %u has no mark", name, index);
}

static void content_of(uint8_t bytes[BYTES], int split)
{
    set_fill(bytes, BYTES, (uint32_t)split);
    for (size_t i = 0; i < SAMPLES; i++) {
        bytes[HEAD + SAMPLES * IMAGE + i * RECORD] = 9;
        bytes[HEAD + SAMPLES * IMAGE + i * RECORD + 1] %= 5;
    }
}

static size_t piece_bytes;

static sh_status odd_fill(sh_stored *set, const char *folder)
{
    char stamps[SH_SPLITS][SH_STORED_STAMP] = {"a", "b"};
    set->base.info.channels = 3;
    set->base.info.height = set->base.info.width = 2;
    set->base.info.outputs = 5;
    set->label_bytes = 2;
    for (uint32_t split = 0; split < SH_SPLITS; split++) {
        const uint32_t file = sh_stored_file(set, split == 0 ? "train" : "rest");
        for (size_t at = 0; at < BYTES; at += piece_bytes) {
            char name[32];
            const sh_stored_part *part;
            snprintf(name, sizeof name, "%u-%zu", split, at);
            SH_TRY(sh_stored_open(&part, set, file, folder, name));
        }
        set->base.info.count[split] = SAMPLES;
        set->contents.sample[split] = (sh_contents_place){file, HEAD, IMAGE};
        set->contents.target[split] = (sh_contents_place){file, HEAD + SAMPLES * IMAGE + 1, RECORD};
    }
    return sh_stored_seal(set, stamps, check_mark);
}

static const sh_read_options usual;
static const sh_format odd_format = {
    .name = "odd", .usage = "odd:DIR", .open = sh_stored_dataset, .fill = odd_fill};

static sh_stored *open_set(fixture *s, size_t piece)
{
    sh_dataset *set = NULL;
    for (uint32_t split = 0; split < SH_SPLITS; split++)
        for (size_t at = 0; at < BYTES; at += piece) {
            uint8_t bytes[BYTES];
            char name[32];
            content_of(bytes, (int)split);
            snprintf(name, sizeof name, "%u-%zu", split, at);
            fixture_write(s, name, bytes + at, BYTES - at < piece ? BYTES - at : piece);
        }
    piece_bytes = piece;
    assert_ok(odd_format.open(&set, &odd_format, s->folder, &usual));
    return (sh_stored *)set;
}

static void samples_may_lie_anywhere(void **state)
{
    (void)state;
    char print[SH_DIGEST_TEXT] = "";
    static const size_t pieces[] = {BYTES, 29, 40, 100};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        fixture s;
        fixture_new(&s);
        sh_stored *set = open_set(&s, pieces[i]);
        for (int split = 0; split < SH_SPLITS; split++) {
            uint8_t bytes[BYTES], image[IMAGE];
            content_of(bytes, split);
            for (uint32_t k = 0; k < SAMPLES; k++) {
                int32_t label;
                assert_true(sh_dataset_touch(&set->base, (sh_split)split, k));
                assert_ok(sh_dataset_read(&set->base, (sh_split)split, k, image, &label));
                assert_memory_equal(image, bytes + HEAD + k * IMAGE, IMAGE);
                assert_int_equal(label, bytes[HEAD + SAMPLES * IMAGE + k * RECORD + 1]);
            }
        }
        if (i > 0)
            assert_string_equal(set->base.info.fingerprint, print);
        snprintf(print, sizeof print, "%s", set->base.info.fingerprint);
        sh_dataset_close(&set->base);
        fixture_remove(&s);
    }
}

static void what_a_reader_gets_wrong_is_refused(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *none = NULL;
    const sh_stored_part *part = NULL;
    char stamps[SH_SPLITS][SH_STORED_STAMP] = {"a", "b"};
    fixture_new(&s);
    sh_stored *set = open_set(&s, BYTES);
    set->contents.sample[0].stride += 8;
    assert_fails(sh_stored_seal(set, stamps, check_mark), SH_FORMAT,
                 "odd: train: its 213 bytes do not hold 11 samples");
    set->contents.sample[0].stride -= 8;
    set->contents.target[1].first++;
    assert_fails(sh_stored_seal(set, stamps, check_mark), SH_FORMAT, "/1-0: record 0 has no mark");
    assert_fails(sh_stored_open(&part, set, 1, s.folder, "cache"), SH_FORMAT,
                 "/cache: is not a regular file");
    assert_null(part);
    sh_dataset_close(&set->base);
    assert_fails(odd_format.open(&none, &odd_format, NULL, &usual), SH_INVALID,
                 "odd: no folder; write odd:DIR");
    assert_int_equal(unlink(fixture_path(&s, "0-0")), 0);
    assert_fails(odd_format.open(&none, &odd_format, s.folder, &usual), SH_NOT_FOUND,
                 "/0-0: cannot open");
    assert_null(none);
    fixture_remove(&s);
}

static void missing_files_are_listed(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", NULL};
    sh_format packed = odd_format;
    char missing[SH_STORED_NAMES];
    fixture s;
    packed.gzip = true;
    fixture_new(&s);
    fixture_write(&s, "b", "", 0);
    fixture_write(&s, "c.gz", "", 0);
    assert_int_equal(sh_stored_missing(missing, &odd_format, s.folder, names), 2);
    assert_string_equal(missing, "a, c");
    assert_int_equal(sh_stored_missing(missing, &packed, s.folder, names), 1);
    assert_string_equal(missing, "a");
    assert_true(sh_stored_has(&packed, s.folder, "c"));
    assert_false(sh_stored_has(&odd_format, s.folder, "c"));
    fixture_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_may_lie_anywhere),
        cmocka_unit_test(what_a_reader_gets_wrong_is_refused),
        cmocka_unit_test(missing_files_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
