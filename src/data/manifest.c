/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packed form is the manifest: making one writes the packed form and takes it apart again, so
 * both sides hold what the same parser let through, and the digests are used where they lie.
 */
#include "data/manifest.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "shoalman"
#define MAGIC_BYTES 8
#define VERSION 1
#define FINGERPRINT (SH_DIGEST_TEXT - 1)
#define FILES_AT 236 /* behind the number of files */
#define FILE_BYTES (SH_CONTENTS_NAME + 8)

/* A place in a packed form; bounds are checked by who moves it. */
typedef struct cursor {
    uint8_t *at;
} cursor;

static void put(cursor *c, const void *bytes, size_t count)
{
    memcpy(c->at, bytes, count);
    c->at += count;
}

static void put_number(cursor *c, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *c->at++ = (uint8_t)(value >> 8 * i);
}

static void put_real(cursor *c, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_number(c, bits, 4);
}

static void put_place(cursor *c, const sh_contents_place *place)
{
    put_number(c, place->file, 4);
    put_number(c, place->first, 8);
    put_number(c, place->stride, 8);
}

static uint64_t take_number(const uint8_t **at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t) * (*at)++ << 8 * i;
    return value;
}

static uint32_t take_u32(const uint8_t **at)
{
    return (uint32_t)take_number(at, 4);
}

static float take_real(const uint8_t **at)
{
    const uint32_t bits = take_u32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void take_place(const uint8_t **at, sh_contents_place *place)
{
    place->file = take_u32(at);
    place->first = take_number(at, 8);
    place->stride = take_number(at, 8);
}

static void put_head(cursor *c, const sh_dataset_info *info, const sh_contents *contents)
{
    char kind[SH_MANIFEST_KIND] = "";
    strncpy(kind, info->name, sizeof kind - 1);
    put(c, MAGIC, MAGIC_BYTES);
    put_number(c, VERSION, 4);
    put_number(c, SH_MANIFEST_BLOCK_BYTES, 4);
    put(c, kind, sizeof kind);
    put(c, info->fingerprint, FINGERPRINT);
    put_number(c, info->channels, 4);
    put_number(c, info->height, 4);
    put_number(c, info->width, 4);
    put_number(c, info->classes, 4);
    for (int split = 0; split < SH_SPLITS; split++)
        put_number(c, info->count[split], 4);
    for (int i = 0; i < SH_DATASET_CHANNELS_MOST; i++)
        put_real(c, info->mean[i]);
    for (int i = 0; i < SH_DATASET_CHANNELS_MOST; i++)
        put_real(c, info->deviation[i]);
    for (int split = 0; split < SH_SPLITS; split++) {
        put_place(c, &contents->image[split]);
        put_place(c, &contents->label[split]);
    }
    put_number(c, contents->files, 4);
    for (uint32_t i = 0; i < contents->files; i++) {
        put(c, contents->file[i].name, SH_CONTENTS_NAME);
        put_number(c, contents->file[i].bytes, 8);
    }
}

static uint64_t count_blocks(uint64_t bytes, uint32_t block_bytes)
{
    return (bytes + block_bytes - 1) / block_bytes;
}

/* Reads a file block by block; `c` gets the digests. */
static sh_status put_digests(cursor *c, const sh_dataset *dataset, uint32_t file, uint64_t bytes,
                             uint8_t *buffer)
{
    for (uint64_t at = 0; at < bytes; at += SH_MANIFEST_BLOCK_BYTES) {
        const uint64_t left = bytes - at;
        const size_t count =
            left < SH_MANIFEST_BLOCK_BYTES ? (size_t)left : SH_MANIFEST_BLOCK_BYTES;
        SH_TRY(sh_contents_read(dataset, file, at, buffer, count));
        SH_TRY(sh_digest_block(c->at, buffer, count));
        c->at += SH_DIGEST_BYTES;
    }
    return SH_OK;
}

sh_status sh_manifest_make(sh_manifest **manifest, const sh_dataset *dataset)
{
    const sh_contents *contents;
    SH_TRY(sh_contents_of(&contents, dataset));
    SH_TRY(sh_contents_check(contents, sh_dataset_about(dataset)));
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < contents->files; i++)
        blocks += count_blocks(contents->file[i].bytes, SH_MANIFEST_BLOCK_BYTES);
    if (blocks > SH_MANIFEST_BLOCKS_MOST)
        return sh_fail(SH_LIMIT,
                       "%s is too large to be sent to other devices: more than %llu bytes; copy "
                       "it to them",
                       sh_dataset_about(dataset)->name,
                       (unsigned long long)SH_MANIFEST_BLOCKS_MOST * SH_MANIFEST_BLOCK_BYTES);
    const size_t bytes =
        FILES_AT + contents->files * (size_t)FILE_BYTES + (size_t)blocks * SH_DIGEST_BYTES;
    uint8_t *packed = malloc(bytes), *buffer = malloc(SH_MANIFEST_BLOCK_BYTES);
    sh_status status;
    if (packed == NULL || buffer == NULL) {
        status = sh_fail_memory(bytes + SH_MANIFEST_BLOCK_BYTES, "the manifest of the data");
        goto done;
    }
    cursor c = {packed};
    put_head(&c, sh_dataset_about(dataset), contents);
    for (uint32_t i = 0; i < contents->files; i++)
        SH_TRY_DONE(put_digests(&c, dataset, i, contents->file[i].bytes, buffer));
    assert(c.at == packed + bytes);
    status = sh_manifest_parse(manifest, packed, bytes, NULL);
done:
    free(buffer);
    free(packed);
    return status;
}

