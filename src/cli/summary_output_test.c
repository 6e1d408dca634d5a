/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "cli/summary_output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sh_device_report reports[] = {
    {.name = "pi\xff",
     .grains = 1234,
     .samples = 9872,
     .cpu_seconds = 12.34,
     .peak_rss_bytes = 45300000,
     .bytes_sent = 1000000,
     .bytes_received = 2500000},
    {.name = "laptop",
     .grains = 7,
     .samples = 56,
     .cpu_seconds = 0.5,
     .peak_rss_bytes = 1,
     .bytes_sent = SH_BYTES_UNKNOWN,
     .bytes_received = SH_BYTES_UNKNOWN},
};

static sh_summary example(void)
{
    return (sh_summary){
        .model = "mlp:784-16-10",
        .data = "digits",
        .parameters = 12730,
        .epochs = 2,
        .steps = 1876,
        .samples = 120000,
        .train_seconds = 51.2,
        .samples_per_second = 2343.75,
        .train_loss = 0.25,
        .val_loss = 0.125,
        .val_accuracy = 0.96314,
        .monitor = "val_loss",
        .best_epoch = 1,
        .best_steps = 938,
        .best_value = 0.0625,
        .last_file = "runs/1/checkpoints/last.safetensors",
        .best_file = "runs/1/checkpoints/best.safetensors",
        .weights_hash = "ab12",
        .peak_rss_bytes = 45300000,
        .planned_bytes = 44000000,
        .redone_steps = 0,
        .wire = 16,
        .views = 1,
        .run = "runs/1",
        .devices = reports,
        .device_count = 2,
    };
}

static void prints(const sh_summary *summary, sh_run_end end, const char *expected, bool whole)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    sh_summary_output_print(summary, end, file);
    fclose(file);
    if (whole)
        assert_string_equal(text, expected);
    else if (strstr(text, expected) == NULL)
        fail_msg("'%s' lacks '%s'", text, expected);
    free(text);
}

static void prints_the_summary_and_the_devices(void **state)
{
    (void)state;
    const sh_summary summary = example();
    prints(&summary, SH_RUN_COMPLETE,
           "status      complete\n"
           "model       mlp:784-16-10, 12,730 parameters\n"
           "data        digits\n"
           "trained     2 epochs, 1,876 steps, 120,000 samples in 0:51 (2,344 samples/s)\n"
           "training    loss 0.2500\n"
           "validation  loss 0.1250, accuracy 96.31 %\n"
           "best        epoch 1, val_loss 0.0625\n"
           "weights     ab12\n"
           "run         runs/1\n"
           "memory      45.3 MB at most on a device\n"
           "best model  runs/1/checkpoints/best.safetensors (epoch 1)\n"
           "measure it  shoal eval runs/1\n"
           "\n"
           "device  grains  samples  CPU s  peak MB  sent MB  received MB\n"
           "pi?      1,234    9,872   12.3     45.3      1.0          2.5\n"
           "laptop       7       56    0.5      0.0        -            -\n",
           true);
}

static void says_what_was_out_of_the_ordinary(void **state)
{
    (void)state;
    sh_summary summary = example();
    summary.redone_steps = 1;
    summary.views = 3;
    summary.val_loss = NAN;
    summary.stopped_early = true;
    prints(&summary, SH_RUN_COMPLETE, "status      complete, stopped early\n", false);
    summary.epoch_steps = 1000;
    prints(&summary, SH_RUN_STOPPED, "trained     1.88 epochs, 1,876 steps, 120,000 samples",
           false);
    summary.epoch_steps = 938;
    summary.first_steps = 1000;
    prints(&summary, SH_RUN_STOPPED,
           "trained     2 epochs, 1,876 steps (876 since it was resumed), 120,000 samples", false);
    summary.stopped_early = false;
    prints(&summary, SH_RUN_DEVICE_LOST, "status      device lost\n", false);
    prints(&summary, SH_RUN_STOPPED, "status      stopped\n", false);
    prints(&summary, SH_RUN_STOPPED, "validation  loss -, accuracy 96.31 %\n", false);
    prints(&summary, SH_RUN_STOPPED,
           "redone      1 step, because a gradient exceeded its exponent\n"
           "views       3\n",
           false);
}

