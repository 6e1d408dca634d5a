/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a tensor, from the place where a file has them.
 *
 *     SH_TRY(sh_values_check(&place, SH_ONNX_FLOAT16, count, &blob));
 *     SH_TRY(sh_values_floats(floats, &place, SH_ONNX_FLOAT16, count, &blob));
 *
 * Messages say what is wrong, not with which tensor. Threads: any.
 */
#ifndef SHOAL_ONNX_ONNX_VALUES_H
#define SHOAL_ONNX_ONNX_VALUES_H

#include "onnx/blob.h"
#include "onnx/onnx_types.h"
#include "onnx/wire.h"

/* SH_FORMAT where the place does not hold exactly `count` values of the type, or they are damaged.
 * The functions below are for what passed this. */
sh_status sh_values_check(const sh_wire_place *place, sh_onnx_type type, size_t count,
                          const sh_blob *blob) SHOAL_CHECKED;

/* As float32, rounded to nearest, ties to even; of a type with sh_onnx_type_is_float. */
sh_status sh_values_floats(float *values, const sh_wire_place *place, sh_onnx_type type,
                           size_t count, const sh_blob *blob) SHOAL_CHECKED;

/* As integers, of the other types. SH_LIMIT where one is 2^63 or more. */
sh_status sh_values_integers(int64_t *values, const sh_wire_place *place, sh_onnx_type type,
                             size_t count, const sh_blob *blob) SHOAL_CHECKED;

/* As raw_data has them: `count` times the type's bytes, little-endian. */
sh_status sh_values_raw(uint8_t *bytes, const sh_wire_place *place, sh_onnx_type type, size_t count,
                        const sh_blob *blob) SHOAL_CHECKED;

#endif
