/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains on your own data: writes a table of points, and a network learns which lie in a circle.
 * Joining devices get the table from this one.
 *
 *     cc own_data.c $(pkg-config --cflags --libs shoal) && ./a.out
 */
#include <shoal/shoal.h>
#include <stdio.h>

/* Writes the points of a grid; the last column is the class to predict. */
static int write_points(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return 0;
    fputs("x,y,where\n", file);
    for (int i = -20; i <= 20; i++)
        for (int j = -20; j <= 20; j++)
            fprintf(file, "%d,%d,%s\n", i, j, i * i + j * j < 200 ? "inside" : "outside");
    return fclose(file) == 0;
}

int main(void)
{
    sh_train_options options;
    sh_summary summary;

    if (!write_points("points.csv")) {
        perror("points.csv");
        return 1;
    }
    sh_train_options_init(&options);
    snprintf(options.job.model, sizeof options.job.model, "mlp:h32-16");
    snprintf(options.job.data, sizeof options.job.data, "table:points.csv");
    snprintf(options.job.optimizer, sizeof options.job.optimizer, "adam");
    options.job.lr = 0.01f;
    options.job.batch_size = 32;
    options.job.epochs = 20;
    options.run = "points-run";

    if (sh_train(&options, &summary) != SH_OK) {
        fprintf(stderr, "%s\n", sh_message());
        return 1;
    }
    printf("%.2f %% %s\n", 100 * summary.val_accuracy, summary.weights_hash);
    sh_summary_release(&summary);
    return 0;
}
