/* SPDX-License-Identifier: Apache-2.0 */
#include "data/cifar.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/extent.h"

#define RECORD_MOST (SH_CIFAR_LABELS_MOST + SH_CIFAR_PIXELS)
#define CHUNK                                                                                      \
    16 /* records looked at in one go: a system call each would cost more than the copy            \
        */

const sh_cifar_kind sh_cifar10 = {"cifar10", "CIFAR-10", 1, {10}};
const sh_cifar_kind sh_cifar100 = {"cifar100", "CIFAR-100", 2, {20, 100}};

static const sh_cifar_kind *other_kind(const sh_cifar_kind *kind)
{
    return kind == &sh_cifar10 ? &sh_cifar100 : &sh_cifar10;
}

static sh_status check_size(uint32_t *count, uint64_t bytes, const sh_cifar_kind *kind)
{
    const uint64_t record = sh_cifar_record_bytes(kind), whole = bytes / record;
    const sh_cifar_kind *other = other_kind(kind);
    if (bytes == 0)
        return sh_fail(SH_FORMAT, "is empty; copy or download it again");
    if (bytes % record != 0 && bytes % sh_cifar_record_bytes(other) == 0)
        return sh_fail(SH_FORMAT,
                       "its %" PRIu64 " bytes are no whole number of %s's records of %" PRIu64
                       ", but of %s's of %zu: write %s:DIR",
                       bytes, kind->title, record, other->title, sh_cifar_record_bytes(other),
                       other->name);
    if (bytes % record != 0)
        return sh_fail(SH_CORRUPT,
                       "is cut off or damaged: its %" PRIu64 " bytes are %" PRIu64
                       " records of %" PRIu64 " and %" PRIu64
                       " bytes too many; copy or download it again",
                       bytes, whole, record, bytes % record);
    if (whole > UINT32_MAX)
        return sh_fail(SH_LIMIT, "holds %" PRIu64 " records; at most %u can be read", whole,
                       UINT32_MAX);
    *count = (uint32_t)whole;
    return SH_OK;
}

static sh_status examine(sh_cifar_file *file)
{
    struct stat about;
    if (fstat(file->fd, &about) != 0)
        return sh_fail_errno(errno, "cannot examine it");
    if (!S_ISREG(about.st_mode))
        return sh_fail(SH_FORMAT, "is not a regular file");
    return check_size(&file->count, (uint64_t)about.st_size, file->kind);
}

sh_status sh_cifar_adopt(sh_cifar_file *file, int fd, const char *name, const sh_cifar_kind *kind)
{
    sh_cifar_file fresh = {.fd = fd, .kind = kind};
    sh_status status = examine(&fresh);
    if (status == SH_OK) {
        fresh.name = strdup(name);
        if (fresh.name == NULL)
            status = sh_fail_memory(strlen(name) + 1, "the name of a data file");
    }
    if (status != SH_OK) {
        close(fd);
        return sh_fail_in(status, "%s", name);
    }
    *file = fresh;
    return SH_OK;
}

sh_status sh_cifar_open(sh_cifar_file *file, const char *path, const sh_cifar_kind *kind)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return sh_fail_errno(errno, "%s: cannot open it", path);
    return sh_cifar_adopt(file, fd, path, kind);
}

static sh_status read_records(const sh_cifar_file *file, uint32_t first, uint32_t count,
                              uint8_t *bytes)
{
    const size_t record_bytes = sh_cifar_record_bytes(file->kind), wanted = count * record_bytes;
    size_t got = 0;
    SH_TRY(sh_fail_in(sh_extent_read(&got, file->fd, (uint64_t)first * record_bytes, bytes, wanted),
                      "%s: record %u", file->name, first));
    if (got < wanted)
        return sh_fail(SH_CORRUPT, "%s: record %u: became shorter while it was in use", file->name,
                       first + (uint32_t)(got / record_bytes));
    return SH_OK;
}

/* The place of the first label that is out of range; kind->labels where all are in it. */
static uint32_t find_wrong(const sh_cifar_kind *kind, const uint8_t *labels)
{
    uint32_t i = 0;
    while (i < kind->labels && labels[i] < kind->classes[i])
        i++;
    return i;
}

static const char *label_name(const sh_cifar_kind *kind, uint32_t place)
{
    return kind->labels == 1 ? "label" : place == 0 ? "coarse label" : "fine label";
}

/* Reads and checks records, as sh_cifar_check. */
static sh_status check_chunk(const sh_cifar_file *file, uint32_t first, uint32_t count,
                             sh_cifar_label_fn *each, void *context)
{
    const sh_cifar_kind *kind = file->kind;
    uint8_t bytes[CHUNK * RECORD_MOST];
    SH_TRY(read_records(file, first, count, bytes));
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *labels = bytes + i * sh_cifar_record_bytes(kind);
        const uint32_t wrong = find_wrong(kind, labels);
        if (wrong < kind->labels)
            return sh_fail(SH_FORMAT,
                           "%s: record %u has %s %u, out of range 0 to %u; is this a file of %s, "
                           "binary version? copy or download it again",
                           file->name, first + i, label_name(kind, wrong), labels[wrong],
                           kind->classes[wrong] - 1, kind->title);
        if (each != NULL)
            each(context, labels[kind->labels - 1]);
    }
    return SH_OK;
}

sh_status sh_cifar_check(const sh_cifar_file *file, sh_cifar_label_fn *each, void *context)
{
    for (uint32_t first = 0, chunk = 0; first < file->count; first += chunk) {
        chunk = file->count - first < CHUNK ? file->count - first : CHUNK;
        SH_TRY(check_chunk(file, first, chunk, each, context));
    }
    return SH_OK;
}

sh_status sh_cifar_read(const sh_cifar_file *file, uint32_t index, uint8_t *bytes, int32_t *label)
{
    const sh_cifar_kind *kind = file->kind;
    uint8_t record[RECORD_MOST];
    SH_TRY(read_records(file, index, 1, record));
    const uint32_t wrong = find_wrong(kind, record);
    if (wrong < kind->labels)
        return sh_fail(SH_CORRUPT, "%s: changed while it was in use: record %u has %s %u",
                       file->name, index, label_name(kind, wrong), record[wrong]);
    memcpy(bytes, record + kind->labels, SH_CIFAR_PIXELS);
    *label = record[kind->labels - 1];
    return SH_OK;
}

bool sh_cifar_touch(const sh_cifar_file *file, uint32_t index)
{
    const size_t record_bytes = sh_cifar_record_bytes(file->kind);
    return sh_extent_touch(file->fd, (uint64_t)index * record_bytes, record_bytes);
}

void sh_cifar_close(sh_cifar_file *file)
{
    if (file->name == NULL)
        return;
    close(file->fd);
    free(file->name);
    *file = (sh_cifar_file){0};
}
