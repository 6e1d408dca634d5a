/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a save. N is the new checkpoint, L the old last one, P the old previous one:
 *
 *     written and synced    last = L         previous = P    last...tmp = N
 *     link                  last = L         previous = P    last...tmp = N    previous...tmp = L
 *     rename                last = N         previous = P                      previous...tmp = L
 *     rename                last = N         previous = L
 *
 * So both names always have a checkpoint, and a damaged L replaces a whole P only after N has its
 * name. On file systems without hard links (FAT), last is renamed to previous and then the
 * temporary file to last; between the two renames only previous exists.
 */
#include "store/checkpoint.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define COPY_BYTES ((size_t)1 << 20)
#define EPOCH_PREFIX "epoch-"
#define NAME_BYTES 64

/* Ends `writer`, whose file becomes the last checkpoint. */
static sh_status promote(sh_file_writer *writer, const char *folder)
{
    char last[SH_PATH_BYTES], previous[SH_PATH_BYTES], kept[SH_PATH_BYTES];
    sh_status status;
    SH_TRY_DONE(sh_path_join(last, folder, SH_CHECKPOINT_LAST));
    SH_TRY_DONE(sh_path_join(previous, folder, SH_CHECKPOINT_PREVIOUS));
    SH_TRY_DONE(sh_path_join(kept, folder, SH_CHECKPOINT_PREVIOUS SH_TEMPORARY_MARK "kept"));
    unlink(kept); /* left by an interrupted save */
    const bool linked = link(last, kept) == 0;
    if (!linked && errno != ENOENT && rename(last, previous) != 0)
        SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot be renamed to %s", last, previous));
    status = sh_file_writer_commit(writer);
    if (!linked)
        return status;
    if (status != SH_OK) {
        unlink(kept);
        return status;
    }
    if (rename(kept, previous) != 0)
        return sh_fail_errno(errno, "%s: cannot be replaced", previous);
    return sh_folder_sync(folder);
done:
    sh_file_writer_discard(writer);
    return status;
}

sh_status sh_checkpoint_save(const char *folder, const sh_stored_tensor *tensors, size_t count,
                             const sh_metadata *pairs, size_t pair_count)
{
    char format[16], last[SH_PATH_BYTES];
    sh_file_writer *writer = NULL;
    sh_status status;
    SH_TRY(sh_folder_check_own(folder));
    SH_TRY(sh_folder_make(folder));
    snprintf(format, sizeof format, "%d", SH_CHECKPOINT_FORMAT);
    sh_metadata *all = calloc(pair_count + 1, sizeof *all);
    if (all == NULL)
        return sh_fail_memory(pair_count * sizeof *all, "a checkpoint's metadata");
    all[0] = (sh_metadata){.key = SH_CHECKPOINT_FORMAT_KEY, .text = format};
    for (size_t i = 0; i < pair_count; i++)
        all[i + 1] = pairs[i];
    SH_TRY_DONE(sh_path_join(last, folder, SH_CHECKPOINT_LAST));
    SH_TRY_DONE(sh_file_writer_open(&writer, last));
    SH_TRY_DONE(sh_safetensors_write_to(writer, tensors, count, all, pair_count + 1));
    SH_TRY_DONE(sh_file_writer_sync(writer));
    free(all);
    return promote(writer, folder);
done:
    free(all);
    sh_file_writer_discard(writer);
    return status;
}

/* Replaces a hard link on file systems without them. */
static sh_status copy_file(const char *path, const char *from)
{
    sh_file_writer *writer;
    sh_status status;
    unsigned char *block = malloc(COPY_BYTES);
    int file = -1;
    if (block == NULL)
        return sh_fail_memory(COPY_BYTES, "a copy");
    SH_TRY_DONE(sh_file_open_own(&file, from, O_RDONLY));
    SH_TRY_DONE(sh_file_writer_open(&writer, path));
    for (ssize_t got = 1; status == SH_OK && got != 0;) {
        got = read(file, block, COPY_BYTES);
        if (got > 0)
            status = sh_file_writer_add(writer, block, (size_t)got);
        else if (got < 0 && errno != EINTR)
            status = sh_fail_errno(errno, "%s: cannot read", from);
    }
    if (status == SH_OK)
        status = sh_file_writer_commit(writer);
    else
        sh_file_writer_discard(writer);
done:
    if (file >= 0)
        close(file);
    free(block);
    return status;
}

