/* SPDX-License-Identifier: Apache-2.0 */
#include "data/idx.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/test.h"
#include "data/fixture.h"

#define IMAGES(count) 0, 0, 8, 3, 0, 0, 0, count
#define SIDES(height, width) 0, 0, 0, height, 0, 0, 0, width
#define LABELS(count) 0, 0, 8, 1, 0, 0, 0, count

static const struct header_case {
    const char *what;
    sh_idx_kind kind;
    size_t count; /* of `bytes` */
    uint8_t bytes[16];
    uint64_t file_bytes;
    sh_status code;
    const char *part;
} headers[] = {
    {"images", SH_IDX_IMAGES, 16, {IMAGES(2), SIDES(3, 4)}, 40, SH_OK, ""},
    {"labels", SH_IDX_LABELS, 8, {LABELS(5)}, 13, SH_OK, ""},
    {"labels, more read", SH_IDX_LABELS, 13, {LABELS(5), 1, 2, 3, 4, 5}, 13, SH_OK, ""},
    {"empty", SH_IDX_IMAGES, 0, {0}, 0, SH_CORRUPT, "cut off: 0 bytes, the header alone takes 16"},
    {"short", SH_IDX_LABELS, 7, {LABELS(1)}, 7, SH_CORRUPT, "7 bytes, the header alone takes 8"},
    {"short magic",
     SH_IDX_LABELS,
     3,
     {0, 0, 8},
     3,
     SH_CORRUPT,
     "3 bytes, the header alone takes 8"},
    {"gzip", SH_IDX_IMAGES, 16, {0x1f, 0x8b, 8}, 900, SH_FORMAT, "is gzip'd though its name"},
    {"short gzip", SH_IDX_IMAGES, 2, {0x1f, 0x8b}, 2, SH_FORMAT, "add .gz to its name"},
    {"swapped",
     SH_IDX_IMAGES,
     8,
     {LABELS(5)},
     13,
     SH_FORMAT,
     "holds labels (it begins with 0x00000801) where images (0x00000803) belong; are the two files "
     "swapped?"},
    {"swapped back",
     SH_IDX_LABELS,
     16,
     {IMAGES(2), SIDES(3, 4)},
     40,
     SH_FORMAT,
     "holds images (it begins with 0x00000803) where labels (0x00000801) belong"},
    {"png",
     SH_IDX_IMAGES,
     16,
     {0x89, 'P', 'N', 'G'},
     40,
     SH_FORMAT,
     "is not an IDX file of images: it begins with 0x89504e47, expected 0x00000803"},
    {"floats",
     SH_IDX_LABELS,
     8,
     {0, 0, 0xd, 1, 0, 0, 0, 1},
     12,
     SH_FORMAT,
     "begins with 0x00000d01"},
    {"no images", SH_IDX_IMAGES, 16, {IMAGES(0), SIDES(3, 4)}, 16, SH_FORMAT, "holds no images"},
    {"no labels", SH_IDX_LABELS, 8, {LABELS(0)}, 8, SH_FORMAT, "holds no labels"},
    {"flat",
     SH_IDX_IMAGES,
     16,
     {IMAGES(1), SIDES(0, 4)},
     16,
     SH_FORMAT,
     "of 0 x 4 pixels; 1 to 4096"},
    {"thin", SH_IDX_IMAGES, 16, {IMAGES(1), SIDES(4, 0)}, 16, SH_FORMAT, "of 4 x 0 pixels"},
    {"tall",
     SH_IDX_IMAGES,
     16,
     {IMAGES(1), 0, 0, 0x10, 1, 0, 0, 0, 1},
     4113,
     SH_FORMAT,
     "of 4097 x 1 pixels"},
    {"absurd: 2^96 bytes, 0 modulo 2^64",
     SH_IDX_IMAGES,
     16,
     {0, 0, 8, 3, 0x80, 0, 0, 0, 0x80, 0, 0, 0, 0x80, 0, 0, 0},
     16,
     SH_FORMAT,
     "of 2147483648 x 2147483648 pixels"},
    {"most that fits",
     SH_IDX_IMAGES,
     16,
     {0, 0, 8, 3, 255, 255, 255, 255, 0, 0, 0x10, 0, 0, 0, 0x10, 0},
     16,
     SH_CORRUPT,
     "16 bytes, its header promises 72057594021150736 (4294967295 images of 4096 x 4096)"},
    {"cut",
     SH_IDX_IMAGES,
     16,
     {IMAGES(2), SIDES(3, 4)},
     39,
     SH_CORRUPT,
     "is cut off: 39 bytes, its header promises 40 (2 images of 3 x 4); copy or download it again"},
    {"trailing", SH_IDX_IMAGES, 16, {IMAGES(2), SIDES(3, 4)}, 41, SH_CORRUPT, "too long: 41 bytes"},
    {"cut labels",
     SH_IDX_LABELS,
     8,
     {LABELS(5)},
     12,
     SH_CORRUPT,
     "12 bytes, its header promises 13"},
    {"trailing label", SH_IDX_LABELS, 8, {LABELS(5)}, 14, SH_CORRUPT, "promises 13 (5 labels)"},
};

