/* SPDX-License-Identifier: Apache-2.0 */
#include "report/findings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/learning.h"

#define ROWS_MAX 200 /* epochs or views */

/* ---- subjects -------------------------------------------------------------------------------- */

/* The denied part of the wanted processor time. */
static double denied(double throttled, double used)
{
    return throttled / (throttled + used);
}

static sh_status judge(sh_bottleneck *bottleneck, const sh_run_digest *digest)
{
    sh_bottleneck_device *witnesses = calloc(digest->device_count + 1, sizeof *witnesses);
    if (witnesses == NULL)
        return sh_fail_memory(digest->device_count * sizeof *witnesses, "a verdict");
    for (size_t i = 0; i < digest->device_count; i++) {
        const sh_digest_device *device = &digest->devices[i];
        const sh_digest_figure *figures = device->figures;
        const sh_digest_figure *used = &figures[SH_FIGURE_cpu_process_seconds];
        const sh_digest_figure *throttled = &figures[SH_FIGURE_cpu_throttled_seconds];
        const sh_digest_figure *swap = &figures[SH_FIGURE_swap_used_bytes];
        const sh_digest_figure *frequency = &figures[SH_FIGURE_cpu_frequency_hertz];
        witnesses[i] = (sh_bottleneck_device){
            .name = device->name,
            .steps = (double)device->steps,
            .grains = (double)device->grains / (double)device->steps,
            .step_seconds = device->wall,
            .computing_seconds = sh_step_split_computing(device->split),
            .wait_seconds = device->split[SH_STEP_SPLIT_wait],
            .network_seconds = device->split[SH_STEP_SPLIT_network],
            .grain_seconds = device->grain_seconds,
            .grain_early = device->grain_early,
            .grain_late = device->grain_late,
            .denied = denied(throttled->mean, used->mean),
            .denied_early = denied(throttled->early, used->early),
            .denied_late = denied(throttled->late, used->late),
            .held_back = figures[SH_FIGURE_throttled_ratio].mean,
            .frequency_ratio = frequency->mean / frequency->most,
            .celsius = figures[SH_FIGURE_temperature_celsius].most,
            .available_bytes = figures[SH_FIGURE_memory_available_bytes].least,
            .swap_bytes = swap->most - swap->least,
            .link_rate = figures[SH_FIGURE_network_sent_bytes].total /
                         figures[SH_FIGURE_network_busy_seconds].total,
        };
    }
    sh_bottleneck_find(bottleneck, witnesses, digest->device_count);
    free(witnesses);
    return SH_OK;
}

sh_status sh_subject_init(sh_subject *subject, const char *path)
{
    sh_subject fresh = {.digest = NULL};
    sh_status status;
    SH_TRY_DONE(sh_quality_read(&fresh.quality, path));
    SH_TRY_DONE(sh_worst_read(&fresh.worst, path));
    SH_TRY_DONE(sh_run_digest_new(&fresh.digest, path));
    SH_TRY_DONE(judge(&fresh.bottleneck, fresh.digest));
    SH_TRY_DONE(sh_learning_rates(fresh.digest, path));
    *subject = fresh;
    return SH_OK;
done:
    sh_subject_release(&fresh);
    return status;
}

void sh_subject_release(sh_subject *subject)
{
    sh_run_digest_free(subject->digest);
    json_decref(subject->quality);
    json_decref(subject->worst);
    subject->digest = NULL;
    subject->quality = subject->worst = NULL;
}

double sh_subject_total(const sh_subject *subject, sh_figure figure)
{
    double total = NAN;
    for (size_t i = 0; i < subject->digest->device_count; i++) {
        const double own = subject->digest->devices[i].figures[figure].total;
        if (!isnan(own))
            total = isnan(total) ? own : total + own;
    }
    return total;
}

/* ---- summary --------------------------------------------------------------------------------- */

