/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the memory of a process that holds a secret out of files and out of other processes. A core
 * file contains the keys of the job, and systemd-coredump or apport store it where others may read
 * it. They ignore a core size limit of zero, so the process is marked as not dumpable (prctl,
 * PR_SET_DUMPABLE). Other processes of the same user cannot read its memory either; root can. A
 * program that it starts is dumpable again.
 *
 *     sh_secrecy_begin(); // a program, before it reads a join token
 *
 * Threads: any.
 */
#ifndef SHOAL_BASE_SECRECY_H
#define SHOAL_BASE_SECRECY_H

/* Lasts for the life of the process. Only a program calls it, never the library. */
void sh_secrecy_begin(void);

#endif
