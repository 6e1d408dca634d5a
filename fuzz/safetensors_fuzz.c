/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as a safetensors file: opened, listed, read and verified. */
#include <stdint.h>
#include <stdlib.h>

#include "store/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sh_safetensors *file;
    if (sh_safetensors_open_bytes(&file, "input", data, size) != SH_OK)
        return 0;
    size_t total = 0;
    for (size_t i = 0; i < sh_safetensors_count(file); i++) {
        size_t index;
        sh_type type;
        /* Names differ, so each finds itself. */
        if (sh_safetensors_find(&index, file, sh_safetensors_name(file, i)) != SH_OK || index != i)
            abort();
        if (sh_safetensors_type(&type, file, i) != SH_OK)
            continue;
        const size_t bytes = sh_type_bytes(&type);
        total += bytes;
        void *buffer = malloc(bytes);
        /* The header was checked against the size, so what opens can be read. */
        if (buffer == NULL || sh_safetensors_read(file, i, buffer, bytes) != SH_OK)
            abort();
        free(buffer);
    }
    if (total > size)
        abort();
    const sh_status status = sh_safetensors_verify(file);
    if (status == SH_OK && sh_safetensors_metadata(file, SH_SAFETENSORS_CHECKSUM) == NULL)
        abort();
    sh_safetensors_close(file);
    return 0;
}
