/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An outside library that is loaded when it is first used, so that a device that never reads a
 * photo has no decoder in its memory, and one on which a library is missing works without it.
 *
 *     typedef struct jpeg_calls {
 *         SH_LIBRARY_CALL(jpeg_read_header);
 *     } jpeg_calls;
 *     static const sh_library_name names[] = {SH_LIBRARY_NAME(jpeg_calls, jpeg_read_header)};
 *     static sh_library library = SH_LIBRARY("libjpeg.so.62", "libjpeg62-turbo", names);
 *
 *     jpeg_calls jpeg;
 *     SH_TRY(sh_library_load(&jpeg, &library));
 *     jpeg.jpeg_read_header(&info, TRUE);
 *
 * The library's header says what its calls are, so they are checked as calls by name would be. It
 * stays loaded until the process ends. Where much code calls a library, functions of the library's
 * names go on to a table of static storage (net/tls_calls.c), and callers look as if it was linked.
 *
 * Threads: any. A library is the one thing of a file that changes after the start, and only once;
 * its lock guards it.
 */
#ifndef SHOAL_BASE_LIBRARY_H
#define SHOAL_BASE_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

/* A member of a table of calls: a pointer to the function of this name. */
#define SH_LIBRARY_CALL(name) __typeof__(name) *name

typedef struct sh_library_name {
    const char *name;
    size_t offset; /* of the pointer in the table */
} sh_library_name;

#define SH_LIBRARY_NAME(table, name)                                                               \
    {                                                                                              \
#name, offsetof(table, name)                                                               \
    }

typedef struct sh_library {
    const char *file;    /* "libjpeg.so.62": the version that the header is of */
    const char *package; /* Debian's, for the message */
    const sh_library_name *names;
    size_t name_count;
    bool has_plugins;     /* that expect its names, as if the program was linked with it */
    pthread_mutex_t lock; /* guards the next */
    void *handle;
} sh_library;

#define SH_LIBRARY_MEMBERS(its_file, its_package, its_names)                                       \
    .file = its_file, .package = its_package, .names = its_names,                                  \
    .name_count = sizeof its_names / sizeof *its_names, .lock = PTHREAD_MUTEX_INITIALIZER
#define SH_LIBRARY(file, package, names)                                                           \
    {                                                                                              \
        SH_LIBRARY_MEMBERS(file, package, names)                                                   \
    }

/*
 * Fills a table of calls, from the library that is loaded now if it was not. SH_UNSUPPORTED names
 * the file and the package where the library is missing or lacks a call.
 */
sh_status sh_library_load(void *table, sh_library *library) SHOAL_CHECKED;

/*
 * As sh_library_load, for a table of static storage, which only the first call writes: from then on
 * any thread may read it. A library has one of the two.
 */
sh_status sh_library_load_once(void *table, sh_library *library) SHOAL_CHECKED;

/*
 * Defines the functions of a list, each as in the library's header; `calls`, the table that they go
 * on to; and `names`, its names.
 *
 *     #define LIST(VALUE, NOTHING)                                                                \
 *         VALUE(int, SSL_shutdown, (SSL * a), (a))                                                \
 *         NOTHING(SSL_free, (SSL * a), (a))
 *     SH_LIBRARY_FUNCTIONS(LIST)
 */
#define SH_LIBRARY_FUNCTIONS(LIST)                                                                 \
    static struct library_calls {                                                                  \
        LIST(SH_LIBRARY_VALUE_MEMBER, SH_LIBRARY_MEMBER)                                           \
    } calls;                                                                                       \
    static const sh_library_name names[] = {LIST(SH_LIBRARY_VALUE_LINE, SH_LIBRARY_LINE)};         \
    LIST(SH_LIBRARY_VALUE_FUNCTION, SH_LIBRARY_FUNCTION)

#define SH_LIBRARY_MEMBER(name, parameters, arguments) SH_LIBRARY_CALL(name);
#define SH_LIBRARY_VALUE_MEMBER(type, name, parameters, arguments) SH_LIBRARY_CALL(name);
#define SH_LIBRARY_LINE(name, parameters, arguments) SH_LIBRARY_NAME(struct library_calls, name),
#define SH_LIBRARY_VALUE_LINE(type, name, parameters, arguments)                                   \
    SH_LIBRARY_NAME(struct library_calls, name),
#define SH_LIBRARY_FUNCTION(name, parameters, arguments)                                           \
    void name parameters                                                                           \
    {                                                                                              \
        calls.name arguments;                                                                      \
    }
#define SH_LIBRARY_VALUE_FUNCTION(type, name, parameters, arguments)                               \
    type name parameters                                                                           \
    {                                                                                              \
        return calls.name arguments;                                                               \
    }

#endif
