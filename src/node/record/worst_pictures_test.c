/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/worst_pictures.h"

#include "base/test.h"

enum { SAMPLES = 30 };

/* Each loss is the sample's index. */
static void the_worst_come_first(void **state)
{
    (void)state;
    sh_dataset *data;
    sh_metrics *metrics;
    json_t *json;
    assert_ok(sh_dataset_open(&data, "digits:20/30", NULL));
    const sh_dataset_info *info = sh_dataset_about(data);
    const sh_metrics_options options = {info->target, info->outputs, SAMPLES, SAMPLES};
    assert_ok(sh_metrics_new(&metrics, &options));
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint8_t pixels[28 * 28];
        int32_t class;
        float given[10] = {0};
        given[3] = 50;
        assert_ok(sh_dataset_read(data, SH_SPLIT_VALIDATION, i, pixels, &class));
        sh_metrics_add(metrics, i, (float)i, given, &class);
    }
    const sh_assessment all = {.metrics = metrics, .info = info, .split = SH_SPLIT_VALIDATION};
    assert_ok(sh_worst_pictures_json(&json, &all, data));
    const json_t *samples = json_object_get(json, "samples");
    assert_int_equal(json_array_size(samples), SH_WORST_PICTURES);
    assert_string_equal(json_string_value(json_object_get(json, "split")), "validation");
    for (uint32_t i = 0; i < SH_WORST_PICTURES; i++) {
        const json_t *one = json_array_get(samples, i);
        uint8_t pixels[28 * 28];
        int32_t class;
        assert_int_equal(json_integer_value(json_object_get(one, "index")), SAMPLES - 1 - i);
        assert_ok(sh_dataset_read(data, SH_SPLIT_VALIDATION, SAMPLES - 1 - i, pixels, &class));
        const char *target = json_string_value(json_object_get(one, "target"));
        assert_true(target != NULL && atol(target) == class);
        assert_string_equal(json_string_value(json_object_get(one, "answer")), "3");
        assert_true(json_number_value(json_object_get(one, "probability")) > 0.99);
        const json_t *picture = json_object_get(one, "picture");
        assert_int_equal(json_integer_value(json_object_get(picture, "width")), 28);
    }
    json_decref(json);
    char *text;
    assert_ok(sh_worst_pictures_text(&text, &all, data));
    assert_memory_equal(text, "{\"split\":\"validation\"", 21);
    free(text);
    sh_metrics_free(metrics);
    sh_dataset_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
