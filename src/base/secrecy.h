/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the memory of a process that holds a secret out of files and out of other processes.
 *
 *     sh_secrecy_begin(); // a program, before it reads a join token
 *
 * A core file has the keys of the job in it, and with systemd-coredump or apport it goes to where
 * others may read it; a limit of zero for core files does not hold for those, so the process is
 * made one that is not dumped (prctl, PR_SET_DUMPABLE). With that, other processes of the same user
 * cannot attach to it or read its memory either; root can, also with a debugger. A program that is
 * started by it begins dumpable again.
 *
 * Threads: any.
 */
#ifndef SHOAL_BASE_SECRECY_H
#define SHOAL_BASE_SECRECY_H

/* For the rest of the process's life. It is the process's, not the library's: only a program calls
 * it. */
void sh_secrecy_begin(void);

#endif
