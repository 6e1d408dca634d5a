/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines whose devices link to each other, one list. Which of them adds up in a view follows
 * from who serves there, so all devices find the same one.
 *
 *     const sh_engine_kind *kind = sh_engine_kind_of(serves, devices);
 *     SH_TRY(kind->make(&engine, &options));
 *     if (kind->links(serves, devices, rank, other))
 *         SH_TRY(engine->ops->connect(engine, other, &target));    // loop only
 *     SH_TRY(engine->ops->take(engine, other, channel));           // in the listener's callback
 *     ... rounds, as reduce/engine.h has them; they may begin before the links are up ...
 *     sh_engine_close(engine);
 *
 * Threads: as each function says. "Loop only" as in net/loop.h.
 */
#ifndef SHOAL_REDUCE_ENGINES_H
#define SHOAL_REDUCE_ENGINES_H

#include "reduce/engine.h"

/* A new engine is its own files and a name here, before those that fit where it does. */
#define SH_ENGINES(X)                                                                              \
    X(servers)                                                                                     \
    X(ring)

typedef struct sh_engine_options {
    sh_loop *loop; /* borrowed until the engine is closed */
    uint32_t view; /* marks the frames: those of another view are refused */
    uint32_t rank;
    uint32_t devices;   /* at least 2 */
    const bool *serves; /* of each rank, alike on all devices; read at once */

    /* Optional; loop only. All links are up; the link with a rank broke or did not come about. */
    void (*on_linked)(void *context);
    void (*on_broken)(void *context, uint32_t rank);
    void *context; /* borrowed until the engine is closed */
} sh_engine_options;

typedef struct sh_engine_kind {
    /* Whether it adds up where these ranks serve. The last of the list is for every view, and has
     * none. */
    bool (*fits)(const bool *serves, uint32_t devices);

    /* Whether rank `from` connects to rank `to`, another one. */
    bool (*links)(const bool *serves, uint32_t devices, uint32_t from, uint32_t to);

    /* An engine without links. Owned: close it. Any thread. */
    sh_status (*make)(sh_engine **engine, const sh_engine_options *options);
} sh_engine_kind;

#define SH_ENGINE_DECLARE(name) extern const sh_engine_kind sh_engine_##name;
SH_ENGINES(SH_ENGINE_DECLARE)
#undef SH_ENGINE_DECLARE

/* The first of the list that fits. Any thread. */
const sh_engine_kind *sh_engine_kind_of(const bool *serves, uint32_t devices);

#endif
