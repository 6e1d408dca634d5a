/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <signal.h>

int sh_thread_start(pthread_t *thread, void *(*main)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits it */
    const int error = pthread_create(thread, NULL, main, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
