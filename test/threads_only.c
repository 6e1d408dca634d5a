/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every call of pthread_create is in a test under the thread sanitizer (ld --wrap). Unused
 * sections are gone from a program, so this is there only where a thread can be started:
 * threads_only.sh looks for it.
 */
#include <pthread.h>

/* The linker's names. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    return __real_pthread_create(thread, attributes, start, argument);
}
