/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads in virtual time. The linker gives the calls of pthread_*, poll, nanosleep, clock_gettime
 * and getentropy to this module (--wrap), so the code under test runs as it is. Its threads are
 * real, but one runs at a time, and a seed decides which is next wherever one blocks, and now and
 * then where one takes a lock. When all block, the clock jumps to the first deadline. So a seed is
 * one course, the same each time, and minutes of it take seconds.
 *
 *     virtual_begin(seed);                 // the calling thread is the first
 *     virtual_device(2);                   // threads that are started from now on are device 2's
 *     pthread_create(&thread, NULL, run, NULL);
 *     virtual_sleep(50 * VIRTUAL_MS);      // others run meanwhile
 *     virtual_hold(2, true);               // device 2 is stopped
 *
 * After virtual_begin every thread of the process is one of these. All blocked without a deadline
 * is the end: it says where each thread stands, and ends the process with status 3.
 *
 * Threads: those of the virtual time.
 */
#ifndef SHOAL_SIM_VIRTUAL_THREADS_H
#define SHOAL_SIM_VIRTUAL_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define VIRTUAL_MS UINT64_C(1000000)
#define VIRTUAL_DEVICES 16

void virtual_begin(uint64_t seed);

/* Since virtual_begin. */
uint64_t virtual_now_ns(void);

/* A number below `limit`, by the seed. */
uint64_t virtual_draw(uint64_t limit);

/* Blocks this thread for so long; 0: others may run. */
void virtual_sleep(uint64_t ns);

/* Sets, and returns, whose this thread is. */
void virtual_device(uint32_t device);
uint32_t virtual_this_device(void);

/* Stops all threads of a device, or lets them go on. */
void virtual_hold(uint32_t device, bool hold);

/* Stops one thread, or lets it go on. */
void virtual_hold_thread(pthread_t thread, bool hold);

/* Takes part in the hash of the course. */
void virtual_trace(uint64_t number);
uint64_t virtual_trace_hash(void);

/* Prints where each thread stands. */
void virtual_tell(void);

/* Every switch is printed to standard error. */
extern bool virtual_is_told;

#endif
