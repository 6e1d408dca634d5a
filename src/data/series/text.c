/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format `text:FILE`: the bytes of a file, to predict the next byte. A sample is
 * options->window bytes as [1][1][window]; its class, one of 256, is the byte after them. Samples
 * start every options->stride bytes. The end of the file is the validation split: none of its bytes
 * is in a training sample or is the class of one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/contents.h"
#include "data/extent.h"
#include "data/packed.h"

#define VERSION "text 1" /* in the digest: version of the conversion */
#define WINDOW 64u
#define CLASSES 256
#define CONTENT_MOST (256u << 20) /* largest file whose content is in the digest */
#define BLOCK_BYTES 65536u

typedef struct text_source {
    sh_source base;
    int fd;
    uint64_t bytes, cut; /* size of the file; start of validation */
    int64_t changed_s, changed_ns;
    uint32_t window, stride;
} text_source;

static uint64_t start_of(const text_source *s, sh_split split, uint32_t index)
{
    return (split == SH_SPLIT_TRAIN ? 0 : s->cut) + index * (uint64_t)s->stride;
}

static sh_status text_read(const sh_source *source, sh_split split, uint32_t index, void *sample,
                           void *target)
{
    const text_source *s = (const text_source *)source;
    const uint64_t start = start_of(s, split, index);
    uint8_t next;
    SH_TRY(sh_fail_in(sh_extent_read_all(s->fd, start, sample, s->window), "%s", source->place));
    if (source->info.target == SH_TARGET_SAMPLE)
        return SH_OK;
    SH_TRY(sh_fail_in(sh_extent_read_all(s->fd, start + s->window, &next, 1), "%s", source->place));
    *(int32_t *)target = next;
    return SH_OK;
}

static sh_status text_unchanged(const sh_source *source)
{
    const text_source *s = (const text_source *)source;
    struct stat about;
    if (stat(source->place, &about) != 0 || (uint64_t)about.st_size != s->bytes ||
        about.st_mtim.tv_sec != s->changed_s || about.st_mtim.tv_nsec != s->changed_ns)
        return sh_fail(SH_CORRUPT, "%s: has changed while it was packed; start again",
                       source->place);
    return SH_OK;
}

static void text_name(const sh_source *source, sh_split split, uint32_t index, char *text,
                      size_t bytes)
{
    snprintf(text, bytes, "byte %" PRIu64, start_of((const text_source *)source, split, index));
}

static void text_close(sh_source *source)
{
    text_source *s = (text_source *)source;
    if (s->fd >= 0)
        close(s->fd);
    json_decref(source->about);
    free((char *)(uintptr_t)source->place);
    free(s);
}

static const sh_source_ops text_ops = {text_read, text_unchanged, text_name, text_close};

static sh_status open_file(text_source *s)
{
    struct stat about;
    const char *place = s->base.place;
    s->fd = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd < 0 || fstat(s->fd, &about) != 0)
        return sh_fail_errno(errno, "%s: cannot open it", place);
    if (!S_ISREG(about.st_mode))
        return sh_fail(SH_INVALID, "%s: is not a file; name one file of text", place);
    s->bytes = (uint64_t)about.st_size;
    s->changed_s = about.st_mtim.tv_sec;
    s->changed_ns = about.st_mtim.tv_nsec;
    return SH_OK;
}

static uint64_t samples_in(const text_source *s, uint64_t bytes)
{
    return bytes > s->window ? (bytes - s->window - 1) / s->stride + 1 : 0;
}

static sh_status set_samples(text_source *s, double part)
{
    const char *place = s->base.place;
    s->cut = s->bytes - (uint64_t)((double)s->bytes * part);
    const uint64_t train = samples_in(s, s->cut), validation = samples_in(s, s->bytes - s->cut);
    if (s->window > SH_CONTENTS_SIDE_MOST)
        return sh_fail(SH_LIMIT, "--window %u: at most %d bytes can be read", s->window,
                       SH_CONTENTS_SIDE_MOST);
    if (train == 0 || validation == 0)
        return sh_fail(SH_INVALID,
                       "%s: %" PRIu64 " bytes to train and %" PRIu64
                       " to validate with are too few for windows of %u; use a smaller --window, "
                       "or more text",
                       place, s->cut, s->bytes - s->cut, s->window);
    if (train + validation > UINT32_MAX / 2)
        return sh_fail(SH_LIMIT,
                       "%s: has %" PRIu64 " samples; at most %u can be read; use a "
                       "larger --stride",
                       place, train + validation, UINT32_MAX / 2);
    s->base.info.count[SH_SPLIT_TRAIN] = (uint32_t)train;
    s->base.info.count[SH_SPLIT_VALIDATION] = (uint32_t)validation;
    return SH_OK;
}

