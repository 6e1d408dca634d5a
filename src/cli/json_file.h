/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of --json: written as a whole or not at all.
 *
 *     json_t *root = json_pack("{s:s}", "version", sh_version());
 *     if (sh_json_file_write(path, root) != SH_OK)      // takes root
 *         return sh_console_fail("%s", sh_message());
 *
 * The path "-" is standard output. What is not a regular file (a pipe, /dev/null) is written to
 * directly.
 *
 * Threads: any.
 */
#ifndef SHOAL_CLI_JSON_FILE_H
#define SHOAL_CLI_JSON_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include "shoal/status.h"

/* Is it standard output, so that nothing else belongs there? NULL is not. */
bool sh_json_is_output(const char *path);

/* Can the file be written, as far as is known without writing? For before hours of work. */
sh_status sh_json_file_check(const char *path) SHOAL_CHECKED;

/* The same of a file that another option asks for, such as "--trace"; "-" is a file then. */
sh_status sh_result_file_check(const char *option, const char *path) SHOAL_CHECKED;

/* Writes `text` to the file of another option in the same way; the path "-" is standard output. */
sh_status sh_result_file_write(const char *option, const char *path,
                               const char *text) SHOAL_CHECKED;

/*
 * Writes `root`, which it takes over in any case; NULL (memory was out while it was made) fails.
 * On failure a file that was there is as it was, and the message says what to do.
 */
sh_status sh_json_file_write(const char *path, json_t *root) SHOAL_CHECKED;

/*
 * A list that is written item by item, so that it may be long. A regular file is replaced
 * atomically. Standard output and other kinds of files get each item at once.
 */
typedef struct sh_json_list sh_json_list;

/* Begins the list of --json. `*list` is owned: end it with close or discard. */
sh_status sh_json_list_open(sh_json_list **list, const char *path) SHOAL_CHECKED;

/* Adds `item`, which it takes over; NULL (memory was out while it was made) fails. A failure is
 * kept, and told when the list is closed. */
void sh_json_list_add(sh_json_list *list, json_t *item);

/* Ends the list, and puts the file in its place; frees it, also on failure. */
sh_status sh_json_list_close(sh_json_list *list) SHOAL_CHECKED;

/* Leaves a file that was there as it was. NULL is fine. */
void sh_json_list_discard(sh_json_list *list);

/* A number, or null where it is not finite, which JSON cannot say. NULL where memory is out. */
json_t *sh_json_number(double number);

/* Take `item` into `*array` or `*object`, which becomes NULL where memory is out, and then stays
 * so.
 */
void sh_json_append(json_t **array, json_t *item);
void sh_json_set(json_t **object, const char *key, json_t *item);

/* Text with malformed UTF-8 replaced, which JSON cannot hold. NULL where memory is out. */
json_t *sh_json_text(const char *text);

#endif
