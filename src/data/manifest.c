/* SPDX-License-Identifier: Apache-2.0 */
/* Making a manifest writes and parses the packed form: both sides use one parser. One walk over the
 * fields both writes and reads. */
#include "data/manifest.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "shoalman"
#define MAGIC_BYTES 8
#define VERSION 2
#define FINGERPRINT (SH_DIGEST_TEXT - 1)
#define FILES_AT 248
#define FILE_BYTES (SH_CONTENTS_NAME + 8)

/* Callers check bounds. */
typedef struct cursor {
    uint8_t *at;
    bool writes;
} cursor;

static void walk_bytes(cursor *c, void *bytes, size_t count)
{
    if (c->writes)
        memcpy(c->at, bytes, count);
    else
        memcpy(bytes, c->at, count);
    c->at += count;
}

static uint64_t walk_number(cursor *c, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes && c->writes; i++)
        c->at[i] = (uint8_t)(value >> 8 * i);
    value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)c->at[i] << 8 * i;
    c->at += bytes;
    return value;
}

static void walk_u32(cursor *c, uint32_t *number)
{
    *number = (uint32_t)walk_number(c, *number, 4);
}

static void walk_extent(cursor *c, size_t *number)
{
    *number = (uint32_t)walk_number(c, *number, 4);
}

static void walk_reals(cursor *c, float reals[SH_DATASET_CHANNELS_MOST])
{
    for (int i = 0; i < SH_DATASET_CHANNELS_MOST; i++) {
        uint32_t bits;
        memcpy(&bits, &reals[i], sizeof bits);
        walk_u32(c, &bits);
        memcpy(&reals[i], &bits, sizeof bits);
    }
}

static void walk_place(cursor *c, sh_contents_place *place)
{
    walk_u32(c, &place->file);
    place->first = walk_number(c, place->first, 8);
    place->stride = walk_number(c, place->stride, 8);
}

static void walk_head(cursor *c, sh_manifest *m, char magic[MAGIC_BYTES], uint32_t *version)
{
    sh_dataset_info *info = &m->info;
    walk_bytes(c, magic, MAGIC_BYTES);
    walk_u32(c, version);
    walk_u32(c, &m->block_bytes);
    walk_bytes(c, m->kind, SH_MANIFEST_KIND);
    walk_bytes(c, info->fingerprint, FINGERPRINT);
    walk_extent(c, &info->channels);
    walk_extent(c, &info->height);
    walk_extent(c, &info->width);
    info->element = (sh_element)walk_number(c, info->element, 4);
    info->target = (sh_target)walk_number(c, info->target, 4);
    walk_u32(c, &info->outputs);
    for (int split = 0; split < SH_SPLITS; split++)
        walk_u32(c, &info->count[split]);
    walk_reals(c, info->mean);
    walk_reals(c, info->deviation);
    for (int split = 0; split < SH_SPLITS; split++) {
        walk_place(c, &m->contents.sample[split]);
        walk_place(c, &m->contents.target[split]);
    }
    walk_u32(c, &m->contents.target_bytes);
    walk_u32(c, &m->contents.files);
}

static void walk_files(cursor *c, sh_contents *contents)
{
    for (uint32_t i = 0; i < contents->files; i++) {
        walk_bytes(c, contents->file[i].name, SH_CONTENTS_NAME);
        contents->file[i].bytes = walk_number(c, contents->file[i].bytes, 8);
    }
}

static uint64_t count_blocks(uint64_t bytes, uint32_t block_bytes)
{
    return (bytes + block_bytes - 1) / block_bytes;
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
    sh_manifest m = {.info = *sh_dataset_about(dataset),
                     .contents = *contents,
                     .block_bytes = SH_MANIFEST_BLOCK_BYTES};
    char magic[] = MAGIC;
    uint32_t version = VERSION;
    strncpy(m.kind, m.info.name, sizeof m.kind - 1);
    cursor c = {packed, .writes = true};
    walk_head(&c, &m, magic, &version);
    walk_files(&c, &m.contents);
    for (uint32_t i = 0; i < contents->files; i++)
        for (uint64_t at = 0; at < contents->file[i].bytes; at += SH_MANIFEST_BLOCK_BYTES) {
            const uint64_t left = contents->file[i].bytes - at;
            const size_t count =
                left < SH_MANIFEST_BLOCK_BYTES ? (size_t)left : SH_MANIFEST_BLOCK_BYTES;
            SH_TRY_DONE(sh_contents_read(dataset, i, at, buffer, count));
            SH_TRY_DONE(sh_digest_block(c.at, buffer, count));
            c.at += SH_DIGEST_BYTES;
        }
    assert(c.at == packed + bytes);
    status = sh_manifest_parse(manifest, packed, bytes, NULL);
done:
    free(buffer);
    free(packed);
    return status;
}

