/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the bytes of an ONNX file into messages (src/onnx/onnx.proto), with limits.
 *
 * The bytes are scanned before protobuf-c unpacks them, because protobuf-c limits neither depth nor
 * memory. The result has neither the values of tensors, which stay in the file, nor fields that
 * onnx.proto does not declare. Its texts are UTF-8 without control characters, except that values
 * of metadata may have tabs and line ends. Its numbers are well formed, and no singular field
 * occurs twice.
 *
 *     sh_wire wire;
 *     SH_TRY(sh_wire_read(&wire, &blob, arena));
 *     const Sh__Onnx__TensorProto *tensor = wire.model->graph->initializer[0];
 *     if (tensor->place > 0)
 *         ... wire.places[tensor->place - 1] locates its values ...
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_WIRE_H
#define SHOAL_ONNX_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "onnx/blob.h"
#include "onnx/onnx.pb-c.h"

#define SH_WIRE_FILE_MOST ((uint64_t)INT32_MAX) /* bytes of a file: protobuf's own limit */
#define SH_WIRE_SMALL_MOST (32u << 20)          /* bytes of it without the values of tensors */
#define SH_WIRE_MEMORY_MOST ((size_t)256 << 20) /* bytes of the unpacked messages */
#define SH_WIRE_TEXT_MOST 1024u                 /* bytes of a name */
#define SH_WIRE_FIELD_MOST (1u << 20)           /* bytes of a list, a string attribute, metadata */

/* How values are encoded: the number of the tensor field that holds them. */
typedef enum sh_wire_encoding {
    SH_WIRE_FLOATS = 4,   /* float_data: 4 bytes each */
    SH_WIRE_INT32S = 5,   /* int32_data: varints */
    SH_WIRE_INT64S = 7,   /* int64_data: varints */
    SH_WIRE_RAW = 9,      /* raw_data: little-endian, as in memory */
    SH_WIRE_DOUBLES = 10, /* double_data: 8 bytes each */
    SH_WIRE_UINT64S = 11, /* uint64_data: varints */
} sh_wire_encoding;

/* Where the values of a tensor are: places[tensor->place - 1] if tensor->place > 0. */
typedef struct sh_wire_place {
    uint64_t offset; /* in the blob */
    uint64_t bytes;
    sh_wire_encoding encoding;
} sh_wire_place;

typedef struct sh_wire {
    Sh__Onnx__ModelProto *model;
    sh_wire_place *places;
    size_t place_count;
} sh_wire;

/*
 * All of `wire` is borrowed until the arena is released. SH_FORMAT: malformed; SH_CORRUPT:
 * truncated; SH_LIMIT: more than the limits above; SH_UNSUPPORTED: functions or sparse tensors.
 * Messages do not name the file; the caller adds it.
 */
sh_status sh_wire_read(sh_wire *wire, const sh_blob *blob, sh_arena *arena) SHOAL_CHECKED;

#endif
