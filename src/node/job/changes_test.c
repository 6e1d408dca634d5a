/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "train/job_json.h"

static sh_job job_with(float lr)
{
    sh_job job;
    sh_job_init(&job);
    strcpy(job.model, "lenet");
    job.lr = lr;
    return job;
}

static char *written(const char *file, const sh_job *before, const sh_job *now, uint64_t steps)
{
    json_t *json;
    assert_ok(sh_job_to_json(&json, now));
    assert_ok(sh_changes_add(json, file, before, now, steps));
    json_t *changes = json_object_get(json, "changes");
    json_t *only = changes == NULL ? json_object() : json_pack("{s:O}", "changes", changes);
    char *text = json_dumps(only, JSON_COMPACT);
    json_decref(only);
    json_decref(json);
    return text;
}

static void changes_are_added(void **state)
{
    (void)state;
    const sh_job first = job_with(0.5f), second = job_with(0.25f);
    sh_job third = second;
    third.epochs = 20;
    strcpy(third.schedule, "cosine");
    char *none = written(NULL, &first, &first, 0);
    assert_string_equal(none, "{}");
    char *one = written(none, &first, &second, 10);
    assert_string_equal(one, "{\"changes\":[{\"step\":10,\"lr\":[0.5,0.25]}]}");
    char *two = written(one, &second, &third, 20);
    assert_string_equal(two, "{\"changes\":[{\"step\":10,\"lr\":[0.5,0.25]},{\"step\":20,"
                             "\"epochs\":[10,20],\"schedule\":[\"constant\",\"cosine\"]}]}");
    char *same = written(two, &third, &third, 30);
    assert_string_equal(same, two);
    free(none);
    free(one);
    free(two);
    free(same);
}

/* The checkpoint is from before the change, or from its step with or without it. */
static void changes_that_never_came_about_are_left_out(void **state)
{
    (void)state;
    static const char file[] = "{\"changes\":[{\"step\":10,\"lr\":[0.5,0.25]},"
                               "{\"step\":20,\"lr\":[0.25,0.125]}]}";
    static const struct {
        float lr;
        uint64_t steps;
        const char *expected;
    } cases[] = {
        {0.125f, 21, file},
        {0.125f, 20, file},
        {0.25f, 20, "{\"changes\":[{\"step\":10,\"lr\":[0.5,0.25]}]}"},
        {0.25f, 19, "{\"changes\":[{\"step\":10,\"lr\":[0.5,0.25]}]}"},
        {0.5f, 10, "{}"},
        {0.5f, 9, "{}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sh_job job = job_with(cases[i].lr);
        char *text = written(file, &job, &job, cases[i].steps);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
}

static void other_files_are_no_history(void **state)
{
    (void)state;
    const sh_job job = job_with(0.5f);
    static const char *const files[] = {
        "",
        "x",
        "[]",
        "{\"changes\":1}",
        "{\"changes\":{}}",
        "{\"changes\":[1,\"a\",[],{}]}",
        "{\"changes\":[{\"step\":-1}]}",
        "{\"changes\":[{\"step\":1.5}]}",
        "{\"changes\":[{\"step\":7,\"lr\":3}]}",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *text = written(files[i], &job, &job, 7);
        assert_string_equal(text, "{}");
        free(text);
    }
}

static void prints_what_differs(void **state)
{
    (void)state;
    char text[64];
    const sh_job first = job_with(0.1f);
    sh_job second = first;
    assert_ok(sh_changes_print(text, sizeof text, &first, &second));
    assert_string_equal(text, "");
    second.lr = 0.01f;
    second.warmup = 2;
    assert_ok(sh_changes_print(text, sizeof text, &first, &second));
    assert_string_equal(text, "lr 0.1 becomes 0.01, warmup 0.0 becomes 2.0");
    assert_ok(sh_changes_print(text, 8, &first, &second));
    assert_string_equal(text, "lr 0.1 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_added),
        cmocka_unit_test(changes_that_never_came_about_are_left_out),
        cmocka_unit_test(other_files_are_no_history),
        cmocka_unit_test(prints_what_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
