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

#include "cli/console.h"

bool sh_json_is_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

static bool refuse(sh_trouble *trouble, const char *option, const char *path, int error)
{
    return sh_trouble_set(trouble, "%s %.200s: %s; choose another file for %s", option, path,
                          strerror(error), option);
}

static bool exists_as_other(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Where the file is: through a link, so that the link stays one. Owned; NULL sets errno. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);
    return real != NULL || errno != ENOENT ? real : strdup(path);
}

bool sh_json_file_check(sh_trouble *trouble, const char *path)
{
    return sh_json_is_output(path) || sh_result_file_check(trouble, "--json", path);
}

bool sh_result_file_check(sh_trouble *trouble, const char *option, const char *path)
{
    if (is_folder(path))
        return refuse(trouble, option, path, EISDIR);
    if (exists_as_other(path))
        return access(path, W_OK) == 0 || refuse(trouble, option, path, errno);
    char *real = resolve(path);
    if (real == NULL)
        return refuse(trouble, option, path, errno);
    const bool good = access(dirname(real), W_OK | X_OK) == 0;
    const int error = errno;
    free(real);
    return good || refuse(trouble, option, path, error);
}

static bool write_whole(int descriptor, const char *text)
{
    const size_t bytes = strlen(text);
    for (size_t written = 0; written < bytes;) {
        const ssize_t count = write(descriptor, text + written, bytes - written);
        if (count < 0 && errno != EINTR)
            return false;
        if (count > 0)
            written += (size_t)count;
    }
    return true;
}

/* The text and a newline, or errno says why not. Closes the descriptor. */
static bool write_and_close(int descriptor, const char *text, bool sync)
{
    const bool good = write_whole(descriptor, text) && write_whole(descriptor, "\n") &&
                      (!sync || fsync(descriptor) == 0);
    const int error = errno;
    if (close(descriptor) != 0 && good)
        return false;
    errno = error;
    return good;
}

static bool write_in_place(const char *path, const char *text)
{
    const int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    return descriptor >= 0 && write_and_close(descriptor, text, false);
}

/* Under another name beside it first, which then takes the name: readers see all or nothing. */
static bool replace(const char *path, const char *text)
{
    char other[PATH_MAX];
    const int length = snprintf(other, sizeof other, "%s.%ld.tmp", path, (long)getpid());
    if ((size_t)length >= sizeof other) {
        errno = ENAMETOOLONG;
        return false;
    }
    const int descriptor = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return false;
    if (write_and_close(descriptor, text, true) && rename(other, path) == 0)
        return true;
    const int error = errno;
    unlink(other);
    errno = error;
    return false;
}

bool sh_json_file_write(sh_trouble *trouble, const char *path, json_t *root)
{
    char *text = root == NULL ? NULL : json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    json_decref(root);
    if (text == NULL)
        return sh_trouble_set(trouble, "--json %.200s: not enough memory", path);
    if (sh_json_is_output(path)) {
        printf("%s\n", text); /* sh_console_finish tells whether it arrived */
        free(text);
        return true;
    }
    char *real = resolve(path);
    const bool good =
        real != NULL && (exists_as_other(real) ? write_in_place(real, text) : replace(real, text));
    const int error = errno;
    free(real);
    free(text);
    return good || refuse(trouble, "--json", path, error);
}

json_t *sh_json_number(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *sh_json_text(const char *text)
{
    char clean[4096];
    return json_string(sh_console_clean(clean, sizeof clean, text));
}
