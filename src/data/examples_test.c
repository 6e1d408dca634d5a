/* SPDX-License-Identifier: Apache-2.0 */
#include "data/examples.h"

#include "base/test.h"
#include "data/dataset_impl.h"

enum { MOST = 12, WIDTH = 2 };

/* Rows of two numbers, training rows first. */
typedef struct made_set {
    sh_dataset base;
    float samples[MOST][WIDTH];
    int32_t classes[MOST];
    uint32_t fails_at; /* training sample that fails; UINT32_MAX: none */
} made_set;

static sh_status made_read(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                           void *target)
{
    const made_set *made = (const made_set *)dataset;
    const uint32_t at = index + (split == SH_SPLIT_TRAIN ? 0 : made->base.info.count[0]);
    if (at == made->fails_at)
        return sh_fail(SH_IO, "the disk is gone");
    memcpy(sample, made->samples[at], sizeof made->samples[at]);
    if (made->base.info.target == SH_TARGET_CLASS)
        memcpy(target, &made->classes[at], sizeof made->classes[at]);
    return SH_OK;
}

static made_set make(sh_target target, uint32_t outputs, uint32_t training, uint32_t validation)
{
    static const sh_dataset_ops ops = {.read = made_read};
    return (made_set){.base = {.ops = &ops,
                               .info = {.name = "made",
                                        .channels = 1,
                                        .height = 1,
                                        .width = WIDTH,
                                        .element = SH_ELEMENT_FLOAT,
                                        .target = target,
                                        .outputs = outputs,
                                        .count = {training, validation}}},
                      .fails_at = UINT32_MAX};
}

static const char *place_at(const json_t *json, const char *list, size_t index)
{
    const json_t *one = json_array_get(json_object_get(json, list), index);
    const char *place = json_string_value(json_object_get(one, "place"));
    return place == NULL ? "nothing" : place;
}

static double distance_at(const json_t *json, const char *list, size_t index)
{
    const json_t *one = json_array_get(json_object_get(json, list), index);
    return json_number_value(json_object_get(one, "distance"));
}

static void samples_are_measured_by_their_class(void **state)
{
    (void)state;
    made_set made = make(SH_TARGET_CLASS, 2, 8, 2);
    static const float firsts[] = {-1, 0, 1, 8, 99, 100, 101, 92, 2, 50};
    static const int32_t classes[] = {0, 0, 0, 0, 1, 1, 1, 1, 0, 1};
    for (int i = 0; i < 10; i++) {
        made.samples[i][0] = firsts[i];
        made.samples[i][1] = 7;
        made.classes[i] = classes[i];
    }
    json_t *json;
    assert_ok(sh_examples_json(&json, &made.base, 2));
    /* Means 2 and 98: validation 0 equals one of them, training 4 (99) is 1 from the other. */
    assert_string_equal(place_at(json, "typical", 0), "validation 0");
    assert_string_equal(place_at(json, "typical", 1), "training 4");
    assert_string_equal(place_at(json, "typical", 2), "nothing");
    assert_string_equal(place_at(json, "odd", 0), "validation 1");
    assert_string_equal(place_at(json, "odd", 1), "training 3"); /* ties with training 7 */
    assert_true(distance_at(json, "typical", 0) == 0);
    /* The deviation of all samples, sqrt((48^2 * 8 + 4 + 1 + ...) / 8), is nearly 48. */
    assert_true(distance_at(json, "odd", 0) > 0.98 && distance_at(json, "odd", 0) < 1);
    json_decref(json);
}

