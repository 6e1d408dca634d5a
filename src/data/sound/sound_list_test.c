/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sound/sound_list.h"

#include "data/sound/sound_fixture.h"

static void make_files(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        scratch_write(sound_path(names[i]), "x", 1);
}

#define MAKE(...)                                                                                  \
    make_files((const char *const[]){__VA_ARGS__},                                                 \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static sh_status list_with(sh_sound_list *list, const char *form, float part)
{
    const sh_read_options options = {.label_from = form, .val_split = part};
    return sh_sound_list_make(list, scratch_folder, &options);
}

/* Lines of "path class split group". */
static const char *text_of(const sh_sound_list *list)
{
    static char text[4096];
    size_t used = 0;
    for (size_t i = 0; i < list->count; i++) {
        const sh_sound_item *item = &list->items[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %c %s\n",
                                 list->folder.files[item->file].path, list->classes[item->class],
                                 item->split == SH_SPLIT_TRAIN ? 't' : 'v', item->group);
    }
    return text;
}

static void folders_are_classes(void **state)
{
    (void)state;
    sh_sound_list list;
    MAKE("yes/1.wav", "yes/2.wav", "yes/deep/3.wav", "no/1.wav", "no/2.wav", "train/1.wav",
         "train/2.wav");
    assert_ok(list_with(&list, "", 0.4f));
    assert_int_equal(list.class_count, 3);
    assert_string_equal(list.classes[0], "no");
    assert_string_equal(list.classes[1], "train"); /* an ordinary class: it contains no folders */
    assert_string_equal(list.classes[2], "yes");
    assert_int_equal(list.in[0] + list.in[1], 7);
    for (uint32_t class = 0; class < 3; class ++) {
        uint32_t in[SH_SPLITS] = {0};
        for (size_t i = 0; i < list.count; i++) {
            assert_int_equal(list.items[i].split, i >= list.in[0]);
            if (list.items[i].class == class)
                in[list.items[i].split]++;
        }
        assert_true(in[0] > 0 && in[1] > 0);
    }
    sh_sound_list_release(&list);
}

static void folders_are_splits(void **state)
{
    (void)state;
    sh_sound_list list;
    MAKE("train/b/1.wav", "train/a/1.wav", "train/a/0.wav", "val/a/1.wav", "test/b/1.wav");
    assert_ok(list_with(&list, NULL, 0));
    assert_string_equal(text_of(&list), "train/a/0.wav a t \ntrain/a/1.wav a t \n"
                                        "train/b/1.wav b t \ntest/b/1.wav b v \n"
                                        "val/a/1.wav a v \n");
    sh_sound_list_release(&list);
    MAKE("extra/b/1.wav");
    assert_fails(list_with(&list, NULL, 0), SH_INVALID,
                 "extra/b/1.wav is not in train, val, valid, validation or test");
}

static void names_are_labels(void **state)
{
    (void)state;
    sh_sound_list list;
    MAKE("train/up_1.wav", "train/down_1.wav", "valid/up_2.wav");
    assert_ok(list_with(&list, "{label}_{}.wav", 0));
    assert_string_equal(text_of(&list), "train/down_1.wav down t \ntrain/up_1.wav up t \n"
                                        "valid/up_2.wav up v \n");
    json_t *notes = json_array();
    assert_ok(sh_sound_list_note(&list, notes));
    assert_int_equal(json_array_size(notes), 1);
    assert_string_equal(json_string_value(json_array_get(notes, 0)),
                        "class 'down' has no recordings in validation");
    json_decref(notes);
    sh_sound_list_release(&list);
    assert_ok(list_with(&list, "{split}/{label}_{}.wav", 0));
    assert_int_equal(list.in[SH_SPLIT_VALIDATION], 1);
    sh_sound_list_release(&list);
    MAKE("train/up.wav");
    assert_fails(list_with(&list, "{label}_{}.wav", 0), SH_INVALID,
                 "train/up.wav: its name is not of the form --label-from {label}_{}.wav");
}

static void groups_stay_together(void **state)
{
    (void)state;
    sh_sound_list list;
    for (int i = 0; i < 60; i++) {
        char name[64];
        snprintf(name, sizeof name, "%d_speaker%d_%d.wav", i % 2, i % 5, i);
        MAKE(name);
    }
    MAKE("notes.txt");
    assert_ok(list_with(&list, "{label}_{group}_{}.wav", 0.3f));
    sh_split split_of[5];
    for (size_t i = 0; i < list.count; i++)
        split_of[list.items[i].group[7] - '0'] = list.items[i].split;
    for (size_t i = 0; i < list.count; i++)
        assert_int_equal(list.items[i].split, split_of[list.items[i].group[7] - '0']);
    assert_true(list.in[0] % 12 == 0 && list.in[0] > 0 && list.in[0] < 60);
    json_t *notes = json_array();
    assert_ok(sh_sound_list_note(&list, notes));
    const char *first = json_string_value(json_array_get(notes, 0));
    assert_non_null(strstr(first, "groups of the training split and their recordings: speaker"));
    assert_non_null(strstr(first, " 12"));
    assert_string_equal(
        json_string_value(json_array_get(notes, 2)),
        "1 other files are left out: their names do not end like those of recordings");
    json_decref(notes);
    for (size_t i = 1; i < list.count; i++) /* notes do not change the order */
        assert_true(list.items[i - 1].split < list.items[i].split ||
                    list.items[i - 1].file < list.items[i].file);
    sh_sound_list_release(&list);
}

static void a_class_that_cannot_be_learned_is_named(void **state)
{
    (void)state;
    sh_sound_list list;
    MAKE("train/a/1.wav", "train/b/1.wav", "val/a/1.wav", "val/c/1.wav");
    assert_fails(
        list_with(&list, NULL, 0), SH_INVALID,
        "class 'c' has recordings for validation but none for training, such as val/c/1.wav");
}

static void a_group_that_holds_a_class_is_named(void **state)
{
    (void)state;
    sh_sound_list list;
    MAKE("a_anna_1.wav", "b_bert_1.wav", "c_carl_1.wav", "d_dora_1.wav", "e_emil_1.wav",
         "f_fred_1.wav", "g_gina_1.wav", "h_hans_1.wav");
    assert_fails(list_with(&list, "{label}_{group}_{}.wav", 0.5f), SH_INVALID,
                 ", which is for validation: it cannot be learnt; add recordings of other groups");
}

static void a_group_in_both_splits_is_named(void **state)
{
    (void)state;
    sh_sound_list list;
    MAKE("train/a_anna_1.wav", "train/b_bert_1.wav", "val/b_anna_1.wav");
    assert_fails(list_with(&list, "{label}_{group}_{}.wav", 0), SH_INVALID,
                 "group 'anna' has recordings in both splits, for example train/a_anna_1.wav and "
                 "val/b_anna_1.wav");
}

static void folders_without_labels_are_refused(void **state)
{
    (void)state;
    sh_sound_list list = {.count = 77};
    MAKE("a/1.wav", "a/2.wav");
    assert_fails(list_with(&list, NULL, 0), SH_INVALID,
                 "all recordings are of one class, 'a': there is nothing to distinguish");
    MAKE("b/1.wav", "3.wav");
    assert_fails(list_with(&list, NULL, 0), SH_INVALID,
                 ": 3.wav has no label: put recordings into a folder for each class, or describe "
                 "their names: --label-from '{label}_{}.wav'");
    assert_fails(list_with(&list, "{}.wav", 0), SH_INVALID, "it has neither {label} nor");
    MAKE("b/one_group.wav", "a/one_group.wav");
    assert_int_equal(unlink(sound_path("3.wav")), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(unlink(sound_path((const char *[]){"a/1.wav", "a/2.wav", "b/1.wav"}[i])),
                         0);
    assert_fails(list_with(&list, "{}_{group}.wav", 0), SH_INVALID,
                 "cannot be divided into training and validation");
    assert_int_equal(mkdir(sound_path("c"), 0700), 0);
    assert_fails(list_with(&list, NULL, 0), SH_INVALID,
                 ": the folder c is empty: put the recordings of its class there, or remove it");
    assert_int_equal(list.count, 77);
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_folder(folders_are_classes),
        in_a_folder(folders_are_splits),
        in_a_folder(names_are_labels),
        in_a_folder(groups_stay_together),
        in_a_folder(a_class_that_cannot_be_learned_is_named),
        in_a_folder(a_group_that_holds_a_class_is_named),
        in_a_folder(a_group_in_both_splits_is_named),
        in_a_folder(folders_without_labels_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
