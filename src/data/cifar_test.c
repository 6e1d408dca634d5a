/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/test.h"
#include "data/dataset.h"
#include "data/fixture.h"

enum {
    SIDE = 32,
    PIXELS = 3 * SIDE * SIDE,
    RECORD_MOST = 2 + PIXELS,
    MOST = 100, /* more than one batch of checks */
};

/* The label is i mod 10 (fine: i mod 100), and the pixels depend on i. */
static size_t add_record(uint8_t *bytes, bool hundred, uint32_t sample)
{
    size_t used = 0;
    if (hundred)
        bytes[used++] = (uint8_t)(sample % 20);
    bytes[used++] = (uint8_t)(sample % (hundred ? 100 : 10));
    for (uint32_t k = 0; k < PIXELS; k++)
        bytes[used++] = (uint8_t)(sample * 31 + k / 1024 * 100 + k % 1024 * 5);
    return used;
}

static void put(fixture *s, const char *name, bool hundred, uint32_t first, uint32_t count)
{
    static uint8_t bytes[MOST * RECORD_MOST];
    char path[64];
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        used += add_record(bytes + used, hundred, first + i);
    snprintf(path, sizeof path, "data/%s", name);
    fixture_write(s, path, bytes, used);
}

static void make_folder(fixture *s)
{
    fixture_new(s);
    assert_int_equal(mkdir(fixture_path(s, "data"), 0700), 0);
}

static void drop(fixture *s, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "data/%s", name);
    assert_int_equal(unlink(fixture_path(s, path)), 0);
}

/* Opens the folder without "kind:" if that is NULL. */
static sh_status open_set(sh_dataset **data, fixture *s, const char *kind)
{
    char spec[sizeof s->path + 16];
    const int length = snprintf(spec, sizeof spec, "%s%s%s", kind == NULL ? "" : kind,
                                kind == NULL ? "" : ":", fixture_path(s, "data"));
    assert_in_range(length, 1, sizeof spec - 1);
    return sh_dataset_open(data, spec, NULL);
}

static void assert_sample(const sh_dataset *data, sh_split split, uint32_t index, bool hundred)
{
    uint8_t record[RECORD_MOST], bytes[PIXELS];
    int32_t label = -1;
    const size_t labels = add_record(record, hundred, index) - PIXELS;
    assert_true(sh_dataset_touch(data, split, index));
    assert_ok(sh_dataset_read(data, split, index, bytes, &label));
    assert_int_equal(label, record[labels - 1]);
    assert_memory_equal(bytes, record + labels, sizeof bytes);
}

static void assert_set(fixture *s, const char *kind, const char *name, uint32_t train,
                       uint32_t validation, char print[SH_DIGEST_TEXT])
{
    sh_dataset *data;
    const bool hundred = strcmp(name, "cifar100") == 0;
    assert_ok(open_set(&data, s, kind));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_string_equal(info->name, name);
    assert_int_equal(info->channels, 3);
    assert_int_equal(info->height, 32);
    assert_int_equal(info->width, 32);
    assert_int_equal(info->outputs, hundred ? 100 : 10);
    assert_int_equal(info->count[SH_SPLIT_TRAIN], train);
    assert_int_equal(info->count[SH_SPLIT_VALIDATION], validation);
    for (uint32_t i = train; i-- > 0;)
        assert_sample(data, SH_SPLIT_TRAIN, i, hundred);
    for (uint32_t i = 0; i < validation; i++)
        assert_sample(data, SH_SPLIT_VALIDATION, i, hundred);
    snprintf(print, SH_DIGEST_TEXT, "%s", info->fingerprint);
    assert_int_equal(strlen(print), SH_DIGEST_TEXT - 1);
    sh_dataset_close(data);
}

static void keep_line(void *context, sh_log_level level, const char *line)
{
    (void)level;
    snprintf(context, 512, "%s", line);
}

