/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the weights' hashes of two short trainings with all kinds of numbers, for mutations.py.
 * SHOAL_VARIANT selects the variant.
 *
 *     two_trainings FOLDER      keeps the runs in FOLDER
 *
 * The first has convolutions, pooling and softmax. In the second, most weights decay to denormals.
 */
#include <shoal/shoal.h>
#include <stdio.h>

static int train(const char *folder, const char *name, sh_train_options *options)
{
    sh_summary summary;
    char run[512];
    snprintf(run, sizeof run, "%s/%s", folder, name);
    options->run = run;
    options->lanes = "1";
    if (sh_train(options, &summary) != SH_OK)
        return fprintf(stderr, "two_trainings: %s\n", sh_message()), 1;
    printf("%s %s\n", name, summary.weights_hash);
    sh_summary_release(&summary);
    return 0;
}

static void choose(sh_train_options *options, const char *model, const char *data, uint32_t batch,
                   uint32_t steps)
{
    sh_train_options_init(options);
    snprintf(options->job.model, sizeof options->job.model, "%s", model);
    snprintf(options->job.data, sizeof options->job.data, "%s", data);
    options->job.batch_size = batch;
    options->job.grain = 5;
    options->job.steps = steps;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return fprintf(stderr, "usage: two_trainings FOLDER\n"), 2;
    sh_train_options options;
    choose(&options, "lenet", "digits:24/8", 12, 3);
    if (train(argv[1], "lenet", &options) != 0)
        return 1;
    choose(&options, "mlp:784-16-10", "digits:40/10", 20, 42);
    options.job.lr = 0.9F;
    options.job.weight_decay = 1;
    options.job.momentum = 0;
    return train(argv[1], "decay", &options);
}