static void says_where_the_weights_are(void **state)
{
    (void)state;
    sh_summary summary = example();
    snprintf(summary.monitor, sizeof summary.monitor, "val_accuracy");
    summary.best_value = 0.5;
    summary.best_file[0] = '\0';
    prints(&summary, SH_RUN_COMPLETE, "best        epoch 1, val_accuracy 50.00 %\n", false);
    prints(&summary, SH_RUN_COMPLETE, "last model  runs/1/checkpoints/last.safetensors\n", false);
    json_t *root = sh_summary_output_json(&summary, SH_RUN_COMPLETE);
    assert_true(json_is_null(json_object_get(json_object_get(root, "best"), "file")));
    json_decref(root);
    summary.best_epoch = 0;
    summary.last_file[0] = '\0';
    prints(&summary, SH_RUN_COMPLETE, "accuracy 96.31 %\nweights     ab12\n", false);
    prints(&summary, SH_RUN_COMPLETE, "at most on a device\n\ndevice ", false);
    root = sh_summary_output_json(&summary, SH_RUN_COMPLETE);
    assert_true(json_is_null(json_object_get(root, "best")));
    assert_true(json_is_null(json_object_get(root, "last_file")));
    json_decref(root);
}

static void says_what_the_best_weights_are_worth(void **state)
{
    (void)state;
    char metrics[] = "{\"accuracy\": 0.975, \"f1\": 0.5, \"auc\": 0.875, \"mae\": null, "
                     "\"classes\": []}";
    sh_summary summary = example();
    summary.metrics = metrics;
    snprintf(summary.run, sizeof summary.run, "my run's");
    prints(&summary, SH_RUN_COMPLETE,
           "its worth   accuracy 97.50 %, mean F1 50.00 %, ROC AUC 0.875\nweights ", false);
    prints(&summary, SH_RUN_COMPLETE, "measure it  shoal eval 'my run'\\''s'\n", false);
    json_t *root = sh_summary_output_json(&summary, SH_RUN_COMPLETE);
    const json_t *figures = json_object_get(root, "metrics");
    assert_float_equal(json_number_value(json_object_get(figures, "auc")), 0.875, 0);
    assert_true(json_is_null(json_object_get(figures, "mae")));
    assert_true(json_is_null(json_object_get(figures, "rmse")));
    assert_null(json_object_get(figures, "classes"));
    json_decref(root);
}

static void json_has_the_promised_keys_in_order(void **state)
{
    (void)state;
    static const char expected[] =
        "{\"model\": \"mlp:784-16-10\", \"data\": \"digits\", \"parameters\": 12730, "
        "\"epochs\": 2, \"steps\": 1876, \"samples\": 120000, \"train_seconds\": 51.2, "
        "\"samples_per_second\": 2343.75, \"train_loss\": 0.25, \"val_loss\": null, "
        "\"val_accuracy\": 0.96314, \"val_mae\": null, \"weights_hash\": \"ab12\", "
        "\"peak_rss_bytes\": 45300000, "
        "\"planned_bytes\": 44000000, "
        "\"devices\": ["
        "{\"name\": \"pi?\", \"grains\": 1234, \"samples\": 9872, \"cpu_seconds\": 12.34, "
        "\"peak_rss_bytes\": 45300000, \"bytes_sent\": 1000000, \"bytes_received\": 2500000}, "
        "{\"name\": \"laptop\", \"grains\": 7, \"samples\": 56, \"cpu_seconds\": 0.5, "
        "\"peak_rss_bytes\": 1, \"bytes_sent\": null, \"bytes_received\": null}], "
        "\"redone_steps\": 9223372036854775807, \"views\": 1, "
        "\"run\": \"runs/1\", \"status\": \"stopped\", \"wire\": 16, "
        "\"best\": {\"epoch\": 1, \"step\": 938, \"monitor\": \"val_loss\", \"value\": 0.0625, "
        "\"file\": \"runs/1/checkpoints/best.safetensors\"}, "
        "\"last_file\": \"runs/1/checkpoints/last.safetensors\", \"stopped_early\": false, "
        "\"metrics\": null}";
    sh_summary summary = example();
    summary.val_loss = INFINITY;
    summary.redone_steps = UINT64_MAX; /* JSON here has 63 bits */
    json_t *root = sh_summary_output_json(&summary, SH_RUN_STOPPED);
    assert_non_null(root);
    char *text = json_dumps(root, JSON_REAL_PRECISION(12));
    assert_string_equal(text, expected);
    free(text);
    json_decref(root);
}

static void a_summary_without_devices_is_one(void **state)
{
    (void)state;
    sh_summary summary = example();
    summary.devices = NULL;
    summary.device_count = 0;
    prints(&summary, SH_RUN_COMPLETE, "received MB\n", false);
    json_t *root = sh_summary_output_json(&summary, SH_RUN_COMPLETE);
    assert_int_equal(json_array_size(json_object_get(root, "devices")), 0);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_the_summary_and_the_devices),
        cmocka_unit_test(says_what_was_out_of_the_ordinary),
        cmocka_unit_test(says_where_the_weights_are),
        cmocka_unit_test(says_what_the_best_weights_are_worth),
        cmocka_unit_test(json_has_the_promised_keys_in_order),
        cmocka_unit_test(a_summary_without_devices_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
