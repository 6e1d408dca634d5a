/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/device_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

const char *sh_gpu_forbidden_file(const char *const *files)
{
    for (; *files != NULL; files++)
        if (faccessat(AT_FDCWD, *files, R_OK | W_OK, AT_EACCESS) != 0 && errno == EACCES)
            return *files;
    return NULL;
}
