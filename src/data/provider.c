/* SPDX-License-Identifier: Apache-2.0 */
#include "data/provider.h"

#include <pthread.h>
#include <stdlib.h>

struct sh_provider {
    const sh_dataset *dataset;
    pthread_mutex_t making; /* guards the manifest; held while it is made */
    sh_manifest *manifest;
    pthread_mutex_t lock; /* guards the counts */
    sh_provider_counts counts;
};

sh_status sh_provider_new(sh_provider **provider, const sh_dataset *dataset)
{
    sh_provider *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the provider of data");
    fresh->dataset = dataset;
    pthread_mutex_init(&fresh->making, NULL);
    pthread_mutex_init(&fresh->lock, NULL);
    *provider = fresh;
    return SH_OK;
}

sh_status sh_provider_manifest(const sh_manifest **manifest, sh_provider *provider)
{
    pthread_mutex_lock(&provider->making);
    sh_status status = SH_OK;
    if (provider->manifest == NULL)
        status = sh_manifest_make(&provider->manifest, provider->dataset);
    if (status == SH_OK)
        *manifest = provider->manifest;
    pthread_mutex_unlock(&provider->making);
    return status;
}

sh_status sh_provider_read(sh_provider *provider, const sh_block *block, uint8_t *bytes)
{
    if (block->bytes == 0 || block->bytes > SH_MANIFEST_BLOCK_MOST)
        return sh_fail(SH_INVALID, "a block of %u bytes: 1 to %d can be asked for", block->bytes,
                       SH_MANIFEST_BLOCK_MOST);
    SH_TRY(sh_contents_read(provider->dataset, block->file, block->offset, bytes, block->bytes));
    pthread_mutex_lock(&provider->lock);
    provider->counts.blocks++;
    provider->counts.bytes += block->bytes;
    pthread_mutex_unlock(&provider->lock);
    return SH_OK;
}

sh_provider_counts sh_provider_counted(sh_provider *provider)
{
    pthread_mutex_lock(&provider->lock);
    const sh_provider_counts counts = provider->counts;
    pthread_mutex_unlock(&provider->lock);
    return counts;
}

void sh_provider_free(sh_provider *provider)
{
    if (provider == NULL)
        return;
    sh_manifest_free(provider->manifest);
    pthread_mutex_destroy(&provider->making);
    pthread_mutex_destroy(&provider->lock);
    free(provider);
}
