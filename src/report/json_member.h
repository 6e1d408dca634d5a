/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a JSON object that may be missing or have another type.
 *
 *     fprintf(file, "%s", sh_member_text(sample, "answer"));
 *
 * Threads: caller locks the object.
 */
#ifndef SHOAL_REPORT_JSON_MEMBER_H
#define SHOAL_REPORT_JSON_MEMBER_H

#include <jansson.h>

/* Borrowed from the object; "": missing. */
const char *sh_member_text(const json_t *object, const char *key);

/* NaN: missing. */
double sh_member_number(const json_t *object, const char *key);

#endif
