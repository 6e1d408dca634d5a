/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"

static void writes_what_a_page_can_hold(void **state)
{
    (void)state;
    static const char name[] = "</script>\"\\& \xc3\xa4";
    sh_digest_point points[] = {{1, 0.25, 2.3456789, 1, NAN, INFINITY, 123456789.4, 0.01},
                                {2, 1e-7, 3, 1, 1, 1, -0.5, NAN}};
    sh_run_digest digest = {.job = "{}", .points = points, .point_count = 2};
    snprintf(digest.name, sizeof digest.name, "%s", name);
    const sh_subject subject = {.digest = &digest};
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    assert_ok(sh_report_json(file, &subject, 1));
    fclose(file);
    assert_null(strpbrk(text, "<>&"));
    assert_non_null(strstr(text, "{\"report\":1,\"runs\":[{\"name\":\"\\u003c/script\\u003e"));
    json_t *root = json_loads(text, 0, NULL);
    const json_t *run = json_array_get(json_object_get(root, "runs"), 0);
    assert_string_equal(json_string_value(json_object_get(run, "name")), name);
    assert_non_null(strstr(text, "\"seconds\":[0.25,1e-7],\"loss\":[2.3457,3],"));
    assert_non_null(strstr(text, "\"loss_most\":[null,1],\"accuracy\":[null,1]"));
    assert_non_null(strstr(text, "\"samples_per_second\":[123456789.4,-0.5]"));
    assert_non_null(strstr(text, "\"learning_rate\":[0.01,null]"));
    json_decref(root);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(writes_what_a_page_can_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