static void headers_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        const struct header_case *c = &headers[i];
        sh_idx_header header = {.count = 77};
        const sh_status status = sh_idx_parse(&header, c->bytes, c->count, c->file_bytes, c->kind);
        if (c->code == SH_OK) {
            assert_int_equal(status, SH_OK);
            assert_int_equal(header.count, c->bytes[7]);
            assert_int_equal(header.height, c->kind == SH_IDX_IMAGES ? c->bytes[11] : 1);
            assert_int_equal(header.width, c->kind == SH_IDX_IMAGES ? c->bytes[15] : 1);
            continue;
        }
        if (status != c->code || strstr(sh_message(), c->part) == NULL)
            fail_msg("%s: %s (%s)", c->what, sh_message(), sh_status_text(status));
        assert_int_equal(header.count, 77);
    }
}

static const uint8_t two_images[] = {IMAGES(2), SIDES(1, 3), 10, 11, 12, 20, 21, 22};

static void items_are_read_where_they_are(void **state)
{
    (void)state;
    fixture s;
    fixture_new(&s);
    fixture_write(&s, "plain", two_images, sizeof two_images);
    fixture_gzip(&s, "packed.gz", two_images, sizeof two_images);
    static const char *const names[] = {"plain", "packed"};
    for (int i = 0; i < 2; i++) {
        sh_idx idx;
        uint8_t bytes[3], all[6];
        assert_true(sh_idx_exists(fixture_path(&s, names[i])));
        assert_ok(sh_idx_open(&idx, fixture_path(&s, names[i]), SH_IDX_IMAGES));
        assert_int_equal(sh_idx_item_bytes(&idx), 3);
        assert_ok(sh_idx_read(&idx, 1, bytes));
        assert_memory_equal(bytes, two_images + 19, 3);
        assert_ok(sh_idx_read(&idx, 0, bytes));
        assert_memory_equal(bytes, two_images + 16, 3);
        assert_ok(sh_idx_read_many(&idx, 0, 2, all));
        assert_memory_equal(all, two_images + 16, 6);
        sh_idx_close(&idx);
        sh_idx_close(&idx);
    }
    fixture_remove(&s);
}

