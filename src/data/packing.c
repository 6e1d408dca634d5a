/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source's digest names the file. Without damaged samples it has another name, used only with
 * --skip-damaged, so that other commands do not depend on what ran before.
 *
 * The lanes decode *chunks* of consecutive samples into their places. A written chunk is marked in
 * the `.done` file, so that packing can resume; one with a damaged sample is not, so that the next
 * try reports it again.
 *
 * Then the gaps of skipped samples are closed; one pass sums the normalisation, in integers,
 * another the fingerprint; the file is synced and renamed.
 */
#include "data/packing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/team.h"
#include "base/utf8.h"
#include "data/extent.h"
#include "data/packed_head.h"

#define CHUNK_BYTES (1u << 20) /* of samples; a chunk has at least one */
#define CHUNK_MOST 256         /* samples */
#define PASS_BYTES (1u << 20)
#define DAMAGE_BYTES 256
#define NAMED_MOST 8   /* damaged samples in the message */
#define NOTED_MOST 100 /* damaged samples in the description */
#define REDUCED "without damaged samples"
#define STALE_S 86400 /* older interrupted packings are removed */

typedef struct damage {
    uint32_t sample; /* numbered through both splits */
    char text[DAMAGE_BYTES];
} damage;

typedef struct packing {
    const sh_source *source;
    const sh_read_options *options;
    sh_packed_head head;
    char *about;               /* JSON; owned */
    char name[SH_DIGEST_TEXT]; /* of the complete file */
    int fd, done;
    bool useless; /* sources changed: do not resume */
    uint32_t samples, chunk, chunks;
    size_t sample_bytes, target_bytes;
    atomic_uint next;     /* chunk */
    atomic_ullong packed; /* samples */
    pthread_mutex_t lock; /* guards all below */
    sh_status failure;    /* ends the packing */
    char message[SH_MESSAGE_BYTES];
    damage *damages; /* owned */
    size_t damage_count, damage_capacity;
} packing;

/* --- decoding --- */

static void place_of(const packing *p, uint32_t sample, sh_split *split, uint32_t *index)
{
    const uint32_t train = p->source->info.count[SH_SPLIT_TRAIN];
    *split = sample < train ? SH_SPLIT_TRAIN : SH_SPLIT_VALIDATION;
    *index = sample < train ? sample : sample - train;
}

static void note_failure(packing *p, sh_status status)
{
    pthread_mutex_lock(&p->lock);
    if (p->failure == SH_OK) {
        p->failure = status;
        snprintf(p->message, sizeof p->message, "%s", sh_message());
    }
    pthread_mutex_unlock(&p->lock);
    atomic_store(&p->next, p->chunks);
}

