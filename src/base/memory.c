/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define CHUNK_BYTES 16384
#define HUGE_PAGE ((size_t)2 << 20) /* the smallest on x86-64 and 64-bit Arm */
#define HUGE_BLOCK (2 * HUGE_PAGE)  /* smaller blocks would hold hardly any */

struct sh_arena_chunk {
    struct sh_arena_chunk *next;
    size_t used;
    size_t bytes;
    _Alignas(max_align_t) unsigned char data[];
};

/* Callers pass whole huge pages, so that no more memory becomes resident than is used. */
static void prefer_huge_pages(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(block, bytes, MADV_HUGEPAGE); /* failure costs only speed */
#else
    (void)block;
    (void)bytes;
#endif
}

sh_status sh_block_new(void **block, size_t bytes, const char *purpose)
{
    if (bytes > SIZE_MAX - SH_ALIGNMENT)
        return sh_fail_memory(bytes, purpose);
    const size_t rounded = bytes == 0 ? SH_ALIGNMENT : sh_align_up(bytes);
    const bool is_huge = rounded >= HUGE_BLOCK;
    void *fresh = NULL;
    if (posix_memalign(&fresh, is_huge ? HUGE_PAGE : SH_ALIGNMENT, rounded) != 0)
        return sh_fail_memory(bytes, purpose);
    if (is_huge)
        prefer_huge_pages(fresh, rounded / HUGE_PAGE * HUGE_PAGE);
    memset(fresh, 0, rounded);
    *block = fresh;
    return SH_OK;
}

sh_status sh_pages_new(void **pages, size_t bytes, const char *purpose)
{
    const bool is_huge = bytes >= HUGE_BLOCK;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), spare = is_huge ? HUGE_PAGE - page : 0;
    if (bytes > SIZE_MAX / 2)
        return sh_fail_memory(bytes, purpose);
    const size_t rounded = (bytes / page + 1) * page;
    unsigned char *fresh =
        mmap(NULL, rounded + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED)
        return sh_fail_memory(bytes, purpose);
    if (is_huge) { /* align to a huge page; return the rest */
        const size_t before = (HUGE_PAGE - (uintptr_t)fresh % HUGE_PAGE) % HUGE_PAGE;
        if (before > 0)
            munmap(fresh, before);
        if (before < spare)
            munmap(fresh + before + rounded, spare - before);
        fresh += before;
        prefer_huge_pages(fresh, bytes / HUGE_PAGE * HUGE_PAGE);
    }
    *pages = fresh;
    return SH_OK;
}

void sh_pages_free(void *pages, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (pages != NULL)
        munmap(pages, (bytes / page + 1) * page);
}

static bool has_text_relocations(const struct dl_phdr_info *object)
{
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(object->dlpi_addr + part->p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_TEXTREL ||
                (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0))
                return true;
    }
    return false;
}

/* The file holds all bytes of a read-only segment, so its pages can be dropped. */
static int drop_constants(struct dl_phdr_info *object, size_t bytes, void *context)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)bytes;
    (void)context;
    if (has_text_relocations(object))
        return 0;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const uintptr_t start = object->dlpi_addr + part->p_vaddr;
        const uintptr_t first = (start + page - 1) / page * page;
        const uintptr_t end = (start + part->p_filesz) / page * page;
        if (part->p_type == PT_LOAD && (part->p_flags & PF_W) == 0 && first < end)
            (void)madvise((void *)first, end - first, MADV_DONTNEED);
    }
    return 0;
}

/* A debugger has its breakpoints in the code. */
static bool is_debugged(void)
{
    char line[128];
    int tracer = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "TracerPid: %d", &tracer) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return tracer != 0;
}

void sh_memory_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    if (!is_debugged())
        dl_iterate_phdr(drop_constants, NULL);
}

sh_status sh_array_grow(void **items, size_t *capacity, size_t need, size_t item_bytes)
{
    if (need <= *capacity)
        return SH_OK;
    size_t wanted = *capacity < 8 ? 8 : *capacity * 2;
    if (wanted < need)
        wanted = need;
    size_t bytes;
    if (!sh_size_mul(wanted, item_bytes, &bytes))
        return sh_fail_memory(SIZE_MAX, "a growing list");
    void *grown = realloc(*items, bytes);
    if (grown == NULL)
        return sh_fail_memory(bytes, "a growing list");
    *items = grown;
    *capacity = wanted;
    return SH_OK;
}

void sh_arena_init(sh_arena *arena)
{
    arena->chunks = NULL;
}

void sh_arena_release(sh_arena *arena)
{
    struct sh_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        struct sh_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    arena->chunks = NULL;
}

void *sh_arena_take(sh_arena *arena, size_t count, size_t item_bytes)
{
    size_t bytes;
    if (!sh_size_mul(count, item_bytes, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    const size_t align = _Alignof(max_align_t);
    bytes = (bytes + align - 1) / align * align;
    struct sh_arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->bytes - chunk->used < bytes) {
        const size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        chunk = calloc(1, sizeof *chunk + room); /* no overflow: bytes <= SIZE_MAX / 2 */
        if (chunk == NULL)
            return NULL;
        chunk->bytes = room;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    void *item = chunk->data + chunk->used;
    chunk->used += bytes;
    return item;
}

char *sh_arena_text(sh_arena *arena, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = sh_arena_take(arena, bytes, 1);
    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}
