/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the values of a tensor from their place in a file.
 *
 * Messages do not name the tensor; the caller adds it.
 *
 *     SH_TRY(sh_values_check(&place, SH_ONNX_FLOAT16, count, &blob));
 *     SH_TRY(sh_values_floats(floats, &place, SH_ONNX_FLOAT16, count, &blob));
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_ONNX_VALUES_H
#define SHOAL_ONNX_ONNX_VALUES_H

#include "onnx/blob.h"
#include "onnx/onnx_types.h"
#include "onnx/wire.h"

/* SH_FORMAT if the place does not hold exactly `count` values of the type, or if they are
 * malformed. The functions below require that this check has passed. */
sh_status sh_values_check(const sh_wire_place *place, sh_onnx_type type, size_t count,
                          const sh_blob *blob) SHOAL_CHECKED;

/* Reads float32, rounded to nearest, ties to even. The type must satisfy sh_onnx_type_is_float. */
sh_status sh_values_floats(float *values, const sh_wire_place *place, sh_onnx_type type,
                           size_t count, const sh_blob *blob) SHOAL_CHECKED;

/* Reads integers, for the other types. SH_LIMIT if a value is 2^63 or more. */
sh_status sh_values_integers(int64_t *values, const sh_wire_place *place, sh_onnx_type type,
                             size_t count, const sh_blob *blob) SHOAL_CHECKED;

/* Reads the format of raw_data: `count` elements, little-endian. */
sh_status sh_values_raw(uint8_t *bytes, const sh_wire_place *place, sh_onnx_type type, size_t count,
                        const sh_blob *blob) SHOAL_CHECKED;

#endif
