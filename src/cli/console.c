/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_BYTES 2048

/* One write, so that lines of threads and processes do not mix. */
static void print_text(const char *before, const char *text)
{
    char clean[LINE_BYTES], line[LINE_BYTES + 32];
    const int length =
        snprintf(line, sizeof line, "%s%s\n", before, sh_utf8_clean(clean, sizeof clean, text));
    fwrite(line, 1, (size_t)length, stderr);
}

__attribute__((format(printf, 2, 0))) static void print_line(const char *before, const char *format,
                                                             va_list arguments)
{
    char text[LINE_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    print_text(before, text);
}

int sh_console_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("shoal: ", format, arguments);
    va_end(arguments);
    return SH_EXIT_FAILURE;
}

int sh_console_misuse(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("shoal: ", format, arguments);
    va_end(arguments);
    fprintf(stderr, "try: shoal help%s%s\n", command != NULL ? " " : "",
            command != NULL ? command : "");
    return SH_EXIT_USAGE;
}

void sh_console_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments);
    va_end(arguments);
}

int sh_console_finish(int code)
{
    errno = 0;
    const bool failed = fflush(stdout) != 0 || ferror(stdout) != 0;
    if (!failed)
        return code;
    const int failure = errno != 0 ? sh_console_fail("standard output: %s", strerror(errno))
                                   : sh_console_fail("standard output could not be written");
    return code == SH_EXIT_DONE ? failure : code;
}

/* Overwrites a progress line; the next step redraws it. */
void sh_console_log(void *context, int level, const char *line)
{
    (void)context;
    (void)level; /* part of the line */
    print_text(sh_console_is_terminal(STDERR_FILENO) ? "\r\033[K" : "", line);
}

bool sh_console_is_terminal(int descriptor)
{
    const char *terminal = getenv("TERM");
    return isatty(descriptor) == 1 && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

bool sh_console_has_colour(int descriptor)
{
    const char *refused = getenv("NO_COLOR"); /* no-color.org: set and not empty */
    return sh_console_is_terminal(descriptor) && (refused == NULL || refused[0] == '\0');
}

unsigned sh_console_width(int descriptor)
{
    struct winsize size;
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}
