/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/trial_result.h"

#include <math.h>

#include "base/scratch.h"
#include "store/file.h"

static void write_file(const char *name, const char *text)
{
    char path[SH_PATH_BYTES];
    assert_ok(sh_path_join(path, scratch_folder, name));
    assert_ok(sh_file_replace(path, text, strlen(text)));
}

static void takes_the_figures_of_a_summary(void **state)
{
    (void)state;
    sh_trial trial = {.state = SH_TRIAL_RUNNING};
    write_file("summary.json",
               "{\"status\": \"complete\", \"weights_hash\": \"abc\", \"train_seconds\": 2.5,"
               " \"val_accuracy\": 0.5, \"val_loss\": null, \"redone_steps\": 3, \"devices\": ["
               "{\"cpu_seconds\": 1, \"peak_rss_bytes\": 10, \"bytes_sent\": 4,"
               " \"bytes_received\": 6},"
               "{\"cpu_seconds\": 2, \"peak_rss_bytes\": 30, \"bytes_sent\": null,"
               " \"bytes_received\": 2}]}");
    sh_trial_result_read(&trial, scratch_folder, 0);
    assert_int_equal(trial.state, SH_TRIAL_DONE);
    assert_string_equal(trial.weights_hash, "abc");
    assert_string_equal(trial.message, "");
    static const struct {
        sh_trial_figure figure;
        double expected;
    } cases[] = {
        {SH_TRIAL_FIGURE_seconds, 2.5},     {SH_TRIAL_FIGURE_val_accuracy, 0.5},
        {SH_TRIAL_FIGURE_redone, 3},        {SH_TRIAL_FIGURE_cpu_seconds, 1.5},
        {SH_TRIAL_FIGURE_memory_mean, 20},  {SH_TRIAL_FIGURE_memory_max, 30},
        {SH_TRIAL_FIGURE_received_mean, 4}, {SH_TRIAL_FIGURE_received_max, 6},
        {SH_TRIAL_FIGURE_sent_mean, NAN},   {SH_TRIAL_FIGURE_sent_max, NAN},
        {SH_TRIAL_FIGURE_val_loss, NAN},    {SH_TRIAL_FIGURE_parameters, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double got = trial.figures[cases[i].figure];
        if (isnan(cases[i].expected) ? !isnan(got) : got != cases[i].expected)
            fail_msg("%s: %f", sh_trial_figure_name(cases[i].figure), got);
    }
}

static void says_why_a_trial_failed(void **state)
{
    (void)state;
    static const struct {
        const char *summary, *log;
        int exit_status;
        const char *message;
    } cases[] = {
        {"{", "", 0, "the training ended: no summary"},
        {"{\"status\": \"stopped\", \"weights_hash\": \"a\"}", "", 0,
         "the training ended: stopped"},
        {"{}", "so far so good\nshoal: no such file\ntry: shoal help train\n\n", 2,
         "exit status 2: no such file"},
        {"{}", "", 137, "exit status 137: it printed nothing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_trial trial = {.state = SH_TRIAL_RUNNING};
        write_file("summary.json", cases[i].summary);
        write_file(SH_TRIAL_LOG, cases[i].log);
        sh_trial_result_read(&trial, scratch_folder, cases[i].exit_status);
        assert_int_equal(trial.state, SH_TRIAL_FAILED);
        assert_string_equal(trial.message, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(takes_the_figures_of_a_summary, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(says_why_a_trial_failed, scratch_set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
