/* SPDX-License-Identifier: Apache-2.0 */
#include "train/footprint.h"

#include <stdio.h>

/* Powers of 1024, as --memory. */
#define MEBIBYTE (1024.0 * 1024.0)

static double mebibytes(uint64_t bytes)
{
    return (double)bytes / MEBIBYTE;
}

uint64_t sh_footprint_program(const sh_footprint *f)
{
    return f->base + f->thread * f->lanes;
}

/* Whether the start takes more, on one lane, than the steps on all lanes. */
static bool start_is_more(const sh_footprint *f)
{
    return f->start > (f->lane + f->own) * (f->lanes - 1);
}

uint64_t sh_footprint_total(const sh_footprint *f)
{
    const uint64_t lane = f->lane + f->own;
    const uint64_t lanes = start_is_more(f) ? lane + f->start : lane * f->lanes;
    return sh_footprint_program(f) + f->weights + f->optimizer + f->sum + f->prepared + lanes;
}

void sh_footprint_print(char text[SH_FOOTPRINT_TEXT], const sh_footprint *f, uint64_t limit)
{
    char lanes[64], again[96] = "";
    if (f->lanes < f->lanes_asked)
        snprintf(lanes, sizeof lanes, "%u of %u lanes", f->lanes, f->lanes_asked);
    else
        snprintf(lanes, sizeof lanes, "%u lane%s", f->lanes, f->lanes == 1 ? "" : "s");
    if (f->segments > 1)
        snprintf(again, sizeof again, ", activations computed again in %u segments", f->segments);
    snprintf(text, SH_FOOTPRINT_TEXT, "memory: %s%s%s: %.1f of %.1f MiB", lanes, again,
             f->on_demand ? ", weights prepared by each grain" : "",
             mebibytes(sh_footprint_total(f)), mebibytes(limit));
}

sh_status sh_footprint_refuse(const sh_footprint *f, uint64_t limit, uint32_t grain, uint32_t fits,
                              uint64_t fits_bytes)
{
    char remedy[160], worker[64] = "", start[64] = "";
    if (fits != 0)
        snprintf(remedy, sizeof remedy,
                 "--grain %u would need only %.1f MiB, but it makes another job", fits,
                 mebibytes(fits_bytes));
    else if (grain > 1)
        snprintf(remedy, sizeof remedy, "no smaller --grain would fit either");
    else
        snprintf(remedy, sizeof remedy, "use a smaller model");
    if (f->own > 0)
        snprintf(worker, sizeof worker, ", its worker %.1f", mebibytes(f->own * f->lanes));
    if (start_is_more(f))
        snprintf(start, sizeof start, ", copied weights at the start %.1f", mebibytes(f->start));
    return sh_fail(SH_LIMIT,
                   "--memory %.1f MiB: this job needs at least %.1f MiB here: program and data "
                   "%.1f, weights %.1f, optimizer's state %.1f, sum of gradients %.1f, prepared "
                   "weights %.1f, one lane with grain %u %.1f%s%s; %s",
                   mebibytes(limit), mebibytes(sh_footprint_total(f)),
                   mebibytes(sh_footprint_program(f)), mebibytes(f->weights),
                   mebibytes(f->optimizer), mebibytes(f->sum), mebibytes(f->prepared), grain,
                   mebibytes(f->lane * f->lanes), worker, start, remedy);
}
