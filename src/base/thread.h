/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that receives no signals: they belong to the main thread, and would interrupt this
 * thread's calls. Threads that it starts inherit the mask.
 *
 *     const int error = sh_thread_start(&self->thread, main_of_thread, self);
 *     if (error != 0)
 *         return sh_fail_errno(error, "starting a thread");
 *     ...
 *     pthread_join(self->thread, NULL);
 */
#ifndef SHOAL_BASE_THREAD_H
#define SHOAL_BASE_THREAD_H

#include <pthread.h>

/* Calls main(argument) on a new thread, which the caller joins. Returns 0 or an errno. */
int sh_thread_start(pthread_t *thread, void *(*main)(void *), void *argument);

#endif
