/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An outside library that is loaded when it is first used, so that a device that never reads a
 * photo has no decoder in its memory, and one on which a library is missing works without it.
 *
 *     typedef struct jpeg_calls {
 *         SH_LIBRARY_CALL(jpeg_read_header);
 *     } jpeg_calls;
 *     static const sh_library_name names[] = {SH_LIBRARY_NAME(jpeg_calls, jpeg_read_header)};
 *     static sh_library library = {"libjpeg.so.62", "libjpeg62-turbo", names, 1,
 *                                  PTHREAD_MUTEX_INITIALIZER, NULL};
 *
 *     jpeg_calls jpeg;
 *     SH_TRY(sh_library_load(&jpeg, &library));
 *     jpeg.jpeg_read_header(&info, TRUE);
 *
 * The library's header says what its calls are, so they are checked as calls by name would be. It
 * stays loaded until the process ends.
 *
 * Threads: any. A library is the one thing of a file that changes after the start, and only once;
 * its lock guards it.
 */
#ifndef SHOAL_BASE_LIBRARY_H
#define SHOAL_BASE_LIBRARY_H

#include <pthread.h>
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
    pthread_mutex_t lock; /* PTHREAD_MUTEX_INITIALIZER; guards the next */
    void *handle;
} sh_library;

/*
 * Fills a table of calls, from the library that is loaded now if it was not. SH_UNSUPPORTED names
 * the file and the package where the library is missing or lacks a call.
 */
sh_status sh_library_load(void *table, sh_library *library) SHOAL_CHECKED;

#endif
