/* SPDX-License-Identifier: Apache-2.0 */
#include "train/job_json.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "train/job_options.h"

static sh_job some_job(void)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "lenet");
    snprintf(job.data, sizeof job.data, "mnist:/a \"b\"/\xc3\xa4");
    job.seed = UINT64_MAX - 1;
    job.lr = 0.1f; /* not exact in binary */
    assert_ok(sh_job_complete(&job));
    return job;
}

static void a_job_survives_json_and_bad_ones_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        json_t *(*make)(void);
        const char *part;
    } bad[] = {
        {"model", json_true, "model is not a text"},
        {"batch_size", json_null, "batch_size is not a whole number"},
        {"lr", json_object, "lr is not a number"},
    };
    const sh_job job = some_job();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *json;
        sh_job read;
        assert_ok(sh_job_to_json(&json, &job));
        assert_ok(sh_job_from_json(&read, json));
        json_object_set_new(json, bad[i].key, bad[i].make());
        assert_fails(sh_job_from_json(&read, json), SH_FORMAT, bad[i].part);
        json_decref(json);
    }
    json_t *json;
    sh_job read;
    assert_ok(sh_job_to_json(&json, &job));
    json_object_set_new(json, "batch_size", json_integer(-1));
    assert_fails(sh_job_from_json(&read, json), SH_FORMAT, "batch_size is out of range");
    json_object_set_new(json, "batch_size", json_integer(64));
    json_object_del(json, "grain");
    assert_fails(sh_job_from_json(&read, json), SH_FORMAT, "has no 'grain'");
    json_decref(json);
    assert_ok(sh_job_to_json(&json, &job));
    json_object_set_new(json, "lr", json_real(1e300));
    assert_fails(sh_job_from_json(&read, json), SH_FORMAT, "lr is out of range");
    json_object_set_new(json, "lr", json_integer(1));
    assert_ok(sh_job_from_json(&read, json));
    json_object_set_new(json, "depth", json_integer(1));
    assert_fails(sh_job_from_json(&read, json), SH_VERSION,
                 "the job has 'depth', which this version of shoal does not know");
    json_decref(json);
    json = json_array();
    assert_fails(sh_job_from_json(&read, json), SH_FORMAT, "not a JSON object");
    json_decref(json);
}

/* The text of `job` with `from` replaced by `to`; owned. */
static char *changed(const sh_job *job, const char *from, const char *to)
{
    char *text, *made = malloc(2 * SH_JOB_TEXT_MAX);
    assert_non_null(made);
    assert_ok(sh_job_to_text(&text, job));
    char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(made, 2 * SH_JOB_TEXT_MAX, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    free(text);
    return made;
}

static void a_job_survives_as_text_and_bad_ones_are_refused(void **state)
{
    (void)state;
    static char long_name[SH_MODEL_BYTES + 16], page[SH_JOB_TEXT_MAX + 1];
    snprintf(long_name, sizeof long_name, "\"model\":\"%0*d\"", SH_MODEL_BYTES, 0);
    memset(page, ' ', sizeof page - 1);
    static const struct {
        const char *from, *to;
        sh_status status;
        const char *part;
    } bad[] = {
        {"{", "", SH_FORMAT, "the job is not JSON"},
        {"{", "[{", SH_FORMAT, "the job is not JSON"},
        {"{", "{\"seed\":1,", SH_FORMAT, "the job is not JSON: duplicate object key"},
        {"{", page, SH_FORMAT, "a job of more than 16384 bytes"},
        {"{", "{\"depth\":1,", SH_VERSION, "the job has 'depth'"},
        {"\"seed\":-2,", "", SH_FORMAT, "the job has no 'seed'"},
        {"\"seed\":-2,", "\"seed\":\"x\",", SH_FORMAT, "seed is not a whole number"},
        {"\"model\":\"lenet\"", long_name, SH_FORMAT, "model is longer than 127 characters"},
        {"lenet", "a\\u001b[2J", SH_FORMAT, "model has control characters"},
        {"lenet", "a\\u0000b", SH_FORMAT, "the job is not JSON"},
        {"lenet", "a\xff", SH_FORMAT, "the job is not JSON"},
    };
    const sh_job job = some_job();
    sh_job read;
    char *text = changed(&job, "", "");
    assert_ok(sh_job_from_text(&read, text));
    assert_true(sh_job_same(&job, &read));
    assert_string_equal(read.data, job.data);
    free(text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text = changed(&job, bad[i].from, bad[i].to);
        assert_fails(sh_job_from_text(&read, text), bad[i].status, bad[i].part);
        free(text);
    }
}

/* Every character needs an escape. */
static void the_longest_job_fits(void **state)
{
    (void)state;
    char *text;
    sh_job job = some_job(), read;
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
        if (each->owner == SH_OPTION_OF_JOB && each->kind == SH_OPTION_NAME)
            memset((char *)&job + each->offset, '"', (size_t)each->max);
    assert_ok(sh_job_to_text(&text, &job));
    assert_true(strlen(text) <= SH_JOB_TEXT_MAX);
    assert_ok(sh_job_from_text(&read, text));
    assert_true(sh_job_same(&job, &read));
    free(text);
}

/* Old files have these keys in this order. */
static void keys_keep_their_order(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "model",           "data",           "seed",     "batch_size",
        "grain",           "epochs",         "steps",    "lr",
        "momentum",        "weight_decay",   "wire",     "optimizer",
        "nesterov",        "beta1",          "beta2",    "alpha",
        "epsilon",         "schedule",       "warmup",   "clip_norm",
        "label_smoothing", "resize",         "augment",  "normalize",
        "freeze",          "pretrained",     "strategy", "workers",
        "outer_lr",        "outer_momentum",
    };
    json_t *json, *value;
    const char *key;
    size_t at = 0;
    const sh_job job = some_job();
    assert_ok(sh_job_to_json(&json, &job));
    json_object_foreach(json, key, value)
    {
        if (at < sizeof keys / sizeof *keys)
            assert_string_equal(key, keys[at]);
        at++;
    }
    assert_true(at >= sizeof keys / sizeof *keys);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_survives_json_and_bad_ones_are_refused),
        cmocka_unit_test(a_job_survives_as_text_and_bad_ones_are_refused),
        cmocka_unit_test(the_longest_job_fits),
        cmocka_unit_test(keys_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
