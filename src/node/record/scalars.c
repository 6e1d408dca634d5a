/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/scalars.h"

sh_status sh_scalars_step(sh_scalars *scalars, double at, const sh_progress_report *report,
                          double samples_per_second)
{
    const bool same = report->batch.epoch == scalars->epoch;
    const sh_epoch_totals before = same ? scalars->seen : (sh_epoch_totals){0};
    const sh_epoch_totals now = report->epoch;
    if (scalars->file == NULL || now.samples <= before.samples ||
        (at - scalars->at) * SH_SCALARS_RATE < 1)
        return SH_OK;
    const double samples = (double)(now.samples - before.samples);
    *scalars = (sh_scalars){scalars->file, report->batch.epoch, now, at};
    const sh_scalar values[] = {
        {"train/loss", (now.loss - before.loss) / samples},
        {"train/accuracy", (double)(now.correct - before.correct) / samples},
        {"samples_per_second", samples_per_second},
    };
    return sh_tensorboard_add(scalars->file, at, report->steps, values,
                              sizeof values / sizeof *values);
}

sh_status sh_scalars_epoch(sh_scalars *scalars, double at, const sh_event *epoch)
{
    const sh_scalar values[] = {{"val/loss", epoch->val_loss},
                                {"val/accuracy", epoch->val_accuracy}};
    if (scalars->file == NULL)
        return SH_OK;
    SH_TRY(sh_tensorboard_add(scalars->file, at, epoch->total_step, values,
                              sizeof values / sizeof *values));
    return sh_tensorboard_flush(scalars->file); /* the checkpoint that follows goes on behind it */
}
