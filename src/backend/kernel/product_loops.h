/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of kernel/product.h, for the variant that includes this.
 *
 * A tile of rows by vectors of c stays in registers for whole chains. Blocks of rows are the
 * outermost loop, so their parts of a and c stay in the cache for all columns.
 */
#include "backend/kernel/product.h"
#include "backend/kernel/vector_part.h"

/* Rows of the largest tile with one vector, and with two: tile, b and a number of a fill the
 * registers. */
#if VEC == 8
#define TALL 12
#define WIDE 6
#elif VEC == 16
#define TALL 16
#define WIDE 12
#elif VEC == 1
#define TALL 12
#define WIDE 12
#elif defined(VEC_EMULATES)
#define TALL 4
#define WIDE 2
#else
#define TALL 12
#define WIDE 8
#endif

#define BLOCK ((size_t)48) /* rows */
#define PART ((size_t)32)  /* steps of a chain */

/* Rows that are SAME_SET floats apart share a cache set, which holds FEW. */
#define SAME_SET ((size_t)1024)
#define FEW ((size_t)8)

typedef struct tile {
    const sh_matrix_product *of;
    const float *a, *b;
    float *c;
    const float *bias;
    size_t line, lines, rows;
    size_t first, end; /* segments */
    size_t count;      /* columns of the last vector */
    bool masks;        /* b has no more: loads must not go beyond */
} tile;

/* If masks cost little, all tiles use them, which halves the number of tiles. */
#if VEC == 16 || defined(VEC_EMULATES)
#define ALWAYS_PART 1
#else
#define ALWAYS_PART 0
#endif

VEC_INLINE vec load_columns(const float *from, bool part, size_t count)
{
    return part ? vec_load_part(from, count) : vec_load(from);
}

/* `rows`, `vectors`, `along` (a_step is 1) and `part` (the last vector is partial) are constants in
 * each call, so that loops over them become registers. */
#if defined(VEC_NEON)
/*
 * A multiply-add can use one element of a vector, so a is loaded by vectors: along, one per row for
 * all steps; across, one per VEC rows for each step.
 */
VEC_INLINE void run_steps(const tile *t, vec sum[TALL][2], const float *a, const float *b,
                          const size_t rows, const size_t vectors, const bool along,
                          const bool part)
{
    const sh_matrix_product *const of = t->of;
    const size_t a_row = along ? of->a_row : 1, a_step = along ? 1 : of->a_step;
    const size_t loaded = along ? rows : rows / VEC * VEC;
    vec block[TALL];
    if (along)
#pragma GCC unroll 16
        for (size_t i = 0; i < loaded; i++)
            block[i] = vec_load(a + i * a_row);
#pragma GCC unroll 4
    for (size_t k = 0; k < VEC; k++, b += of->b_row) {
        vec column[2];
#pragma GCC unroll 2
        for (size_t v = 0; v < vectors; v++)
            column[v] =
                load_columns(b + v * VEC, part && v + 1 == vectors && !of->b_padded, t->count);
        if (!along)
#pragma GCC unroll 4
            for (size_t i = 0; i < loaded / VEC; i++)
                block[i] = vec_load(a + k * a_step + i * VEC);
#pragma GCC unroll 16
        for (size_t i = 0; i < rows; i++) {
            const vec number = vec_all(i >= loaded ? a[i * a_row + k * a_step]
                                       : along     ? block[i][k]
                                                   : block[i / VEC][i % VEC]);
#pragma GCC unroll 2
            for (size_t v = 0; v < vectors; v++)
                sum[i][v] = vec_fma(number, column[v], sum[i][v]);
        }
    }
}
#endif

