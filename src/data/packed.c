/* SPDX-License-Identifier: Apache-2.0 */
#include "data/packed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "data/extent.h"
#include "data/packed_head.h"
#include "data/packing.h"
#include "data/stored.h"
#include "data/trained.h"
#include "data/verified.h"

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
    SH_TRY(sh_verified_check(&(sh_verified){
        .fd = fd,
        .digest = head.info.fingerprint,
        .blank_at = SH_PACKED_FINGERPRINT_AT,
        .blank_bytes = SH_DIGEST_TEXT - 1,
        .touch = true, /* for removing the least recently used */
    }));
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

/* --- sources without training samples --- */

/* A set needs a training sample: copies one of validation. */
typedef struct whole_source {
    sh_source base;
    sh_source *inner; /* owned */
} whole_source;

static const sh_source *inner_of(const sh_source *source)
{
    return ((const whole_source *)(const void *)source)->inner;
}

static sh_status whole_read(const sh_source *source, sh_split split, uint32_t index, void *sample,
                            void *target)
{
    const sh_source *inner = inner_of(source);
    (void)split;
    return inner->ops->read(inner, SH_SPLIT_VALIDATION, index, sample, target);
}

static sh_status whole_unchanged(const sh_source *source)
{
    const sh_source *inner = inner_of(source);
    return inner->ops->unchanged == NULL ? SH_OK : inner->ops->unchanged(inner);
}

static void whole_name(const sh_source *source, sh_split split, uint32_t index, char *text,
                       size_t bytes)
{
    const sh_source *inner = inner_of(source);
    (void)split;
    inner->ops->name(inner, SH_SPLIT_VALIDATION, index, text, bytes);
}

static void whole_close(sh_source *source)
{
    whole_source *whole = (whole_source *)(void *)source;
    sh_source_close(whole->inner);
    free(whole);
}

static sh_status make_whole(sh_source **source)
{
    static const sh_source_ops ops = {whole_read, whole_unchanged, whole_name, whole_close};
    if ((*source)->info.count[SH_SPLIT_TRAIN] > 0)
        return SH_OK;
    whole_source *whole = calloc(1, sizeof *whole);
    if (whole == NULL)
        return sh_fail_memory(sizeof *whole, "a set of samples");
    whole->inner = *source;
    whole->base = **source;
    whole->base.ops = &ops;
    whole->base.info.count[SH_SPLIT_TRAIN] = 1;
    *source = &whole->base;
    return SH_OK;
}

/* --- opening --- */

/* Data read in the form of a trained model are a set of their own. */
static sh_status add_to_digest(sh_source *source, const sh_trained *trained)
{
    sh_digest *digest;
    SH_TRY(sh_digest_new(&digest));
    char *text = json_dumps(trained->json, JSON_COMPACT);
    sh_digest_add(digest, source->digest, strlen(source->digest));
    if (text != NULL)
        sh_digest_add(digest, text, strlen(text));
    const bool told = text != NULL;
    free(text);
    SH_TRY(sh_digest_finish(digest, source->digest));
    return told ? SH_OK : sh_fail_memory(0, "a model's description of its data");
}

/* `*useless`: the file was no packed set, damaged, or of another user or version, and was
 * removed. */
static sh_status open_made(sh_dataset **dataset, bool *useless, const sh_format *format,
                           const char *argument, const sh_source *source,
                           const sh_read_options *options)
{
    int fd;
    char path[SH_CACHE_PATH];
    *useless = false;
    SH_TRY(
        sh_fail_in(sh_packing_make(&fd, path, source, options), "%s:%s", format->name, argument));
    const sh_status status = sh_packed_open(dataset, format, fd, path);
    const bool bad =
        status == SH_FORMAT || status == SH_VERSION || status == SH_CORRUPT || status == SH_REFUSED;
    if (bad)
        sh_log(SH_LOG_WARN, "data.remade", "file=\"%s\" reason=\"%s\"", path, sh_message());
    *useless = bad && unlink(path) == 0;
    return status;
}

/* Takes ownership of `source`. */
static sh_status open_source(sh_dataset **dataset, const sh_format *format, sh_source *source,
                             const char *argument, const sh_read_options *options)
{
    bool useless;
    sh_status status = open_made(dataset, &useless, format, argument, source, options);
    if (useless)
        status = open_made(dataset, &useless, format, argument, source, options);
    sh_source_close(source);
    return status;
}

/* If these are exactly the training's data, wherever they are, opens them with its split. */
static bool open_same(sh_dataset **dataset, const sh_format *format, const char *argument,
                      const sh_read_options *options)
{
    sh_source *source;
    const sh_dataset_info *then = &options->trained->info;
    sh_read_options plain = *options;
    plain.trained = NULL;
    if (format->look(&source, format, argument, &plain) != SH_OK)
        return false;
    if (source->info.count[SH_SPLIT_TRAIN] != then->count[SH_SPLIT_TRAIN] ||
        source->info.count[SH_SPLIT_VALIDATION] != then->count[SH_SPLIT_VALIDATION]) {
        sh_source_close(source);
        return false;
    }
    if (open_source(dataset, format, source, argument, &plain) != SH_OK)
        return false;
    if (strcmp(sh_dataset_about(*dataset)->fingerprint, then->fingerprint) == 0)
        return true;
    sh_dataset_close(*dataset);
    return false;
}

sh_status sh_packed_dataset(sh_dataset **dataset, const sh_format *format, const char *argument,
                            const sh_read_options *options)
{
    if (argument == NULL || argument[0] == '\0')
        return sh_fail(SH_INVALID, "%s: no argument; write %s", format->name, format->usage);
    sh_source *source;
    const bool as_trained = options->trained != NULL && format->as_trained;
    if (as_trained && open_same(dataset, format, argument, options))
        return SH_OK;
    SH_TRY(format->look(&source, format, argument, options));
    sh_status status = as_trained ? add_to_digest(source, options->trained) : SH_OK;
    if (status == SH_OK && as_trained)
        status = make_whole(&source);
    if (status != SH_OK) {
        sh_source_close(source);
        return status;
    }
    return open_source(dataset, format, source, argument, options);
}
