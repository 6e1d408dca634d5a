/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/prepared.h"

#include <stdlib.h>

typedef struct place {
    uint32_t parameter;
    sh_layout layout;
    size_t offset;
} place;

struct sh_prepared {
    bool on_demand;
    size_t bytes;
    place *places;
    size_t count, capacity;
    sh_arena descriptions;
};

sh_status sh_prepared_new(sh_prepared **prepared, bool on_demand)
{
    sh_prepared *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "prepared weights");
    fresh->on_demand = on_demand;
    sh_arena_init(&fresh->descriptions);
    *prepared = fresh;
    return SH_OK;
}

void sh_prepared_free(sh_prepared *prepared)
{
    if (prepared == NULL)
        return;
    free(prepared->places);
    sh_arena_release(&prepared->descriptions);
    free(prepared);
}

size_t sh_prepared_bytes(const sh_prepared *prepared)
{
    return prepared->bytes;
}

bool sh_prepared_on_demand(const sh_prepared *prepared)
{
    return prepared->on_demand;
}

sh_arena *sh_prepared_descriptions(sh_prepared *prepared)
{
    return &prepared->descriptions;
}

size_t sh_prepared_append(sh_prepared *prepared, size_t bytes)
{
    const size_t offset = prepared->bytes;
    prepared->bytes += sh_align_up(bytes);
    return offset;
}

sh_status sh_prepared_place(sh_prepared *prepared, size_t *offset, uint32_t *number,
                            uint32_t parameter, const sh_layout *layout)
{
    for (size_t i = 0; i < prepared->count; i++)
        if (prepared->places[i].parameter == parameter &&
            sh_layout_same(&prepared->places[i].layout, layout)) {
            *offset = prepared->places[i].offset;
            *number = (uint32_t)i;
            return SH_OK;
        }
    SH_TRY(sh_array_grow((void **)&prepared->places, &prepared->capacity, prepared->count + 1,
                         sizeof *prepared->places));
    *offset = sh_prepared_append(prepared, layout->bytes);
    *number = (uint32_t)prepared->count;
    prepared->places[prepared->count++] = (place){parameter, *layout, *offset};
    return SH_OK;
}
