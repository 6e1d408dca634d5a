/* SPDX-License-Identifier: Apache-2.0 */
#include "data/photos/photo_list.h"

#include "data/photos/photo_fixture.h"

#define ROOM 2048

/* "name=label" or "name=value,value": training, a bar, validation. */
static const char *told(const sh_photo_list *list, char text[ROOM])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < list->files.count; i++) {
        const sh_photo_file *file = &list->files.items[i];
        used += (size_t)snprintf(text + used, ROOM - used, "%s%s=",
                                 i == list->count[SH_SPLIT_TRAIN] ? "| "
                                 : i > 0                          ? " "
                                                                  : "",
                                 file->name);
        if (list->values == NULL)
            used += (size_t)snprintf(text + used, ROOM - used, "%u", file->label);
        for (uint32_t k = 0; list->values != NULL && k < list->outputs; k++)
            used += (size_t)snprintf(text + used, ROOM - used, "%s%g", k > 0 ? "," : "",
                                     (double)list->values[file->label * list->outputs + k]);
    }
    return text;
}

static sh_status make(sh_photo_list **list, fixture *s, const sh_read_options *options)
{
    static const sh_read_options usual;
    char folder[SCRATCH_BYTES];
    snprintf(folder, sizeof folder, "%.4000s/photos", s->folder);
    return sh_photo_list_make(list, folder, options == NULL ? &usual : options);
}

/* A photo if the name ends in .png, otherwise `text`. */
typedef struct file {
    const char *name, *text;
} file;

static void put_all(fixture *s, const file *files)
{
    (void)photo_path(s, "x");
    for (size_t i = 0; files[i].name != NULL; i++) {
        const char *name = files[i].name;
        const size_t length = strlen(name);
        if (files[i].text != NULL)
            photo_text(s, name, files[i].text);
        else if (name[length - 1] == '/')
            (void)photo_path(s, name);
        else
            photo_put(s, name, (uint32_t)i);
    }
}

enum { FILES_MOST = 14 };

static const struct {
    file files[FILES_MOST];
    sh_read_options options;
    sh_target target;
    const char *told, *names; /* photos with labels; classes */
} layouts[] = {
    {{{"train/b/2.png", NULL},
      {"train/b/1.png", NULL},
      {"train/a/sub/9.PNG", NULL},
      {"valid/a/3.png", NULL},
      {"valid/b/4.png", NULL},
      {"test/b/5.png", NULL}},
     {0},
     SH_TARGET_CLASS,
     "train/a/sub/9.PNG=0 train/b/1.png=1 train/b/2.png=1| valid/a/3.png=0 valid/b/4.png=1",
     "[\"a\",\"b\"]"},
    {{{"train/b/2.png", NULL}, {"train/a/1.png", NULL}, {"test/b/5.png", NULL}},
     {0},
     SH_TARGET_CLASS,
     "train/a/1.png=0 train/b/2.png=1| test/b/5.png=1",
     "[\"a\",\"b\"]"},
    {{{"Z/1.png", NULL},
      {"Z/2.png", NULL},
      {"a/1.png", NULL},
      {"a/2.png", NULL},
      {"Z/.hidden.png", NULL},
      {".git/1.png", NULL},
      {"__MACOSX/1.png", NULL}},
     {0},
     SH_TARGET_CLASS,
     NULL,
     "[\"Z\",\"a\"]"},
    {{{"labels.csv", "file_name,label\nb.png,rose\nsub/a.png,\"tulip, red\"\n./c.png,rose\n"},
      {"b.png", NULL},
      {"c.png", NULL},
      {"sub/a.png", NULL}},
     {0},
     SH_TARGET_CLASS,
     NULL,
     "[\"rose\",\"tulip, red\"]"},
    {{{"train/metadata.csv", "label;file_name\r\n10;b.png\r\n9;c.png\r\n"},
      {"val/labels.csv", "label;file_name\r\n9;b.png"},
      {"train/b.png", NULL},
      {"train/c.png", NULL},
      {"val/b.png", NULL}},
     {0},
     SH_TARGET_CLASS,
     "train/b.png=1 train/c.png=0| val/b.png=0",
     "[\"9\",\"10\"]"},
    {{{"labels.csv", "\xef\xbb\xbfimage,tags\ntrain/a.png,night|indoor\n"
                     "train/b.png,\nval/c.png,indoor\n"},
      {"train/a.png", NULL},
      {"train/b.png", NULL},
      {"val/c.png", NULL}},
     {0},
     SH_TARGET_LABELS,
     "train/a.png=1,1 train/b.png=0,0| val/c.png=1,0",
     "[\"indoor\",\"night\"]"},
    {{{"labels.csv", "file_name,cat,dog\ntrain/a.png,1,0\ntrain/b.png,,1\nval/c.png,0,0\n"},
      {"train/a.png", NULL},
      {"train/b.png", NULL},
      {"val/c.png", NULL}},
     {0},
     SH_TARGET_LABELS,
     "train/a.png=1,0 train/b.png=0,1| val/c.png=0,0",
     "[\"cat\",\"dog\"]"},
    {{{"labels.csv", "file_name,x,note\ntrain/a.png,1,p\ntrain/b.png,-3,q\nval/c.png,0.5,r\n"},
      {"train/a.png", NULL},
      {"train/b.png", NULL},
      {"val/c.png", NULL}},
     {.target = "x"},
     SH_TARGET_NUMBERS,
     "train/a.png=1 train/b.png=-1| val/c.png=0.75",
     NULL},
    {{{"train/a.png", NULL}, {"train/x/b.png", NULL}, {"val/y/c.png", NULL}},
     {.task = "reconstruction"},
     SH_TARGET_SAMPLE,
     "train/a.png=0 train/x/b.png=0| val/y/c.png=0",
     NULL},
};

