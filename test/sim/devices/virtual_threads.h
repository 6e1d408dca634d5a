/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads in virtual time. The linker (--wrap) redirects pthread_*, poll, nanosleep, clock_gettime
 * and getentropy to this module; the tested code is unchanged. Threads are coroutines on the
 * process's only thread. The seed chooses the next one when one blocks, and sometimes when it takes
 * a lock. When all block, the clock jumps to the first deadline. So a seed determines the course,
 * and minutes of virtual time take milliseconds.
 *
 *     virtual_begin(seed);                 // the calling thread is the first
 *     virtual_device(2);                   // threads started from now on are device 2's
 *     pthread_create(&thread, NULL, run, NULL);
 *     virtual_sleep(50 * VIRTUAL_MS);      // lets others run
 *     virtual_hold(2, true);               // device 2 is stopped
 *
 * After virtual_begin, all threads of the process are virtual. If all block without a deadline, the
 * process prints their states and ends with status 3.
 *
 * Threads: virtual ones.
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

/* A number below `limit`, by the seed. */
uint64_t virtual_draw(uint64_t limit);

/* Blocks this thread for a time; 0: only lets others run. */
void virtual_sleep(uint64_t ns);

/* Sets and returns the device of this thread. */
void virtual_device(uint32_t device);
uint32_t virtual_this_device(void);

/* Stops or resumes all threads of a device. */
void virtual_hold(uint32_t device, bool hold);

/* Turns the real-time clock of a device on, or back. */
void virtual_turn_clock(uint32_t device, int64_t by_ns);

/* Stops or resumes one thread. */
void virtual_hold_thread(pthread_t thread, bool hold);

/* poll() without waiting (virtual_files.c). */
int virtual_files_poll(struct pollfd *fds, nfds_t count);

/* Sets the state of device 0's disk: whether writing fails with ENOSPC, or waits. */
void virtual_disk(bool full, bool hangs);

/* Whether writing failed in the last 10 s. */
bool virtual_disk_was_full(void);

/* Adds a number to the hash of the course. */
void virtual_trace(uint64_t number);
uint64_t virtual_trace_hash(void);

/* Prints the state of each thread. */
void virtual_tell(void);

/* Whether to print thread switches on standard error. */
extern bool virtual_is_told;

#endif
