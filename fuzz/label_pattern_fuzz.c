/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary text as a label form, up to the first newline, and the rest as a path. The text
 * of a placeholder must be a part of the path.
 */
#include <stdlib.h>
#include <string.h>

#include "data/label_pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[1024];
    sh_label_pattern form;
    sh_label_match match;
    const size_t count = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, count);
    text[count] = '\0';
    char *path = strchr(text, '\n');
    if (path == NULL)
        return 0;
    *path++ = '\0';
    if (sh_label_pattern_parse(&form, text) != SH_OK ||
        sh_label_pattern_match(&match, &form, path) != SH_OK)
        return 0;
    if (strstr(path, match.label) == NULL || strstr(path, match.group) == NULL ||
        form.has_label != (match.label[0] != '\0') || form.has_group != (match.group[0] != '\0'))
        abort();
    return 0;
}
