/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two programs may start on one folder at the same time, and the folder may belong to another
 * program. Therefore sh_run_open checks the content before it writes anything, takes the lock, and
 * checks again, because the former holder of the lock may have made a run meanwhile.
 *
 * The lock file is never removed. Otherwise a third program could lock a new file of this name
 * while a second one holds the removed file. The file has a second lock (fcntl), because the first
 * one (flock) cannot be tested without taking it.
 */
#include "store/run.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/tensorboard.h"

/* Most runs that begin in the same second with the same name. */
#define NAME_TRIES 1000

/* Most characters of a model's or data's name in the folder's name. */
#define NAME_CHARACTERS 40

struct sh_run {
    int lock;
    char folder[SH_PATH_BYTES];
    char checkpoints[SH_PATH_BYTES];
};

/* Replaces each run of characters other than letters, digits, '.' and '_' by one '-'. Stops at
 * `end`. */
static void make_safe(char safe[NAME_CHARACTERS + 1], const char *name, char end)
{
    size_t used = 0;
    bool gap = false;
    for (; *name != '\0' && *name != end && used < NAME_CHARACTERS; name++) {
        const char c = *name;
        const bool letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && ((c != '.' && c != '_') || used == 0)) {
            gap = used > 0; /* no name begins with a dot or dash */
            continue;
        }
        if (gap && used < NAME_CHARACTERS - 1)
            safe[used++] = '-';
        gap = false;
        safe[used++] = c;
    }
    safe[used] = '\0';
    if (used == 0)
        memcpy(safe, "unnamed", sizeof "unnamed");
}

static sh_status make_named(char folder[SH_PATH_BYTES], const sh_run_options *options)
{
    const char *root = options->root == NULL ? "runs" : options->root;
    char model[NAME_CHARACTERS + 1], data[NAME_CHARACTERS + 1], when[32];
    struct tm parts;
    make_safe(model, options->model, '@'); /* what follows is a digest */
    make_safe(data, options->data, '\0');
    if (localtime_r(&options->now, &parts) == NULL ||
        strftime(when, sizeof when, "%Y%m%d-%H%M%S", &parts) == 0)
        return sh_fail(SH_INVALID, "the clock's date cannot name a run");
    SH_TRY(sh_folder_make(root));
    for (int number = 1; number <= NAME_TRIES; number++) {
        char name[2 * NAME_CHARACTERS + 64];
        const int used = snprintf(name, sizeof name, "%s-%s-%s", model, data, when);
        if (number > 1)
            snprintf(name + used, sizeof name - (size_t)used, "-%d", number);
        SH_TRY(sh_path_join(folder, root, name));
        if (mkdir(folder, 0777) == 0)
            return SH_OK;
        if (errno != EEXIST)
            return sh_fail_errno(errno, "%s: cannot make the run's folder", folder);
    }
    return sh_fail(SH_LIMIT, "%s: holds %d runs of this second: choose a folder with --run", root,
                   NAME_TRIES);
}

static bool is_temporary_of(const char *name, const char *file)
{
    const size_t bytes = strlen(file);
    return strncmp(name, file, bytes) == 0 &&
           strncmp(name + bytes, SH_TEMPORARY_MARK, sizeof SH_TEMPORARY_MARK - 1) == 0;
}

static bool begins_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* True if a run's folder may contain this name; check_content handles some more itself. */
static bool is_of_run(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, SH_RUN_EVENTS) == 0 ||
           strcmp(name, SH_RUN_CHECKPOINTS) == 0 || strcmp(name, SH_RUN_TOKEN) == 0 ||
           strcmp(name, SH_RUN_TOKEN_KEY) == 0 || is_temporary_of(name, SH_RUN_TOKEN_KEY) ||
           strcmp(name, SH_RUN_NETWORK) == 0 || is_temporary_of(name, SH_RUN_NETWORK) ||
           is_temporary_of(name, SH_RUN_TOKEN) || is_temporary_of(name, SH_RUN_JOB) ||
           begins_with(name, SH_TENSORBOARD_PREFIX) || begins_with(name, SH_RUN_DATABASE);
}

/*
 * A folder with an incomplete run counts as empty: the program stopped before its first checkpoint.
 * A job without a lock file belongs to another program.
 */
