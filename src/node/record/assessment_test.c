/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/assessment.h"

#include <math.h>

#include "base/test.h"

/* Three samples; `targets` as in tensor/target.h. */
static sh_assessment assess(sh_dataset_info *info, sh_target target, const float given[3][2],
                            const void *targets, const char *description)
{
    sh_assessment all = {.info = info, .description = description, .loss = 0.5};
    const sh_metrics_options options = {target, 2, 3, 2};
    const size_t bytes = sh_target_bytes(target, 2);
    *info = (sh_dataset_info){.target = target, .outputs = 2};
    all.split = SH_SPLIT_VALIDATION;
    assert_ok(sh_metrics_new(&all.metrics, &options));
    for (uint32_t i = 0; i < 3; i++)
        sh_metrics_add(all.metrics, i, (float)i / 4, given[i],
                       (const unsigned char *)targets + i * bytes);
    return all;
}

static void expect_json(const sh_assessment *all, const char *expected)
{
    json_t *json, *wanted = json_loads(expected, 0, NULL);
    assert_non_null(wanted);
    assert_ok(sh_assessment_json(&json, all));
    if (!json_equal(json, wanted))
        fail_msg("%s", json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9)));
    json_decref(json);
    json_decref(wanted);
}

static void expect_worst(const sh_assessment *all, const char *expected)
{
    char *text;
    assert_ok(sh_assessment_worst(&text, all));
    assert_string_equal(text, expected);
    free(text);
}

static void classes_have_names(void **state)
{
    (void)state;
    static const float given[3][2] = {{1, 0}, {1, 1}, {0, 2}};
    static const int32_t targets[] = {0, 1, 1};
    sh_dataset_info info;
    const sh_assessment all = assess(&info, SH_TARGET_CLASS, given, targets,
                                     "{\"classes\": [\"tulip\", \"a \\\"wild\\\", rose\\n\"]}");
    json_t *json;
    assert_ok(sh_assessment_json(&json, &all));
    const json_t *classes = json_object_get(json, "classes"), *one = json_array_get(classes, 0);
    assert_string_equal(json_string_value(json_object_get(one, "name")), "tulip");
    assert_int_equal(json_integer_value(json_object_get(one, "answers")), 2);
    assert_true(json_number_value(json_object_get(one, "precision")) == 0.5);
    assert_true(json_is_null(json_object_get(one, "auc")));
    json_t *confusion = json_pack("[[i, i], [i, i]]", 1, 0, 1, 1);
    assert_true(json_equal(json_object_get(json, "confusion"), confusion));
    assert_true(json_number_value(json_object_get(json, "auc")) == 1);
    assert_true(json_is_null(json_object_get(json, "mae")));
    json_decref(confusion);
    json_decref(json);
    expect_worst(&all, "index,split,target,answer,probability,loss\r\n"
                       "2,validation,\"a \"\"wild\"\", rose?\",\"a \"\"wild\"\", "
                       "rose?\",0.880797078,0.5\r\n"
                       "1,validation,\"a \"\"wild\"\", rose?\",tulip,0.5,0.25\r\n");
    sh_metrics_free(all.metrics);
}

static void labels_are_listed(void **state)
{
    (void)state;
    static const float given[3][2] = {{1, -1}, {1, 1}, {-1, -2}};
    static const float targets[3][2] = {{1, 0}, {0, 1}, {1, 1}};
    sh_dataset_info info;
    const sh_assessment all = assess(&info, SH_TARGET_LABELS, given, targets, NULL);
    expect_worst(&all, "index,split,target,answer,loss\r\n"
                       "2,validation,0;1,,0.5\r\n"
                       "1,validation,1,0;1,0.25\r\n");
    sh_metrics_free(all.metrics);
}

/* A price with mean 100 and deviation 10, and an undescribed number. */
static void numbers_have_their_units(void **state)
{
    (void)state;
    static const float given[3][2] = {{0.5f, 1}, {1, 2}, {-1, 3}};
    static const float targets[3][2] = {{0, 1}, {1, 2}, {-1, 1.5f}};
    sh_dataset_info info;
    const sh_assessment all =
        assess(&info, SH_TARGET_NUMBERS, given, targets,
               "{\"targets\": [{\"name\": \"price\", \"mean\": 100, \"deviation\": 12}]}");
    json_t *json;
    assert_ok(sh_assessment_json(&json, &all));
    const json_t *price = json_array_get(json_object_get(json, "targets"), 0);
    assert_string_equal(json_string_value(json_object_get(price, "name")), "price");
    assert_true(fabs(json_number_value(json_object_get(price, "mae")) - 2) < 1e-12);
    assert_true(fabs(json_number_value(json_object_get(json, "mae")) - 1.25) < 1e-12);
    assert_true(json_is_null(json_object_get(json, "accuracy")));
    json_decref(json);
    expect_worst(&all, "index,split,target price,answer price,target 1,answer 1,loss\r\n"
                       "2,validation,88,88,1.5,3,0.5\r\n"
                       "1,validation,112,112,2,2,0.25\r\n");
    sh_metrics_free(all.metrics);
}

static void errors_have_thresholds(void **state)
{
    (void)state;
    static const float given[3][2] = {{0, 0}, {0, 0}, {0, 0}};
    sh_dataset_info info;
    /* An invalid description counts as none. */
    const sh_assessment all = assess(&info, SH_TARGET_SAMPLE, given, given, "[");
    expect_json(&all, "{\"task\": \"reconstruction\", \"samples\": 3, \"loss\": 0.5, "
                      "\"accuracy\": null, \"top5\": null, \"balanced_accuracy\": null, "
                      "\"f1\": null, \"auc\": null, \"average_precision\": null, \"mae\": null, "
                      "\"rmse\": null, \"r2\": null, \"error95\": 0.5, \"error99\": 0.5}");
    expect_worst(&all, "index,split,loss\r\n2,validation,0.5\r\n1,validation,0.25\r\n");
    sh_metrics_free(all.metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_have_names),
        cmocka_unit_test(labels_are_listed),
        cmocka_unit_test(numbers_have_their_units),
        cmocka_unit_test(errors_have_thresholds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
