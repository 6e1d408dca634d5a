/* SPDX-License-Identifier: Apache-2.0 */
#include "data/packed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/extent.h"
#include "data/packed_head.h"
#include "data/packing.h"
#include "data/stored.h"

static sh_status fill(sh_stored *set, int fd, const char *path)
{
    const sh_stored_part *part;
    uint8_t bytes[SH_PACKED_ABOUT_AT];
    sh_packed_head head;
    SH_TRY(sh_stored_take(&part, set, sh_stored_file(set, "packed"), fd, path));
    SH_TRY(sh_extent_read_all(fd, 0, bytes, sizeof bytes));
    SH_TRY(sh_packed_decode(&head, bytes));
    if (part->bytes != head.bytes)
        return sh_fail(SH_CORRUPT,
                       "is a damaged packed set: it has %" PRIu64 " of %" PRIu64 " bytes",
                       part->bytes, head.bytes);
    char *about = malloc((size_t)head.about_bytes + 1);
    if (about == NULL)
        return sh_fail_memory(head.about_bytes, "the description of the data");
    set->base.about = about;
    about[head.about_bytes] = '\0';
    SH_TRY(sh_extent_read_all(fd, SH_PACKED_ABOUT_AT, (uint8_t *)about, head.about_bytes));
    const char *name = set->base.info.name;
    set->base.info = head.info;
    set->base.info.name = name;
    set->contents = sh_packed_contents(&head);
    return SH_OK;
}

sh_status sh_packed_open(sh_dataset **dataset, const sh_format *format, int fd, const char *path)
{
    sh_stored *set;
    const sh_status made = sh_stored_new(&set, format);
    if (made != SH_OK) {
        close(fd);
        return made;
    }
    const sh_status status = fill(set, fd, path);
    if (status != SH_OK) {
        sh_dataset_close(&set->base);
        return sh_fail_in(status, "%s", path);
    }
    *dataset = &set->base;
    return SH_OK;
}

sh_status sh_packed_dataset(sh_dataset **dataset, const sh_format *format, const char *argument,
                            const sh_read_options *options)
{
    if (argument == NULL || argument[0] == '\0')
        return sh_fail(SH_INVALID, "%s: which one? write %s", format->name, format->usage);
    int fd;
    char path[SH_CACHE_PATH];
    sh_source *source;
    SH_TRY(format->look(&source, format, argument, options));
    const sh_status status =
        sh_fail_in(sh_packing_make(&fd, path, source, options), "%s:%s", format->name, argument);
    sh_source_close(source);
    SH_TRY(status);
    return sh_packed_open(dataset, format, fd, path);
}
