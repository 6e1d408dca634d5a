/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads libyaml at run time, when a study is read.
 *
 *     SH_TRY(sh_yaml_load());
 *     yaml_parser_initialize(&parser);
 *
 * Threads: any.
 */
#ifndef SHOAL_SWEEP_YAML_CALLS_H
#define SHOAL_SWEEP_YAML_CALLS_H

#include "base/fail.h"

/* Call it before libyaml's functions. SH_UNSUPPORTED names the missing package. */
sh_status sh_yaml_load(void) SHOAL_CHECKED;

#endif
