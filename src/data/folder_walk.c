/* SPDX-License-Identifier: Apache-2.0 */
#include "data/folder_walk.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "data/dataset_impl.h"

/* Folders' names end in a slash, so that sorting names sorts whole paths. */
typedef struct level {
    char **names; /* owned */
    size_t count, capacity, next;
    size_t length; /* of its path, with the slash */
} level;

struct sh_folder_walk {
    level levels[SH_FOLDER_WALK_DEPTH_MOST];
    size_t depth;
    char path[PATH_MAX];
};

static void release(level *at)
{
    for (size_t i = 0; i < at->count; i++)
        free(at->names[i]);
    free(at->names);
    *at = (level){0};
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static sh_status take_name(sh_folder_walk *walk, level *at, const char *name)
{
    struct stat about;
    const size_t room = sizeof walk->path - at->length;
    const int length = snprintf(walk->path + at->length, room, "%s/", name);
    if (length < 0 || (size_t)length >= room)
        return sh_fail(SH_LIMIT, "%.200s...: its path is too long", walk->path);
    if (stat(walk->path, &about) != 0) { /* with the slash, stat fails for files */
        walk->path[at->length + (size_t)length - 1] = '\0';
        if (stat(walk->path, &about) == 0 && !S_ISREG(about.st_mode))
            return SH_OK;
    }
    SH_TRY(sh_array_grow((void **)&at->names, &at->capacity, at->count + 1, sizeof *at->names));
    at->names[at->count] = strdup(walk->path + at->length);
    if (at->names[at->count] == NULL)
        return sh_fail_memory((size_t)length, "the names of files");
    at->count++;
    return SH_OK;
}

/* walk->path ends in a slash. */
static sh_status enter(sh_folder_walk *walk)
{
    if (walk->depth == SH_FOLDER_WALK_DEPTH_MOST)
        return sh_fail(SH_LIMIT,
                       "%.200s...: is more than %d folders deep; is it a link that leads back?",
                       walk->path, SH_FOLDER_WALK_DEPTH_MOST);
    level *at = &walk->levels[walk->depth];
    DIR *folder = opendir(walk->path);
    if (folder == NULL)
        return sh_fail_errno(errno, "%s: cannot list the folder", walk->path);
    *at = (level){.length = strlen(walk->path)};
    sh_status status = SH_OK;
    for (const struct dirent *each; status == SH_OK && (each = readdir(folder)) != NULL;)
        if (!sh_name_is_hidden(each->d_name))
            status = take_name(walk, at, each->d_name);
    closedir(folder);
    if (status != SH_OK) {
        release(at);
        return status;
    }
    if (at->count > 0)
        qsort(at->names, at->count, sizeof *at->names, by_bytes);
    walk->depth++;
    return SH_OK;
}

sh_status sh_folder_walk_open(sh_folder_walk **walk, const char *folder)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    sh_folder_walk *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the files of a folder");
    sh_status status;
    if (length == 0 || length + 2 > sizeof fresh->path) {
        status = sh_fail(SH_LIMIT, "%.200s...: its path is empty or too long", folder);
    } else {
        snprintf(fresh->path, sizeof fresh->path, "%.*s%s", (int)length, folder,
                 folder[length - 1] == '/' ? "" : "/");
        status = enter(fresh);
    }
    if (status != SH_OK) {
        sh_folder_walk_close(fresh);
        return status;
    }
    *walk = fresh;
    return SH_OK;
}

sh_status sh_folder_walk_next(sh_folder_walk *walk, const char **path)
{
    *path = NULL;
    while (walk->depth > 0) {
        level *at = &walk->levels[walk->depth - 1];
        if (at->next == at->count) {
            release(at);
            walk->depth--;
            continue;
        }
        const char *name = at->names[at->next++];
        const size_t length = strlen(name);
        memcpy(walk->path + at->length, name, length + 1);
        if (name[length - 1] != '/') {
            *path = walk->path;
            return SH_OK;
        }
        SH_TRY(enter(walk));
    }
    return SH_OK;
}

void sh_folder_walk_close(sh_folder_walk *walk)
{
    if (walk == NULL)
        return;
    for (size_t i = 0; i < walk->depth; i++)
        release(&walk->levels[i]);
    free(walk);
}
