/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicts new files of the kind that a network was trained with.
 *
 *     cc predict_files.c $(pkg-config --cflags --libs shoal) && ./a.out points-run new.csv
 */
#include <shoal/shoal.h>
#include <stdio.h>

/* Called for each sample: a photo or a table row. */
static void show(void *context, const sh_prediction *prediction)
{
    sh_predictor *predictor = context;
    const sh_predictor_info *info = sh_predictor_about(predictor);
    if (prediction->order != NULL) { /* classes, the likeliest first */
        const uint32_t best = prediction->order[0];
        printf("%s: %s, %.0f %%\n", prediction->name, sh_predictor_output(predictor, best),
               100 * prediction->values[best]);
        return;
    }
    printf("%s:", prediction->name);
    for (uint32_t i = 0; i < info->outputs; i++)
        printf(" %s %g", sh_predictor_output(predictor, i), prediction->values[i]);
    printf("\n");
}

/* Called for each file or row that cannot be read. */
static void complain(void *context, const char *message)
{
    (void)context;
    fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv)
{
    sh_predictor *predictor;
    if (argc < 3) {
        fprintf(stderr, "usage: %s RUN FILES...\n", argv[0]);
        return 2;
    }
    if (sh_predictor_open(&predictor, &(sh_predict_options){.run = argv[1]}) != SH_OK) {
        fprintf(stderr, "%s\n", sh_message());
        return 1;
    }
    const sh_predict_calls calls = {
        .on_prediction = show,
        .on_failure = complain,
        .context = predictor,
    };
    const sh_status status =
        sh_predict_files(predictor, (const char *const *)(argv + 2), (size_t)(argc - 2), &calls);
    if (status != SH_OK)
        fprintf(stderr, "%s\n", sh_message());
    sh_predictor_close(predictor);
    return status == SH_OK ? 0 : 1;
}