void sh_findings_summary(sh_sheet *sheet, const sh_subject *subjects, size_t count)
{
    static const char *const heads[] = {"run",    "status",  "devices",  "steps",
                                        "time",   "samples", "accuracy", "CPU time",
                                        "memory", "sent",    "energy"};
    sh_sheet_heading(sheet, 2, "Summary");
    for (size_t i = 0; i < count; i++) {
        const sh_run_digest *digest = subjects[i].digest;
        char text[6 * SH_DIGEST_TEXT_BYTES];
        sh_quantity parameters, samples;
        snprintf(text, sizeof text, "%s: %s on %s, %s parameters, %s samples, %s%s; shoal %s",
                 digest->name, digest->model, digest->data,
                 sh_quantity_of(&parameters, (double)digest->parameters, SH_UNIT_whole),
                 sh_quantity_of(&samples, (double)digest->samples, SH_UNIT_whole),
                 digest->weights_hash[0] != '\0' ? "weights " : "no weights yet",
                 digest->weights_hash, digest->version);
        sh_sheet_paragraph(sheet, text);
    }
    sh_sheet_table(sheet,
                   "Accuracy is from the last validation, memory is the peak of one device, CPU "
                   "time, sent bytes and energy are totals of all devices",
                   "<<>>>>>>>>>", heads);
    for (size_t i = 0; i < count; i++) {
        const sh_subject *subject = &subjects[i];
        const sh_run_digest *digest = subject->digest;
        const size_t epochs = digest->epoch_count;
        double memory = NAN;
        for (size_t j = 0; j < digest->device_count; j++)
            memory = fmax(memory, digest->devices[j].figures[SH_FIGURE_memory_peak_bytes].most);
        sh_sheet_cell(sheet, digest->name);
        sh_sheet_cell(sheet, digest->status);
        sh_sheet_number(sheet, (double)digest->device_count, SH_UNIT_whole);
        sh_sheet_number(sheet, (double)digest->steps, SH_UNIT_whole);
        sh_sheet_number(sheet, digest->seconds, SH_UNIT_duration);
        sh_sheet_number(sheet, digest->samples_per_second, SH_UNIT_rate);
        sh_sheet_number(sheet, epochs > 0 ? digest->epochs[epochs - 1].val_accuracy : NAN,
                        SH_UNIT_percent);
        sh_sheet_number(sheet, sh_subject_total(subject, SH_FIGURE_cpu_process_seconds),
                        SH_UNIT_duration);
        sh_sheet_number(sheet, memory, SH_UNIT_bytes);
        sh_sheet_number(sheet, sh_subject_total(subject, SH_FIGURE_network_sent_bytes),
                        SH_UNIT_bytes);
        sh_sheet_number(sheet, sh_subject_total(subject, SH_FIGURE_energy_joules), SH_UNIT_joules);
    }
    sh_sheet_end(sheet);
    sh_sheet_heading(sheet, 2, "Verdict");
    for (size_t i = 0; i < count; i++) {
        const sh_bottleneck *bottleneck = &subjects[i].bottleneck;
        if (count > 1)
            sh_sheet_heading(sheet, 3, subjects[i].digest->name);
        sh_sheet_paragraph(sheet, bottleneck->text);
        for (size_t j = 0; j < bottleneck->finding_count; j++)
            sh_sheet_paragraph(sheet, bottleneck->findings[j].text);
    }
}

/* ---- details --------------------------------------------------------------------------------- */

static void add_devices(sh_sheet *sheet, const sh_run_digest *digest)
{
    static const char *const heads[] = {"device", "name",     "lanes",    "steps",
                                        "grains", "samples",  "CPU time", "memory",
                                        "sent",   "received", "energy",   "hottest"};
    sh_sheet_table(sheet, "Work and resources of each device", "><>>>>>>>>>>", heads);
    for (size_t i = 0; i < digest->device_count; i++) {
        const sh_digest_device *device = &digest->devices[i];
        const sh_digest_figure *figures = device->figures;
        const double celsius = figures[SH_FIGURE_temperature_celsius].most;
        char text[32] = "not available";
        sh_sheet_number(sheet, device->device, SH_UNIT_whole);
        sh_sheet_cell(sheet, device->name);
        sh_sheet_number(sheet, device->lanes, SH_UNIT_whole);
        sh_sheet_number(sheet, (double)device->steps, SH_UNIT_whole);
        sh_sheet_number(sheet, (double)device->grains, SH_UNIT_whole);
        sh_sheet_number(sheet, (double)device->samples, SH_UNIT_whole);
        sh_sheet_number(sheet, figures[SH_FIGURE_cpu_process_seconds].total, SH_UNIT_duration);
        sh_sheet_number(sheet, figures[SH_FIGURE_memory_peak_bytes].most, SH_UNIT_bytes);
        sh_sheet_number(sheet, figures[SH_FIGURE_network_sent_bytes].total, SH_UNIT_bytes);
        sh_sheet_number(sheet, figures[SH_FIGURE_network_received_bytes].total, SH_UNIT_bytes);
        sh_sheet_number(sheet, figures[SH_FIGURE_energy_joules].total, SH_UNIT_joules);
        if (!isnan(celsius))
            snprintf(text, sizeof text, "%.0f \u00b0C", celsius);
        sh_sheet_cell(sheet, text);
    }
    sh_sheet_end(sheet);
}

