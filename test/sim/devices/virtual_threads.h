/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads in virtual time. The linker (--wrap) redirects pthread_*, poll, nanosleep, clock_gettime
 * and getentropy to this module. Threads are coroutines on the process's only thread. The seed
 * chooses the next one when one blocks, and sometimes when it takes a lock. When all block, the
 * clock jumps to the first deadline. So a seed determines the course.
 *
 * After virtual_begin, all threads of the process are virtual. If all block without a deadline, the
 * process prints their states and ends with status 3. Threads: virtual ones.
 */
#ifndef SHOAL_SIM_VIRTUAL_THREADS_H
#define SHOAL_SIM_VIRTUAL_THREADS_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define VIRTUAL_MS UINT64_C(1000000)
#define VIRTUAL_DEVICES 16
#define VIRTUAL_AGAIN 14 /* device 0 after its restart */

void virtual_begin(uint64_t seed);
bool virtual_has_begun(void);

/* Since virtual_begin. */
uint64_t virtual_now_ns(void);

/* Draws a number below `limit`. */
uint64_t virtual_draw(uint64_t limit);

/* 0: only lets others run. */
void virtual_sleep(uint64_t ns);

/* The device of this thread, and of threads that it starts. */
void virtual_device(uint32_t device);
uint32_t virtual_this_device(void);

/* Stops or resumes all threads of a device. */
void virtual_hold(uint32_t device, bool hold);

/* Moves the real-time clock of a device. */
void virtual_turn_clock(uint32_t device, int64_t by_ns);

void virtual_hold_thread(pthread_t thread, bool hold);

/* poll() without waiting (virtual_files.c). */
int virtual_files_poll(struct pollfd *fds, nfds_t count);

/* Writing to device 0's disk fails with ENOSPC, or waits. */
void virtual_disk(bool full, bool hangs);

/* Whether writing failed in the last 10 s. */
bool virtual_disk_was_full(void);

void virtual_trace(uint64_t number);
uint64_t virtual_trace_hash(void);

void virtual_tell(void);

/* Prints thread switches on standard error. */
extern bool virtual_is_told;

#endif
