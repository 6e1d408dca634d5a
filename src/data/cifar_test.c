/* SPDX-License-Identifier: Apache-2.0 */
#include "data/cifar.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "data/fixture.h"

/* More than are checked in one go. */
enum { RECORDS = 37, BYTES_MOST = RECORDS * (SH_CIFAR_LABELS_MOST + SH_CIFAR_PIXELS) };

/* Both ends of the range are among them. */
static uint8_t coarse_label(uint32_t record)
{
    return (uint8_t)((record + 19) % 20);
}

static uint8_t label_of(const sh_cifar_kind *kind, uint32_t record)
{
    return (uint8_t)(kind == &sh_cifar100 ? (record + 99) % 100 : (record + 9) % 10);
}

static uint8_t level(uint32_t record, uint32_t pixel)
{
    return (uint8_t)(record * 50 + pixel * 7 + pixel / 256);
}

/* The file `name` with RECORDS records; how many bytes. */
static size_t make_file(fixture *s, const char *name, const sh_cifar_kind *kind)
{
    static uint8_t bytes[BYTES_MOST];
    size_t used = 0;
    for (uint32_t i = 0; i < RECORDS; i++) {
        if (kind == &sh_cifar100)
            bytes[used++] = coarse_label(i);
        bytes[used++] = label_of(kind, i);
        for (uint32_t k = 0; k < SH_CIFAR_PIXELS; k++)
            bytes[used++] = level(i, k);
    }
    fixture_write(s, name, bytes, used);
    return used;
}

/* Writes one byte of a file. */
static void poke(fixture *s, const char *name, long offset, uint8_t byte)
{
    FILE *file = fopen(fixture_path(s, name), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fputc(byte, file), byte);
    assert_int_equal(fclose(file), 0);
}

typedef struct gathered {
    uint8_t labels[RECORDS];
    uint32_t count;
} gathered;

static void gather(void *context, uint8_t label)
{
    gathered *g = context;
    assert_in_range(g->count, 0, RECORDS - 1);
    g->labels[g->count++] = label;
}

static void records_are_read_as_they_are(void **state)
{
    (void)state;
    static const sh_cifar_kind *const kinds[] = {&sh_cifar10, &sh_cifar100};
    for (int i = 0; i < 2; i++) {
        fixture s;
        sh_cifar_file file;
        gathered g = {.count = 0};
        fixture_new(&s);
        make_file(&s, "file", kinds[i]);
        assert_ok(sh_cifar_open(&file, fixture_path(&s, "file"), kinds[i]));
        assert_int_equal(file.count, RECORDS);
        assert_ok(sh_cifar_check(&file, gather, &g));
        assert_ok(sh_cifar_check(&file, NULL, NULL));
        assert_int_equal(g.count, RECORDS);
        for (uint32_t r = 0; r < RECORDS; r++)
            assert_int_equal(g.labels[r], label_of(kinds[i], r));
        for (uint32_t r = RECORDS; r-- > 0;) {
            uint8_t bytes[SH_CIFAR_PIXELS];
            int32_t label = -1;
            assert_true(sh_cifar_touch(&file, r));
            assert_ok(sh_cifar_read(&file, r, bytes, &label));
            assert_int_equal(label, label_of(kinds[i], r));
            for (uint32_t k = 0; k < SH_CIFAR_PIXELS; k++)
                assert_int_equal(bytes[k], level(r, k));
        }
        sh_cifar_close(&file);
        sh_cifar_close(&file);
        fixture_remove(&s);
    }
}

static void sizes_that_are_no_whole_records_are_refused(void **state)
{
    (void)state;
    static const struct {
        const sh_cifar_kind *kind;
        off_t bytes;
        sh_status code;
        const char *part;
    } cases[] = {
        {&sh_cifar10, 0, SH_FORMAT, "/file: is empty; copy or download it again"},
        {&sh_cifar10, 1, SH_CORRUPT, "/file: is cut off or damaged: its 1 bytes are 0 records of"},
        {&sh_cifar10, 3072, SH_CORRUPT, "0 records of 3073 and 3072 bytes too many; copy or"},
        {&sh_cifar10, 6147, SH_CORRUPT, "its 6147 bytes are 2 records of 3073 and 1 bytes too"},
        {&sh_cifar100, 6147, SH_CORRUPT, "its 6147 bytes are 1 records of 3074 and 3073 bytes"},
        {&sh_cifar10, 6148, SH_FORMAT,
         "/file: its 6148 bytes are no whole number of CIFAR-10's records of 3073, but of "
         "CIFAR-100's of 3074: write cifar100:DIR"},
        {&sh_cifar100, 6146, SH_FORMAT,
         "/file: its 6146 bytes are no whole number of CIFAR-100's records of 3074, but of "
         "CIFAR-10's of 3073: write cifar10:DIR"},
        {&sh_cifar10, 3073ll << 32, SH_LIMIT, "holds 4294967296 records; at most 4294967295"},
    };
    fixture s;
    fixture_new(&s);
    fixture_write(&s, "file", "", 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_cifar_file file = {.count = 99};
        assert_int_equal(truncate(fixture_path(&s, "file"), cases[i].bytes), 0);
        assert_fails(sh_cifar_open(&file, s.path, cases[i].kind), cases[i].code, cases[i].part);
        assert_int_equal(file.count, 99);
    }
    fixture_remove(&s);
}

