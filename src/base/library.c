/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

static sh_status open_library(void **handle, const sh_library *library)
{
    *handle = dlopen(library->file, RTLD_NOW | (library->has_plugins ? RTLD_GLOBAL : RTLD_LOCAL));
    if (*handle == NULL)
        return sh_fail(SH_UNSUPPORTED, "the library %s is missing: apt-get install %s",
                       library->file, library->package);
    return SH_OK;
}

static sh_status look_up(void *table, void *handle, const sh_library *library)
{
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

sh_status sh_library_load(void *table, sh_library *library)
{
    pthread_mutex_lock(&library->lock);
    const sh_status status =
        library->handle == NULL ? open_library(&library->handle, library) : SH_OK;
    void *handle = library->handle;
    pthread_mutex_unlock(&library->lock);
    SH_TRY(status);
    return look_up(table, handle, library);
}

sh_status sh_library_load_once(void *table, sh_library *library)
{
    void *handle;
    sh_status status = SH_OK;
    pthread_mutex_lock(&library->lock);
    if (library->handle == NULL) {
        status = open_library(&handle, library);
        if (status == SH_OK)
            status = look_up(table, handle, library);
        if (status == SH_OK)
            library->handle = handle;
    }
    pthread_mutex_unlock(&library->lock);
    return status;
}
