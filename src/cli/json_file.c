/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/utf8.h"

bool sh_json_is_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

static sh_status refuse(const char *option, const char *path, int error)
{
    return sh_fail(SH_IO, "%s %.200s: %s; choose another file for %s", option, path,
                   strerror(error), option);
}

/* The path with links resolved, so that a link is kept. Owned; NULL sets errno. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);
    return real != NULL || errno != ENOENT ? real : strdup(path);
}

sh_status sh_json_file_check(const char *path)
{
    return sh_json_is_output(path) ? SH_OK : sh_result_file_check("--json", path);
}

sh_status sh_result_file_check(const char *option, const char *path)
{
    struct stat about;
    const bool exists = stat(path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode))
        return refuse(option, path, EISDIR);
    if (exists && !S_ISREG(about.st_mode))
        return access(path, W_OK) == 0 ? SH_OK : refuse(option, path, errno);
    char *real = resolve(path);
    if (real == NULL)
        return refuse(option, path, errno);
    const int error = access(dirname(real), W_OK | X_OK) == 0 ? 0 : errno;
    free(real);
    return error == 0 ? SH_OK : refuse(option, path, error);
}

/* Writes the text and closes the descriptor (-1: none). Failure sets errno. */
static bool write_and_close(int descriptor, const char *text, bool sync)
{
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (file == NULL)
        return false;
    const bool good =
        fputs(text, file) >= 0 && fflush(file) == 0 && (!sync || fsync(descriptor) == 0);
    const int error = errno;
    if (fclose(file) != 0 && good)
        return false;
    errno = error;
    return good;
}

/* Opens a file beside `path` for an atomic replacement. -1 sets errno. */
static int open_other(char other[PATH_MAX], const char *path)
{
    const int length = snprintf(other, PATH_MAX, "%s.%ld.tmp", path, (long)getpid());
    if (length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
}

static bool replace(const char *path, const char *text)
{
    char other[PATH_MAX];
    const int descriptor = open_other(other, path);
    if (descriptor < 0)
        return false;
    if (write_and_close(descriptor, text, true) && rename(other, path) == 0)
        return true;
    const int error = errno;
    unlink(other);
    errno = error;
    return false;
}

sh_status sh_result_file_write(const char *option, const char *path, const char *text)
{
    if (sh_json_is_output(path)) {
        fputs(text, stdout); /* sh_console_finish reports failures */
        return SH_OK;
    }
    char *real = resolve(path);
    struct stat about;
    bool good = real != NULL;
    if (good && stat(real, &about) == 0 && !S_ISREG(about.st_mode)) {
        good = write_and_close(open(real, O_WRONLY | O_CLOEXEC), text, false);
    } else if (good) {
        good = replace(real, text);
    }
    const int error = errno;
    free(real);
    return good ? SH_OK : refuse(option, path, error);
}

static int put_json(const char *piece, size_t bytes, void *file)
{
    return fwrite(piece, 1, bytes, file) == bytes ? 0 : -1;
}

sh_status sh_json_file_write(const char *path, json_t *root)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    bool good =
        file != NULL && root != NULL &&
        json_dump_callback(root, put_json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0 &&
        fputc('\n', file) != EOF;
    good = file != NULL && fclose(file) == 0 && good;
    json_decref(root);
    const sh_status status = good ? sh_result_file_write("--json", path, text)
                                  : sh_fail(SH_NO_MEMORY, "--json %.200s: not enough memory", path);
    free(text);
    return status;
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct sh_json_list {
    const char *option_path; /* borrowed; for messages */
    char *real;              /* owned; NULL: standard output */
    char other[PATH_MAX];    /* temporary; "": writes the file directly */
    FILE *file;
    bool begun, no_memory;
    int error; /* of the first failure */
};

sh_status sh_json_list_open(sh_json_list **list, const char *path)
{
    struct stat about;
    sh_json_list *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "--json");
    fresh->option_path = path;
    if (sh_json_is_output(path)) {
        fresh->file = stdout;
    } else if ((fresh->real = resolve(path)) != NULL) {
        const bool direct = stat(fresh->real, &about) == 0 && !S_ISREG(about.st_mode);
        const int descriptor = direct ? open(fresh->real, O_WRONLY | O_CLOEXEC)
                                      : open_other(fresh->other, fresh->real);
        fresh->file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    }
    if (fresh->file == NULL) {
        const sh_status status = refuse("--json", path, errno);
        sh_json_list_discard(fresh);
        return status;
    }
    *list = fresh;
    return SH_OK;
}

void sh_json_list_add(sh_json_list *list, json_t *item)
{
    list->no_memory |= item == NULL;
    errno = 0;
    if (list->error == 0 && !list->no_memory &&
        (fputs(list->begun ? ",\n" : "[\n", list->file) < 0 ||
         json_dump_callback(item, put_json, list->file, JSON_COMPACT | JSON_REAL_PRECISION(12)) !=
             0))
        list->error = errno != 0 ? errno : EIO;
    list->begun = true;
    json_decref(item);
}

sh_status sh_json_list_close(sh_json_list *list)
{
    const bool output = list->file == stdout;
    bool good = list->error == 0 && !list->no_memory &&
                fputs(list->begun ? "\n]\n" : "[]\n", list->file) >= 0 && fflush(list->file) == 0;
    if (good && list->other[0] != '\0')
        good = fsync(fileno(list->file)) == 0 && rename(list->other, list->real) == 0;
    sh_status status = SH_OK;
    if (list->no_memory)
        status = sh_fail(SH_NO_MEMORY, "--json %.200s: not enough memory", list->option_path);
    else if (!good && !output) /* sh_console_finish reports failures */
        status = refuse("--json", list->option_path, list->error != 0 ? list->error : errno);
    if (good)
        list->other[0] = '\0';
    sh_json_list_discard(list);
    return status;
}

void sh_json_list_discard(sh_json_list *list)
{
    if (list == NULL)
        return;
    if (list->file != NULL && list->file != stdout)
        fclose(list->file);
    if (list->other[0] != '\0')
        unlink(list->other);
    free(list->real);
    free(list);
}

json_t *sh_json_number(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

void sh_json_append(json_t **array, json_t *item)
{
    if (json_array_append_new(*array, item) == 0)
        return;
    json_decref(*array);
    *array = NULL;
}

void sh_json_set(json_t **object, const char *key, json_t *item)
{
    if (json_object_set_new(*object, key, item) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

json_t *sh_json_text(const char *text)
{
    char clean[4096];
    return json_string(sh_utf8_clean(clean, sizeof clean, text));
}
