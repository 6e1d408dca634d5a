/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains inside another program: a callback shows the progress and ends the training early.
 *
 *     cc show_progress.c $(pkg-config --cflags --libs shoal) && ./a.out
 */
#include <shoal/shoal.h>
#include <stdio.h>

/* Called on the thread that calls sh_train. An event's texts are valid until it returns. */
static void follow(void *context, const sh_event *event)
{
    sh_stop *stop = context;
    if (event->kind == SH_EVENT_STARTED)
        printf("%u device, %llu steps an epoch\n", event->devices,
               (unsigned long long)event->epoch_steps);
    else if (event->kind == SH_EVENT_EPOCH)
        printf("epoch %u: loss %.3f, validation accuracy %.1f %%\n", event->epoch, event->loss,
               100 * event->val_accuracy);
    /* A signal handler may call this, too. */
    if (event->kind == SH_EVENT_EPOCH && event->epoch == 2)
        sh_stop_request(stop);
}

int main(void)
{
    sh_train_options options;
    sh_summary summary;
    sh_stop *stop;

    if (sh_stop_new(&stop) != SH_OK) {
        fprintf(stderr, "%s\n", sh_message());
        return 1;
    }
    sh_train_options_init(&options);
    snprintf(options.job.model, sizeof options.job.model, "mlp:784-32-10");
    snprintf(options.job.data, sizeof options.job.data, "digits:2000/500");
    options.job.epochs = 10;
    options.run = "progress-run";
    options.observer = follow;
    options.context = stop;
    options.stop = stop;

    const sh_status status = sh_train(&options, &summary);
    if (status != SH_OK && status != SH_STOPPED) {
        fprintf(stderr, "%s\n", sh_message());
        sh_stop_free(stop);
        return 1;
    }
    printf("%s after %u epochs\n", status == SH_STOPPED ? "stopped" : "done", summary.epochs);
    sh_summary_release(&summary);
    sh_stop_free(stop);
    return 0;
}
