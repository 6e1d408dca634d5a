/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/step_times.h"

static const struct {
    const char *name, *what;
} parts[SH_PART_COUNT] = {
#define SH_PART(name, what) {#name, what},
#include "monitor/parts.def"
#undef SH_PART
};

const char *sh_step_part_name(sh_step_part part)
{
    return parts[part].name;
}

const char *sh_step_part_what(sh_step_part part)
{
    return parts[part].what;
}
