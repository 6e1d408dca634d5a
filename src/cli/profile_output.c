/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile_output.h"

#include <string.h>

#include "base/quantity.h"
#include "base/table.h"

bool sh_profile_level_of(sh_profile_level *level, const char *text)
{
    if (text == NULL || text[0] == '\0') {
        *level = SH_PROFILE_OFF;
        return true;
    }
    if (strlen(text) != 1 || text[0] < '0' || text[0] > '2')
        return false;
    *level = (sh_profile_level)(text[0] - '0');
    return true;
}

/* Billions per second; "-": unknown. */
static const char *rate(sh_quantity *figure, double amount, double seconds)
{
    snprintf(figure->text, sizeof figure->text, "-");
    if (amount > 0 && seconds > 0)
        snprintf(figure->text, sizeof figure->text, "%.1f", amount / seconds * 1e-9);
    return figure->text;
}

static void print_rows(const sh_profile *profile, bool nodes, FILE *file)
{
    const char *const heads[] = {
        nodes ? "node" : "operator", "count", "ms", "share", "GFLOP/s", "GB/s"};
    sh_table *table = sh_table_new("<>>>>>", heads);
    bool any = false;
    for (size_t i = 0; i < profile->row_count; i++) {
        const sh_profile_row *row = &profile->rows[i];
        if ((row->kind == SH_PROFILE_NODE) != nodes)
            continue;
        any = true;
        sh_quantity figure;
        sh_table_format(table, "%s%s%s", row->name, row->detail[0] != '\0' ? " " : "", row->detail);
        sh_table_add(table, row->count > 0 ? sh_quantity_whole(&figure, row->count) : "");
        sh_table_format(table, "%.1f", row->seconds * 1e3);
        sh_table_add(table, sh_quantity_percent(&figure, row->share, 1));
        const bool has_rates = row->kind != SH_PROFILE_OUTSIDE || row->bytes != 0;
        sh_table_add(table, has_rates ? rate(&figure, row->flops, row->seconds) : "");
        sh_table_add(table, has_rates ? rate(&figure, row->bytes, row->seconds) : "");
    }
    if (any) {
        fputc('\n', file);
        sh_table_print(table, file, "");
    } else {
        sh_table_free(table);
    }
}

void sh_profile_output_print(const sh_profile *profile, FILE *file)
{
    sh_quantity a, b, c, d;
    const double steps = profile->steps > 0 ? (double)profile->steps : 1;
    const double whole = profile->lanes * profile->step_seconds;
    fprintf(file, "\nprofile     %s, %.3f ms each, on %s\n",
            sh_quantity_count(&a, profile->steps, "step"), profile->step_seconds / steps * 1e3,
            sh_quantity_count(&b, profile->lanes, "lane"));
    print_rows(profile, false, file);
    print_rows(profile, true, file);
    const sh_profile_row *next = sh_profile_bottleneck(profile);
    if (next == NULL)
        return;
    fprintf(file, "\nnext bottleneck: %s, %s of the step", next->name,
            sh_quantity_percent(&a, next->seconds / (whole > 0 ? whole : 1), 0));
    if (next->flops > 0)
        fprintf(file, " at %s GFLOP/s", rate(&c, next->flops, next->seconds));
    else if (next->bytes > 0)
        fprintf(file, " at %s GB/s", rate(&d, next->bytes, next->seconds));
    fputc('\n', file);
}
