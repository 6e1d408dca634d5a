/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and the message of the last failure.
 *
 *     sh_status status = sh_train(&options, &summary);
 *     if (status != SH_OK)
 *         fprintf(stderr, "shoal: %s (%s)\n", sh_message(), sh_status_text(status));
 *
 * Threads: any. The message belongs to the calling thread.
 */
#ifndef SHOAL_STATUS_H
#define SHOAL_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define SHOAL_API __attribute__((visibility("default")))
#define SHOAL_CHECKED __attribute__((warn_unused_result))

/* Name, meaning. SH_OK is always 0; other numbers may change. */
#define SH_STATUS_MAP(X)                                                                           \
    X(OK, "success")                                                                               \
    X(INVALID, "invalid argument")                                                                 \
    X(NOT_FOUND, "not found")                                                                      \
    X(PERMISSION, "permission denied")                                                             \
    X(IO, "input or output failed")                                                                \
    X(NO_SPACE, "no space left")                                                                   \
    X(NO_MEMORY, "not enough memory")                                                              \
    X(FORMAT, "malformed content")                                                                 \
    X(CORRUPT, "damaged content")                                                                  \
    X(VERSION, "unknown version")                                                                  \
    X(MISMATCH, "does not belong to this job")                                                     \
    X(UNSUPPORTED, "not supported here")                                                           \
    X(LIMIT, "limit exceeded")                                                                     \
    X(NUMERIC, "not a finite number")                                                              \
    X(NETWORK, "network failed")                                                                   \
    X(REFUSED, "refused")                                                                          \
    X(PEER_LOST, "a device was lost")                                                              \
    X(STOPPED, "stopped on request")                                                               \
    X(ABORTED, "aborted, can be continued")                                                        \
    X(DIVERGED, "the weights of devices differ")                                                   \
    X(INTERNAL, "internal error")

typedef enum sh_status {
#define SH_STATUS_ENUM(name, text) SH_##name,
    SH_STATUS_MAP(SH_STATUS_ENUM)
#undef SH_STATUS_ENUM
} sh_status;

/* The meaning of a code; never NULL. Static. */
SHOAL_API const char *sh_status_text(sh_status status);

/* The message of this thread's last failure: what, where, and the remedy if known. Initially empty.
 * Borrowed until this thread's next failure. */
SHOAL_API const char *sh_message(void);

/* Sets that message for a program's own failures. Copied; truncated if too long. */
SHOAL_API void sh_message_set(const char *text);

#ifdef __cplusplus
}
#endif
#endif
