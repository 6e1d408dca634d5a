/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment.h"

#include "base/test.h"

static void lists_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        sh_augment expected;
    } cases[] = {
        {"", {.crop = 0}},
        {"flip", {.flip = true}},
        {"crop", {.crop = 4}},
        {"crop,flip", {.crop = 4, .flip = true}},
        {"flip,crop:1", {.crop = 1, .flip = true}},
        {"crop:64", {.crop = 64}},
        {"crop:007", {.crop = 7}},
        {"resized-crop", {.resized_crop = 0.08}},
        {"resized-crop:1", {.resized_crop = 1}},
        {"crop:2,resized-crop:0.25,flip", {.crop = 2, .flip = true, .resized_crop = 0.25}},
        {"resized-crop:00.5000", {.resized_crop = 0.5}},
        {"resized-crop:.5", {.resized_crop = 0.5}},
        {"vflip,flip", {.vflip = true, .flip = true}},
        {"rotate:22.5", {.rotate = 22.5}},
        {"jitter:0.4", {.jitter = {0.4}}},
        {"jitter:0.4/1", {.jitter = {0.4, 1}}},
        {"jitter:0.4/0.3/0.2/0.1,vflip", {.vflip = true, .jitter = {0.4, 0.3, 0.2, 0.1}}},
        {"jitter:0/0/0/0.5", {.jitter = {0, 0, 0, 0.5}}},
        {"flip,trivial", {.flip = true, .trivial = true}},
        {"shift:3,noise:0.05", {.shift = {3}, .noise = 0.05}},
        {"shift:0/2", {.shift = {0, 2}}},
        {"scale:0.1,mask:8/20", {.scale = 0.1, .mask = {8, 20}}},
        {"mask:0/5", {.mask = {0, 5}}},
        {"mixup:0.2,cutmix:1", {.mixup = 0.2, .cutmix = 1}},
        {"erase", {.erase = 0.5}},
        {"erase:1", {.erase = 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_augment augment = {.crop = 99, .flip = true};
        assert_ok(sh_augment_parse(&augment, cases[i].list));
        assert_int_equal(augment.crop, cases[i].expected.crop);
        assert_int_equal(augment.flip, cases[i].expected.flip);
        assert_int_equal(augment.vflip, cases[i].expected.vflip);
        for (int k = 0; k < 4; k++)
            assert_true(augment.jitter[k] == cases[i].expected.jitter[k]);
        assert_true(augment.erase == cases[i].expected.erase);
        assert_int_equal(augment.trivial, cases[i].expected.trivial);
        assert_int_equal(augment.shift[0], cases[i].expected.shift[0]);
        assert_int_equal(augment.shift[1], cases[i].expected.shift[1]);
        assert_true(augment.scale == cases[i].expected.scale);
        assert_true(augment.noise == cases[i].expected.noise);
        assert_int_equal(augment.mask[0], cases[i].expected.mask[0]);
        assert_int_equal(augment.mask[1], cases[i].expected.mask[1]);
        assert_true(augment.mixup == cases[i].expected.mixup);
        assert_true(augment.cutmix == cases[i].expected.cutmix);
        assert_true(augment.rotate == cases[i].expected.rotate);
        assert_true(augment.resized_crop == cases[i].expected.resized_crop);
    }
}

static void other_lists_say_what_there_is(void **state)
{
    (void)state;
    static const struct {
        const char *list, *part;
    } cases[] = {
        {"turn", "--augment turn: unknown 'turn'; known are: resized-crop[:MIN], "},
        {"turn", "mask:F/T, mixup:A, cutmix:A, for example crop:4,flip"},
        {"crop,turn,flip", "--augment crop,turn,flip: unknown 'turn'; known are"},
        {"crop,", "--augment crop,: unknown ''; known are"},
        {",flip", "unknown ''; known are"},
        {"crop, flip", "unknown ' flip'"},
        {"Flip", "unknown 'Flip'"},
        {"flips", "unknown 'flips'"},
        {"flip:2", "--augment flip:2: write flip"},
        {"flip,flip", "--augment flip,flip: 'flip' is given twice"},
        {"crop,flip,crop:2", "'crop' is given twice"},
        {"crop:0", "--augment crop:0: write crop or crop:N, where N is 1 to 64 pixels around the"},
        {"crop:", "write crop or crop:N"},
        {"crop:65", "write crop or crop:N"},
        {"crop:-1", "write crop or crop:N"},
        {"crop:4.5", "write crop or crop:N"},
        {"crop:4294967297", "write crop or crop:N"},
        {"crop:99999999999999999999999", "write crop or crop:N"},
        {"crop:1/2", "write crop or crop:N"},
        {"resized-crop:0", "write resized-crop or resized-crop:MIN, where MIN is 0.01 to 1"},
        {"resized-crop:1.01", "write resized-crop"},
        {"resized-crop:0,5", "write resized-crop"},
        {"resized-crop:.", "write resized-crop"},
        {"resized-crop:0.5.", "write resized-crop"},
        {"resized-crop:1e-1", "write resized-crop"},
        {"resized-crop:0.1234567890", "write resized-crop"},
        {"vflip:1", "--augment vflip:1: write vflip"},
        {"rotate", "--augment rotate: write rotate:DEGREES, where DEGREES is 0.1 to 180 each way"},
        {"rotate:0", "write rotate:DEGREES"},
        {"rotate:181", "write rotate:DEGREES"},
        {"rotate:-5", "write rotate:DEGREES"},
        {"jitter", "--augment jitter: write jitter:B, jitter:B/C, jitter:B/C/S or jitter:B/C/S/H"},
        {"jitter:", "write jitter:B"},
        {"jitter:0.1/", "write jitter:B"},
        {"jitter:/0.1", "write jitter:B"},
        {"jitter:1.1", "write jitter:B"},
        {"jitter:0/0/0/0.6", "write jitter:B"},
        {"jitter:0/0/0/0/0", "write jitter:B"},
        {"trivial:2", "--augment trivial:2: write trivial"},
        {"shift", "--augment shift: write shift:N or shift:N/F, the most steps of time and"},
        {"shift:1/2/3", "write shift:N"},
        {"shift:1.5", "write shift:N"},
        {"scale:0", "--augment scale:0: write scale:S, where S is 0.001 to 1"},
        {"noise:0.00001", "write noise:S, where S is 0.0001 to 100"},
        {"mask:5", "--augment mask:5: write mask:F/T, the most frequencies and times"},
        {"mask:5/5/5", "write mask:F/T"},
        {"mask:5/65536", "write mask:F/T"},
        {"mixup", "--augment mixup: write mixup:A, A being 0.05 to 10"},
        {"mixup:0", "write mixup:A"},
        {"cutmix:11", "--augment cutmix:11: write cutmix:A, A being 0.05 to 10"},
        {"erase:0", "--augment erase:0: write erase or erase:P, where P is 0.01 to 1"},
        {"erase:2", "write erase or erase:P"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_augment augment = {.crop = 99};
        assert_fails(sh_augment_parse(&augment, cases[i].list), SH_INVALID, cases[i].part);
        assert_int_equal(augment.crop, 99);
    }
}

static void views_are_uniform(void **state)
{
    (void)state;
    enum { SAMPLES = 81 * 2 * 400, SIDE = 9 };
    static uint32_t count[2][SIDE][SIDE];
    const sh_augment augment = {.crop = 4, .flip = true};
    memset(count, 0, sizeof count);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const sh_view view = sh_augment_draw(&augment, 1, i % 7, i);
        assert_in_range(view.top + 4, 0, SIDE - 1);
        assert_in_range(view.left + 4, 0, SIDE - 1);
        count[view.mirrored][view.top + 4][view.left + 4]++;
    }
    for (uint32_t i = 0; i < 2 * SIDE * SIDE; i++)
        assert_in_range(count[i / 81][i / 9 % 9][i % 9], 310, 490); /* 4.5 sigma */
}

static bool same(sh_view a, sh_view b)
{
    return a.left == b.left && a.top == b.top && a.mirrored == b.mirrored;
}

static void views_belong_to_seed_epoch_and_sample(void **state)
{
    (void)state;
    const sh_augment augment = {.crop = 4, .flip = true};
    uint32_t equal[3] = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        const sh_view view = sh_augment_draw(&augment, 5, 2, i);
        assert_true(same(view, sh_augment_draw(&augment, 5, 2, i)));
        equal[0] += same(view, sh_augment_draw(&augment, 6, 2, i));
        equal[1] += same(view, sh_augment_draw(&augment, 5, 3, i));
        equal[2] += same(view, sh_augment_draw(&augment, 5, 2, i + 1));
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(equal[i], 0, 20); /* 1000 / 162 by chance */
}

static void what_is_not_asked_for_does_not_happen(void **state)
{
    (void)state;
    const sh_augment both = {.crop = 4, .flip = true}, crop = {.crop = 4}, flip = {.flip = true},
                     none = {.crop = 0};
    for (uint32_t i = 0; i < 200; i++) {
        const sh_view view = sh_augment_draw(&both, 1, 0, i);
        assert_true(same(sh_augment_draw(&none, 1, 0, i), (sh_view){0, 0, false}));
        assert_true(same(sh_augment_draw(&crop, 1, 0, i), (sh_view){view.left, view.top, false}));
        assert_true(same(sh_augment_draw(&flip, 1, 0, i), (sh_view){0, 0, view.mirrored}));
    }
}

/* A change here changes every run with augmentation. */
static void golden_views(void **state)
{
    (void)state;
    static const sh_view golden[] = {{1, 3, false}, {2, -4, true}, {-2, -3, true}, {4, -3, true}};
    const sh_augment augment = {.crop = 4, .flip = true};
    for (uint32_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const sh_view view = sh_augment_draw(&augment, 1, i / 2, i);
        if (!same(view, golden[i]))
            fail_msg("view %u is {%d, %d, %d}", i, view.left, view.top, view.mirrored);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_understood),
        cmocka_unit_test(other_lists_say_what_there_is),
        cmocka_unit_test(views_are_uniform),
        cmocka_unit_test(views_belong_to_seed_epoch_and_sample),
        cmocka_unit_test(what_is_not_asked_for_does_not_happen),
        cmocka_unit_test(golden_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
