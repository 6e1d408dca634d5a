/* SPDX-License-Identifier: Apache-2.0 */
#include "train/forward.h"

#include "base/test.h"
#include "train/job_options.h"

#define SAMPLES 50
#define CLASSES 10

typedef struct answers {
    float losses[SAMPLES], given[SAMPLES * CLASSES];
    uint32_t most; /* samples of a call with several */
} answers;

static void collect(void *context, const sh_answers *told)
{
    answers *all = context;
    const uint32_t first = told->samples.first, count = told->samples.count;
    memcpy(all->losses + first, told->losses, count * sizeof *told->losses);
    memcpy(all->given + first * CLASSES, told->given, count * CLASSES * sizeof *told->given);
    if (count > 1) /* all lanes write the same value */
        all->most = count;
}

static void compute(answers *all, uint32_t lanes, uint32_t count)
{
    sh_job job;
    sh_session *session;
    sh_forward *forward;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "lenet");
    snprintf(job.data, sizeof job.data, "digits:60/%d", SAMPLES);
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_session_open(&session, &job, NULL));
    session->on_answers = collect;
    session->context = all;
    assert_ok(sh_forward_new(&forward, session, lanes, 0));
    assert_ok(sh_forward_run(forward, count));
    sh_forward_free(forward);
    sh_session_close(session);
}

/* In groups, one by one, and with other samples. */
static void a_sample_has_the_same_answer_in_any_company(void **state)
{
    (void)state;
    answers whole = {.most = 0}, alone = {.most = 0};
    compute(&whole, 1, SAMPLES);
    assert_int_equal(whole.most, SH_FORWARD_GROUP);
    compute(&alone, 4, SAMPLES);
    assert_int_equal(alone.most, 0); /* too few samples for groups */
    assert_memory_equal(whole.losses, alone.losses, sizeof whole.losses);
    assert_memory_equal(whole.given, alone.given, sizeof whole.given);
    answers three = {.most = 0};
    compute(&three, 1, 3);
    assert_memory_equal(three.given, whole.given, 3 * CLASSES * sizeof *whole.given);
    assert_true(three.losses[3] == 0 && whole.losses[3] != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_has_the_same_answer_in_any_company),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
