/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file looks like that is not what it was taken for.
 *
 *     const char *kind = sh_file_kind(bytes, count);
 *     // "a PNG picture", "the pointer that Git LFS leaves in a file's place: ..."; NULL: no idea
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_FILE_KIND_H
#define SHOAL_ONNX_FILE_KIND_H

#include <stddef.h>
#include <stdint.h>

#define SH_FILE_KIND_BYTES 64 /* of the beginning of a file that are enough */

/* Static text, with the remedy where there is one; NULL where nothing is recognised. */
const char *sh_file_kind(const uint8_t *bytes, size_t count);

#endif
