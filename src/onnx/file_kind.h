/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises files that were mistaken for ONNX files, for error messages.
 *
 *     const char *kind = sh_file_kind(bytes, count);
 *     // "a PNG picture", "the pointer that Git LFS leaves in a file's place: ..."; NULL: unknown
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_FILE_KIND_H
#define SHOAL_ONNX_FILE_KIND_H

#include <stddef.h>
#include <stdint.h>

#define SH_FILE_KIND_BYTES 64 /* bytes at the beginning of a file that are examined */

/* Returns a static text, such as "a PNG picture", with a remedy if one is known. NULL if the kind
 * is not recognised. */
const char *sh_file_kind(const uint8_t *bytes, size_t count);

#endif
