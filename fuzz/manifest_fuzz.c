/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest of a data set: an accepted one has every block and sample within a file.
 */
#include <stdlib.h>

#include "data/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_block(const sh_manifest *m, uint32_t block)
{
    const sh_block b = sh_manifest_block(m, block);
    const uint64_t bytes = m->contents.file[b.file].bytes;
    if (b.bytes == 0 || b.bytes > m->block_bytes || b.offset >= bytes || b.bytes > bytes - b.offset)
        abort();
    if (sh_manifest_find(m, b.file, b.offset + b.bytes - 1) != block)
        abort();
    const uint8_t *digest = m->digests + (size_t)block * SH_DIGEST_BYTES;
    if (digest < m->packed || digest + SH_DIGEST_BYTES > m->packed + m->packed_bytes)
        abort();
}

static void check_place(const sh_manifest *m, const sh_contents_place *place, uint32_t count,
                        uint64_t bytes)
{
    const uint64_t last = place->first + (count - 1) * place->stride;
    (void)sh_manifest_find(m, place->file, place->first);
    (void)sh_manifest_find(m, place->file, last + bytes - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sh_manifest *m;
    if (sh_manifest_parse(&m, data, size, NULL) != SH_OK) {
        if (sh_message()[0] == '\0')
            abort(); /* a failure without a message */
        return 0;
    }
    for (uint32_t block = 0; block < m->blocks; block++)
        check_block(m, block);
    for (int split = 0; split < SH_SPLITS; split++) {
        check_place(m, &m->contents.sample[split], m->info.count[split],
                    sh_dataset_bytes(&m->info));
        if (m->contents.target_bytes > 0)
            check_place(m, &m->contents.target[split], m->info.count[split],
                        m->contents.target_bytes);
    }
    sh_manifest *again;
    if (sh_manifest_parse(&again, m->packed, m->packed_bytes, m->root) != SH_OK)
        abort();
    sh_manifest_free(again);
    sh_manifest_free(m);
    return 0;
}
