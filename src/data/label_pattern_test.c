/* SPDX-License-Identifier: Apache-2.0 */
#include "data/label_pattern.h"

#include "base/test.h"

static const struct good_case {
    const char *form, *path, *label, *group;
    sh_split split;
} good[] = {
    {"{label}_{group}_{}.wav", "7_anna_12.wav", "7", "anna", SH_SPLIT_TRAIN},
    {"{label}_{group}_{}.wav", "some/where/7_anna_12.wav", "7", "anna", SH_SPLIT_TRAIN},
    {"{label}_{}.wav", "cat_1_2.wav", "cat", "", SH_SPLIT_TRAIN},
    {"{label}.wav", "a.wav.wav", "a.wav", "", SH_SPLIT_TRAIN},
    {"{label}.wav", "..wav", ".", "", SH_SPLIT_TRAIN},
    {"{}-{label}", "1-2-3", "2-3", "", SH_SPLIT_TRAIN},
    {"{label}", "x", "x", "", SH_SPLIT_TRAIN},
    {"s{group}_{}", "s12_walk", "", "12", SH_SPLIT_TRAIN},
    {"{label}__{group}.csv", "a___b.csv", "a", "_b", SH_SPLIT_TRAIN},
    {"{split}/{label}/{}", "train/up/1.wav", "up", "", SH_SPLIT_TRAIN},
    {"{split}/{label}/{}", "val/up/1.wav", "up", "", SH_SPLIT_VALIDATION},
    {"{split}/{label}/{}", "test/up/1.wav", "up", "", SH_SPLIT_VALIDATION},
    {"{split}_{label}.csv", "validation_up.csv", "up", "", SH_SPLIT_VALIDATION},
    {"{label}/{group}-{}.wav", "down/bob-3.wav", "down", "bob", SH_SPLIT_TRAIN},
    {"{}/{label}/{}.wav", "a/b/c.wav", "b", "", SH_SPLIT_TRAIN},
    {"\xc3\xa9t\xc3\xa9-{label}", "\xc3\xa9t\xc3\xa9-\xc3\xa0", "\xc3\xa0", "", SH_SPLIT_TRAIN},
};

static void forms_say_what_names_mean(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const struct good_case *c = &good[i];
        sh_label_pattern form;
        sh_label_match match;
        assert_ok(sh_label_pattern_parse(&form, c->form));
        assert_ok(sh_label_pattern_match(&match, &form, c->path));
        assert_string_equal(match.label, c->label);
        assert_string_equal(match.group, c->group);
        assert_int_equal(match.split, c->split);
    }
}

static void a_form_knows_its_placeholders(void **state)
{
    (void)state;
    sh_label_pattern form;
    assert_ok(sh_label_pattern_parse(&form, "{label}_{}.wav"));
    assert_true(form.has_label && !form.has_group && !form.has_split && !form.has_slash);
    assert_ok(sh_label_pattern_parse(&form, "{split}/{group}"));
    assert_true(!form.has_label && form.has_group && form.has_split && form.has_slash);
}

static const struct bad_form {
    const char *form, *part;
} bad_forms[] = {
    {"", "--label-from '': it has neither {label} nor"},
    {"{}.wav", "neither {label} nor {group} nor {split}; write for example {label}_{group}"},
    {"{label}{group}.wav", "two placeholders need text between them"},
    {"{}{label}.wav", "two placeholders need text between them"},
    {"{label}_{label}.wav", "--label-from {label}_{label}.wav: a placeholder is given twice"},
    {"{class}_{}.wav", "unknown {class}; known are: {label}, {group}, {split}, and {}"},
    {"{label_{}.wav", "the { at column 1 has no }"},
    {"a{label}_{", "the { at column 10 has no }"},
    {"{label}}.wav", "the } at column 8 has no {"},
    {"{la/bel}", "the { at column 1 has no }"},
    {"/{label}", "a / has nothing before it"},
    {"{split}//{label}", "a / has nothing before it"},
    {"{label}/", "it ends with a /"},
};

static void forms_that_mean_nothing_are_refused(void **state)
{
    (void)state;
    sh_label_pattern form = {.count = 77};
    for (size_t i = 0; i < sizeof bad_forms / sizeof *bad_forms; i++)
        assert_fails(sh_label_pattern_parse(&form, bad_forms[i].form), SH_INVALID,
                     bad_forms[i].part);
    char text[300];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_fails(sh_label_pattern_parse(&form, text), SH_INVALID,
                 "has 299 characters; at most 255");
    char many[200] = "";
    for (int i = 0; i < 40; i++)
        memcpy(many + 4 * i, "{}ab", 5);
    assert_fails(sh_label_pattern_parse(&form, many), SH_INVALID, "has more than 32 pieces");
    assert_int_equal(form.count, 77);
}

static const struct bad_path {
    const char *form, *path, *part;
} bad_paths[] = {
    {"{label}_{}.wav", "cat.wav",
     "cat.wav: its name is not of the form --label-from {label}_{}.wav: its text differs"},
    {"{label}_{}.wav", "_1.wav", "its text differs"},
    {"{label}_{}.wav", "cat_.wav", "it is too short"},
    {"{label}_{}.wav", "d/cat_1.flac", "d/cat_1.flac: its name is not of the form"},
    {"{label}_{}.wav", "", "it is too short"},
    {"{label}.wav", ".wav", "it is too short"},
    {"{label}.wav", "a.wave", "its text differs"},
    {"x{label}", "y1", "its text differs"},
    {"{label}", "", "a placeholder matches no text"},
    {"{split}/{label}.wav", "tren/a.wav", "its {split} is not one of train"},
    {"{split}/{label}.wav", "train", "it is in fewer folders"},
    {"{label}/{}", "a/b/c", "it is in more folders"},
    {"{label}/{}/{}", "a/b", "it is in fewer folders"},
    {"{label}/x", "a/xy", "it is longer"},
};

static void names_of_another_form_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_paths / sizeof *bad_paths; i++) {
        const struct bad_path *c = &bad_paths[i];
        sh_label_pattern form;
        sh_label_match match = {.label = "old"};
        assert_ok(sh_label_pattern_parse(&form, c->form));
        assert_fails(sh_label_pattern_match(&match, &form, c->path), SH_INVALID, c->part);
        assert_string_equal(match.label, "old");
    }
    sh_label_pattern form;
    sh_label_match match;
    char path[400];
    memset(path, 'a', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_ok(sh_label_pattern_parse(&form, "{label}"));
    assert_fails(sh_label_pattern_match(&match, &form, path), SH_INVALID, "more than 255 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_say_what_names_mean),
        cmocka_unit_test(a_form_knows_its_placeholders),
        cmocka_unit_test(forms_that_mean_nothing_are_refused),
        cmocka_unit_test(names_of_another_form_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
