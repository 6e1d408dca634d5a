/* SPDX-License-Identifier: Apache-2.0 */
#include "data/manifest.h"

#include "data/delivery_fixture.h"

static sh_manifest *make(fixture *s, set_kind kind)
{
    sh_dataset *data = set_open(s, kind);
    sh_manifest *manifest;
    assert_ok(sh_manifest_make(&manifest, data));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_string_equal(manifest->kind, info->name);
    assert_string_equal(manifest->info.fingerprint, info->fingerprint);
    assert_int_equal(manifest->info.outputs, info->outputs);
    assert_int_equal(manifest->info.count[1], info->count[1]);
    assert_memory_equal(manifest->info.mean, info->mean, sizeof info->mean);
    assert_memory_equal(manifest->info.deviation, info->deviation, sizeof info->deviation);
    sh_dataset_close(data);
    return manifest;
}

static void what_is_made_comes_back(void **state)
{
    (void)state;
    for (set_kind kind = 0; kind < SET_KINDS; kind++) {
        fixture s;
        sh_manifest *made = make(&s, kind), *back;
        assert_ok(sh_manifest_parse(&back, made->packed, made->packed_bytes, made->root));
        assert_string_equal(back->root, made->root);
        assert_string_equal(back->info.name, made->info.name);
        assert_int_equal(back->blocks, made->blocks);
        assert_memory_equal(&back->contents, &made->contents, sizeof made->contents);
        sh_manifest_free(back);
        sh_manifest_free(made);
        fixture_remove(&s);
    }
    sh_manifest_free(NULL);
}

static void blocks_cover_the_files(void **state)
{
    (void)state;
    for (set_kind kind = 0; kind < SET_KINDS; kind++) {
        fixture s;
        sh_manifest *m = make(&s, kind);
        sh_dataset *data;
        assert_ok(sh_dataset_open(&data, fixture_path(&s, "data"), NULL));
        uint64_t covered[SH_CONTENTS_FILES] = {0};
        uint8_t *bytes = malloc(m->block_bytes);
        assert_non_null(bytes);
        for (uint32_t block = 0; block < m->blocks; block++) {
            const sh_block b = sh_manifest_block(m, block);
            assert_int_equal(b.offset, covered[b.file]);
            assert_int_equal(sh_manifest_find(m, b.file, b.offset), block);
            assert_int_equal(sh_manifest_find(m, b.file, b.offset + b.bytes - 1), block);
            covered[b.file] += b.bytes;
            assert_ok(sh_contents_read(data, b.file, b.offset, bytes, b.bytes));
            assert_ok(sh_manifest_verify(m, block, bytes, b.bytes));
            assert_fails(sh_manifest_verify(m, block, bytes, b.bytes - 1), SH_CORRUPT,
                         "bytes inst");
            bytes[b.bytes / 2] ^= 1;
            assert_fails(sh_manifest_verify(m, block, bytes, b.bytes), SH_CORRUPT,
                         "has the wrong digest");
        }
        for (uint32_t i = 0; i < m->contents.files; i++)
            assert_int_equal(covered[i], m->contents.file[i].bytes);
        free(bytes);
        sh_dataset_close(data);
        sh_manifest_free(m);
        fixture_remove(&s);
    }
}

static void the_root_is_of_the_content(void **state)
{
    (void)state;
    fixture s;
    sh_manifest *three = make(&s, SET_CIFAR10), *one;
    static const char *const parts[] = {"data/data_batch_1.bin", "data/data_batch_2.bin",
                                        "data/data_batch_5.bin"};
    FILE *whole = fopen(fixture_path(&s, "whole"), "wb");
    assert_non_null(whole);
    for (int i = 0; i < 3; i++) {
        static uint8_t bytes[200 * 3073];
        FILE *part = fopen(fixture_path(&s, parts[i]), "rb");
        assert_non_null(part);
        const size_t count = fread(bytes, 1, sizeof bytes, part);
        fclose(part);
        assert_int_equal(fwrite(bytes, 1, count, whole), count);
        assert_int_equal(unlink(fixture_path(&s, parts[i])), 0);
    }
    assert_int_equal(fclose(whole), 0);
    char from[sizeof s.path];
    snprintf(from, sizeof from, "%s", fixture_path(&s, "whole"));
    assert_int_equal(rename(from, fixture_path(&s, parts[0])), 0);
    sh_dataset *data;
    assert_ok(sh_dataset_open(&data, fixture_path(&s, "data"), NULL));
    assert_ok(sh_manifest_make(&one, data));
    assert_string_equal(one->root, three->root);
    sh_dataset_close(data);
    sh_manifest_free(one);
    sh_manifest_free(three);
    fixture_remove(&s);
}

