/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/engine.h"

static sh_status begin(sh_engine *engine, const sh_span *spans, uint32_t count)
{
    (void)engine;
    (void)spans;
    (void)count;
    return SH_OK;
}

static void ready(sh_engine *engine, uint32_t span)
{
    (void)engine;
    (void)span;
}

static sh_status wait_for_nobody(sh_engine *engine)
{
    (void)engine;
    return SH_OK;
}

static void close_nothing(sh_engine *engine)
{
    (void)engine;
}

sh_engine *sh_engine_solo(void)
{
    static const sh_engine_ops ops = {
        .name = "solo",
        .begin = begin,
        .ready = ready,
        .wait = wait_for_nobody,
        .close = close_nothing,
    };
    static sh_engine solo = {.ops = &ops, .devices = 1};
    return &solo;
}
