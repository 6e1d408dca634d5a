/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the ONNX format: versions, element types, attribute types.
 *
 *     const size_t bytes = sh_onnx_type_bytes(tensor->data_type); // 0: it cannot be read
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_ONNX_TYPES_H
#define SHOAL_ONNX_ONNX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The supported versions of ONNX's own operators. */
#define SH_ONNX_OPSET_FIRST 7
#define SH_ONNX_OPSET_LAST 23

#define SH_ONNX_RANK_MOST 8 /* dimensions of a tensor */

/* The element types that can be read: name, number, bytes of an element. */
#define SH_ONNX_TYPE_MAP(X)                                                                        \
    X(FLOAT, 1, 4)                                                                                 \
    X(UINT8, 2, 1)                                                                                 \
    X(INT8, 3, 1)                                                                                  \
    X(UINT16, 4, 2)                                                                                \
    X(INT16, 5, 2)                                                                                 \
    X(INT32, 6, 4)                                                                                 \
    X(INT64, 7, 8)                                                                                 \
    X(BOOL, 9, 1)                                                                                  \
    X(FLOAT16, 10, 2)                                                                              \
    X(DOUBLE, 11, 8)                                                                               \
    X(UINT32, 12, 4)                                                                               \
    X(UINT64, 13, 8)                                                                               \
    X(BFLOAT16, 16, 2)

typedef enum sh_onnx_type {
#define SH_ONNX_TYPE_ENUM(name, number, bytes) SH_ONNX_##name = number,
    SH_ONNX_TYPE_MAP(SH_ONNX_TYPE_ENUM)
#undef SH_ONNX_TYPE_ENUM
} sh_onnx_type;

/* 0 if the type is not in the list. */
static inline size_t sh_onnx_type_bytes(int64_t number)
{
    switch (number) {
#define SH_ONNX_TYPE_CASE(name, number, bytes)                                                     \
    case SH_ONNX_##name:                                                                           \
        return bytes;
        SH_ONNX_TYPE_MAP(SH_ONNX_TYPE_CASE)
#undef SH_ONNX_TYPE_CASE
    default:
        return 0;
    }
}

static inline bool sh_onnx_type_is_float(int64_t number)
{
    return number == SH_ONNX_FLOAT || number == SH_ONNX_FLOAT16 || number == SH_ONNX_BFLOAT16 ||
           number == SH_ONNX_DOUBLE;
}

/* The supported types of attributes. */
typedef enum sh_onnx_attribute {
    SH_ONNX_ATTRIBUTE_FLOAT = 1,
    SH_ONNX_ATTRIBUTE_INT = 2,
    SH_ONNX_ATTRIBUTE_STRING = 3,
    SH_ONNX_ATTRIBUTE_TENSOR = 4,
    SH_ONNX_ATTRIBUTE_FLOATS = 6,
    SH_ONNX_ATTRIBUTE_INTS = 7,
    SH_ONNX_ATTRIBUTE_STRINGS = 8,
} sh_onnx_attribute;

#endif