static sh_status check_content(const char *folder, bool resume)
{
    bool job = false, lock = false, metrics = false, checkpoint = false, other = false;
    char path[SH_PATH_BYTES];
    DIR *list = opendir(folder);
    if (list == NULL)
        return sh_fail_errno(errno, "%s: cannot list", folder);
    for (const struct dirent *item; (item = readdir(list)) != NULL;) {
        const char *name = item->d_name;
        if (strcmp(name, SH_RUN_JOB) == 0)
            job = true;
        else if (strcmp(name, SH_RUN_LOCK) == 0)
            lock = true;
        else if (strcmp(name, SH_RUN_METRICS) == 0 || strcmp(name, SH_RUN_DATABASE) == 0)
            metrics = true;
        else if (!is_of_run(name))
            other = true;
    }
    closedir(list);
    SH_TRY(sh_path_join(path, folder, SH_RUN_CHECKPOINTS));
    list = opendir(path);
    if (list == NULL && errno != ENOENT)
        return sh_fail_errno(errno, "%s: cannot list", path);
    for (const struct dirent *item; list != NULL && (item = readdir(list)) != NULL;)
        if (item->d_name[0] != '.' && strstr(item->d_name, SH_TEMPORARY_MARK) == NULL)
            checkpoint = true;
    if (list != NULL)
        closedir(list);
    if (resume && !job)
        return sh_fail(SH_NOT_FOUND, "%s: holds no run to resume (no " SH_RUN_JOB ")", folder);
    const bool beginnings = !other && !checkpoint && (lock || (!job && !metrics));
    if (resume || beginnings)
        return SH_OK;
    if (job)
        return sh_fail(SH_REFUSED,
                       "%s: holds a run already: continue it with --resume, or choose another "
                       "folder with --run",
                       folder);
    return sh_fail(SH_REFUSED,
                   "%s: is not empty and not a shoal run: choose another folder with --run",
                   folder);
}

/*
 * A link could redirect writes to any file of this user. sh_file_open_own does not follow links
 * either, but this check fails before anything is written, and covers folders and the files that
 * SQLite opens.
 */
static sh_status check_links(const char *folder)
{
    sh_status status = SH_OK;
    DIR *list = opendir(folder);
    if (list == NULL)
        return sh_fail_errno(errno, "%s: cannot list", folder);
    for (const struct dirent *item; status == SH_OK && (item = readdir(list)) != NULL;) {
        const char *name = item->d_name;
        char path[SH_PATH_BYTES];
        const bool ours = is_of_run(name) || strcmp(name, SH_RUN_JOB) == 0 ||
                          strcmp(name, SH_RUN_LOCK) == 0 || strcmp(name, SH_RUN_METRICS) == 0;
        if (ours)
            status = sh_path_join(path, folder, name);
        if (ours && status == SH_OK)
            status = sh_folder_check_own(path);
    }
    closedir(list);
    return status;
}

static sh_status fail_locked(const char *folder, int fd)
{
    char holder[32] = "";
    const ssize_t got = pread(fd, holder, sizeof holder - 1, 0);
    const long process = got > 0 ? strtol(holder, NULL, 10) : 0;
    if (process > 0)
        return sh_fail(SH_REFUSED,
                       "%s: is in use by another shoal (process %ld): wait for its end, or choose "
                       "another folder with --run",
                       folder, process);
    return sh_fail(SH_REFUSED,
                   "%s: is in use by another shoal: wait for its end, or choose another folder "
                   "with --run",
                   folder);
}

/* Called for a folder that cannot be used anyway. */
static sh_status check_free(const char *folder)
{
    char path[SH_PATH_BYTES];
    SH_TRY(sh_path_join(path, folder, SH_RUN_LOCK));
    int fd;
    if (access(path, F_OK) != 0)
        return SH_OK;
    SH_TRY(sh_file_open_own(&fd, path, O_RDONLY));
    const bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const sh_status status = held ? fail_locked(folder, fd) : SH_OK;
    close(fd);
    return status;
}

static sh_status take_lock(int *lock, const char *folder)
{
    char path[SH_PATH_BYTES], process[32];
    sh_status status;
    SH_TRY(sh_path_join(path, folder, SH_RUN_LOCK));
    int fd;
    SH_TRY(sh_file_open_own(&fd, path, O_RDWR | O_CREAT));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        SH_TRY_DONE(errno == EWOULDBLOCK ? fail_locked(folder, fd)
                                         : sh_fail_errno(errno, "%s: cannot lock", path));
    /* On file systems without these locks, sh_run_is_open returns false. */
    (void)fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK});
    /* Store the process number for the messages of other programs. */
    const int bytes = snprintf(process, sizeof process, "%ld\n", (long)getpid());
    errno = ENOSPC; /* a short write does not set errno */
    if (ftruncate(fd, 0) != 0 || pwrite(fd, process, (size_t)bytes, 0) != bytes)
        SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot write", path));
    *lock = fd;
    return SH_OK;
