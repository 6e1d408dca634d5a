/* SPDX-License-Identifier: Apache-2.0 */
#include "data/contents.h"

#include "data/delivery_fixture.h"
#include "data/manifest.h"

static void assert_places(const sh_dataset *data)
{
    const sh_dataset_info *info = sh_dataset_about(data);
    const sh_contents *c;
    assert_ok(sh_contents_of(&c, data));
    assert_ok(sh_contents_check(c, info));
    for (int split = 0; split < SH_SPLITS; split++)
        for (uint32_t i = 0; i < info->count[split]; i++) {
            uint8_t image[SET_IMAGE_MOST], found[SET_IMAGE_MOST], class;
            int32_t label;
            const sh_contents_place *place = &c->sample[split], *mark = &c->target[split];
            const size_t bytes = info->channels * info->height * info->width;
            assert_ok(sh_dataset_read(data, (sh_split)split, i, image, &label));
            assert_ok(sh_contents_read(data, place->file, place->first + i * place->stride, found,
                                       bytes));
            assert_memory_equal(found, image, bytes);
            assert_ok(
                sh_contents_read(data, mark->file, mark->first + i * mark->stride, &class, 1));
            assert_int_equal(class, label);
        }
}

static void samples_lie_where_the_contents_say(void **state)
{
    (void)state;
    for (set_kind kind = 0; kind < SET_KINDS; kind++) {
        fixture s;
        sh_dataset *data = set_open(&s, kind);
        assert_places(data);
        sh_dataset_close(data);
        fixture_remove(&s);
    }
}

static void pieces_are_the_whole(void **state)
{
    (void)state;
    fixture s;
    sh_dataset *data = set_open(&s, SET_CIFAR10);
    const sh_contents *c;
    assert_ok(sh_contents_of(&c, data));
    const size_t bytes = (size_t)c->file[0].bytes;
    uint8_t *whole = malloc(bytes), *pieces = malloc(bytes);
    assert_non_null(whole);
    assert_non_null(pieces);
    assert_ok(sh_contents_read(data, 0, 0, whole, bytes));
    for (size_t at = 0, piece = 0; at < bytes; at += piece) {
        piece = bytes - at < 1000 ? bytes - at : 1000;
        assert_ok(sh_contents_read(data, 0, at, pieces + at, piece));
    }
    assert_memory_equal(whole, pieces, bytes);
    assert_fails(sh_contents_read(data, 2, 0, whole, 1), SH_INVALID, "no file number 2");
    assert_fails(sh_contents_read(data, 0, bytes, whole, 1), SH_INVALID, "training.bin: byte ");
    assert_fails(sh_contents_read(data, 0, UINT64_MAX, whole, 2), SH_INVALID, "training.bin: ");
    free(whole);
    free(pieces);
    sh_dataset_close(data);
    fixture_remove(&s);
}

/* Ranges from other devices are untrusted. */
static void wild_ranges_are_refused(void **state)
{
    (void)state;
    static const struct {
        sh_block block;
        const char *part;
    } cases[] = {
        {{4, 0, 1}, "no file number 4"},
        {{UINT32_MAX, 0, 1}, "no file number 4294967295"},
        {{1, 1200 + 8, 1}, "are not within its 1208"},
        {{1, 1200, 9}, "are not within its 1208"},
        {{1, 0, UINT32_MAX}, "are not within its 1208"},
        {{1, UINT64_MAX, 1}, "are not within its 1208"},
    };
    uint8_t byte;
    fixture s;
    sh_dataset *data = set_open(&s, SET_MNIST);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sh_block *b = &cases[i].block;
        assert_fails(sh_contents_read(data, b->file, b->offset, &byte, b->bytes), SH_INVALID,
                     cases[i].part);
    }
    sh_dataset_close(data);
    fixture_remove(&s);
}

static void what_is_drawn_has_no_contents(void **state)
{
    (void)state;
    static const char *const specs[] = {"digits", "noise:1x8x8/2"};
    for (size_t i = 0; i < 2; i++) {
        sh_dataset *data;
        const sh_contents *c = NULL;
        assert_ok(sh_dataset_open(&data, specs[i], NULL));
        assert_fails(sh_contents_of(&c, data), SH_UNSUPPORTED, "each device generates it");
        assert_null(c);
        uint8_t byte;
        assert_fails(sh_contents_read(data, 0, 0, &byte, 1), SH_UNSUPPORTED,
                     "is not stored on disk");
        sh_manifest *none = NULL;
        assert_fails(sh_manifest_make(&none, data), SH_UNSUPPORTED, "is not stored on disk");
        assert_null(none);
        sh_dataset_close(data);
    }
}

static const sh_dataset_info small = {
    .channels = 1, .height = 2, .width = 3, .outputs = 2, .count = {5, 4}};
static const sh_contents good = {
    .target_bytes = 1,
    .files = 2,
    .file = {{"images", 16 + 9 * 6}, {"labels", 9}},
    .sample = {{0, 16, 6}, {0, 46, 6}},
    .target = {{1, 0, 1}, {1, 5, 1}},
};

static void wrong_contents_are_refused(void **state)
{
    (void)state;
    assert_ok(sh_contents_check(&good, &small));
    sh_contents c[17];
    for (size_t i = 0; i < 17; i++)
        c[i] = good;
    c[0].files = 0;
    c[1].files = SH_CONTENTS_FILES + 1;
    c[2].file[0].name[0] = '\0';
    memset(c[3].file[0].name, 'a', SH_CONTENTS_NAME);
    memcpy(c[4].file[1].name, "../x", 5);
    c[5].file[0].bytes = 0;
    c[6].file[0].bytes = SH_CONTENTS_BYTES_MOST + 1;
    c[7].file[0].bytes--;
    c[8].sample[1].first++;
    c[9].sample[0].stride = 5;
    c[10].sample[0].stride = UINT64_MAX;
    c[11].sample[0].first = UINT64_MAX;
    c[12].target[1].file = 2;
    c[13].target[0].stride = 0;
    c[14].file[1].bytes = 8;
    memcpy(c[15].file[1].name, ".x", 3);
    c[16].sample[1].first = c[16].file[0].bytes - 5;
    for (size_t i = 0; i < 17; i++)
        assert_int_equal(sh_contents_check(&c[i], &small), i == 6 ? SH_LIMIT : SH_FORMAT);
    sh_dataset_info about[7] = {small, small, small, small, small, small, small};
    about[0].channels = 0;
    about[1].channels = SH_DATASET_CHANNELS_MOST + 1;
    about[2].height = SH_CONTENTS_SIDE_MOST + 1;
    about[3].width = 0;
    about[4].outputs = 1;
    about[5].outputs = SH_CONTENTS_BYTE_CLASSES + 1;
    about[6].count[1] = 0;
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(sh_contents_check(&good, &about[i]), SH_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_lie_where_the_contents_say),
        cmocka_unit_test(pieces_are_the_whole),
        cmocka_unit_test(wild_ranges_are_refused),
        cmocka_unit_test(what_is_drawn_has_no_contents),
        cmocka_unit_test(wrong_contents_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
