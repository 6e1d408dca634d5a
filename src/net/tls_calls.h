/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenSSL, loaded when a device has company: one that trains alone has nobody to be secret from.
 *
 *     SH_TRY(sh_tls_load());
 *     SSL_CTX *context = SSL_CTX_new(TLS_server_method());
 *
 * Threads: any.
 */
#ifndef SHOAL_NET_TLS_CALLS_H
#define SHOAL_NET_TLS_CALLS_H

#include "base/fail.h"

/* To be called before any of OpenSSL's functions; SH_UNSUPPORTED says which package is missing. */
sh_status sh_tls_load(void) SHOAL_CHECKED;

#endif
