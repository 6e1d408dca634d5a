/* SPDX-License-Identifier: Apache-2.0 */
#include "data/thumbnail.h"

#include "base/test.h"

static json_t *make(const sh_dataset_info *info, const char *about, const void *sample)
{
    json_t *json, *description = about == NULL ? NULL : json_loads(about, 0, NULL);
    assert_true(about == NULL || description != NULL);
    assert_ok(sh_thumbnail_json(&json, info, description, sample));
    json_decref(description);
    return json;
}

static void expect(json_t *json, const char *expected)
{
    json_t *wanted = json_loads(expected, 0, NULL);
    assert_non_null(wanted);
    if (!json_equal(json, wanted))
        fail_msg("%s instead of %s", json_dumps(json, JSON_COMPACT), expected);
    json_decref(wanted);
    json_decref(json);
}

static void expect_image(json_t *json, const char *kind, json_int_t width, json_int_t height)
{
    const char *png = json_string_value(json_object_get(json, "png"));
    assert_string_equal(json_string_value(json_object_get(json, "kind")), kind);
    assert_int_equal(json_integer_value(json_object_get(json, "width")), width);
    assert_int_equal(json_integer_value(json_object_get(json, "height")), height);
    assert_non_null(png);
    assert_memory_equal(png, "iVBORw0KGgo", 11); /* a PNG's signature */
    json_decref(json);
}

static void images_keep_their_form(void **state)
{
    (void)state;
    static uint8_t bytes[3 * 300 * 200];
    static float floats[70 * 5];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    sh_dataset_info info = {.channels = 1, .height = 28, .width = 20};
    expect_image(make(&info, NULL, bytes), "image", 20, 28);
    info = (sh_dataset_info){.channels = 3, .height = 300, .width = 200};
    expect_image(make(&info, NULL, bytes), "image", 42, 64);
    info = (sh_dataset_info){.channels = 1, .height = 2, .width = 1000};
    expect_image(make(&info, NULL, bytes), "image", 64, 1);
    info = (sh_dataset_info){.channels = 1, .height = 70, .width = 5, .element = SH_ELEMENT_FLOAT};
    expect_image(make(&info, NULL, floats), "image", 4, 64);
    floats[1] = -3.4e38f;
    floats[2] = 3.4e38f;
    expect_image(make(&info, "{\"inputs\": {\"kind\": \"audio\"}}", floats), "heat", 64, 4);
}

static void series_become_lines(void **state)
{
    (void)state;
    static float values[6 * 300];
    sh_dataset_info info = {.channels = 2, .height = 1, .width = 3, .element = SH_ELEMENT_FLOAT};
    memcpy(values, (const float[]){-1, 0, 3, 1, 1, 1}, 6 * sizeof *values);
    expect(make(&info,
                "{\"inputs\": {\"kind\": \"series\", \"columns\": [{\"name\": \"<x>\"}, {}]}}",
                values),
           "{\"kind\": \"lines\", \"least\": -1.0, \"most\": 3.0, \"names\": [\"<x>\", \"2\"],"
           " \"lines\": [[0, 50, 200], [100, 100, 100]]}");
    memset(values, 0, sizeof values);
    info.width = 300;
    info.channels = 6;
    json_t *json = make(&info, NULL, values); /* no division by 0 */
    const json_t *lines = json_object_get(json, "lines");
    assert_int_equal(json_array_size(lines), SH_THUMBNAIL_LINES);
    assert_int_equal(json_array_size(json_array_get(lines, 3)), SH_THUMBNAIL_POINTS);
    json_decref(json);
}

static void rows_have_their_own_units(void **state)
{
    (void)state;
    static const char about[] =
        "{\"inputs\": ["
        "{\"name\": \"age\", \"mean\": 40, \"deviation\": 10, \"missing\": false},"
        "{\"name\": \"weight\", \"mean\": 70, \"deviation\": 5, \"missing\": true},"
        "{\"name\": \"colour\", \"categories\": [\"red\", \"blue\"]},"
        "{\"name\": \"size\", \"order\": [\"S\", \"M\", \"L\"], \"mean\": 1, \"deviation\": 0.5}]}";
    const sh_dataset_info info = {
        .channels = 1, .height = 1, .width = 6, .element = SH_ELEMENT_FLOAT};
    expect(make(&info, about, (const float[]){0.15f, 0, 1, 0, 1, 2}),
           "{\"kind\": \"values\", \"names\": [\"age\", \"weight\", \"colour\", \"size\"],"
           " \"values\": [\"41.5\", \"missing\", \"blue\", \"L\"], \"more\": 0}");
    expect(make(&info, about, (const float[]){0, 1, 0, 0, 0, 900}),
           "{\"kind\": \"values\", \"names\": [\"age\", \"weight\", \"colour\", \"size\"],"
           " \"values\": [\"40\", \"75\", \"none of its categories\", \"451\"], \"more\": 0}");
    const sh_dataset_info small = {
        .channels = 1, .height = 1, .width = 1, .element = SH_ELEMENT_FLOAT};
    json_t *json =
        make(&small, "{\"inputs\": [{\"categories\": [\"a\", \"b\"]}, 3]}", (const float[]){0});
    expect(json, "{\"kind\": \"values\", \"names\": [\"1\"],"
                 " \"values\": [\"none of its categories\"], \"more\": 1}");
}

static void plain_rows_are_numbered(void **state)
{
    (void)state;
    static const uint8_t bytes[30] = {7, 255};
    const sh_dataset_info info = {.channels = 1, .height = 1, .width = 30};
    json_t *json = make(&info, NULL, bytes);
    const json_t *values = json_object_get(json, "values");
    assert_int_equal(json_array_size(values), SH_THUMBNAIL_VALUES);
    assert_string_equal(json_string_value(json_array_get(values, 1)), "255");
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "names"), 1)), "2");
    assert_int_equal(json_integer_value(json_object_get(json, "more")), 6);
    json_decref(json);
}

static void texts_are_ascii(void **state)
{
    (void)state;
    const sh_dataset_info info = {.channels = 1, .height = 1, .width = 6};
    expect(make(&info, "{\"inputs\": {\"kind\": \"text\"}}", "a\n<\xff\x01z"),
           "{\"kind\": \"text\", \"text\": \"a <?\?z\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_keep_their_form),    cmocka_unit_test(series_become_lines),
        cmocka_unit_test(rows_have_their_own_units), cmocka_unit_test(plain_rows_are_numbered),
        cmocka_unit_test(texts_are_ascii),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