static void any_of_the_batches_will_do(void **state)
{
    (void)state;
    fixture s;
    char whole[SH_DIGEST_TEXT], parts[SH_DIGEST_TEXT], line[512] = "";
    make_folder(&s);
    put(&s, "test_batch.bin", false, 0, 2);
    put(&s, "data_batch_3.bin", false, 0, 7);
    sh_log_to(SH_LOG_INFO, keep_line, line);
    assert_set(&s, "cifar10", "cifar10", 7, 2, whole);
    assert_non_null(strstr(line, "INFO data.incomplete folder="));
    assert_non_null(strstr(line, "/data\" samples=7 missing=\"data_batch_1.bin, data_batch_2.bin, "
                                 "data_batch_4.bin, data_batch_5.bin\""));
    /* Five files with the same samples. */
    for (uint32_t i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "data_batch_%u.bin", i + 1);
        put(&s, name, false, i == 0 ? 0 : i + 2, i == 0 ? 3 : 1);
    }
    line[0] = '\0';
    assert_set(&s, NULL, "cifar10", 7, 2, parts);
    assert_string_equal(line, "");
    assert_string_equal(whole, parts);
    sh_log_to(SH_LOG_OFF, NULL, NULL);
    fixture_remove(&s);
}

static void the_fine_labels_are_used(void **state)
{
    (void)state;
    fixture s;
    char named[SH_DIGEST_TEXT], plain[SH_DIGEST_TEXT];
    make_folder(&s);
    put(&s, "train.bin", true, 0, 5);
    put(&s, "test.bin", true, 0, 1);
    assert_set(&s, "cifar100", "cifar100", 5, 1, named);
    assert_set(&s, NULL, "cifar100", 5, 1, plain);
    assert_string_equal(named, plain);
    fixture_remove(&s);
}

static void records_are_read_as_they_are(void **state)
{
    (void)state;
    fixture s;
    char print[SH_DIGEST_TEXT];
    make_folder(&s);
    put(&s, "train.bin", true, 0, MOST);
    put(&s, "test.bin", true, 0, MOST);
    assert_set(&s, "cifar100", "cifar100", MOST, MOST, print);
    put(&s, "data_batch_3.bin", false, 0, MOST);
    put(&s, "test_batch.bin", false, 0, MOST);
    assert_set(&s, "cifar10", "cifar10", MOST, MOST, print);
    fixture_remove(&s);
}

static void other_content_has_another_fingerprint(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        uint32_t first, count;
    } changes[] = {
        {"data_batch_1.bin", 0, 4},
        {"data_batch_1.bin", 10, 5},
        {"test_batch.bin", 0, 3},
        {"test_batch.bin", 2, 2},
    };
    fixture s;
    char prints[5][SH_DIGEST_TEXT];
    make_folder(&s);
    for (size_t i = 0; i < 5; i++) {
        sh_dataset *data;
        put(&s, "data_batch_1.bin", false, 0, 5);
        put(&s, "test_batch.bin", false, 0, 2);
        if (i > 0)
            put(&s, changes[i - 1].file, false, changes[i - 1].first, changes[i - 1].count);
        assert_ok(open_set(&data, &s, "cifar10"));
        snprintf(prints[i], SH_DIGEST_TEXT, "%s", sh_dataset_about(data)->fingerprint);
        sh_dataset_close(data);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(prints[i], prints[k]);
    }
    fixture_remove(&s);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data = NULL;
    make_folder(&s);
    assert_fails(
        open_set(&data, &s, "cifar10"), SH_NOT_FOUND,
        "/data: no training file of CIFAR-10 (binary version) is here; none of these exists: "
        "data_batch_1.bin, data_batch_2.bin, data_batch_3.bin, data_batch_4.bin, "
        "data_batch_5.bin");
    assert_fails(open_set(&data, &s, NULL), SH_NOT_FOUND,
                 "or cifar10 (data_batch_1.bin to data_batch_5.bin, test_batch.bin) or cifar100 "
                 "(train.bin, test.bin)");
    put(&s, "data_batch_2.bin", false, 0, 1);
    assert_fails(open_set(&data, &s, "cifar10"), SH_NOT_FOUND,
                 "/data: no validation file of CIFAR-10 (binary version) is here; none of these "
                 "exists: test_batch.bin");
    assert_fails(open_set(&data, &s, NULL), SH_NOT_FOUND, "none of these exists: test_batch.bin");
    assert_fails(open_set(&data, &s, "cifar100"), SH_NOT_FOUND,
                 "/data: holds files of CIFAR-10, none of CIFAR-100; write cifar10:/");
    drop(&s, "data_batch_2.bin");
    put(&s, "test.bin", true, 0, 1);
    assert_fails(open_set(&data, &s, "cifar10"), SH_NOT_FOUND,
                 "/data: holds files of CIFAR-100, none of CIFAR-10; write cifar100:/");
    assert_fails(open_set(&data, &s, NULL), SH_NOT_FOUND, "none of these exists: train.bin");
    assert_fails(sh_dataset_open(&data, "cifar10", NULL), SH_INVALID,
                 "no folder; write cifar10:DIR");
    assert_fails(sh_dataset_open(&data, "cifar100:", NULL), SH_INVALID, "write cifar100:DIR");
    assert_fails(sh_dataset_open(&data, "cifar10:/nowhere", NULL), SH_NOT_FOUND,
                 "/nowhere: cannot open the data folder");
    assert_null(data);
    fixture_remove(&s);
}