static void add_split(sh_sheet *sheet, const sh_run_digest *digest)
{
    const char *heads[SH_STEP_SPLIT_COUNT + 3] = {"device", "a grain", "a step"};
    char columns[SH_STEP_SPLIT_COUNT + 4] = "<>>";
    size_t used = 3;
    for (int i = 0; i < SH_STEP_SPLIT_COUNT; i++)
        if (sh_step_split_counts(i)) {
            columns[used] = '>';
            heads[used++] = sh_step_split_name(i);
        }
    sh_sheet_table(sheet,
                   "Where a step's time goes, on average: wait is for the slowest device, network "
                   "is the rest of the exchange",
                   columns, heads);
    for (size_t i = 0; i < digest->device_count; i++) {
        const sh_digest_device *device = &digest->devices[i];
        sh_sheet_cell(sheet, device->name);
        sh_sheet_number(sheet, device->grain_seconds, SH_UNIT_seconds);
        sh_sheet_number(sheet, device->wall, SH_UNIT_seconds);
        for (int j = 0; j < SH_STEP_SPLIT_COUNT; j++)
            if (sh_step_split_counts(j))
                sh_sheet_number(sheet, device->split[j], SH_UNIT_seconds);
    }
    sh_sheet_end(sheet);
}

/* Returns the index of the first of the last rows. */
static size_t begin_last(sh_sheet *sheet, size_t count, const char *caption, const char *columns,
                         const char *const *heads)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", caption, count > ROWS_MAX ? " (the last ones)" : "");
    sh_sheet_table(sheet, text, columns, heads);
    return count > ROWS_MAX ? count - ROWS_MAX : 0;
}

static void add_best(sh_sheet *sheet, const sh_run_digest *digest)
{
    const sh_digest_epoch *best = NULL;
    char text[128];
    sh_quantity loss;
    for (size_t i = 0; i < digest->epoch_count; i++)
        if (isfinite(digest->epochs[i].val_loss) &&
            (best == NULL || digest->epochs[i].val_loss < best->val_loss))
            best = &digest->epochs[i];
    if (best == NULL)
        return;
    snprintf(text, sizeof text, "The lowest validation loss, %s, was after epoch %.0f",
             sh_quantity_of(&loss, best->val_loss, SH_UNIT_loss), best->epoch);
    sh_sheet_paragraph(sheet, text);
}

static void add_epochs(sh_sheet *sheet, const sh_run_digest *digest)
{
    static const char *const heads[] = {
        "epoch", "step", "time", "loss", "accuracy", "validation loss", "validation accuracy"};
    const size_t count = digest->epoch_count;
    for (size_t i = begin_last(sheet, count, "Validated epochs", ">>>>>>>", heads); i < count;
         i++) {
        const sh_digest_epoch *epoch = &digest->epochs[i];
        sh_sheet_number(sheet, epoch->epoch, SH_UNIT_whole);
        sh_sheet_number(sheet, epoch->step, SH_UNIT_whole);
        sh_sheet_number(sheet, epoch->seconds, SH_UNIT_duration);
        sh_sheet_number(sheet, epoch->loss, SH_UNIT_loss);
        sh_sheet_number(sheet, epoch->accuracy, SH_UNIT_percent);
        sh_sheet_number(sheet, epoch->val_loss, SH_UNIT_loss);
        sh_sheet_number(sheet, epoch->val_accuracy, SH_UNIT_percent);
    }
    sh_sheet_end(sheet);
}

static void add_views(sh_sheet *sheet, const sh_run_digest *digest)
{
    static const char *const heads[] = {"view", "step", "time", "devices", "grains", "reason"};
    const size_t count = digest->view_count;
    size_t i = begin_last(sheet, count, "Changes of devices and shares", ">>>>><", heads);
    for (; i < count; i++) {
        const sh_digest_view *view = &digest->views[i];
        sh_sheet_number(sheet, view->view, SH_UNIT_whole);
        sh_sheet_number(sheet, view->step, SH_UNIT_whole);
        sh_sheet_number(sheet, view->seconds, SH_UNIT_duration);
        sh_sheet_number(sheet, view->devices, SH_UNIT_whole);
        sh_sheet_number(sheet, (double)view->grains, SH_UNIT_whole);
        sh_sheet_cell(sheet, view->reason);
    }
    sh_sheet_end(sheet);
}

void sh_findings_details(sh_sheet *sheet, const sh_subject *subjects, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const sh_run_digest *digest = subjects[i].digest;
        sh_sheet_heading(sheet, 2, count > 1 ? digest->name : "Details");
        sh_quality_write(sheet, subjects[i].quality);
        sh_worst_write(sheet, subjects[i].worst);
        add_devices(sheet, digest);
        add_split(sheet, digest);
        add_best(sheet, digest);
        if (digest->epoch_count > 0)
            add_epochs(sheet, digest);
        if (digest->view_count > 0)
            add_views(sheet, digest);
    }
}
