/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If all rows fit into the buffer, they stay there. Otherwise the buffer holds those not yet
 * written to the file, and is freed at the end.
 */
#include "data/table/row_store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/memory.h"
#include "data/extent.h"

struct sh_row_store {
    size_t columns, rows, written; /* rows added; rows written to the file */
    size_t fits;                   /* capacity of the buffer in rows */
    int fd;                        /* -1: all rows are in the buffer */
    double *buffer;                /* owned */
};

sh_status sh_row_store_new(sh_row_store **store, size_t columns, size_t rows)
{
    size_t row_bytes, bytes;
    if (!sh_size_mul(columns, sizeof(double), &row_bytes) || !sh_size_mul(row_bytes, rows, &bytes))
        return sh_fail_memory(SIZE_MAX, "the rows of a table");
    sh_row_store *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the rows of a table");
    const char *folder;
    const bool spills = bytes > SH_ROW_STORE_MEMORY;
    fresh->columns = columns;
    fresh->fd = -1;
    fresh->fits = spills ? SH_ROW_STORE_MEMORY / 8 / row_bytes : rows;
    if (fresh->fits == 0)
        fresh->fits = 1;
    fresh->buffer = malloc(fresh->fits * row_bytes);
    sh_status status = fresh->buffer == NULL
                           ? sh_fail_memory(fresh->fits * row_bytes, "the rows of a table")
                           : SH_OK;
    if (status == SH_OK && spills)
        status = sh_cache_unnamed(&fresh->fd, &folder, "the rows of a table");
    if (status == SH_OK)
        *store = fresh;
    else
        sh_row_store_free(fresh);
    return status;
}

static sh_status flush(sh_row_store *store)
{
    const size_t row_bytes = store->columns * sizeof *store->buffer;
    const size_t count = store->rows - store->written;
    SH_TRY(sh_fail_in(sh_extent_write(store->fd, (uint64_t)store->written * row_bytes,
                                      (const uint8_t *)store->buffer, count * row_bytes),
                      "the temporary file of rows"));
    store->written = store->rows;
    return SH_OK;
}

sh_status sh_row_store_add(sh_row_store *store, const double *row)
{
    if (store->rows - store->written == store->fits) {
        assert(store->fd >= 0);
        SH_TRY(flush(store));
    }
    memcpy(store->buffer + (store->rows - store->written) * store->columns, row,
           store->columns * sizeof *row);
    store->rows++;
    return SH_OK;
}

sh_status sh_row_store_end(sh_row_store *store)
{
    if (store->fd < 0)
        return SH_OK;
    SH_TRY(flush(store));
    free(store->buffer);
    store->buffer = NULL;
    return SH_OK;
}

static sh_status read_rows(const sh_row_store *store, size_t first, size_t count, double *rows)
{
    const size_t row_bytes = store->columns * sizeof *rows;
    return sh_fail_in(sh_extent_read_all(store->fd, (uint64_t)first * row_bytes, (uint8_t *)rows,
                                         count * row_bytes),
                      "the temporary file of rows");
}

sh_status sh_row_store_read(const sh_row_store *store, size_t index, double *row)
{
    assert(index < store->rows);
    if (store->fd >= 0)
        return read_rows(store, index, 1, row);
    memcpy(row, store->buffer + index * store->columns, store->columns * sizeof *row);
    return SH_OK;
}

sh_status sh_row_store_columns(const sh_row_store *store, size_t first, size_t count,
                               double *values)
{
    const size_t columns = store->columns, rows = store->rows;
    double *block = store->fd < 0 ? store->buffer : malloc(store->fits * columns * sizeof *block);
    sh_status status = SH_OK;
    assert(first + count <= columns);
    if (block == NULL)
        return sh_fail_memory(store->fits * columns * sizeof *block, "the rows of a table");
    for (size_t at = 0; at < rows && status == SH_OK;) {
        const size_t left = rows - at, here = left < store->fits ? left : store->fits;
        if (store->fd >= 0)
            status = read_rows(store, at, here, block);
        for (size_t i = 0; i < here && status == SH_OK; i++)
            for (size_t c = 0; c < count; c++)
                values[c * rows + at + i] = block[i * columns + first + c];
        at += here;
    }
    if (store->fd >= 0)
        free(block);
    return status;
}

void sh_row_store_free(sh_row_store *store)
{
    if (store == NULL)
        return;
    if (store->fd >= 0)
        close(store->fd);
    free(store->buffer);
    free(store);
}