sh_status sh_checkpoint_keep(const char *folder, const char *name)
{
    char last[SH_PATH_BYTES], path[SH_PATH_BYTES], linked[SH_PATH_BYTES];
    char temporary[NAME_BYTES + sizeof SH_TEMPORARY_MARK + 4];
    assert(strlen(name) < NAME_BYTES);
    snprintf(temporary, sizeof temporary, "%s" SH_TEMPORARY_MARK "kept", name);
    SH_TRY(sh_path_join(last, folder, SH_CHECKPOINT_LAST));
    SH_TRY(sh_path_join(path, folder, name));
    SH_TRY(sh_path_join(linked, folder, temporary));
    unlink(linked); /* left by an interrupted call */
    if (link(last, linked) != 0)
        return errno == ENOENT ? sh_fail(SH_NOT_FOUND, "%s: there is no checkpoint to keep", last)
                               : copy_file(path, last);
    if (rename(linked, path) != 0)
        return sh_fail_errno(errno, "%s: cannot be replaced", path);
    unlink(linked); /* rename does nothing if both names are the same file */
    return sh_folder_sync(folder);
}

static void epoch_name(char name[NAME_BYTES], uint32_t epoch)
{
    snprintf(name, NAME_BYTES, EPOCH_PREFIX "%" PRIu32 ".safetensors", epoch);
}

/* Returns 0 for other names. */
static uint32_t epoch_of(const char *name)
{
    char again[NAME_BYTES];
    const size_t prefix = strlen(EPOCH_PREFIX);
    uint64_t epoch = 0;
    if (strncmp(name, EPOCH_PREFIX, prefix) != 0)
        return 0;
    for (const char *at = name + prefix; *at >= '0' && *at <= '9' && epoch <= UINT32_MAX; at++)
        epoch = 10 * epoch + (uint64_t)(*at - '0');
    if (epoch > UINT32_MAX)
        return 0;
    epoch_name(again, (uint32_t)epoch);
    return strcmp(again, name) == 0 ? (uint32_t)epoch : 0;
}

static int newest_first(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

/* Newest first. `*epochs` is owned. */
static sh_status list_epochs(uint32_t **epochs, size_t *count, const char *folder)
{
    size_t room = 0, found = 0;
    uint32_t *list = NULL;
    DIR *entries = opendir(folder);
    if (entries == NULL)
        return sh_fail_errno(errno, "%s: cannot be read", folder);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        const uint32_t epoch = epoch_of(entry->d_name);
        if (epoch == 0)
            continue;
        if (found == room) {
            room = room == 0 ? 64 : 2 * room;
            uint32_t *larger = realloc(list, room * sizeof *list);
            if (larger == NULL) {
                free(list);
                closedir(entries);
                return sh_fail_memory(room * sizeof *list, "the checkpoints of epochs");
            }
            list = larger;
        }
        list[found++] = epoch;
    }
    closedir(entries);
    if (found > 0)
        qsort(list, found, sizeof *list, newest_first);
    *epochs = list;
    *count = found;
    return SH_OK;
}

sh_status sh_checkpoint_keep_epoch(const char *folder, uint32_t epoch, uint32_t most)
{
    char name[NAME_BYTES], path[SH_PATH_BYTES];
    uint32_t *epochs;
    size_t count;
    sh_status status = SH_OK;
    epoch_name(name, epoch);
    SH_TRY(sh_checkpoint_keep(folder, name));
    SH_TRY(list_epochs(&epochs, &count, folder));
    for (size_t i = most; i < count; i++) {
        epoch_name(name, epochs[i]);
        SH_TRY_DONE(sh_path_join(path, folder, name));
        if (unlink(path) != 0 && errno != ENOENT)
            SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot be removed", path));
    }
done:
    free(epochs);
    return status;
}