static bool text_is(const char *text, size_t bytes, const char *letters)
{
    for (size_t i = 0; i < bytes; i++)
        if (text[i] == '\0' || strchr(letters, text[i]) == NULL)
            return false;
    return true;
}

/* What lies before the number of files; `at` has all of it. */
static sh_status parse_head(sh_manifest *m, const uint8_t **at)
{
    if (memcmp(*at, MAGIC, MAGIC_BYTES) != 0)
        return sh_fail(SH_FORMAT, "it does not begin with '%s'", MAGIC);
    *at += MAGIC_BYTES;
    const uint32_t version = take_u32(at);
    if (version != VERSION)
        return sh_fail(SH_VERSION, "version %u; this shoal knows %d: update the older one", version,
                       VERSION);
    m->block_bytes = take_u32(at);
    if (m->block_bytes < SH_MANIFEST_BLOCK_LEAST || m->block_bytes > SH_MANIFEST_BLOCK_MOST ||
        (m->block_bytes & (m->block_bytes - 1)) != 0)
        return sh_fail(SH_FORMAT, "blocks of %u bytes", m->block_bytes);
    sh_dataset_info *info = &m->info;
    memcpy(m->kind, *at, SH_MANIFEST_KIND);
    *at += SH_MANIFEST_KIND;
    /* Letters and digits, then zeros to the end, at least one. */
    static const char zeros[SH_MANIFEST_KIND];
    const size_t length = strnlen(m->kind, SH_MANIFEST_KIND);
    if (length == 0 || length == SH_MANIFEST_KIND ||
        !text_is(m->kind, length, "abcdefghijklmnopqrstuvwxyz0123456789") ||
        memcmp(m->kind + length, zeros, SH_MANIFEST_KIND - length) != 0)
        return sh_fail(SH_FORMAT, "it does not name the kind of data");
    info->name = m->kind;
    memcpy(info->fingerprint, *at, FINGERPRINT);
    *at += FINGERPRINT;
    if (!text_is(info->fingerprint, FINGERPRINT, "0123456789abcdef"))
        return sh_fail(SH_FORMAT, "it has no fingerprint");
    info->channels = take_u32(at);
    info->height = take_u32(at);
    info->width = take_u32(at);
    info->classes = take_u32(at);
    for (int split = 0; split < SH_SPLITS; split++)
        info->count[split] = take_u32(at);
    for (int i = 0; i < SH_DATASET_CHANNELS_MOST; i++)
        info->mean[i] = take_real(at);
    for (int i = 0; i < SH_DATASET_CHANNELS_MOST; i++)
        info->deviation[i] = take_real(at);
    for (int split = 0; split < SH_SPLITS; split++) {
        take_place(at, &m->contents.image[split]);
        take_place(at, &m->contents.label[split]);
    }
    return SH_OK;
}

/* The rest of the head, then counts the blocks. */
static sh_status parse_files(sh_manifest *m, const uint8_t **at)
{
    sh_contents *contents = &m->contents;
    contents->files = take_u32(at);
    if (contents->files > SH_CONTENTS_FILES)
        return sh_fail(SH_FORMAT, "it has %u files; 1 to %d can be", contents->files,
                       SH_CONTENTS_FILES);
    if (m->packed_bytes - (size_t)(*at - m->packed) < contents->files * (size_t)FILE_BYTES)
        return sh_fail(SH_CORRUPT, "it is cut off in the list of files");
    for (uint32_t i = 0; i < contents->files; i++) {
        memcpy(contents->file[i].name, *at, SH_CONTENTS_NAME);
        *at += SH_CONTENTS_NAME;
        contents->file[i].bytes = take_number(at, 8);
    }
    SH_TRY(sh_contents_check(contents, &m->info));
    const sh_dataset_info *info = &m->info;
    for (size_t i = 0; i < SH_DATASET_CHANNELS_MOST; i++)
        if (!isfinite(info->mean[i]) || !isfinite(info->deviation[i]) ||
            (i < info->channels && info->deviation[i] <= 0))
            return sh_fail(SH_FORMAT, "channel %zu has no mean and deviation", i);
    uint64_t blocks = 0; /* at most 2^40 / 2^12 and one a file */
    for (uint32_t i = 0; i < contents->files; i++) {
        m->first_block[i] = (uint32_t)blocks;
        blocks += count_blocks(contents->file[i].bytes, m->block_bytes);
        m->content_bytes += contents->file[i].bytes;
    }
    if (blocks > SH_MANIFEST_BLOCKS_MOST)
        return sh_fail(SH_LIMIT, "it has more than %u blocks", SH_MANIFEST_BLOCKS_MOST);
    m->blocks = (uint32_t)blocks;
    for (uint32_t i = contents->files; i <= SH_CONTENTS_FILES; i++)
        m->first_block[i] = m->blocks;
    return SH_OK;
}

