/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that receives no signals: they belong to the main thread, and would interrupt this
 * thread's calls. Threads that it starts inherit the mask.
 */
#ifndef SHOAL_BASE_THREAD_H
#define SHOAL_BASE_THREAD_H

#include <pthread.h>

/* Calls main(argument) on a new thread, which the caller joins. Returns 0 or an errno. */
int sh_thread_start(pthread_t *thread, void *(*main)(void *), void *argument);

#endif