static void labels_out_of_range_are_named(void **state)
{
    (void)state;
    static const struct {
        const sh_cifar_kind *kind;
        long offset;
        uint8_t byte;
        const char *part, *reading;
        uint32_t record;
    } cases[] = {
        {&sh_cifar10, 0, 10,
         "/file: record 0 has label 10, out of range 0 to 9; is this a file of CIFAR-10, binary "
         "version? copy or download it again",
         "/file: changed while it was in use: record 0 has label 10", 0},
        {&sh_cifar10, 2L * 3073, 255, "record 2 has label 255, out of range 0 to 9", "label 255",
         2},
        {&sh_cifar100, 3074, 20, "record 1 has coarse label 20, out of range 0 to 19",
         "record 1 has coarse label 20", 1},
        {&sh_cifar100, 3075, 100, "record 1 has fine label 100, out of range 0 to 99",
         "record 1 has fine label 100", 1},
        {&sh_cifar10, 36L * 3073, 10, "record 36 has label 10", "record 36 has label 10", 36},
        {&sh_cifar100, 20L * 3074 + 1, 100, "record 20 has fine label 100",
         "record 20 has fine label 100", 20},
    };
    fixture s;
    fixture_new(&s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_cifar_file file;
        uint8_t bytes[SH_CIFAR_PIXELS];
        int32_t label = -7;
        make_file(&s, "file", cases[i].kind);
        poke(&s, "file", cases[i].offset, cases[i].byte);
        assert_ok(sh_cifar_open(&file, fixture_path(&s, "file"), cases[i].kind));
        assert_fails(sh_cifar_check(&file, NULL, NULL), SH_FORMAT, cases[i].part);
        assert_fails(sh_cifar_read(&file, cases[i].record, bytes, &label), SH_CORRUPT,
                     cases[i].reading);
        assert_int_equal(label, -7);
        sh_cifar_close(&file);
    }
    fixture_remove(&s);
}

static void files_that_become_shorter_are_noticed(void **state)
{
    (void)state;
    fixture s;
    sh_cifar_file file;
    uint8_t bytes[SH_CIFAR_PIXELS];
    int32_t label = -7;
    fixture_new(&s);
    make_file(&s, "file", &sh_cifar10);
    assert_ok(sh_cifar_open(&file, fixture_path(&s, "file"), &sh_cifar10));
    assert_int_equal(truncate(s.path, 20L * 3073 + 5), 0);
    assert_ok(sh_cifar_read(&file, 19, bytes, &label));
    assert_true(sh_cifar_touch(&file, 19));
    assert_false(sh_cifar_touch(&file, 20));
    label = -7;
    assert_fails(sh_cifar_read(&file, 20, bytes, &label), SH_CORRUPT,
                 "/file: record 20: became shorter while it was in use");
    assert_fails(sh_cifar_check(&file, NULL, NULL), SH_CORRUPT, "/file: record 20: became shorter");
    assert_int_equal(label, -7);
    sh_cifar_close(&file);
    fixture_remove(&s);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    fixture s;
    sh_cifar_file file;
    fixture_new(&s);
    assert_fails(sh_cifar_open(&file, fixture_path(&s, "nowhere"), &sh_cifar10), SH_NOT_FOUND,
                 "/nowhere: cannot open it: No such file");
    assert_fails(sh_cifar_open(&file, fixture_path(&s, "tmp"), &sh_cifar10), SH_FORMAT,
                 "/tmp: is not a regular file");
    assert_int_equal(mkfifo(fixture_path(&s, "pipe"), 0600), 0);
    assert_fails(sh_cifar_open(&file, s.path, &sh_cifar10), SH_FORMAT,
                 "/pipe: is not a regular file");
    fixture_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read_as_they_are),
        cmocka_unit_test(sizes_that_are_no_whole_records_are_refused),
        cmocka_unit_test(labels_out_of_range_are_named),
        cmocka_unit_test(files_that_become_shorter_are_noticed),
        cmocka_unit_test(what_is_no_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