static sh_status parse(sh_manifest *m)
{
    if (m->packed_bytes < FILES_AT)
        return sh_fail(SH_CORRUPT, "it is cut off: %zu bytes", m->packed_bytes);
    const uint8_t *at = m->packed;
    SH_TRY(parse_head(m, &at));
    SH_TRY(parse_files(m, &at));
    const size_t left = m->packed_bytes - (size_t)(at - m->packed);
    if (left != (size_t)m->blocks * SH_DIGEST_BYTES)
        return sh_fail(SH_CORRUPT, "its %u blocks have %zu bytes of digests", m->blocks, left);
    m->digests = at;
    return SH_OK;
}

sh_status sh_manifest_parse(sh_manifest **manifest, const uint8_t *packed, size_t bytes,
                            const char *root)
{
    if (bytes > SH_MANIFEST_BYTES_MOST)
        return sh_fail(SH_LIMIT, "the manifest of the data has %zu bytes; %u can be read", bytes,
                       SH_MANIFEST_BYTES_MOST);
    sh_manifest *fresh = calloc(1, sizeof *fresh);
    uint8_t *copy = malloc(bytes + 1); /* none of 0 bytes */
    if (fresh == NULL || copy == NULL) {
        free(fresh);
        free(copy);
        return sh_fail_memory(sizeof *fresh + bytes, "the manifest of the data");
    }
    if (bytes > 0)
        memcpy(copy, packed, bytes);
    fresh->packed = copy;
    fresh->packed_bytes = bytes;
    sh_status status;
    uint8_t digest[SH_DIGEST_BYTES];
    SH_TRY_DONE(sh_digest_block(digest, copy, bytes));
    sh_digest_print(fresh->root, digest);
    if (root != NULL && strcmp(root, fresh->root) != 0)
        SH_TRY_DONE(
            sh_fail(SH_CORRUPT, "its digest is %.16s..., expected %.16s...", fresh->root, root));
    SH_TRY_DONE(parse(fresh));
    *manifest = fresh;
    return SH_OK;
done:
    sh_manifest_free(fresh);
    return sh_fail_in(status, "the manifest of the data");
}

sh_block sh_manifest_block(const sh_manifest *manifest, uint32_t block)
{
    assert(block < manifest->blocks);
    uint32_t file = 0;
    while (block >= manifest->first_block[file + 1])
        file++;
    const uint64_t offset = (uint64_t)(block - manifest->first_block[file]) * manifest->block_bytes;
    const uint64_t left = manifest->contents.file[file].bytes - offset;
    return (sh_block){
        .file = file,
        .offset = offset,
        .bytes = left < manifest->block_bytes ? (uint32_t)left : manifest->block_bytes,
    };
}

uint32_t sh_manifest_find(const sh_manifest *manifest, uint32_t file, uint64_t offset)
{
    assert(file < manifest->contents.files && offset < manifest->contents.file[file].bytes);
    return manifest->first_block[file] + (uint32_t)(offset / manifest->block_bytes);
}

sh_status sh_manifest_verify(const sh_manifest *manifest, uint32_t block, const uint8_t *bytes,
                             size_t count)
{
    const sh_block about = sh_manifest_block(manifest, block);
    const char *name = manifest->contents.file[about.file].name;
    if (count != about.bytes)
        return sh_fail(SH_CORRUPT, "block %u (%s) has %zu bytes instead of %u", block, name, count,
                       about.bytes);
    uint8_t digest[SH_DIGEST_BYTES];
    SH_TRY(sh_digest_block(digest, bytes, count));
    if (memcmp(digest, manifest->digests + (size_t)block * SH_DIGEST_BYTES, sizeof digest) != 0)
        return sh_fail(SH_CORRUPT, "block %u (%s) is not what it should be: its digest is another",
                       block, name);
    return SH_OK;
}

void sh_manifest_free(sh_manifest *manifest)
{
    if (manifest == NULL)
        return;
    free(manifest->packed);
    free(manifest);
}
