/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a small network, trains it on the built-in digits, and predicts one digit.
 *
 *     cc own_model.c $(pkg-config --cflags --libs shoal) && ./a.out
 */
#include <shoal/shoal.h>
#include <stdio.h>
#include <stdlib.h>

static void check(sh_status status)
{
    if (status == SH_OK)
        return;
    fprintf(stderr, "%s\n", sh_message());
    exit(1);
}

static void show(void *context, const sh_prediction *prediction)
{
    (void)context;
    printf("%s is a %u\n", prediction->name, prediction->order[0]);
}

int main(void)
{
    float bar[28][28] = {{0}};
    sh_train_options options;
    sh_summary summary;
    sh_builder *own;
    sh_predictor *predictor;

    sh_train_options_init(&options);
    check(sh_builder_new(&own, 1, 28, 28));
    sh_layer x = sh_build_samples(own);
    x = sh_build_conv(own, x, "conv1", &(sh_conv_layer){.channels = 16, .kernel = 3, .padding = 1});
    x = sh_build_apply(own, "Relu", sh_build_batch_norm(own, x, "bn1"));
    x = sh_build_flatten(own, sh_build_max_pool(own, x, 2, 0, 0));
    x = sh_build_dense(own, sh_build_dropout(own, x, 0.2f), "fc", 10);
    check(sh_builder_finish(own, x, "own", options.job.model));
    sh_builder_free(own);

    snprintf(options.job.data, sizeof options.job.data, "digits:2000/500");
    options.job.epochs = 2;
    options.run = "own-run";
    check(sh_train(&options, &summary));
    printf("%.2f %% %s\n", 100 * summary.val_accuracy, summary.weights_hash);
    sh_summary_release(&summary);

    for (int row = 5; row < 23; row++)
        bar[row][13] = bar[row][14] = 255;
    check(sh_predictor_open(&predictor, &(sh_predict_options){.run = "own-run"}));
    check(sh_predict_samples(predictor, &bar[0][0], 1, &(sh_predict_calls){.on_prediction = show}));
    sh_predictor_close(predictor);
    return 0;
}
