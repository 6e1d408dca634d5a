/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces pthread_create in tests under the thread sanitizer (ld --wrap). The linker drops unused
 * sections, so this remains only in tests that can start threads; threads_only.sh looks for it.
 */
#include <pthread.h>

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    return __real_pthread_create(thread, attributes, start, argument);
}
