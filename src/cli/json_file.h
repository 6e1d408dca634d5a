/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the file of --json atomically. The path "-" is standard output. A file that is not regular
 * (a pipe, /dev/null) is written directly.
 *
 *     json_t *root = json_pack("{s:s}", "version", sh_version());
 *     if (sh_json_file_write(path, root) != SH_OK)      // takes root
 *         return sh_console_fail("%s", sh_message());
 *
 * Threads: any.
 */
#ifndef SHOAL_CLI_JSON_FILE_H
#define SHOAL_CLI_JSON_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include "shoal/status.h"

/* Whether the path is standard output, which then has nothing else. NULL: false. */
bool sh_json_is_output(const char *path);

/* Checks whether the file can probably be written, before long work. */
sh_status sh_json_file_check(const char *path) SHOAL_CHECKED;

/* Likewise for the file of another option, such as "--trace", where "-" is an ordinary file. */
sh_status sh_result_file_check(const char *option, const char *path) SHOAL_CHECKED;

/* Writes `text` to the file of another option in the same way; "-" is standard output. */
sh_status sh_result_file_write(const char *option, const char *path,
                               const char *text) SHOAL_CHECKED;

/* Takes `root` over in any case; NULL (out of memory) fails. A failure leaves an existing file
 * unchanged. */
sh_status sh_json_file_write(const char *path, json_t *root) SHOAL_CHECKED;

/* A list of any length, written item by item. A regular file is replaced atomically; other files
 * get each item at once. */
typedef struct sh_json_list sh_json_list;

/* `*list` is owned: end it with close or discard. */
sh_status sh_json_list_open(sh_json_list **list, const char *path) SHOAL_CHECKED;

/* Takes `item` over; NULL (out of memory) fails. sh_json_list_close reports failures. */
void sh_json_list_add(sh_json_list *list, json_t *item);

/* Frees the list, also on failure. */
sh_status sh_json_list_close(sh_json_list *list) SHOAL_CHECKED;

/* Leaves an existing file unchanged. NULL is allowed. */
void sh_json_list_discard(sh_json_list *list);

/* JSON's null if the number is not finite. NULL: out of memory. */
json_t *sh_json_number(double number);

/* Take `item` over. Without memory, `*array` or `*object` becomes and stays NULL. */
void sh_json_append(json_t **array, json_t *item);
void sh_json_set(json_t **object, const char *key, json_t *item);

/* Malformed UTF-8 is replaced. NULL: out of memory. */
json_t *sh_json_text(const char *text);

#endif
