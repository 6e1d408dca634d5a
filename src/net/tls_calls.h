/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads OpenSSL when it is first used. A device that trains alone does not need it. Threads: any.
 */
#ifndef SHOAL_NET_TLS_CALLS_H
#define SHOAL_NET_TLS_CALLS_H

#include "base/fail.h"

/* Call it before any function of OpenSSL. SH_UNSUPPORTED: the message names the missing package. */
sh_status sh_tls_load(void) SHOAL_CHECKED;

#endif