static void two_kinds_in_one_folder_are_told_apart_by_name(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data = NULL;
    char print[SH_DIGEST_TEXT], part[3 * sizeof s.path + 128];
    make_folder(&s);
    put(&s, "data_batch_1.bin", false, 0, 3);
    put(&s, "test_batch.bin", false, 0, 1);
    put(&s, "train.bin", true, 0, 4);
    put(&s, "test.bin", true, 0, 2);
    const char *folder = fixture_path(&s, "data");
    snprintf(part, sizeof part,
             "%s: holds files of cifar10 and of cifar100; choose one: cifar10:%s or cifar100:%s",
             folder, folder, folder);
    assert_fails(open_set(&data, &s, NULL), SH_INVALID, part);
    assert_null(data);
    assert_set(&s, "cifar10", "cifar10", 3, 1, print);
    assert_set(&s, "cifar100", "cifar100", 4, 2, print);
    fixture_remove(&s);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *file;
        bool hundred; /* content of the other format; truncated if `count` is 0 */
        uint32_t count;
        sh_status code;
        const char *part;
    } cases[] = {
        {"cifar10", "data_batch_2.bin", true, 2, SH_FORMAT,
         "data_batch_2.bin: its 6148 bytes are not a multiple of CIFAR-10's records of 3073, but "
         "of CIFAR-100's of 3074: write cifar100:DIR"},
        {"cifar10", "test_batch.bin", false, 0, SH_FORMAT, "test_batch.bin: is empty"},
        {"cifar100", "train.bin", false, 3, SH_FORMAT, "train.bin: its 9219 bytes are not a"},
        {"cifar100", "test.bin", true, 0, SH_FORMAT, "test.bin: is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture s;
        sh_dataset *data = NULL;
        make_folder(&s);
        put(&s, "data_batch_1.bin", false, 0, 3);
        put(&s, "test_batch.bin", false, 0, 1);
        put(&s, "train.bin", true, 0, 4);
        put(&s, "test.bin", true, 0, 2);
        put(&s, cases[i].file, cases[i].hundred, 0, cases[i].count);
        assert_fails(open_set(&data, &s, cases[i].kind), cases[i].code, cases[i].part);
        assert_null(data);
        fixture_remove(&s);
    }
}