done:
    close(fd);
    return status;
}

bool sh_run_is_open(const char *folder)
{
    char path[SH_PATH_BYTES];
    struct flock lock = {.l_type = F_WRLCK};
    if (sh_path_join(path, folder, SH_RUN_LOCK) != SH_OK)
        return false;
    /* Not by sh_file_open_own, whose error would replace the caller's message. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    const bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return held;
}

static sh_status choose_folder(char folder[SH_PATH_BYTES], const sh_run_options *options)
{
    if (options->path == NULL)
        return make_named(folder, options);
    SH_TRY(sh_path_copy(folder, options->path));
    if (!options->resume)
        return sh_folder_make(folder);
    if (!sh_folder_exists(folder))
        return access(folder, F_OK) == 0
                   ? sh_fail(SH_INVALID, "%s: is a file, not the folder of a run", folder)
                   : sh_fail_errno(errno, "%s: no run to resume there", folder);
    return SH_OK;
}

sh_status sh_run_open(sh_run **run, const sh_run_options *options)
{
    /* The files of an incomplete run. */
    static const char *const beginnings[] = {
        SH_RUN_METRICS,  SH_RUN_TOKEN,           SH_RUN_TOKEN_KEY,      SH_RUN_NETWORK,
        SH_RUN_DATABASE, SH_RUN_DATABASE "-wal", SH_RUN_DATABASE "-shm"};
    char path[SH_PATH_BYTES];
    assert(!options->resume || options->path != NULL);
    sh_run *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a run");
    sh_status status;
    fresh->lock = -1;
    SH_TRY_DONE(choose_folder(fresh->folder, options));
    const sh_status fits = check_content(fresh->folder, options->resume);
    if (fits == SH_REFUSED)
        SH_TRY_DONE(check_free(fresh->folder));
    SH_TRY_DONE(fits);
    SH_TRY_DONE(check_links(fresh->folder));
    SH_TRY_DONE(take_lock(&fresh->lock, fresh->folder));
    SH_TRY_DONE(check_content(fresh->folder, options->resume));
    for (size_t i = 0; !options->resume && i < sizeof beginnings / sizeof *beginnings; i++) {
        SH_TRY_DONE(sh_path_join(path, fresh->folder, beginnings[i]));
        if (unlink(path) != 0 && errno != ENOENT)
            SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot remove", path));
    }
    SH_TRY_DONE(sh_path_join(fresh->checkpoints, fresh->folder, SH_RUN_CHECKPOINTS));
    SH_TRY_DONE(sh_folder_make(fresh->checkpoints));
    SH_TRY_DONE(sh_folder_sweep(fresh->folder));
    SH_TRY_DONE(sh_folder_sweep(fresh->checkpoints));
    *run = fresh;
    return SH_OK;
done:
    sh_run_close(fresh);
    return status;
}

void sh_run_close(sh_run *run)
{
    if (run == NULL)
        return;
    if (run->lock >= 0)
        close(run->lock);
    free(run);
}

const char *sh_run_folder(const sh_run *run)
{
    return run->folder;
}

const char *sh_run_checkpoints(const sh_run *run)
{
    return run->checkpoints;
}

sh_status sh_run_path(const sh_run *run, const char *name, char path[SH_PATH_BYTES])
{
    assert(strchr(name, '/') == NULL);
    return sh_path_join(path, run->folder, name);
}

sh_status sh_run_write_json(const sh_run *run, const char *name, const json_t *json)
{
    char path[SH_PATH_BYTES];
    SH_TRY(sh_run_path(run, name, path));
    char *text = json_dumps(json, JSON_INDENT(2));
    if (text == NULL)
        return sh_fail(SH_INVALID, "%s: the value to write is not a JSON object or list", path);
    const size_t bytes = strlen(text);
    text[bytes] = '\n'; /* instead of the final zero */
    const sh_status status = sh_file_replace(path, text, bytes + 1);
    free(text);
    return status;
}

sh_status sh_run_append_line(const sh_run *run, const char *name, const char *line)
{
    char path[SH_PATH_BYTES];
    SH_TRY(sh_run_path(run, name, path));
    return sh_file_append_line(path, line);
}

void sh_run_log_sink(void *run, sh_log_level level, const char *line)
{
    (void)level;
    /* The caller may be about to return the current message. */
    char message[SH_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", sh_message());
    sh_status status = sh_run_append_line(run, SH_RUN_EVENTS, line);
    if (status != SH_OK)
        status = sh_fail(status, "%s", message);
    (void)status;
}