VEC_INLINE void run_tile(const tile *t, const size_t rows, const size_t vectors, const bool along,
                         const bool part)
{
    const sh_matrix_product *const of = t->of;
    const size_t a_row = along ? of->a_row : 1, a_step = along ? 1 : of->a_step;
    const size_t b_row = of->b_row, length = of->length;
    vec_held sum[TALL][2];
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (size_t v = 0; v < vectors; v++) {
            const float *const from = t->c + i * of->c_row + v * VEC;
            const bool is_part = part && v + 1 == vectors;
            sum[i][v] =
                vec_hold(of->continues ? load_columns(from, is_part, t->count) : vec_all(0.0f));
        }
    for (size_t s = t->first; s < t->end; s++) {
        const float *a = t->a, *b = t->b;
        if (of->starts != NULL) {
            a += of->starts[s].a;
            b += of->starts[s].b * b_row;
        }
        size_t k = 0;
#if defined(VEC_NEON)
        for (; k + VEC <= length; k += VEC, a += VEC * a_step, b += VEC * b_row)
            run_steps(t, sum, a, b, rows, vectors, along, part);
#endif
        /* An address for each third row: one per row would not fit the registers. */
        const float *third[(TALL + 2) / 3];
#pragma GCC unroll 6
        for (size_t i = 0; i < rows; i += 3)
            third[i / 3] = a + i * a_row;
        for (; k < length; k++, b += b_row) {
            vec column[2];
#pragma GCC unroll 2
            for (size_t v = 0; v < vectors; v++)
                column[v] =
                    load_columns(b + v * VEC, part && v + 1 == vectors && t->masks, t->count);
#pragma GCC unroll 16
            for (size_t i = 0; i < rows; i++) {
                const vec number = vec_all(third[i / 3][i % 3 * a_row]);
#pragma GCC unroll 2
                for (size_t v = 0; v < vectors; v++)
                    sum[i][v] = vec_hold(vec_fma(number, column[v], vec_of(sum[i][v])));
            }
#pragma GCC unroll 6
            for (size_t i = 0; i < rows; i += 3)
                third[i / 3] += a_step;
        }
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (size_t v = 0; v < vectors; v++) {
            float *const to = t->c + i * of->c_row + v * VEC;
            const bool is_part = part && v + 1 == vectors;
            vec end = vec_of(sum[i][v]);
            if (t->bias != NULL)
                end += load_columns(t->bias + v * VEC, is_part, t->count);
            if (is_part)
                vec_store_part(to, end, t->count);
            else
                vec_store(to, end);
        }
}

/* The last two tiles share rows evenly, because small ones are slow. */
static size_t tile_rows(size_t left, size_t most)
{
    if (left >= 2 * most || left == most)
        return most;
    const size_t rows = left > most ? (left + 1) / 2 : left;
    if (rows == 15)
        return left > 15 ? 16 : 14;
    return rows == 9 || rows == 11 || rows == 13 ? rows - 1 : rows;
}

#define TILE(n)                                                                                    \
    case n:                                                                                        \
        if (n <= most)                                                                             \
            run_tile(t, n, vectors, along, part);                                                  \
        break;
#if TALL > 12
#define TILES_ABOVE_12 TILE(14) TILE(16)
#else
#define TILES_ABOVE_12
#endif
#define TILES                                                                                      \
    TILE(1)                                                                                        \
    TILE(2)                                                                                        \
    TILE(3)                                                                                        \
    TILE(4) TILE(5) TILE(6) TILE(7) TILE(8) TILE(10) TILE(12) TILES_ABOVE_12

VEC_INLINE void run_line(tile *t, const size_t most, const size_t vectors, const bool along,
                         const bool part)
{
    const size_t limit = along && t->of->a_row % SAME_SET == 0 ? FEW : most;
    for (size_t i = 0, now; i < t->rows; i += now) {
        now = tile_rows(t->rows - i, limit < most ? limit : most);
        switch (now) {
            TILES
        }
        t->a += now * (along ? t->of->a_row : 1);
        t->c += now * t->of->c_row;
    }
}

VEC_INLINE void run_lines(const tile *first, const size_t most, const size_t vectors,
                          const bool along, const bool part)
{
    for (size_t l = first->line; l < first->line + first->lines; l++) {
        tile t = *first;
        t.a += l * t.of->a_line;
        t.c += l * t.of->c_line;
        t.end = t.of->segments;
        if (t.of->ranges != NULL) {
            t.first = t.of->ranges[l][0];
            t.end = t.of->ranges[l][1];
        }
        run_line(&t, most, vectors, along, part);
    }
}

#define COLUMNS(name, most, vectors, along, part)                                                  \
    static void name(const tile *t)                                                                \
    {                                                                                              \
        run_lines(t, most, vectors, along, part);                                                  \
    }
COLUMNS(two_part_along, WIDE, 2, true, true)
COLUMNS(two_part_across, WIDE, 2, false, true)
COLUMNS(part_along, TALL, 1, true, true)
COLUMNS(part_across, TALL, 1, false, true)
#if !ALWAYS_PART
COLUMNS(two_along, WIDE, 2, true, false)
COLUMNS(two_across, WIDE, 2, false, false)
#endif

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void run_columns(const sh_matrix_product *p, size_t line, size_t lines, size_t row,
                        size_t rows)
{
    const bool along = p->a_step == 1;
    for (size_t first = 0, now; first < p->columns; first += now) {
        const size_t left = p->columns - first;
        now = left < 2 * VEC ? left : 2 * VEC;
        const tile t = {
            .of = p,
            .a = p->a + row * p->a_row,
            .b = p->b + first / SH_PANEL * p->b_panel + first % SH_PANEL,
            .c = p->c + row * p->c_row + first,
            .bias = p->bias == NULL ? NULL : p->bias + first,
            .line = line,
            .lines = lines,
            .rows = rows,
            .count = now > VEC ? now - VEC : now,
            .masks = !p->b_padded && now % VEC != 0,
        };
#if !ALWAYS_PART
        if (now == 2 * VEC) {
            (along ? two_along : two_across)(&t);
            continue;
        }
#endif
        if (now > VEC)
            (along ? two_part_along : two_part_across)(&t);
        else
            (along ? part_along : part_across)(&t);
    }
}

/* The rows of unpacked b are in different pages, so a few at a time are used for all columns. */
static void run_block(const sh_matrix_product *p, size_t line, size_t lines, size_t row,
                      size_t rows)
{
    const bool packed = p->b_row <= SH_PANEL || p->starts != NULL;
    const size_t most = packed ? p->length : PART;
    size_t done = 0;
    do {
        sh_matrix_product part = *p;
        part.a += done * p->a_step;
        part.b += done * p->b_row;
        part.length = least_of(most, p->length - done);
        part.continues = p->continues || done > 0;
        done += part.length;
        if (done < p->length)
            part.bias = NULL;
        run_columns(&part, line, lines, row, rows);
    } while (done < p->length);
}

/*
 * Blocks have at least BLOCK rows (whole lines if there are several): enough to reuse b, and few
 * enough for the cache.
 */
static void product(const sh_matrix_product *p)
{
    const size_t lines = p->rows >= BLOCK ? 1 : (BLOCK + p->rows - 1) / (p->rows + (p->rows == 0));
    for (size_t l = 0; l < p->lines; l += lines)
        for (size_t i = 0, now; i < p->rows; i += now) {
            const size_t left = p->rows - i;
            now = p->lines > 1 || left < 2 * BLOCK ? left : BLOCK; /* no small rest */
            run_block(p, l, least_of(lines, p->lines - l), i, now);
        }
}