static void folders_are_laid_out_in_several_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        fixture s;
        sh_photo_list *list;
        char text[ROOM];
        fixture_new(&s);
        put_all(&s, layouts[i].files);
        if (make(&list, &s, &layouts[i].options) != SH_OK)
            fail_msg("case %zu: %s", i, sh_message());
        assert_int_equal(list->target, layouts[i].target);
        if (layouts[i].told != NULL)
            assert_string_equal(told(list, text), layouts[i].told);
        char *names = json_dumps(json_object_get(list->about, "classes"), JSON_COMPACT);
        assert_true((names == NULL) == (layouts[i].names == NULL));
        if (names != NULL)
            assert_string_equal(names, layouts[i].names);
        free(names);
        sh_photo_list_free(list);
        fixture_remove(&s);
    }
}

static const struct {
    file files[FILES_MOST];
    sh_read_options options;
    const char *part;
} refusals[] = {
    {{{NULL, NULL}}, {0}, "/photos: holds no folders of photos and no labels.csv"},
    {{{"1.png", NULL}}, {0}, "/photos: its photos have no labels: put them into a folder"},
    {{{"a/1.png", NULL}, {"a/2.png", NULL}},
     {0},
     "/photos: there is only one class, a; classification needs two or more"},
    {{{"a/1.png", NULL}, {"b/", NULL}, {"c/1.txt", "?"}},
     {0},
     "/photos: b/ holds no photos; put those of its class there, or remove it; c/ holds no photos, "
     "only files of other kinds (1)"},
    {{{"a/1.png", NULL}, {"b/1.png", NULL}, {"2.png", NULL}},
     {0},
     "1 of its photos are not in a class folder: 2.png"},
    {{{"train/a/1.png", NULL},
      {"train/b/1.png", NULL},
      {"val/a/1.png", NULL},
      {"val/b/1.png", NULL},
      {"val/c/1.png", NULL},
      {"val/d/1.png", NULL}},
     {0},
     "class c is only in val/: it cannot be learnt; class d is only in val/"},
    {{{"a/1.txt", "?"}, {"b/2.gif", "?"}}, {0}, "there are no photos (.jpg .jpeg .png"},
    {{{"a/1.heic", "?"}, {"a/2.heic", "?"}},
     {0},
     "a/ holds no photos, only files of other kinds (2); convert any pictures to JPEG or PNG"},
    {{{"a/Thumbs.db", "?"}, {"a/desktop.ini", "?"}, {"a/.DS_Store", "?"}},
     {0},
     "a/ holds no photos; put those of its class there"},
    {{{"a\n<script>/", NULL}, {"b\xff/", NULL}},
     {0},
     "a?<script>/ holds no photos; put those of its class there, or remove it; b?/ holds"},
    {{{"a/1.png", NULL}, {"b/2.png", NULL}},
     {.task = "regression"},
     "--task regression needs labels.csv"},
    {{{"a/1.png", NULL}, {"labels.csv", "file_name,l\na/1.png,x\n"}, {"metadata.csv", "?"}},
     {0},
     "holds both labels.csv and metadata.csv; keep only one"},
    {{{"a.png", NULL},
      {"b.png", NULL},
      {"c.png", NULL},
      {"labels.csv", "file_name,l\na.png,x\nd\n.png,x\na.png,y\n"}},
     {0},
     "labels.csv:3: has 1 fields, but the header 2"},
    {{{"a.png", NULL},
      {"b.png", NULL},
      {"c.png", NULL},
      {"labels.csv", "file_name,l\na.png,x\n\n\"d\n.png\",x\na.png,y\n"}},
     {0},
     "labels.csv:5: there is no photo d?.png; labels.csv:6: a.png has labels already in line "
     "2; b.png has no labels: no row of the CSV file names it; c.png has no labels"},
    {{{"a.png", NULL}, {"labels.csv", "name,l\na.png,x\n"}},
     {0},
     "labels.csv:1: the header has no column file_name (or filename,"},
    {{{"a.png", NULL}, {"labels.csv", "file_name\na.png\n"}},
     {0},
     "labels.csv:1: the header has no column of labels beside file_name"},
    {{{"a.png", NULL}, {"labels.csv", "file_name,l\na.png,\"x\n"}},
     {0},
     "labels.csv: a quote is never closed"},
    {{{"a.png", NULL}, {"labels.csv", "file_name,l\na.png,x\"y\n"}},
     {0},
     "labels.csv:2: a quote is inside a field"},
    {{{"a.png", NULL}, {"labels.csv", ""}}, {0}, "labels.csv: has no header and no rows"},
    {{{"a.png", NULL}, {"b.png", NULL}, {"labels.csv", "file_name,l\na.png,x\nb.png,\n"}},
     {0},
     "labels.csv:3: 'b.png' has no class"},
    {{{"a.png", NULL}, {"b.png", NULL}, {"labels.csv", "file_name,l\na.png,x\nb.png,x\n"}},
     {0},
     "there is only one class; classification needs two"},
    {{{"a.png", NULL}, {"b.png", NULL}, {"labels.csv", "file_name,l\na.png,1\nb.png,x y\n"}},
     {.task = "regression"},
     "labels.csv:3: 'x y' is not a number, which regression needs"},
    {{{"a.png", NULL}, {"labels.csv", "file_name,l\na.png,1\n"}},
     {.target = "m"},
     "--target: labels.csv has no column of labels called 'm'"},
    {{{"a.png", NULL}, {"b.png", NULL}, {"labels.csv", "file_name,l,m\na.png,1,2\nb.png,1,2\n"}},
     {.task = "classification"},
     "classification needs one column of labels, but there are 2; choose one with --target"},
    {{{"train/a.png", NULL}, {"train/labels.csv", "file_name,l\na.png,1\n"}, {"val/x/b.png", NULL}},
     {0},
     "val/ has no labels.csv, but the other one has"},
    {{{"a.png", NULL}, {"labels.csv", "file_name,l\na.png,1\n"}},
     {.task = "painting"},
     "--task painting: no such task"},
};

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        fixture s;
        sh_photo_list *list = NULL;
        fixture_new(&s);
        put_all(&s, refusals[i].files);
        const sh_status status = make(&list, &s, &refusals[i].options);
        if (status == SH_OK || strstr(sh_message(), refusals[i].part) == NULL)
            fail_msg("case %zu: '%s' lacks '%s'", i, status == SH_OK ? "" : sh_message(),
                     refusals[i].part);
        assert_null(list);
        fixture_remove(&s);
    }
}