/* `own`: the file is in a run's folder; else the user named it. */
static sh_status open_whole(sh_safetensors **file, const char *path, bool own)
{
    char *end;
    sh_safetensors *fresh;
    SH_TRY(own ? sh_safetensors_open_own(&fresh, path) : sh_safetensors_open(&fresh, path));
    sh_status status = sh_safetensors_verify(fresh);
    if (status == SH_NOT_FOUND)
        status =
            sh_fail(SH_FORMAT, "%s: has no checksum, so it is not a checkpoint of shoal", path);
    SH_TRY_DONE(status);
    const char *text = sh_safetensors_metadata(fresh, SH_CHECKPOINT_FORMAT_KEY);
    if (text == NULL)
        SH_TRY_DONE(
            sh_fail(SH_FORMAT, "%s: holds weights, but is not a checkpoint of shoal", path));
    const long format = strtol(text, &end, 10);
    if (*text < '1' || *text > '9' || *end != '\0')
        SH_TRY_DONE(sh_fail(SH_FORMAT, "%s: its format \"%.20s\" is not a number", path, text));
    if (format > SH_CHECKPOINT_FORMAT)
        SH_TRY_DONE(
            sh_fail(SH_VERSION,
                    "%s: written by a newer shoal (format %ld, this one reads %d): update shoal",
                    path, format, SH_CHECKPOINT_FORMAT));
    *file = fresh;
    return SH_OK;
done:
    sh_safetensors_close(fresh);
    return status;
}

/* Returns whether the previous checkpoint may be used instead. */
static bool is_damage(sh_status status)
{
    return status == SH_NOT_FOUND || status == SH_FORMAT || status == SH_CORRUPT ||
           status == SH_IO || status == SH_INVALID;
}

static sh_status open_in_folder(sh_safetensors **file, char path_used[SH_PATH_BYTES],
                                const char *folder)
{
    char last[SH_PATH_BYTES], previous[SH_PATH_BYTES];
    SH_TRY(sh_path_join(last, folder, SH_CHECKPOINT_LAST));
    SH_TRY(sh_path_join(previous, folder, SH_CHECKPOINT_PREVIOUS));
    const sh_status of_last = open_whole(file, last, true);
    if (of_last == SH_OK)
        memcpy(path_used, last, strlen(last) + 1);
    if (of_last == SH_OK || !is_damage(of_last))
        return of_last;

    /* Half a message each, so that one message can have both. */
    char reason[SH_MESSAGE_BYTES / 2];
    snprintf(reason, sizeof reason, "%s", sh_message());
    const sh_status of_previous = open_whole(file, previous, true);
    if (of_previous == SH_OK) {
        sh_log(SH_LOG_WARN, "checkpoint.damaged", "file=\"%s\" reason=\"%s\" used=\"%s\"", last,
               reason, previous);
        memcpy(path_used, previous, strlen(previous) + 1);
        return SH_OK;
    }
    if (of_last == SH_NOT_FOUND && of_previous == SH_NOT_FOUND)
        return sh_fail(SH_NOT_FOUND,
                       "%s: holds no checkpoint (" SH_CHECKPOINT_LAST " or " SH_CHECKPOINT_PREVIOUS
                       ")",
                       folder);
    return sh_fail(is_damage(of_previous) ? SH_CORRUPT : of_previous,
                   "no checkpoint can be used: %s; %s", reason, sh_message());
}

sh_status sh_checkpoint_open(sh_safetensors **file, char path_used[SH_PATH_BYTES],
                             const char *folder_or_file)
{
    char checkpoints[SH_PATH_BYTES];
    SH_TRY(sh_path_join(checkpoints, folder_or_file, "checkpoints"));
    SH_TRY(sh_folder_check_own(checkpoints));
    if (sh_folder_exists(checkpoints))
        return open_in_folder(file, path_used, checkpoints);
    if (sh_folder_exists(folder_or_file))
        return open_in_folder(file, path_used, folder_or_file);
    SH_TRY(open_whole(file, folder_or_file, false));
    snprintf(path_used, SH_PATH_BYTES, "%s", folder_or_file);
    return SH_OK;
}
