/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/engines.h"

const sh_engine_kind *sh_engine_kind_of(const bool *serves, uint32_t devices)
{
#define ENGINE_ADDRESS(name) &sh_engine_##name,
    static const sh_engine_kind *const all[] = {SH_ENGINES(ENGINE_ADDRESS)};
#undef ENGINE_ADDRESS
    const size_t last = sizeof all / sizeof *all - 1; /* for every view */
    size_t i = 0;
    while (i < last && !all[i]->fits(serves, devices))
        i++;
    return all[i];
}

sh_engine *sh_engine_solo(void)
{
    static const sh_engine_ops ops = {.name = "solo"};
    static sh_engine solo = {.ops = &ops, .devices = 1};
    return &solo;
}