static sh_status check_head(sh_manifest *m, const char magic[MAGIC_BYTES], uint32_t version)
{
    if (memcmp(magic, MAGIC, MAGIC_BYTES) != 0)
        return sh_fail(SH_FORMAT, "it does not begin with '%s'", MAGIC);
    if (version != VERSION)
        return sh_fail(SH_VERSION, "version %u; this shoal knows %d: update the older one", version,
                       VERSION);
    if (m->block_bytes < SH_MANIFEST_BLOCK_LEAST || m->block_bytes > SH_MANIFEST_BLOCK_MOST ||
        (m->block_bytes & (m->block_bytes - 1)) != 0)
        return sh_fail(SH_FORMAT, "blocks of %u bytes", m->block_bytes);
    /* Letters and digits, then zeros, at least one. */
    static const char zeros[SH_MANIFEST_KIND];
    const size_t length = m->kind[SH_MANIFEST_KIND - 1] == '\0'
                              ? strspn(m->kind, "abcdefghijklmnopqrstuvwxyz0123456789")
                              : 0;
    if (length == 0 || memcmp(m->kind + length, zeros, SH_MANIFEST_KIND - length) != 0)
        return sh_fail(SH_FORMAT, "it does not name the kind of data");
    m->info.name = m->kind;
    if (strspn(m->info.fingerprint, "0123456789abcdef") != FINGERPRINT)
        return sh_fail(SH_FORMAT, "it has no fingerprint");
    if (m->contents.files > SH_CONTENTS_FILES)
        return sh_fail(SH_FORMAT, "it has %u files; 1 to %d can be", m->contents.files,
                       SH_CONTENTS_FILES);
    if (m->packed_bytes - FILES_AT < m->contents.files * (size_t)FILE_BYTES)
        return sh_fail(SH_CORRUPT, "it is cut off in the list of files");
    return SH_OK;
}

static sh_status parse(sh_manifest *m)
{
    if (m->packed_bytes < FILES_AT)
        return sh_fail(SH_CORRUPT, "it is cut off: %zu bytes", m->packed_bytes);
    cursor c = {m->packed, .writes = false};
    char magic[MAGIC_BYTES];
    uint32_t version = 0;
    walk_head(&c, m, magic, &version);
    SH_TRY(check_head(m, magic, version));
    walk_files(&c, &m->contents);
    const sh_dataset_info *info = &m->info;
    const sh_contents *contents = &m->contents;
    SH_TRY(sh_contents_check(contents, info));
    for (size_t i = 0; i < SH_DATASET_CHANNELS_MOST; i++)
        if (!isfinite(info->mean[i]) || !isfinite(info->deviation[i]) ||
            (info->element == SH_ELEMENT_BYTE && i < info->channels && info->deviation[i] <= 0))
            return sh_fail(SH_FORMAT, "channel %zu has no mean and deviation", i);
    uint64_t blocks = 0; /* at most 2^40 / 2^12 and one per file */
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
    const size_t left = m->packed_bytes - (size_t)(c.at - m->packed);
    if (left != (size_t)m->blocks * SH_DIGEST_BYTES)
        return sh_fail(SH_CORRUPT, "its %u blocks have %zu bytes of digests", m->blocks, left);
    m->digests = c.at;
    return SH_OK;
}

sh_status sh_manifest_parse(sh_manifest **manifest, const uint8_t *packed, size_t bytes,
                            const char *root)
{
    if (bytes > SH_MANIFEST_BYTES_MOST)
        return sh_fail(SH_LIMIT, "the manifest of the data has %zu bytes; %u can be read", bytes,
                       SH_MANIFEST_BYTES_MOST);
    sh_manifest *fresh = calloc(1, sizeof *fresh);
    uint8_t *copy = malloc(bytes + 1); /* never 0 bytes */
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
        return sh_fail(SH_CORRUPT, "block %u (%s) has the wrong digest", block, name);
    return SH_OK;
}

void sh_manifest_free(sh_manifest *manifest)
{
    if (manifest == NULL)
        return;
    free(manifest->packed);
    free(manifest);
}
