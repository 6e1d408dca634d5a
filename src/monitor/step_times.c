/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/step_times.h"

const char *sh_step_part_name(sh_step_part part)
{
    static const char *const names[SH_PART_COUNT] = {
#define SH_PART(name, what) #name,
#include "monitor/parts.def"
#undef SH_PART
    };
    return names[part];
}