static void odd_things_are_noted(void **state)
{
    (void)state;
    static const file files[] = {{"train/a/1.png", NULL},
                                 {"train/b/1.png", NULL},
                                 {"train/b/notes\n.txt", "?"},
                                 {"val/a/1.png", NULL},
                                 {"test/1.png", NULL},
                                 {"more/a/1.png", NULL},
                                 {NULL, NULL}};
    fixture s;
    sh_photo_list *list;
    fixture_new(&s);
    put_all(&s, files);
    assert_int_equal(symlink("..", photo_path(&s, "train/a/up")), 0);
    assert_ok(make(&list, &s, NULL));
    char *notes = json_dumps(json_object_get(list->about, "notes"), JSON_COMPACT);
    assert_string_equal(notes,
                        "[\"test/ is left out: val/ is for validation\",\"more/ is left out: it is "
                        "next to train/\",\"class b is only in train/: it is never validated\",\"1 "
                        "file left out, not named as photo: train/b/notes?.txt\",\"train/a/up is "
                        "left out: it links to a folder above it\"]");
    free(notes);
    sh_photo_list_free(list);
    fixture_remove(&s);
}

static void circles_of_links_end(void **state)
{
    (void)state;
    fixture s;
    sh_photo_list *list;
    fixture_new(&s);
    photo_put(&s, "a/1.png", 1);
    photo_put(&s, "a/2.png", 1);
    photo_put(&s, "b/1.png", 2);
    photo_put(&s, "b/2.png", 2);
    assert_int_equal(symlink("../b", photo_path(&s, "a/b")), 0);
    assert_int_equal(symlink("../a", photo_path(&s, "b/a")), 0);
    assert_int_equal(symlink("self.png", photo_path(&s, "a/self.png")), 0);
    assert_ok(make(&list, &s, NULL));
    assert_int_equal(list->files.count, 2 * 4 + 2);
    assert_int_equal(json_array_size(json_object_get(list->about, "notes")), 1);
    sh_photo_list_free(list);
    fixture_remove(&s);
}

