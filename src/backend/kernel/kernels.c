/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/kernel/kernels.h"

#define DECLARE(name, attributes) extern const sh_kernels sh_kernels_##name;
SH_VARIANT_MAP(DECLARE)

const sh_kernels *const *sh_kernels_all(void)
{
#define POINTER(name, attributes) &sh_kernels_##name,
    static const sh_kernels *const all[] = {SH_VARIANT_MAP(POINTER) NULL};
    return all;
}

sh_status sh_kernels_choose(const sh_kernels **kernels, const char *name)
{
    sh_variant variant;
    SH_TRY(sh_variant_find(&variant, name));
    *kernels = sh_kernels_all()[variant];
    return SH_OK;
}
