/* SPDX-License-Identifier: Apache-2.0 */
#include "data/survey.h"

#include "base/test.h"
#include "data/dataset_impl.h"

enum { MOST = 12, ELEMENTS = 2 };

/* Two elements in each sample, training samples first. */
typedef struct made_set {
    sh_dataset base;
    uint32_t fails_at; /* UINT32_MAX: never */
    float samples[MOST][ELEMENTS];
    int32_t classes[MOST];
    float targets[MOST][ELEMENTS];
} made_set;

static sh_status made_read(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                           void *target)
{
    const made_set *made = (const made_set *)dataset;
    const uint32_t at = index + (split == SH_SPLIT_TRAIN ? 0 : made->base.info.count[0]);
    if (split == SH_SPLIT_VALIDATION && index == made->fails_at)
        return sh_fail(SH_IO, "the disk is gone");
    for (int i = 0; i < ELEMENTS && made->base.info.element == SH_ELEMENT_BYTE; i++)
        ((uint8_t *)sample)[i] = (uint8_t)made->samples[at][i];
    if (made->base.info.element == SH_ELEMENT_FLOAT)
        memcpy(sample, made->samples[at], sizeof made->samples[at]);
    if (made->base.info.target == SH_TARGET_CLASS)
        memcpy(target, &made->classes[at], sizeof made->classes[at]);
    else if (made->base.info.target != SH_TARGET_SAMPLE)
        memcpy(target, made->targets[at], sizeof made->targets[at]);
    return SH_OK;
}

static const sh_dataset_ops made_ops = {.read = made_read};

static made_set make(sh_target target, uint32_t outputs, uint32_t training, uint32_t validation)
{
    made_set made = {.base = {.ops = &made_ops}, .fails_at = UINT32_MAX};
    made.base.info = (sh_dataset_info){.name = "made",
                                       .channels = 1,
                                       .height = 1,
                                       .width = ELEMENTS,
                                       .element = SH_ELEMENT_FLOAT,
                                       .target = target,
                                       .outputs = outputs,
                                       .count = {training, validation},
                                       .fingerprint = "f"};
    for (uint32_t i = 0; i < MOST; i++) {
        made.samples[i][0] = (float)i;
        made.samples[i][1] = -2.5f * (float)i - 1;
    }
    return made;
}

static json_t *look(const made_set *made)
{
    json_t *json;
    assert_ok(sh_survey_json(&json, &made->base));
    return json;
}

static void expect(const json_t *json, const char *key, const char *expected)
{
    json_t *wanted = json_loads(expected, JSON_DECODE_ANY, NULL);
    assert_non_null(wanted);
    if (!json_equal(json_object_get(json, key), wanted))
        fail_msg("%s is %s, not %s", key,
                 json_dumps(json_object_get(json, key), JSON_ENCODE_ANY | JSON_COMPACT), expected);
    json_decref(wanted);
}

static void classes_are_counted(void **state)
{
    (void)state;
    made_set made = make(SH_TARGET_CLASS, 3, 8, 2);
    static const int32_t classes[] = {0, 0, 1, 0, 0, 0, 1, 0, 1, 2};
    memcpy(made.classes, classes, sizeof classes);
    made.base.about = "{\"classes\": [\"rose\", \"tulip\"], \"notes\": [\"17 files are empty\"]}";
    json_t *json = look(&made);
    expect(json, "kind", "\"made\"");
    expect(json, "task", "\"classification\"");
    expect(json, "sample", "[1, 1, 2]");
    expect(json, "classes",
           "[{\"name\": \"rose\", \"training\": 6, \"validation\": 0}, "
           "{\"name\": \"tulip\", \"training\": 2, \"validation\": 1}, "
           "{\"name\": \"2\", \"training\": 0, \"validation\": 1}]");
    expect(json, "imbalance", "null");
    expect(json, "notes", "[\"17 files are empty\"]");
    expect(json, "warnings",
           "[\"1 of 3 classes have no training samples: 2\", "
           "\"1 of 3 classes have no validation samples: rose\"]");
    expect(json, "duplicates",
           "{\"samples\": 0, \"validation\": 0, \"contradicting\": 0, "
           "\"first\": [], \"searched\": 10}");
    expect(json, "least", "-18.5");
    expect(json, "most", "7.0");
    json_decref(json);
}

static void a_large_class_is_told(void **state)
{
    (void)state;
    made_set made = make(SH_TARGET_CLASS, 2, 11, 1);
    made.classes[3] = 1;
    json_t *json = look(&made);
    expect(json, "imbalance", "10.0");
    expect(json, "warnings",
           "[\"1 of 2 classes have no validation samples: 1\", \"the largest class has 10 times as "
           "many training samples as the smallest: use balanced accuracy\"]");
    json_decref(json);
}

