/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/run_evaluation.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/checkpoint.h"
#include "train/pretrained.h"

sh_status sh_run_evaluation_load(sh_replica *replica, const char *path)
{
    sh_safetensors *file;
    char used[SH_PATH_BYTES], unused[SH_MESSAGE_BYTES];
    SH_TRY(sh_checkpoint_open(&file, used, path));
    const sh_status status = sh_pretrained_load(unused, replica, file, SH_PRETRAINED_WHOLE);
    sh_safetensors_close(file);
    return status;
}

static sh_status write_text(const sh_run *run, const char *name, const char *text)
{
    char path[SH_PATH_BYTES];
    SH_TRY(sh_run_path(run, name, path));
    return sh_file_replace(path, text, strlen(text));
}

/* An upper bound; 0: unknown. Per sample, a training step computes more. */
static double seconds_of(const sh_session *session)
{
    const sh_dataset_info *info = sh_pipeline_about(session->pipeline);
    const double samples = info->count[SH_SPLIT_VALIDATION];
    const double rate = (double)sh_trainer_speed(session->trainer).rate * session->job.grain;
    return rate > 0 ? samples / rate : 0;
}

sh_status sh_run_evaluation_write(char **metrics, const sh_run_evaluation *asked)
{
    sh_measured found;
    const double seconds = seconds_of(asked->session);
    if (asked->limit_s > 0 && seconds > asked->limit_s)
        return sh_fail(SH_LIMIT, "a pass over the validation samples would take %.0f s", seconds);
    SH_TRY(sh_measure_new(asked->measure, asked->session, SH_RUN_EVALUATION_WORST));
    sh_status status = sh_measure_run(*asked->measure, asked->session, &found);
    sh_measure_free(*asked->measure);
    *asked->measure = NULL;
    SH_TRY(status);
    SH_TRY_DONE(write_text(asked->run, SH_RUN_WORST, found.worst));
    SH_TRY_DONE(write_text(asked->run, SH_RUN_PICTURES, found.pictures));
    SH_TRY_DONE(write_text(asked->run, SH_RUN_FIGURES, found.metrics));
    *metrics = found.metrics;
    found.metrics = NULL;
done:
    sh_measured_release(&found);
    return status;
}

void sh_run_evaluation_forget(const sh_run *run)
{
    static const char *const names[] = {SH_RUN_FIGURES, SH_RUN_WORST, SH_RUN_PICTURES};
    char path[SH_PATH_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sh_run_path(run, names[i], path) == SH_OK)
            (void)unlink(path);
}
