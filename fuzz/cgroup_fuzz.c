/* SPDX-License-Identifier: Apache-2.0 */
/* Two texts separated by a zero byte. A group that is found, and its parents, are below its mount.
 */
#include "monitor/cgroup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void climb(sh_cgroup *place)
{
    size_t length = strlen(place->folder);
    if (place->version < 1 || place->version > 2 || place->mount_bytes > length)
        abort();
    while (sh_cgroup_up(place)) {
        const size_t shorter = strlen(place->folder);
        if (shorter >= length || shorter < place->mount_bytes)
            abort();
        length = shorter;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const controllers[] = {"cpu", "memory", "cpuacct"};
    char *texts = malloc(size + 2);
    if (texts == NULL)
        abort();
    memcpy(texts, data, size);
    texts[size] = texts[size + 1] = '\0'; /* the second may be missing */
    for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++) {
        sh_cgroup place;
        if (sh_cgroup_find(&place, texts, texts + strlen(texts) + 1, controllers[i]))
            climb(&place);
    }
    free(texts);
    return 0;
}