static void labels_are_counted(void **state)
{
    (void)state;
    made_set made = make(SH_TARGET_LABELS, 2, 2, 1);
    static const float targets[][ELEMENTS] = {{1, 1}, {0, 1}, {1, 1}};
    memcpy(made.targets, targets, sizeof targets);
    json_t *json = look(&made);
    expect(json, "classes",
           "[{\"name\": \"0\", \"training\": 1, \"validation\": 1}, "
           "{\"name\": \"1\", \"training\": 2, \"validation\": 1}]");
    expect(json, "imbalance", "2.0");
    expect(json, "warnings", "[]");
    json_decref(json);
}

static void equal_samples_are_found(void **state)
{
    (void)state;
    made_set made = make(SH_TARGET_CLASS, 2, 6, 3);
    static const int32_t classes[] = {0, 1, 0, 1, 0, 0, 1, 1, 0};
    memcpy(made.classes, classes, sizeof classes);
    memcpy(made.samples[3], made.samples[1], sizeof made.samples[1]);
    memcpy(made.samples[4], made.samples[1], sizeof made.samples[1]);
    memcpy(made.samples[8], made.samples[5], sizeof made.samples[1]);
    json_t *json = look(&made);
    expect(json, "duplicates",
           "{\"samples\": 3, \"validation\": 1, \"contradicting\": 1, \"first\": "
           "[[\"training 5\", \"validation 2\"], [\"training 1\", \"training 3\"], "
           "[\"training 1\", \"training 4\"]], \"searched\": 9}");
    expect(json, "warnings",
           "[\"1 of 3 validation samples are also training samples: results with them are too "
           "good\", \"samples whose target differs from that of an equal sample: 1\"]");
    json_decref(json);
}

/* Validation first, then lowest indices. */
static void the_first_pairs_are_listed(void **state)
{
    (void)state;
    made_set made = make(SH_TARGET_SAMPLE, ELEMENTS, 11, 1);
    for (uint32_t i = 1; i < MOST; i++)
        memcpy(made.samples[i], made.samples[0], sizeof made.samples[0]);
    json_t *json = look(&made);
    const json_t *pairs = json_object_get(json_object_get(json, "duplicates"), "first");
    assert_int_equal(json_array_size(pairs), SH_SURVEY_LIST);
    for (size_t i = 0; i < SH_SURVEY_LIST; i++) {
        char text[32];
        snprintf(text, sizeof text, i == 0 ? "validation 0" : "training %zu", i);
        const json_t *second = json_array_get(json_array_get(pairs, i), 1);
        assert_string_equal(json_string_value(second), text);
    }
    assert_null(json_object_get(json, "classes"));
    json_decref(json);
}

static void numbers_have_ranges(void **state)
{
    (void)state;
    made_set made = make(SH_TARGET_NUMBERS, 2, 4, 1);
    static const float targets[][ELEMENTS] = {{-1, 3}, {1, 3}, {-1, 3}, {1, 3}, {9, 4}};
    memcpy(made.targets, targets, sizeof targets);
    made.base.about = "{\"targets\": [{\"name\": \"price\", \"mean\": 100, \"deviation\": 8}]}";
    for (int i = 0; i < 5; i++)
        made.samples[i][1] = i < 4 ? 7.0f : 8.0f;
    made.samples[2][0] = 7;
    json_t *json = look(&made);
    expect(json, "targets",
           "[{\"name\": \"price\", \"least\": 92.0, \"most\": 108.0, \"mean\": 100.0, "
           "\"deviation\": 8.0}, {\"name\": \"1\", \"least\": 3.0, \"most\": 3.0, \"mean\": 3.0, "
           "\"deviation\": 0.0}]");
    expect(json, "constant_inputs", "{\"count\": 1, \"first\": [1]}");
    expect(json, "blank_samples", "{\"count\": 1, \"first\": [\"training 2\"]}");
    expect(json, "warnings",
           "[\"the target 1 is the same for all training samples\", \"1 of 2 inputs are the same "
           "in all training samples\", \"samples with one value everywhere: 1\"]");
    json_decref(json);
}

static void borders_of_photos_are_no_news(void **state)
{
    (void)state;
    made_set made = make(SH_TARGET_CLASS, 2, 2, 2);
    made.base.info.element = SH_ELEMENT_BYTE;
    made.classes[1] = made.classes[2] = 1;
    for (int i = 0; i < 4; i++)
        made.samples[i][1] = 200;
    json_t *json = look(&made);
    expect(json, "constant_inputs", "{\"count\": 1, \"first\": [1]}");
    expect(json, "most", "200.0");
    expect(json, "warnings", "[]");
    json_decref(json);
}

static void failures_are_passed_on(void **state)
{
    (void)state;
    json_t *json;
    made_set made = make(SH_TARGET_CLASS, 2, 2, 2);
    made.fails_at = 1;
    assert_fails(sh_survey_json(&json, &made.base), SH_IO, "the disk is gone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_counted),
        cmocka_unit_test(a_large_class_is_told),
        cmocka_unit_test(labels_are_counted),
        cmocka_unit_test(equal_samples_are_found),
        cmocka_unit_test(the_first_pairs_are_listed),
        cmocka_unit_test(numbers_have_ranges),
        cmocka_unit_test(borders_of_photos_are_no_news),
        cmocka_unit_test(failures_are_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