static void splits_stay_when_photos_are_added(void **state)
{
    (void)state;
    fixture s;
    sh_photo_list *before, *after;
    char name[32];
    fixture_new(&s);
    for (uint32_t i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "%s/%u.png", i % 2 == 0 ? "a" : "b", i);
        photo_put(&s, name, i);
    }
    assert_ok(make(&before, &s, NULL));
    assert_in_range(before->count[SH_SPLIT_VALIDATION], 5, 20);
    for (uint32_t i = 60; i < 80; i++) {
        snprintf(name, sizeof name, "%s/%u.png", i % 2 == 0 ? "a" : "b", i);
        photo_put(&s, name, i);
    }
    assert_ok(make(&after, &s, NULL));
    for (size_t i = 0; i < before->files.count; i++)
        assert_int_equal(before->files.items[i].split,
                         i < before->count[SH_SPLIT_TRAIN] ? SH_SPLIT_TRAIN : SH_SPLIT_VALIDATION);
    for (size_t i = 0; i < before->files.count; i++)
        for (size_t k = 0; k < after->files.count; k++)
            if (strcmp(before->files.items[i].name, after->files.items[k].name) == 0)
                assert_int_equal(before->files.items[i].split, after->files.items[k].split);
    sh_photo_list_free(before);
    assert_ok(make(&before, &s, &(sh_read_options){.val_split = 0.5f}));
    assert_in_range(before->count[SH_SPLIT_VALIDATION], 25, 55);
    sh_photo_list_free(before);
    sh_photo_list_free(after);
    fixture_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_are_laid_out_in_several_ways),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(odd_things_are_noted),
        cmocka_unit_test(circles_of_links_end),
        cmocka_unit_test(splits_stay_when_photos_are_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
