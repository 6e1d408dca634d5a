/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting blocks form a doubly linked list per level, within an array, so that removing any takes
 * constant time and no allocation. The head of level l is entry `blocks + l`. */
#include "data/fetch.h"

#include <assert.h>
#include <stdlib.h>

#define NOBODY UINT8_MAX

typedef enum phase {
    IDLE,
    WAITING,
    ASKED,
    HERE,
} phase;

typedef struct entry {
    uint32_t next, previous; /* while WAITING */
    uint64_t refused;        /* bit i: source i */
    uint8_t phase, level, source;
} entry;

struct sh_fetch {
    entry *entries; /* blocks, then list heads */
    uint32_t blocks, left;
    uint32_t asked[SH_FETCH_SOURCES];
};

sh_status sh_fetch_new(sh_fetch **fetch, uint32_t blocks)
{
    sh_fetch *fresh = calloc(1, sizeof *fresh);
    entry *entries = calloc((size_t)blocks + SH_FETCH_LEVELS, sizeof *entries);
    if (fresh == NULL || entries == NULL) {
        free(fresh);
        free(entries);
        return sh_fail_memory(blocks * sizeof *entries, "the list of blocks to fetch");
    }
    for (uint32_t i = blocks; i < blocks + SH_FETCH_LEVELS; i++)
        entries[i].next = entries[i].previous = i;
    fresh->entries = entries;
    fresh->blocks = blocks;
    *fetch = fresh;
    return SH_OK;
}

/* `before` is an entry of the same level. */
static void insert(sh_fetch *fetch, uint32_t block, uint32_t before)
{
    entry *e = fetch->entries, *b = &e[block];
    b->next = before;
    b->previous = e[before].previous;
    e[b->previous].next = block;
    e[before].previous = block;
    b->phase = WAITING;
}

static void take_out(sh_fetch *fetch, uint32_t block)
{
    entry *e = fetch->entries, *b = &e[block];
    e[b->previous].next = b->next;
    e[b->next].previous = b->previous;
}

static bool is_needed(const entry *b)
{
    return b->phase == WAITING || b->phase == ASKED;
}

static void unask(sh_fetch *fetch, uint32_t block)
{
    fetch->asked[fetch->entries[block].source]--;
    fetch->entries[block].source = NOBODY;
}

void sh_fetch_need(sh_fetch *fetch, uint32_t block, sh_fetch_level level)
{
    assert(block < fetch->blocks && level < SH_FETCH_LEVELS);
    entry *b = &fetch->entries[block];
    if (b->phase == HERE || (is_needed(b) && b->level <= level))
        return;
    if (b->phase == WAITING)
        take_out(fetch, block);
    if (b->phase == IDLE)
        fetch->left++;
    b->level = (uint8_t)level;
    if (b->phase != ASKED)
        insert(fetch, block, fetch->blocks + level); /* before the head: at the end */
}

bool sh_fetch_next(uint32_t *block, sh_fetch *fetch, uint32_t source)
{
    assert(source < SH_FETCH_SOURCES);
    const entry *e = fetch->entries;
    for (uint32_t head = fetch->blocks; head < fetch->blocks + SH_FETCH_LEVELS; head++)
        for (uint32_t i = e[head].next; i != head; i = e[i].next) {
            if ((e[i].refused >> source & 1) != 0)
                continue;
            take_out(fetch, i);
            fetch->entries[i].phase = ASKED;
            fetch->entries[i].source = (uint8_t)source;
            fetch->asked[source]++;
            *block = i;
            return true;
        }
    return false;
}

bool sh_fetch_is_urgent(const sh_fetch *fetch)
{
    const uint32_t now = fetch->blocks + SH_FETCH_NOW, soon = fetch->blocks + SH_FETCH_SOON;
    return fetch->entries[now].next != now || fetch->entries[soon].next != soon;
}

uint32_t sh_fetch_asked(const sh_fetch *fetch, uint32_t source)
{
    return fetch->asked[source];
}

void sh_fetch_done(sh_fetch *fetch, uint32_t block)
{
    assert(block < fetch->blocks);
    entry *b = &fetch->entries[block];
    if (is_needed(b))
        fetch->left--;
    if (b->phase == WAITING)
        take_out(fetch, block);
    else if (b->phase == ASKED)
        unask(fetch, block);
    b->phase = HERE;
}

void sh_fetch_retry(sh_fetch *fetch, uint32_t block)
{
    assert(block < fetch->blocks);
    entry *b = &fetch->entries[block];
    if (b->phase != ASKED)
        return;
    unask(fetch, block);
    insert(fetch, block, fetch->entries[fetch->blocks + b->level].next);
}

void sh_fetch_refuse(sh_fetch *fetch, uint32_t block, uint32_t source)
{
    assert(block < fetch->blocks && source < SH_FETCH_SOURCES);
    entry *b = &fetch->entries[block];
    if (!is_needed(b))
        return;
    b->refused |= (uint64_t)1 << source;
    if (b->source == source)
        sh_fetch_retry(fetch, block);
}

void sh_fetch_remove_source(sh_fetch *fetch, uint32_t source)
{
    assert(source < SH_FETCH_SOURCES);
    for (uint32_t i = fetch->blocks; i-- > 0;) { /* backwards: each moves to the front */
        entry *b = &fetch->entries[i];
        b->refused &= ~((uint64_t)1 << source);
        if (b->phase == ASKED && b->source == source)
            sh_fetch_retry(fetch, i);
    }
}

bool sh_fetch_stuck(uint32_t *block, const sh_fetch *fetch, uint64_t sources)
{
    const entry *e = fetch->entries;
    for (uint32_t head = fetch->blocks; head < fetch->blocks + SH_FETCH_LEVELS; head++)
        for (uint32_t i = e[head].next; i != head; i = e[i].next)
            if ((e[i].refused & sources) == sources) {
                *block = i;
                return true;
            }
    return false;
}

void sh_fetch_clear_refusals(sh_fetch *fetch)
{
    for (uint32_t i = 0; i < fetch->blocks; i++)
        fetch->entries[i].refused = 0;
}

uint32_t sh_fetch_left(const sh_fetch *fetch)
{
    return fetch->left;
}

void sh_fetch_free(sh_fetch *fetch)
{
    if (fetch == NULL)
        return;
    free(fetch->entries);
    free(fetch);
}
