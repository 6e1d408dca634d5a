/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of engines with links between devices. The seats that serve determine a view's engine.
 *
 *     const sh_engine_kind *kind = sh_engine_kind_of(serves, devices);
 *     SH_TRY(kind->make(&engine, &options));
 *     if (kind->links(serves, devices, rank, other))
 *         SH_TRY(engine->ops->connect(engine, other, &target));
 *
 * Rounds may begin before the links are open.
 *
 * Threads: stated per function. "Loop only" as in net/loop.h.
 */
#ifndef SHOAL_REDUCE_ENGINES_H
#define SHOAL_REDUCE_ENGINES_H

#include "reduce/engine.h"

/* A new engine precedes engines that fit the same views. */
#define SH_ENGINES(X)                                                                              \
    X(servers)                                                                                     \
    X(ring)

typedef struct sh_engine_options {
    sh_loop *loop; /* borrowed until the engine is closed */
    uint32_t view; /* frames of another view are refused */
    uint32_t rank;
    uint32_t devices;   /* at least 2 */
    const bool *serves; /* of each rank, equal on all devices; read during the call */

    /* Optional; loop only. All links are open; the link with a rank failed. */
    void (*on_linked)(void *context);
    void (*on_broken)(void *context, uint32_t rank);
    void *context; /* borrowed until the engine is closed */
} sh_engine_options;

typedef struct sh_engine_kind {
    /* NULL for the last of the list, which fits every view. */
    bool (*fits)(const bool *serves, uint32_t devices);

    /* Whether rank `from` connects to another rank `to`. */
    bool (*links)(const bool *serves, uint32_t devices, uint32_t from, uint32_t to);

    /* The links are not open yet. Owned: sh_engine_close. Any thread. */
    sh_status (*make)(sh_engine **engine, const sh_engine_options *options);
} sh_engine_kind;

#define SH_ENGINE_DECLARE(name) extern const sh_engine_kind sh_engine_##name;
SH_ENGINES(SH_ENGINE_DECLARE)
#undef SH_ENGINE_DECLARE

/* Returns the first that fits. Any thread. */
const sh_engine_kind *sh_engine_kind_of(const bool *serves, uint32_t devices);

#endif
