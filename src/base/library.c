/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

static sh_status load(sh_library *library, void **handle)
{
    pthread_mutex_lock(&library->lock);
    if (library->handle == NULL)
        library->handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    *handle = library->handle;
    pthread_mutex_unlock(&library->lock);
    if (*handle == NULL)
        return sh_fail(SH_UNSUPPORTED, "the library %s is missing: apt-get install %s",
                       library->file, library->package);
    return SH_OK;
}

sh_status sh_library_load(void *table, sh_library *library)
{
    void *handle;
    SH_TRY(load(library, &handle));
    for (size_t i = 0; i < library->name_count; i++) {
        const sh_library_name *each = &library->names[i];
        void *call = dlsym(handle, each->name);
        if (call == NULL)
            return sh_fail(SH_UNSUPPORTED, "the library %s has no %s: apt-get install %s",
                           library->file, each->name, library->package);
        memcpy((char *)table + each->offset, &call, sizeof call);
    }
    return SH_OK;
}