static void files_that_cannot_be_opened_say_why(void **state)
{
    (void)state;
    fixture s;
    sh_idx idx;
    fixture_new(&s);
    fixture_write(&s, "text", "hello, world", 12);
    fixture_gzip(&s, "plain", two_images, sizeof two_images);
    fixture_gzip(&s, "short.gz", two_images, sizeof two_images - 1);
    assert_false(sh_idx_exists(fixture_path(&s, "no")));
    assert_fails(sh_idx_open(&idx, fixture_path(&s, "no"), SH_IDX_IMAGES), SH_NOT_FOUND,
                 "/no: there is no such file, neither plain nor .gz");
    assert_fails(sh_idx_open(&idx, fixture_path(&s, "tmp"), SH_IDX_IMAGES), SH_FORMAT,
                 "/tmp: is not a regular file");
    assert_fails(sh_idx_open(&idx, fixture_path(&s, "text"), SH_IDX_IMAGES), SH_FORMAT,
                 "/text: is not an IDX file of images: it begins with 0x68656c6c");
    assert_fails(sh_idx_open(&idx, fixture_path(&s, "plain"), SH_IDX_IMAGES), SH_FORMAT,
                 "/plain: is gzip'd though its name does not say so; add .gz to its name");
    assert_fails(sh_idx_open(&idx, fixture_path(&s, "short"), SH_IDX_IMAGES), SH_CORRUPT,
                 "/short.gz: is cut off: 21 bytes, its header promises 22");
    assert_fails(sh_idx_open(&idx, fixture_path(&s, "text/x"), SH_IDX_IMAGES), SH_NOT_FOUND,
                 "/text/x: cannot open it: Not a directory");
    fixture_remove(&s);
}

static void a_file_that_shrinks_is_noticed(void **state)
{
    (void)state;
    fixture s;
    sh_idx idx;
    uint8_t bytes[3];
    fixture_new(&s);
    fixture_write(&s, "file", two_images, sizeof two_images);
    assert_ok(sh_idx_open(&idx, fixture_path(&s, "file"), SH_IDX_IMAGES));
    assert_int_equal(truncate(fixture_path(&s, "file"), sizeof two_images - 1), 0);
    assert_ok(sh_idx_read(&idx, 0, bytes));
    assert_fails(sh_idx_read(&idx, 1, bytes), SH_CORRUPT,
                 "/file: item 1: became shorter while it was in use");
    sh_idx_close(&idx);
    fixture_remove(&s);
}

static void pairs_are_checked(void **state)
{
    (void)state;
    static const struct {
        uint8_t labels[12];
        size_t bytes;
        uint32_t limit;
        sh_status code;
        const char *part;
    } cases[] = {
        {{LABELS(2), 0, 9}, 10, 255, SH_OK, "9"},
        {{LABELS(2), 9, 3}, 10, 9, SH_OK, "9"},
        {{LABELS(2), 8, 9},
         10,
         8,
         SH_FORMAT,
         "/labels: label 9 of sample 1 is out of range 0 to 8"},
        {{LABELS(3), 0, 1, 2}, 11, 255, SH_MISMATCH, "/images holds 2 images, but "},
        {{LABELS(1), 0}, 9, 255, SH_MISMATCH, "/labels 1 labels: they do not belong together"},
    };
    fixture s;
    fixture_new(&s);
    fixture_write(&s, "images", two_images, sizeof two_images);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_idx images, labels;
        uint32_t most = 77;
        fixture_write(&s, "labels", cases[i].labels, cases[i].bytes);
        assert_ok(sh_idx_open(&images, fixture_path(&s, "images"), SH_IDX_IMAGES));
        assert_ok(sh_idx_open(&labels, fixture_path(&s, "labels"), SH_IDX_LABELS));
        if (cases[i].code == SH_OK) {
            assert_ok(sh_idx_check_pair(&most, &images, &labels, cases[i].limit));
            assert_int_equal(most, 9);
        } else {
            assert_fails(sh_idx_check_pair(&most, &images, &labels, cases[i].limit), cases[i].code,
                         cases[i].part);
            assert_int_equal(most, 77);
        }
        sh_idx_close(&images);
        sh_idx_close(&labels);
    }
    fixture_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(items_are_read_where_they_are),
        cmocka_unit_test(files_that_cannot_be_opened_say_why),
        cmocka_unit_test(a_file_that_shrinks_is_noticed),
        cmocka_unit_test(pairs_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
