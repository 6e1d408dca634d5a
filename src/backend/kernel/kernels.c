/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/kernel/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const sh_kernels sh_kernels_avx512, sh_kernels_avx2, sh_kernels_neon, sh_kernels_plain;

const sh_kernels *const *sh_kernels_all(void)
{
    static const sh_kernels *const all[] = {
#if defined(__x86_64__)
        &sh_kernels_avx512,
        &sh_kernels_avx2,
#elif defined(__aarch64__)
        &sh_kernels_neon,
#endif
        &sh_kernels_plain,
        NULL,
    };
    return all;
}

sh_status sh_kernels_choose(const sh_kernels **kernels, const char *name)
{
    const char *const from = name == NULL ? "SHOAL_VARIANT" : "variant";
    const char *const wanted = name == NULL ? getenv("SHOAL_VARIANT") : name;
    char names[64] = "";
    size_t used = 0;
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++) {
        if (!(*all)->runs())
            continue;
        if (wanted == NULL || *wanted == '\0' || strcmp((*all)->name, wanted) == 0) {
            *kernels = *all;
            return SH_OK;
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used == 0 ? "" : ", ",
                                 (*all)->name);
    }
    return sh_fail(SH_INVALID, "%s '%s': this processor runs %s", from, wanted, names);
}