static sh_status set_task(text_source *s, const char *task)
{
    sh_target kind = SH_TARGET_CLASS;
    if (task != NULL && task[0] != '\0' && !sh_target_find(&kind, task))
        return sh_fail(SH_INVALID, "--task %s: no such task", task);
    if (kind != SH_TARGET_CLASS && kind != SH_TARGET_SAMPLE)
        return sh_fail(SH_UNSUPPORTED, "--task %s: a text can be learnt by %s or %s", task,
                       sh_target_name(SH_TARGET_CLASS), sh_target_name(SH_TARGET_SAMPLE));
    s->base.info.target = kind;
    s->base.info.outputs = kind == SH_TARGET_CLASS ? CLASSES : s->window;
    return SH_OK;
}

/* The name of a class is the visible ASCII character, or the byte's number. */
static sh_status describe(text_source *s)
{
    json_t *classes = json_array();
    int failed = 0;
    for (int i = 0; i < CLASSES; i++) {
        char name[8];
        snprintf(name, sizeof name, i > ' ' && i < 0x7f ? "%c" : "0x%02x", i);
        failed |= json_array_append_new(classes, json_string(name));
    }
    s->base.about =
        json_pack("{s:o, s:{s:s, s:i, s:i}, s:[]}", "classes", classes, "inputs", "kind", "text",
                  "window", (int)s->window, "stride", (int)s->stride, "notes");
    if (s->base.about == NULL || failed != 0)
        return sh_fail_memory(0, "the description of the data");
    return s->base.info.target == SH_TARGET_CLASS || json_object_del(s->base.about, "classes") == 0
               ? SH_OK
               : sh_fail_memory(0, "the description of the data");
}

static sh_status digest_content(const text_source *s, sh_digest *digest)
{
    uint8_t *block = malloc(BLOCK_BYTES);
    if (block == NULL)
        return sh_fail_memory(BLOCK_BYTES, "the digest of a text");
    sh_status status = SH_OK;
    for (uint64_t done = 0; done < s->bytes && status == SH_OK;) {
        const uint64_t left = s->bytes - done;
        const size_t here = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        status = sh_extent_read_all(s->fd, done, block, here);
        if (status == SH_OK)
            sh_digest_add(digest, block, here);
        done += here;
    }
    free(block);
    return sh_fail_in(status, "%s", s->base.place);
}

static sh_status digest_place(const text_source *s, sh_digest *digest)
{
    char *whole = realpath(s->base.place, NULL);
    if (whole == NULL)
        return sh_fail_errno(errno, "%s: cannot examine it", s->base.place);
    const int64_t figures[] = {(int64_t)s->bytes, s->changed_s, s->changed_ns};
    sh_digest_add(digest, whole, strlen(whole) + 1);
    sh_digest_add(digest, figures, sizeof figures);
    free(whole);
    return SH_OK;
}

static sh_status set_digest(text_source *s)
{
    sh_digest *digest;
    char text[128];
    SH_TRY(sh_digest_new(&digest));
    snprintf(text, sizeof text, "%s %s %u %u %" PRIu64, VERSION,
             sh_target_name(s->base.info.target), s->window, s->stride, s->cut);
    sh_digest_add(digest, text, strlen(text) + 1);
    const sh_status status =
        s->bytes <= CONTENT_MOST ? digest_content(s, digest) : digest_place(s, digest);
    const sh_status end = sh_digest_finish(digest, s->base.digest);
    SH_TRY(status);
    return end;
}

static sh_status look_into(text_source *s, const sh_read_options *options)
{
    sh_dataset_info *info = &s->base.info;
    s->window = options->window > 0 ? options->window : WINDOW;
    s->stride = options->stride > 0 ? options->stride : s->window > 1 ? s->window / 2 : 1;
    info->channels = info->height = 1;
    info->width = s->window;
    info->element = SH_ELEMENT_BYTE;
    SH_TRY(set_task(s, options->task));
    SH_TRY(open_file(s));
    SH_TRY(set_samples(s, options->val_split > 0 ? (double)options->val_split : 0.2));
    SH_TRY(describe(s));
    return set_digest(s);
}

static sh_status text_look(sh_source **source, const sh_format *format, const char *argument,
                           const sh_read_options *options)
{
    text_source *s = calloc(1, sizeof *s);
    char *place = malloc(strlen(argument) + 1);
    if (s == NULL || place == NULL) {
        free(s);
        free(place);
        return sh_fail_memory(sizeof *s, "a text");
    }
    memcpy(place, argument, strlen(argument) + 1);
    s->fd = -1;
    s->base.ops = &text_ops;
    s->base.place = place;
    s->base.info.name = format->name;
    const sh_status status = look_into(s, options);
    if (status != SH_OK) {
        text_close(&s->base);
        return status;
    }
    *source = &s->base;
    return SH_OK;
}

const sh_format sh_text_format = {
    .name = "text",
    .usage = "text:FILE",
    .summary = "the bytes of a file, each predicted from those before it",
    .open = sh_packed_dataset,
    .look = text_look,
};