static void sizes_that_are_no_whole_records_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *file;
        off_t bytes;
        sh_status code;
        const char *part;
    } cases[] = {
        {"cifar10", "data_batch_2.bin", 0, SH_FORMAT,
         "/data_batch_2.bin: is empty; copy or download it again"},
        {"cifar10", "data_batch_2.bin", 1, SH_CORRUPT,
         "/data_batch_2.bin: is cut off or damaged: its 1 bytes are 0 records of"},
        {"cifar10", "data_batch_2.bin", 3072, SH_CORRUPT,
         "0 records of 3073 and 3072 bytes too many; copy or"},
        {"cifar10", "test_batch.bin", 6147, SH_CORRUPT,
         "its 6147 bytes are 2 records of 3073 and 1 bytes too"},
        {"cifar100", "train.bin", 6147, SH_CORRUPT,
         "its 6147 bytes are 1 records of 3074 and 3073 bytes"},
        {"cifar10", "data_batch_2.bin", 6148, SH_FORMAT,
         "/data_batch_2.bin: its 6148 bytes are not a multiple of CIFAR-10's records of 3073, but "
         "of CIFAR-100's of 3074: write cifar100:DIR"},
        {"cifar100", "test.bin", 6146, SH_FORMAT,
         "/test.bin: its 6146 bytes are not a multiple of CIFAR-100's records of 3074, but of "
         "CIFAR-10's of 3073: write cifar10:DIR"},
        {"cifar10", "data_batch_2.bin", 3073ll << 32, SH_LIMIT,
         "holds 4294967296 records; at most 4294967295"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture s;
        sh_dataset *data = NULL;
        char path[64];
        make_folder(&s);
        put(&s, "data_batch_1.bin", false, 0, 3);
        put(&s, "test_batch.bin", false, 0, 1);
        put(&s, "train.bin", true, 0, 4);
        put(&s, "test.bin", true, 0, 2);
        put(&s, cases[i].file, false, 0, 1);
        snprintf(path, sizeof path, "data/%s", cases[i].file);
        assert_int_equal(truncate(fixture_path(&s, path), cases[i].bytes), 0);
        assert_fails(open_set(&data, &s, cases[i].kind), cases[i].code, cases[i].part);
        assert_null(data);
        fixture_remove(&s);
    }
}

static void poke(fixture *s, const char *name, long offset, uint8_t byte)
{
    char path[64];
    snprintf(path, sizeof path, "data/%s", name);
    FILE *file = fopen(fixture_path(s, path), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fputc(byte, file), byte);
    assert_int_equal(fclose(file), 0);
}

static void labels_out_of_range_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *file;
        long offset;
        uint8_t byte;
        const char *part;
        uint32_t index;
        const char *reading; /* NULL: this label is not read */
    } cases[] = {
        {"cifar10", "data_batch_1.bin", 0, 10,
         "/data_batch_1.bin: record 0 has label 10, out of range 0 to 9; is this a file of "
         "CIFAR-10, binary version? copy or download it again",
         0, "/data_batch_1.bin: changed while it was in use: sample 0: class 10"},
        {"cifar10", "data_batch_1.bin", 2L * 3073, 255,
         "record 2 has label 255, out of range 0 to 9", 2, "sample 2: class 255"},
        {"cifar10", "data_batch_4.bin", 3073, 11,
         "/data_batch_4.bin: record 1 has label 11, out of range 0 to 9", 38,
         "/data_batch_4.bin: changed while it was in use: sample 1: class 11"},
        {"cifar10", "data_batch_1.bin", 36L * 3073, 10, "record 36 has label 10", 36,
         "sample 36: class 10"},
        {"cifar100", "train.bin", 3074, 20, "record 1 has coarse label 20, out of range 0 to 19", 1,
         NULL},
        {"cifar100", "train.bin", 3075, 100, "record 1 has fine label 100, out of range 0 to 99", 1,
         "sample 1: class 100"},
        {"cifar100", "train.bin", 20L * 3074 + 1, 100, "record 20 has fine label 100", 20,
         "sample 20: class 100"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture s;
        sh_dataset *data;
        uint8_t bytes[PIXELS];
        int32_t label = -7;
        make_folder(&s);
        put(&s, "data_batch_1.bin", false, 0, 37);
        put(&s, "data_batch_4.bin", false, 37, 2);
        put(&s, "test_batch.bin", false, 0, 2);
        put(&s, "train.bin", true, 0, 37);
        put(&s, "test.bin", true, 0, 2);
        assert_ok(open_set(&data, &s, cases[i].kind));
        poke(&s, cases[i].file, cases[i].offset, cases[i].byte);
        if (cases[i].reading != NULL) {
            assert_fails(sh_dataset_read(data, SH_SPLIT_TRAIN, cases[i].index, bytes, &label),
                         SH_CORRUPT, cases[i].reading);
            assert_int_equal(label, -7);
        } else {
            assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, cases[i].index, bytes, &label));
        }
        sh_dataset_close(data);
        data = NULL;
        assert_fails(open_set(&data, &s, cases[i].kind), SH_FORMAT, cases[i].part);
        assert_null(data);
        fixture_remove(&s);
    }
}

