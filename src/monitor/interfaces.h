/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic of a machine's network interfaces, from the text of /proc/net/dev (proc(5)).
 *
 *     sh_interfaces sums;
 *     if (sh_interfaces_sum(&sums, text))
 *         printf("%.0f bytes sent\n", sums.sent_bytes);
 *
 * Threads: any.
 */
#ifndef SHOAL_MONITOR_INTERFACES_H
#define SHOAL_MONITOR_INTERFACES_H

#include <stdbool.h>

typedef struct sh_interfaces {
    double received_bytes, received_packets, sent_bytes, sent_packets;
} sh_interfaces;

/* Sums all interfaces except the loopback. False if there is none or a line is malformed. */
bool sh_interfaces_sum(sh_interfaces *sums, const char *text);

#endif
