/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads OpenSSL when it is first used. A device that trains alone does not need it.
 *
 *     SH_TRY(sh_tls_load());
 *     SSL_CTX *context = SSL_CTX_new(TLS_server_method());
 *
 * Threads: any.
 */
#ifndef SHOAL_NET_TLS_CALLS_H
#define SHOAL_NET_TLS_CALLS_H

#include "base/fail.h"

/* Call it before any function of OpenSSL. SH_UNSUPPORTED: the message names the missing package. */
sh_status sh_tls_load(void) SHOAL_CHECKED;

#endif
