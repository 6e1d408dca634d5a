/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/target.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static const char *const names[] = {
#define SH_TARGET_TEXT(name, text) text,
    SH_TARGET_MAP(SH_TARGET_TEXT)
#undef SH_TARGET_TEXT
};

const char *sh_target_name(sh_target target)
{
    assert(target < SH_TARGETS);
    return names[target];
}

bool sh_target_find(sh_target *target, const char *name)
{
    for (int i = 0; i < SH_TARGETS; i++)
        if (strcmp(names[i], name) == 0) {
            *target = (sh_target)i;
            return true;
        }
    return false;
}

size_t sh_target_bytes(sh_target target, size_t outputs)
{
    return target == SH_TARGET_CLASS    ? sizeof(int32_t)
           : target == SH_TARGET_SAMPLE ? 0
                                        : outputs * sizeof(float);
}
