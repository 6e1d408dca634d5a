/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of --json: written as a whole or not at all.
 *
 *     json_t *root = json_pack("{s:s}", "version", sh_version());
 *     if (!sh_json_file_write(&trouble, path, root))      // takes root
 *         return sh_console_fail("%s", trouble.text);
 *
 * The path "-" is standard output. What is not a regular file (a pipe, /dev/null) is written to
 * directly.
 *
 * Threads: any.
 */
#ifndef SHOAL_CLI_JSON_FILE_H
#define SHOAL_CLI_JSON_FILE_H

#include <jansson.h>

#include "cli/trouble.h"

/* Is it standard output, so that nothing else belongs there? NULL is not. */
bool sh_json_is_output(const char *path);

/* Can the file be written, as far as is known without writing? For before hours of work. */
bool sh_json_file_check(sh_trouble *trouble, const char *path);

/* The same of a file that another option asks for, such as "--trace"; "-" is a file then. */
bool sh_result_file_check(sh_trouble *trouble, const char *option, const char *path);

/*
 * Writes `root`, which it takes over in any case; NULL (memory was out while it was made) fails.
 * On failure a file that was there is as it was, and the trouble says what to do.
 */
bool sh_json_file_write(sh_trouble *trouble, const char *path, json_t *root);

/* A number, or null where it is not finite, which JSON cannot say. NULL where memory is out. */
json_t *sh_json_number(double number);

/* Text with malformed UTF-8 replaced, which JSON cannot hold. NULL where memory is out. */
json_t *sh_json_text(const char *text);

#endif
