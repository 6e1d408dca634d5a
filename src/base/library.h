/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads an external library on first use, so that a device that never reads a photo has no decoder
 * in memory, and a device that lacks the library still works.
 *
 *     typedef struct jpeg_calls {
 *         SH_LIBRARY_CALL(jpeg_read_header);
 *     } jpeg_calls;
 *     static const sh_library_name names[] = {SH_LIBRARY_NAME(jpeg_calls, jpeg_read_header)};
 *     static sh_library library = SH_LIBRARY("libjpeg.so.62", "libjpeg62-turbo", names);
 *
 *     SH_TRY(sh_library_load(&jpeg, &library));
 *     jpeg.jpeg_read_header(&info, TRUE);
 *
 * The library's header declares the calls, so the compiler checks them like direct calls. A library
 * stays loaded until the process ends. If much code calls a library, wrappers with the library's
 * names forward to a static table (net/tls_calls.c).
 *
 * Threads: any.
 */
#ifndef SHOAL_BASE_LIBRARY_H
#define SHOAL_BASE_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

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
    const char *file;    /* "libjpeg.so.62": the version of the header */
    const char *package; /* Debian's, for the message */
    const sh_library_name *names;
    size_t name_count;
    bool has_plugins;     /* they expect its symbols, as if the program were linked with it */
    pthread_mutex_t lock; /* guards `handle` */
    void *handle;
} sh_library;

#define SH_LIBRARY_MEMBERS(its_file, its_package, its_names)                                       \
    .file = its_file, .package = its_package, .names = its_names,                                  \
    .name_count = sizeof its_names / sizeof *its_names, .lock = PTHREAD_MUTEX_INITIALIZER
#define SH_LIBRARY(file, package, names)                                                           \
    {                                                                                              \
        SH_LIBRARY_MEMBERS(file, package, names)                                                   \
    }

/* Fills a call table, loading the library if needed. SH_UNSUPPORTED names the missing function or
 * library and the package. */
sh_status sh_library_load(void *table, sh_library *library) SHOAL_CHECKED;

/* The same for a static table: only the first call writes it, then any thread may read it. Use one
 * of the two for a library. */
sh_status sh_library_load_once(void *table, sh_library *library) SHOAL_CHECKED;

/*
 * Defines the functions of a list, declared as in the library's header; `calls`, the table to which
 * they forward; and `names`, its names.
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