static sh_status note_damage(packing *p, uint32_t sample)
{
    pthread_mutex_lock(&p->lock);
    const sh_status status = sh_array_grow((void **)&p->damages, &p->damage_capacity,
                                           p->damage_count + 1, sizeof *p->damages);
    if (status == SH_OK) {
        damage *fresh = &p->damages[p->damage_count++];
        fresh->sample = sample;
        snprintf(fresh->text, sizeof fresh->text, "%s", sh_message());
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}

/* `*whole`: no sample is damaged. */
static sh_status pack_chunk(packing *p, uint32_t chunk, uint8_t *room, bool *whole)
{
    const uint32_t first = chunk * p->chunk;
    const uint32_t left = p->samples - first, count = left < p->chunk ? left : p->chunk;
    uint8_t *targets = room + (size_t)count * p->sample_bytes;
    *whole = true;
    for (uint32_t i = 0; i < count; i++) {
        sh_split split;
        uint32_t index;
        uint8_t *sample = room + i * p->sample_bytes, *target = targets + i * p->target_bytes;
        place_of(p, first + i, &split, &index);
        const sh_status status = p->source->ops->read(p->source, split, index, sample, target);
        if (status != SH_CORRUPT && status != SH_FORMAT) {
            SH_TRY(status);
            continue;
        }
        SH_TRY(note_damage(p, first + i));
        memset(sample, 0, p->sample_bytes);
        memset(target, 0, p->target_bytes);
        *whole = false;
    }
    SH_TRY(sh_extent_write(p->fd, p->head.samples_at + first * (uint64_t)p->sample_bytes, room,
                           count * p->sample_bytes));
    return sh_extent_write(p->fd, p->head.targets_at + first * (uint64_t)p->target_bytes, targets,
                           count * p->target_bytes);
}

/* Lane 0, the caller, reports all progress. */
static sh_status pack_chunks(packing *p, uint32_t lane, uint8_t *room)
{
    for (;;) {
        const uint32_t chunk = atomic_fetch_add(&p->next, 1);
        if (chunk >= p->chunks)
            return SH_OK;
        uint8_t mark = 0;
        size_t got;
        bool whole = true;
        SH_TRY(sh_extent_read(&got, p->done, chunk, &mark, 1));
        if (got == 0 || mark != 1) {
            SH_TRY(pack_chunk(p, chunk, room, &whole));
            mark = 1;
            if (whole)
                SH_TRY(sh_extent_write(p->done, chunk, &mark, 1));
        }
        const uint32_t before = chunk * p->chunk, left = p->samples - before;
        const uint32_t here = left < p->chunk ? left : p->chunk;
        const uint64_t packed = atomic_fetch_add(&p->packed, here) + here;
        if (lane == 0 && packed < p->samples && p->options->on_progress != NULL)
            p->options->on_progress(p->options->context, packed, p->samples);
    }
}

static void pack_lane(void *context, uint32_t lane)
{
    packing *p = context;
    const size_t bytes = p->chunk * (p->sample_bytes + p->target_bytes);
    uint8_t *room = malloc(bytes);
    const sh_status status = room == NULL ? sh_fail_memory(bytes, "samples that are packed")
                                          : pack_chunks(p, lane, room);
    if (status != SH_OK)
        note_failure(p, status);
    free(room);
}

static sh_status pack_all(packing *p)
{
    sh_team *team;
    const uint32_t cores = sh_host_cores();
    SH_TRY(sh_team_start(&team, cores < p->chunks ? cores : p->chunks));
    sh_team_run(team, pack_lane, p);
    sh_team_stop(team);
    if (p->failure == SH_OK && p->options->on_progress != NULL)
        p->options->on_progress(p->options->context, p->samples, p->samples);
    return p->failure == SH_OK ? SH_OK : sh_fail(p->failure, "%s", p->message);
}

/* --- damaged samples --- */

static int by_sample(const void *a, const void *b)
{
    const damage *x = a, *y = b;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

static sh_status refuse_damage(const packing *p)
{
    char list[SH_MESSAGE_BYTES / 2] = "";
    size_t used = 0;
    for (size_t i = 0; i < p->damage_count && i < NAMED_MOST && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? "; " : "",
                                 p->damages[i].text);
    return sh_fail(
        SH_CORRUPT,
        "%zu of %u samples cannot be read; repair or remove them, or leave them out with "
        "--skip-damaged: %s%s",
        p->damage_count, p->samples, list,
        p->damage_count > NAMED_MOST || used >= sizeof list ? "; ..." : "");
}

/* Closes the gaps of damaged samples in an array at `at`. */
static sh_status close_up(const packing *p, uint64_t at, size_t bytes)
{
    uint8_t *room = malloc(bytes > 0 ? bytes : 1);
    sh_status status = room == NULL ? sh_fail_memory(bytes, "a sample") : SH_OK;
    uint32_t to = p->damages[0].sample;
    size_t next = 0;
    for (uint32_t from = to; status == SH_OK && from < p->samples; from++) {
        if (next < p->damage_count && p->damages[next].sample == from) {
            next++;
            continue;
        }
        status = sh_extent_read_all(p->fd, at + from * (uint64_t)bytes, room, bytes);
        if (status == SH_OK)
            status = sh_extent_write(p->fd, at + to++ * (uint64_t)bytes, room, bytes);
    }
    free(room);
    return status;
}

/* The ranges may overlap. */
static sh_status move(const packing *p, uint64_t from, uint64_t to, uint64_t bytes)
{
    uint8_t room[4096];
    for (uint64_t done = 0; from != to && done < bytes;) {
        const size_t count = bytes - done < sizeof room ? (size_t)(bytes - done) : sizeof room;
        const uint64_t at = to < from ? done : bytes - done - count;
        SH_TRY(sh_extent_read_all(p->fd, from + at, room, count));
        SH_TRY(sh_extent_write(p->fd, to + at, room, count));
        done += count;
    }
    return SH_OK;
}

static sh_status name_damage(packing *p)
{
    char line[DAMAGE_BYTES + 32], clean[DAMAGE_BYTES];
    json_t *about = json_loads(p->about, 0, NULL), *notes = json_object_get(about, "notes");
    bool failed = about == NULL;
    if (notes == NULL) {
        notes = json_array();
        failed |= json_object_set_new(about, "notes", notes) != 0;
    }
    for (size_t i = 0; i < p->damage_count && i < NOTED_MOST && !failed; i++) {
        snprintf(line, sizeof line, "left out, damaged: %s",
                 sh_utf8_clean(clean, sizeof clean, p->damages[i].text));
        failed |= json_array_append_new(notes, json_string(line)) != 0;
    }
    if (p->damage_count > NOTED_MOST) {
        snprintf(line, sizeof line, "left out, damaged: %zu more", p->damage_count - NOTED_MOST);
        failed |= json_array_append_new(notes, json_string(line)) != 0;
    }
    char *text = failed ? NULL : json_dumps(about, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(about);
    if (text == NULL)
        return sh_fail_memory(sizeof(json_t), "the description of the data");
    free(p->about);
    p->about = text;
    p->head.about_bytes = (uint32_t)strlen(text);
    return SH_OK;
}

static sh_status leave_out(packing *p)
{
    sh_packed_head *head = &p->head;
    const uint64_t samples_at = head->samples_at, targets_at = head->targets_at;
    for (size_t i = 0; i < p->damage_count; i++) {
        sh_split split;
        uint32_t index;
        place_of(p, p->damages[i].sample, &split, &index);
        if (--head->info.count[split] == 0)
            return sh_fail(SH_INVALID, "no %s sample can be read: %s", sh_split_name(split),
                           p->damages[i].text);
    }
    if (ftruncate(p->done, 0) != 0) /* invalidates the marks */
        return sh_fail_errno(errno, "cannot change the packed set");
    SH_TRY(close_up(p, head->samples_at, p->sample_bytes));
    SH_TRY(close_up(p, targets_at, p->target_bytes));
    SH_TRY(name_damage(p));
    sh_packed_layout(head); /* the description only grows: targets move first */
    SH_TRY(move(p, targets_at, head->targets_at, head->bytes - head->targets_at));
    SH_TRY(move(p, samples_at, head->samples_at,
                sh_dataset_bytes(&head->info) *
                    (head->info.count[0] + (uint64_t)head->info.count[1])));
    if (ftruncate(p->fd, (off_t)head->bytes) != 0)
        return sh_fail_errno(errno, "cannot shorten the packed set");
    return SH_OK;
}

/* --- completing the file --- */

typedef struct moments {
    uint64_t sum[SH_DATASET_CHANNELS_MOST], squares[SH_DATASET_CHANNELS_MOST];
} moments;

/* `at` is an offset in the training samples. */
static void add_moments(moments *m, const sh_dataset_info *info, uint64_t at, const uint8_t *bytes,
                        size_t count)
{
    const size_t plane = info->height * info->width;
    while (count > 0) {
        const size_t channel = (size_t)(at / plane % info->channels);
        const size_t left = plane - (size_t)(at % plane), here = left < count ? left : count;
        uint64_t sum = 0, squares = 0;
        for (size_t i = 0; i < here; i++) {
            sum += bytes[i];
            squares += (uint32_t)bytes[i] * bytes[i];
        }
        m->sum[channel] += sum;
        m->squares[channel] += squares;
        at += here;
        bytes += here;
        count -= here;
    }
}

/* In 0..1. A constant channel has deviation 1. */
static void set_moments(sh_dataset_info *info, const moments *m)
{
    const double count =
        (double)info->count[SH_SPLIT_TRAIN] * (double)info->height * (double)info->width;
    for (size_t c = 0; c < info->channels; c++) {
        const double mean = (double)m->sum[c] / count;
        const double variance = (double)m->squares[c] / count - mean * mean;
        info->mean[c] = (float)(mean / 255);
        info->deviation[c] = variance > 0 ? (float)(sqrt(variance) / 255) : 1;
    }
}

static sh_status write_head(const packing *p)
{
    const sh_packed_head *head = &p->head;
    uint8_t *bytes = calloc(1, (size_t)head->samples_at);
    if (bytes == NULL)
        return sh_fail_memory((size_t)head->samples_at, "the description of the data");
    sh_packed_encode(bytes, head);
    memcpy(bytes + SH_PACKED_ABOUT_AT, p->about, head->about_bytes);
    const sh_status status = sh_extent_write(p->fd, 0, bytes, (size_t)head->samples_at);
    free(bytes);
    return status;
}

/* Reads from `first` to the end: the digest of all, moments of training samples; each may be
 * NULL. */
static sh_status pass(packing *p, uint64_t first, sh_digest *digest, moments *m)
{
    const sh_packed_head *head = &p->head;
    const uint64_t train = head->info.count[SH_SPLIT_TRAIN] * (uint64_t)p->sample_bytes;
    uint8_t *room = malloc(PASS_BYTES);
    if (room == NULL)
        return sh_fail_memory(PASS_BYTES, "samples that are summed");
    sh_status status = SH_OK;
    for (uint64_t at = first; at < head->bytes && status == SH_OK;) {
        const uint64_t left = head->bytes - at;
        const size_t count = left < PASS_BYTES ? (size_t)left : PASS_BYTES;
        status = sh_extent_read_all(p->fd, at, room, count);
        if (status == SH_OK && digest != NULL)
            sh_digest_add(digest, room, count);
        const uint64_t place = at - head->samples_at;
        if (status == SH_OK && m != NULL && place < train)
            add_moments(m, &head->info, place, room,
                        train - place < count ? (size_t)(train - place) : count);
        at += count;
    }
    free(room);
    return status;
}

static sh_status complete(packing *p)
{
    sh_dataset_info *info = &p->head.info;
    sh_digest *digest = NULL;
    memset(info->fingerprint, '\0', sizeof info->fingerprint);
    if (info->element == SH_ELEMENT_BYTE) {
        moments m = {0};
        SH_TRY(pass(p, p->head.samples_at, NULL, &m));
        set_moments(info, &m);
    }
    SH_TRY(write_head(p));
    SH_TRY(sh_digest_new(&digest));
    const sh_status status = pass(p, 0, digest, NULL);
    const sh_status end = sh_digest_finish(digest, info->fingerprint);
    SH_TRY(status);
    SH_TRY(end);
    SH_TRY(sh_extent_write(p->fd, SH_PACKED_FINGERPRINT_AT, (const uint8_t *)info->fingerprint,
                           SH_DIGEST_TEXT - 1));
    if (fsync(p->fd) != 0)
        return sh_fail_errno(errno, "cannot sync the packed set");
    return SH_OK;
}

/* --- the cache folder --- */

static bool is_other(const char *name, const char *digest)
{
    return strncmp(name, digest, SH_DIGEST_TEXT - 1) != 0 &&
           strspn(name, "0123456789abcdef") == SH_DIGEST_TEXT - 1;
}

/* Removes old interrupted packings of other sources. */
static void remove_stale(int folder, const char *digest, time_t now)
{
    DIR *entries = sh_cache_list(folder);
    if (entries == NULL)
        return;
    for (const struct dirent *each; (each = readdir(entries)) != NULL;) {
        struct stat about;
        if (is_other(each->d_name, digest) && each->d_name[SH_DIGEST_TEXT - 1] == '.' &&
            fstatat(folder, each->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            about.st_mtim.tv_sec + STALE_S < now)
            unlinkat(folder, each->d_name, 0);
    }
    closedir(entries);
}

/* False if there is none. */
static bool remove_oldest(int folder, const char *digest)
{
    char oldest[256] = "";
    struct timespec when = {0};
    DIR *entries = folder < 0 ? NULL : sh_cache_list(folder);
    if (entries == NULL)
        return false;
    for (const struct dirent *each; (each = readdir(entries)) != NULL;) {
        struct stat about;
        if (!is_other(each->d_name, digest) ||
            fstatat(folder, each->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        const struct timespec *used = &about.st_mtim;
        if (oldest[0] == '\0' || used->tv_sec < when.tv_sec ||
            (used->tv_sec == when.tv_sec && used->tv_nsec < when.tv_nsec)) {
            when = *used;
            snprintf(oldest, sizeof oldest, "%s", each->d_name);
        }
    }
    closedir(entries);
    if (oldest[0] == '\0' || unlinkat(folder, oldest, 0) != 0)
        return false;
    sh_log(SH_LOG_INFO, "data.removed", "packed=%s reason=\"room for another set\"", oldest);
    return true;
}

/* Removes other packed sets if necessary. */
static sh_status reserve(const packing *p, int packed, const char *folder)
{
    struct stat about;
    struct statvfs disk;
    uint64_t needs = 0, room = 0;
    do {
        if (fstat(p->fd, &about) != 0 || fstatvfs(p->fd, &disk) != 0)
            return sh_fail_errno(errno, "%s: cannot examine the disk", folder);
        const uint64_t has = (uint64_t)about.st_blocks * 512;
        needs = p->head.bytes > has ? p->head.bytes - has : 0;
        room = (uint64_t)disk.f_bavail * disk.f_frsize;
    } while (needs > room && remove_oldest(packed, p->source->digest));
    if (needs > room)
        return sh_fail(SH_NO_SPACE,
                       "%s: %u samples take %" PRIu64 " MB there, and %" PRIu64
                       " MB are free; make room, or set XDG_CACHE_HOME to a folder on another disk",
                       folder, p->samples, needs / 1000000 + 1, room / 1000000);
    const int error = posix_fallocate(p->fd, 0, (off_t)p->head.bytes);
    if (error == ENOSPC || error == EFBIG || error == EDQUOT)
        return sh_fail_errno(error, "%s: no room for %" PRIu64 " MB of samples", folder,
                             p->head.bytes / 1000000 + 1);
    return SH_OK;
}

static sh_status pack(packing *p, int packed, const char *folder)
{
    const sh_source *source = p->source;
    SH_TRY(reserve(p, packed, folder));
    SH_TRY(sh_fail_in(pack_all(p), "packing"));
    p->useless = true;
    if (source->ops->unchanged != NULL)
        SH_TRY(source->ops->unchanged(source));
    p->useless = false;
    if (p->damage_count > 0) {
        qsort(p->damages, p->damage_count, sizeof *p->damages, by_sample);
        for (size_t i = 0; i < p->damage_count; i++)
            sh_log(SH_LOG_WARN, "data.damaged", "reason=\"%s\"", p->damages[i].text);
        if (!p->options->skip_damaged)
            return refuse_damage(p);
        SH_TRY(leave_out(p));
    }
    return complete(p);
}

static sh_status prepare(packing *p)
{
    const sh_source *source = p->source;
    sh_packed_head *head = &p->head;
    head->info = source->info;
    snprintf(head->kind, sizeof head->kind, "%s", source->info.name);
    p->about = json_dumps(source->about, JSON_COMPACT | JSON_SORT_KEYS);
    if (p->about == NULL)
        return sh_fail(SH_INVALID, "its names are not UTF-8, or memory ran out");
    const size_t about_bytes = strlen(p->about);
    const uint64_t samples =
        (uint64_t)source->info.count[SH_SPLIT_TRAIN] + source->info.count[SH_SPLIT_VALIDATION];
    if (about_bytes > SH_PACKED_HEAD_MOST / 2)
        return sh_fail(SH_LIMIT, "its description of %zu bytes is too long", about_bytes);
    if (samples > UINT32_MAX / 2)
        return sh_fail(SH_LIMIT, "it has %" PRIu64 " samples; at most %u can be packed", samples,
                       UINT32_MAX / 2);
    head->about_bytes = (uint32_t)about_bytes;
    sh_packed_layout(head);
    p->samples = (uint32_t)samples;
    p->sample_bytes = sh_dataset_bytes(&source->info);
    p->target_bytes = sh_target_bytes(source->info.target, source->info.outputs);
    const size_t fits = CHUNK_BYTES / p->sample_bytes;
    p->chunk = fits == 0 ? 1 : fits < CHUNK_MOST ? (uint32_t)fits : CHUNK_MOST;
    p->chunks = (p->samples + p->chunk - 1) / p->chunk;
    return SH_OK;
}

static sh_status name_reduced(char name[SH_DIGEST_TEXT], const char *source_digest)
{
    sh_digest *digest;
    SH_TRY(sh_digest_new(&digest));
    sh_digest_add(digest, REDUCED, sizeof REDUCED);
    sh_digest_add(digest, source_digest, strlen(source_digest));
    return sh_digest_finish(digest, name);
}

/* p->fd stays -1 if the set does not exist. */
static sh_status find_packed(packing *p, int folder)
{
    snprintf(p->name, sizeof p->name, "%s", p->source->digest);
    p->fd = openat(folder, p->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (p->fd >= 0 || !p->options->skip_damaged)
        return SH_OK;
    SH_TRY(name_reduced(p->name, p->source->digest));
    p->fd = openat(folder, p->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return SH_OK;
}

/* `folder` is packed/, locked. */
static sh_status pack_in(packing *p, int folder, const char *path)
{
    const char *digest = p->source->digest;
    struct stat about;
    char part[SH_DIGEST_TEXT + 8], done[SH_DIGEST_TEXT + 8];
    snprintf(part, sizeof part, "%s.part", digest);
    snprintf(done, sizeof done, "%s.done", digest);
    p->fd = openat(folder, part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    p->done = openat(folder, done, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (p->fd < 0 || p->done < 0)
        return sh_fail_errno(errno, "%s: cannot make the packed set", path);
    if (futimens(p->done, NULL) == 0 && fstat(p->done, &about) == 0)
        remove_stale(folder, digest, about.st_mtim.tv_sec);
    const sh_status status = pack(p, folder, path);
    if (status != SH_OK) {
        if (status == SH_NO_SPACE || p->useless) { /* nobody can resume it */
            unlinkat(folder, part, 0);
            unlinkat(folder, done, 0);
        }
        return status;
    }
    snprintf(p->name, sizeof p->name, "%s", digest);
    if (p->damage_count > 0)
        SH_TRY(name_reduced(p->name, digest));
    if (renameat(folder, part, folder, p->name) != 0 || fsync(folder) != 0)
        return sh_fail_errno(errno, "%s: cannot name the packed set", path);
    unlinkat(folder, done, 0);
    return SH_OK;
}

static sh_status pack_unnamed(packing *p)
{
    const char *folder;
    SH_TRY(sh_cache_unnamed(&p->fd, &folder, "the packed set"));
    SH_TRY(sh_cache_unnamed(&p->done, &folder, "the packed set"));
    return pack(p, -1, folder);
}

static int open_folder(char path[SH_CACHE_PATH])
{
    char cache[SH_CACHE_PATH];
    const int above = sh_cache_open(cache);
    if (above < 0)
        return -1;
    const int folder = sh_cache_folder(above, cache, "packed");
    close(above);
    const int length = snprintf(path, SH_CACHE_PATH, "%s/packed", cache);
    if (folder >= 0 && length > 0 && length < SH_CACHE_PATH)
        return folder;
    if (folder >= 0)
        close(folder);
    return -1;
}

sh_status sh_packing_make(int *fd, char path[SH_CACHE_PATH], const sh_source *source,
                          const sh_read_options *options)
{
    packing p = {.source = source, .options = options, .fd = -1, .done = -1};
    char folder_path[SH_CACHE_PATH];
    int lock = -1;
    sh_status status;
    const int folder = open_folder(folder_path);
    pthread_mutex_init(&p.lock, NULL);
    if (folder >= 0)
        lock = sh_cache_lock(folder, LOCK_EX);
    if (lock >= 0) {
        SH_TRY_DONE(find_packed(&p, folder));
        snprintf(path, SH_CACHE_PATH, "%.3900s/%s", folder_path, p.name);
        if (p.fd >= 0)
            goto done;
    }
    SH_TRY_DONE(prepare(&p));
    if (lock >= 0) {
        SH_TRY_DONE(pack_in(&p, folder, folder_path));
        snprintf(path, SH_CACHE_PATH, "%.3900s/%s", folder_path, p.name);
    } else {
        snprintf(path, SH_CACHE_PATH, "the packed set");
        SH_TRY_DONE(pack_unnamed(&p));
    }
    sh_log(SH_LOG_INFO, "data.packed", "samples=%u bytes=%" PRIu64 " file=\"%s\"",
           p.head.info.count[0] + p.head.info.count[1], p.head.bytes, path);
done:
    if (lock >= 0)
        close(lock);
    if (folder >= 0)
        close(folder);
    if (p.done >= 0)
        close(p.done);
    if (status == SH_OK)
        *fd = p.fd;
    else if (p.fd >= 0)
        close(p.fd);
    pthread_mutex_destroy(&p.lock);
    free(p.damages);
    free(p.about);
    return status;
}
