/* SPDX-License-Identifier: Apache-2.0 */
#include "data/noise.h"

#include <stdio.h>
#include <stdlib.h>

#include "data/dataset_impl.h"

/* A linear congruence is noise enough for kernels, and takes next to no time (the multiplier is
 * that of Knuth's MMIX). */
static sh_status read_noise(const sh_dataset *dataset, sh_split split, uint32_t index,
                            float *pixels, int32_t *label)
{
    const sh_dataset_info *info = &dataset->info;
    const size_t elements = info->channels * info->height * info->width;
    uint64_t state = (uint64_t)index * 2 + (uint64_t)split;
    for (size_t i = 0; i < elements; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        pixels[i] = (float)(int32_t)(state >> 32) * 0x1p-31f;
    }
    *label = (int32_t)(index % info->classes);
    return SH_OK;
}

static void close_noise(sh_dataset *dataset)
{
    free(dataset);
}

sh_status sh_noise_open(sh_dataset **dataset, const sh_dataset_info *info)
{
    static const sh_dataset_ops ops = {
        .name = "noise", .usage = "noise", .read = read_noise, .close = close_noise};
    sh_dataset *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "samples of noise");
    fresh->ops = &ops;
    fresh->info = *info;
    fresh->info.name = ops.name;
    snprintf(fresh->info.fingerprint, sizeof fresh->info.fingerprint, "noise");
    *dataset = fresh;
    return SH_OK;
}
