/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains a built-in network on the built-in digits, on all cores of this machine.
 *
 *     cc train_digits.c $(pkg-config --cflags --libs shoal) && ./a.out
 */
#include <shoal/shoal.h>
#include <stdio.h>

int main(void)
{
    sh_train_options options;
    sh_summary summary;

    sh_train_options_init(&options); /* sets all defaults */
    snprintf(options.job.model, sizeof options.job.model, "lenet");
    snprintf(options.job.data, sizeof options.job.data, "digits:2000/500");
    options.job.epochs = 2;
    options.job.lr = 0.02f;
    options.run = "digits-run"; /* the folder for checkpoints and results */

    if (sh_train(&options, &summary) != SH_OK) {
        fprintf(stderr, "%s\n", sh_message());
        return 1;
    }
    printf("%.2f %% %s\n", 100 * summary.val_accuracy, summary.weights_hash);
    sh_summary_release(&summary);
    return 0;
}