static void files_that_become_shorter_are_noticed(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data;
    uint8_t bytes[PIXELS];
    int32_t label = -7;
    make_folder(&s);
    put(&s, "data_batch_2.bin", false, 0, 37);
    put(&s, "test_batch.bin", false, 0, 2);
    assert_ok(open_set(&data, &s, NULL));
    assert_int_equal(truncate(fixture_path(&s, "data/data_batch_2.bin"), 20L * 3073 + 5), 0);
    assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, 19, bytes, &label));
    assert_true(sh_dataset_touch(data, SH_SPLIT_TRAIN, 19));
    assert_false(sh_dataset_touch(data, SH_SPLIT_TRAIN, 20));
    label = -7;
    assert_fails(sh_dataset_read(data, SH_SPLIT_TRAIN, 20, bytes, &label), SH_CORRUPT,
                 "/data_batch_2.bin: became shorter while it was in use");
    assert_int_equal(label, -7);
    sh_dataset_close(data);
    fixture_remove(&s);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data = NULL;
    make_folder(&s);
    put(&s, "test_batch.bin", false, 0, 2);
    assert_int_equal(mkdir(fixture_path(&s, "data/data_batch_1.bin"), 0700), 0);
    assert_fails(open_set(&data, &s, "cifar10"), SH_FORMAT,
                 "/data_batch_1.bin: is not a regular file");
    assert_int_equal(rmdir(fixture_path(&s, "data/data_batch_1.bin")), 0);
    assert_int_equal(mkfifo(fixture_path(&s, "data/data_batch_1.bin"), 0600), 0);
    assert_fails(open_set(&data, &s, "cifar10"), SH_FORMAT,
                 "/data_batch_1.bin: is not a regular file");
    assert_null(data);
    fixture_remove(&s);
}

static void files_without_permission_are_refused(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip_because("root may read everything");
    fixture s;
    sh_dataset *data = NULL;
    make_folder(&s);
    put(&s, "data_batch_1.bin", false, 0, 3);
    put(&s, "test_batch.bin", false, 0, 2);
    assert_int_equal(chmod(fixture_path(&s, "data/test_batch.bin"), 0), 0);
    assert_fails(open_set(&data, &s, "cifar10"), SH_PERMISSION,
                 "/test_batch.bin: cannot open it: Permission denied");
    assert_null(data);
    fixture_remove(&s);
}

static void real_files_have_the_mean_and_deviation(void **state)
{
    (void)state;
    char spec[SCRATCH_BYTES];
    find_real_data(spec, sizeof spec, "cifar10");
    sh_dataset *data;
    assert_ok(sh_dataset_open(&data, spec, NULL));
    const sh_dataset_info *info = sh_dataset_about(data);
    enum { STRIDE = 10, PLANE = SIDE * SIDE };
    uint64_t sums[3] = {0}, squares[3] = {0}, count = 0;
    for (uint32_t i = 0; i < info->count[SH_SPLIT_TRAIN]; i += STRIDE, count += PLANE) {
        uint8_t bytes[PIXELS];
        int32_t label;
        assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, i, bytes, &label));
        for (uint32_t k = 0; k < PIXELS; k++) {
            sums[k / PLANE] += bytes[k];
            squares[k / PLANE] += (uint64_t)bytes[k] * bytes[k];
        }
    }
    for (int c = 0; c < 3; c++) {
        const double mean = (double)sums[c] / (double)count / 255;
        const double square = (double)squares[c] / (double)count / 255 / 255;
        assert_true(fabs(mean - (double)info->mean[c]) < 0.005);
        assert_true(fabs(sqrt(square - mean * mean) - (double)info->deviation[c]) < 0.005);
    }
    sh_dataset_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_of_the_batches_will_do),
        cmocka_unit_test(the_fine_labels_are_used),
        cmocka_unit_test(records_are_read_as_they_are),
        cmocka_unit_test(other_content_has_another_fingerprint),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(two_kinds_in_one_folder_are_told_apart_by_name),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(sizes_that_are_no_whole_records_are_refused),
        cmocka_unit_test(labels_out_of_range_are_named),
        cmocka_unit_test(files_that_become_shorter_are_noticed),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(files_without_permission_are_refused),
        cmocka_unit_test(real_files_have_the_mean_and_deviation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
