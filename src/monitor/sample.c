/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/sample.h"

#include <math.h>

static const struct {
    const char *name;
    sh_figure_kind kind;
} figures[SH_FIGURE_COUNT] = {
#define SH_FIGURE(name, kind, what) {#name, SH_FIGURE_##kind},
#include "monitor/figures.def"
#undef SH_FIGURE
};

void sh_sample_clear(sh_sample *sample)
{
    *sample = (sh_sample){0};
    for (int i = 0; i < SH_FIGURE_COUNT; i++)
        sample->figures[i] = NAN;
}

const char *sh_figure_name(sh_figure figure)
{
    return figures[figure].name;
}

sh_figure_kind sh_figure_kind_of(sh_figure figure)
{
    return figures[figure].kind;
}
