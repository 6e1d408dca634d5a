/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libyaml, loaded where a study is read.
 *
 *     SH_TRY(sh_yaml_load());
 *     yaml_parser_initialize(&parser);
 *
 * Threads: any.
 */
#ifndef SHOAL_SWEEP_YAML_CALLS_H
#define SHOAL_SWEEP_YAML_CALLS_H

#include "base/fail.h"

/* To be called before any of libyaml's functions; SH_UNSUPPORTED says which package is missing. */
sh_status sh_yaml_load(void) SHOAL_CHECKED;

#endif
