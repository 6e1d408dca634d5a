/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of ours, which no signal ever finds: signals are the main thread's, whose calls they may
 * interrupt. What the thread starts inherits this.
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

/* Calls main(argument) on a new thread, which the caller joins. 0, or what pthread_create said. */
int sh_thread_start(pthread_t *thread, void *(*main)(void *), void *argument);

#endif
