/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/scalars.h"

#include <math.h>

sh_status sh_scalars_step(sh_scalars *scalars, double at, const sh_progress_report *report,
                          double samples_per_second)
{
    const bool same = report->batch.epoch == scalars->epoch;
    const sh_epoch_totals before = same ? scalars->seen : (sh_epoch_totals){0};
    const sh_epoch_totals now = report->epoch;
    if (scalars->file == NULL || now.samples <= before.samples ||
        (at - scalars->at) * SH_SCALARS_RATE < 1)
        return SH_OK;
    const sh_figures figures =
        sh_figures_of(&report->scale, now.loss - before.loss, now.score - before.score,
                      now.samples - before.samples);
    const bool numbers = isnan(figures.accuracy);
    *scalars = (sh_scalars){scalars->file, report->batch.epoch, now, at};
    const sh_scalar values[] = {
        {"train/loss", figures.loss},
        {numbers ? "train/mae" : "train/accuracy", numbers ? figures.mae : figures.accuracy},
        {"samples_per_second", samples_per_second},
    };
    return sh_tensorboard_add(scalars->file, at, report->steps, values,
                              sizeof values / sizeof *values);
}

sh_status sh_scalars_epoch(sh_scalars *scalars, double at, const sh_event *epoch)
{
    const sh_scalar values[] = {{"val/loss", epoch->val_loss},
                                {epoch->numbers ? "val/mae" : "val/accuracy",
                                 epoch->numbers ? epoch->val_mae : epoch->val_accuracy}};
    if (scalars->file == NULL)
        return SH_OK;
    SH_TRY(sh_tensorboard_add(scalars->file, at, epoch->total_step, values,
                              sizeof values / sizeof *values));
    return sh_tensorboard_flush(scalars->file); /* the next checkpoint continues after it */
}