static void a_class_has_its_part_of_the_typical(void **state)
{
    (void)state;
    made_set made = make(SH_TARGET_CLASS, 3, 9, 1);
    for (int i = 0; i < 10; i++) {
        const int class = i % 3;
        made.classes[i] = class;
        made.samples[i][0] = (float)(100 * class + (i / 3 - 1) * (class + 1));
        made.samples[i][1] = (float)i;
    }
    made.samples[9][0] = -1000; /* validation, class 0 */
    json_t *json;
    assert_ok(sh_examples_json(&json, &made.base, 3));
    bool seen[3] = {false};
    for (size_t i = 0; i < 3; i++) {
        const json_t *one = json_array_get(json_object_get(json, "typical"), i);
        seen[atol(json_string_value(json_object_get(one, "target")))] = true;
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    assert_string_equal(place_at(json, "odd", 0), "validation 0");
    json_decref(json);
}

static void without_classes_there_is_one_mean(void **state)
{
    (void)state;
    made_set made = make(SH_TARGET_SAMPLE, WIDTH, 5, 1);
    for (int i = 0; i < 6; i++)
        made.samples[i][0] = made.samples[i][1] = (float)(i == 4 ? 30 : i);
    json_t *json;
    assert_ok(sh_examples_json(&json, &made.base, 100));
    assert_int_equal(json_array_size(json_object_get(json, "typical")), 6);
    assert_int_equal(json_array_size(json_object_get(json, "odd")), 6);
    assert_string_equal(place_at(json, "typical", 0), "validation 0"); /* 5; the mean is 7.2 */
    assert_string_equal(place_at(json, "odd", 0), "training 4");
    const json_t *one = json_array_get(json_object_get(json, "odd"), 0);
    assert_true(json_is_null(json_object_get(one, "target")));
    assert_string_equal(json_string_value(json_object_get(json_object_get(one, "picture"), "kind")),
                        "values");
    json_decref(json);
}

static void equal_samples_go_by_place(void **state)
{
    (void)state;
    made_set made = make(SH_TARGET_SAMPLE, WIDTH, 3, 3);
    json_t *json;
    assert_ok(sh_examples_json(&json, &made.base, 4));
    static const char *const places[] = {"training 0", "training 1", "training 2", "validation 0"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(place_at(json, "typical", i), places[i]);
        assert_string_equal(place_at(json, "odd", i), places[i]);
        assert_true(distance_at(json, "odd", i) == 0);
    }
    json_decref(json);
    made.fails_at = 1;
    assert_fails(sh_examples_json(&json, &made.base, 4), SH_IO, "the disk is gone");
}

static void large_images_have_few_features(void **state)
{
    (void)state;
    sh_dataset *data;
    json_t *one, *again;
    assert_ok(sh_dataset_open(&data, "digits:60/20", NULL));
    assert_ok(sh_examples_json(&one, data, 5));
    assert_ok(sh_examples_json(&again, data, 5));
    assert_true(json_equal(one, again));
    for (size_t i = 1; i < 5; i++) {
        assert_true(distance_at(one, "typical", i - 1) <= distance_at(one, "typical", i));
        assert_true(distance_at(one, "odd", i - 1) >= distance_at(one, "odd", i));
    }
    assert_true(distance_at(one, "typical", 4) < distance_at(one, "odd", 4));
    json_decref(one);
    json_decref(again);
    sh_dataset_close(data);
}

static void targets_are_told(void **state)
{
    (void)state;
    char long_name[300];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    json_t *about = json_pack("{s:[s,s,s], s:[{s:s,s:f,s:f}]}", "classes", "red", "round",
                              long_name, "targets", "name", "price", "mean", 3.0, "deviation", 0.5);
    sh_dataset_info info = {.target = SH_TARGET_LABELS, .outputs = 3};
    json_t *text = sh_examples_target(&info, about, (const float[]){1, 1, 1});
    assert_string_equal(json_string_value(text), "red, round");
    json_decref(text);
    info = (sh_dataset_info){.target = SH_TARGET_NUMBERS, .outputs = 1};
    text = sh_examples_target(&info, about, (const float[]){2});
    assert_string_equal(json_string_value(text), "price 4");
    json_decref(text);
    info = (sh_dataset_info){.target = SH_TARGET_CLASS, .outputs = 3};
    text = sh_examples_target(&info, about, (const int32_t[]){1});
    assert_string_equal(json_string_value(text), "round");
    json_decref(text);
    json_decref(about);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_measured_by_their_class),
        cmocka_unit_test(a_class_has_its_part_of_the_typical),
        cmocka_unit_test(without_classes_there_is_one_mean),
        cmocka_unit_test(equal_samples_go_by_place),
        cmocka_unit_test(large_images_have_few_features),
        cmocka_unit_test(targets_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
