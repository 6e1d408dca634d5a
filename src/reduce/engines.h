/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of engines with links between devices. The seats that serve determine a view's engine,
 * so all devices choose the same one.
 *
 *     const sh_engine_kind *kind = sh_engine_kind_of(serves, devices);
 *     SH_TRY(kind->make(&engine, &options));
 *     if (kind->links(serves, devices, rank, other))
 *         SH_TRY(engine->ops->connect(engine, other, &target));    // loop only
 *     SH_TRY(engine->ops->take(engine, other, channel));           // in the listener's callback
 *     ... rounds as in reduce/engine.h; they may begin before the links are open ...
 *     sh_engine_close(engine);
 *
 * Threads: stated per function. "Loop only" as in net/loop.h.
 */
#ifndef SHOAL_REDUCE_ENGINES_H
#define SHOAL_REDUCE_ENGINES_H

#include "reduce/engine.h"

/* A new engine needs its own files and a name here, before engines that fit the same views. */
#define SH_ENGINES(X)                                                                              \
    X(servers)                                                                                     \
    X(ring)

typedef struct sh_engine_options {
    sh_loop *loop; /* borrowed until the engine is closed */
    uint32_t view; /* marks the frames; those of another view are refused */
    uint32_t rank;
    uint32_t devices;   /* at least 2 */
    const bool *serves; /* of each rank, equal on all devices; read during the call */

    /* Optional; loop only. All links are open; the link with a rank broke or failed. */
    void (*on_linked)(void *context);
    void (*on_broken)(void *context, uint32_t rank);
    void *context; /* borrowed until the engine is closed */
} sh_engine_options;

typedef struct sh_engine_kind {
    /* Whether it is the engine if these ranks serve. The last of the list fits every view: NULL. */
    bool (*fits)(const bool *serves, uint32_t devices);

    /* Whether rank `from` connects to another rank `to`. */
    bool (*links)(const bool *serves, uint32_t devices, uint32_t from, uint32_t to);

    /* Makes an engine whose links are not open yet. Owned: sh_engine_close. Any thread. */
    sh_status (*make)(sh_engine **engine, const sh_engine_options *options);
} sh_engine_kind;

#define SH_ENGINE_DECLARE(name) extern const sh_engine_kind sh_engine_##name;
SH_ENGINES(SH_ENGINE_DECLARE)
#undef SH_ENGINE_DECLARE

/* The first engine of the list that fits. Any thread. */
const sh_engine_kind *sh_engine_kind_of(const bool *serves, uint32_t devices);

#endif