static void other_content_has_another_root(void **state)
{
    (void)state;
    fixture s;
    sh_manifest *before = make(&s, SET_MNIST), *after;
    FILE *file = fopen(fixture_path(&s, "data/t10k-images-idx3-ubyte"), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 16 + 784 + 100, SEEK_SET), 0);
    assert_int_equal(fputc(77, file), 77);
    assert_int_equal(fclose(file), 0);
    sh_dataset *data;
    assert_ok(sh_dataset_open(&data, fixture_path(&s, "data"), NULL));
    assert_ok(sh_manifest_make(&after, data));
    assert_string_equal(after->info.fingerprint, before->info.fingerprint);
    assert_string_not_equal(after->root, before->root);
    sh_manifest *none = NULL;
    assert_fails(sh_manifest_parse(&none, after->packed, after->packed_bytes, before->root),
                 SH_CORRUPT, "the manifest of the data: its digest is ");
    assert_null(none);
    sh_dataset_close(data);
    sh_manifest_free(before);
    sh_manifest_free(after);
    fixture_remove(&s);
}

static void malformed_ones_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t bytes[9];
        size_t count;
        sh_status code;
        const char *part;
    } cases[] = {
        {0, "S", 1, SH_FORMAT, "it does not begin with 'shoalman'"},
        {8, "\1", 1, SH_VERSION, "version 1; this shoal knows 2"},
        {12, "\1", 1, SH_FORMAT, "blocks of 65537 bytes"},
        {12, "\0\0\0\1", 4, SH_FORMAT, "blocks of 16777216 bytes"},
        {12, "\0\1\0\0", 4, SH_FORMAT, "blocks of 256 bytes"},
        {12, "\0\0\2\0", 4, SH_CORRUPT, "blocks have "},
        {16, "\0", 1, SH_FORMAT, "does not name the kind"},
        {16, "/", 1, SH_FORMAT, "does not name the kind"},
        {31, "x", 1, SH_FORMAT, "does not name the kind"},
        {95, "G", 1, SH_FORMAT, "it has no fingerprint"},
        {96, "\5", 1, SH_FORMAT, "its samples of 5 x 28 x 28"},
        {108, "\2", 1, SH_FORMAT, "its samples of 1"},
        {112, "\4", 1, SH_FORMAT, "of an unknown kind"},
        {112, "\2", 1, SH_FORMAT, "its targets of 1 bytes do not hold 10 outputs"},
        {116, "\1", 1, SH_FORMAT, "its 1 classes"},
        {240, "\2", 1, SH_FORMAT, "its targets of 2 bytes"},
        {120, "\0\0\0\0", 4, SH_FORMAT, "it has no training samples"},
        {120, "\377\377\377\377", 4, SH_FORMAT, "do not hold 4294967295 samples"},
        {130, "\300\177", 2, SH_FORMAT, "channel 0 has no mean"},
        {144, "\0\0\0\0", 4, SH_FORMAT, "channel 0 has no mean and deviation"},
        {160, "\4", 1, SH_FORMAT, "its samples are in file 4 of 4"},
        {164, "\377\377\377\377\377\377\377\377", 8, SH_FORMAT, "do not hold 1200 samples"},
        {244, "\0", 1, SH_FORMAT, "it has 0 files"},
        {244, "\21", 1, SH_FORMAT, "it has 17 files"},
        {248, "/", 1, SH_FORMAT, "file 0 has no plain name"},
        {296, "\0\0\0\0\0\1", 6, SH_LIMIT, "more than 1099511627776 bytes"},
        {296, "\0\0\0\0\377", 5, SH_LIMIT, "more than 524288 blocks"},
    };
    fixture s;
    sh_manifest *good = make(&s, SET_MNIST), *none = NULL;
    uint8_t *bytes = malloc(good->packed_bytes + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(bytes, good->packed, good->packed_bytes);
        memcpy(bytes + cases[i].at, cases[i].bytes, cases[i].count);
        assert_fails(sh_manifest_parse(&none, bytes, good->packed_bytes, NULL), cases[i].code,
                     cases[i].part);
    }
    memcpy(bytes, good->packed, good->packed_bytes);
    bytes[good->packed_bytes] = 0;
    for (size_t count = 0; count < good->packed_bytes; count += count < 500 ? 1 : 37)
        assert_fails(sh_manifest_parse(&none, bytes, count, NULL), SH_CORRUPT, "manifest of the");
    assert_fails(sh_manifest_parse(&none, bytes, good->packed_bytes + 1, NULL), SH_CORRUPT,
                 "bytes of digests");
    assert_fails(sh_manifest_parse(&none, bytes, SH_MANIFEST_BYTES_MOST + 1, NULL), SH_LIMIT,
                 "can be read");
    assert_null(none);
    free(bytes);
    sh_manifest_free(good);
    fixture_remove(&s);
}

static void what_is_drawn_has_none(void **state)
{
    (void)state;
    sh_dataset *data;
    sh_manifest *none = NULL;
    assert_ok(sh_dataset_open(&data, "digits", NULL));
    assert_fails(sh_manifest_make(&none, data), SH_UNSUPPORTED, "digits is not stored on disk");
    assert_null(none);
    sh_dataset_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_comes_back),
        cmocka_unit_test(blocks_cover_the_files),
        cmocka_unit_test(the_root_is_of_the_content),
        cmocka_unit_test(other_content_has_another_root),
        cmocka_unit_test(malformed_ones_are_refused),
        cmocka_unit_test(what_is_drawn_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
