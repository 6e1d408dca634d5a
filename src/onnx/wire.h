/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the bytes of an ONNX file to messages (src/onnx/onnx.proto), with limits.
 *
 *     sh_wire wire;
 *     SH_TRY(sh_wire_read(&wire, &blob, arena));
 *     const Sh__Onnx__TensorProto *tensor = wire.model->graph->initializer[0];
 *     if (tensor->place > 0)
 *         ... wire.places[tensor->place - 1] says where its values are ...
 *
 * The bytes are walked before protobuf-c unpacks anything, because that has no limit of depth or
 * memory. What passes is a small message without the values of tensors, which stay where they are,
 * and without the fields that onnx.proto does not have. In it texts are UTF-8 without control
 * characters (in metadata alone there may be tabs and ends of lines), numbers are well formed, and
 * no field is there twice that can be there once.
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
#define SH_WIRE_SMALL_MOST (32u << 20)          /* of it without the tensors' values */
#define SH_WIRE_MEMORY_MOST ((size_t)256 << 20) /* that its messages take in memory */
#define SH_WIRE_TEXT_MOST 1024u                 /* bytes of a name */
#define SH_WIRE_FIELD_MOST (1u << 20) /* of a list of numbers, a text attribute, metadata */

/* How values are encoded: the number of the field of a tensor that has them. */
typedef enum sh_wire_encoding {
    SH_WIRE_FLOATS = 4,   /* float_data: 4 bytes each */
    SH_WIRE_INT32S = 5,   /* int32_data: varints */
    SH_WIRE_INT64S = 7,   /* int64_data: varints */
    SH_WIRE_RAW = 9,      /* raw_data: as in memory, little-endian */
    SH_WIRE_DOUBLES = 10, /* double_data: 8 bytes each */
    SH_WIRE_UINT64S = 11, /* uint64_data: varints */
} sh_wire_encoding;

/* Where the values of a tensor are. */
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
 * All of `wire` is borrowed until the arena is released. SH_FORMAT: malformed; SH_CORRUPT: cut
 * short; SH_LIMIT: more than the limits above; SH_UNSUPPORTED: functions or sparse tensors. The
 * caller adds the file's name.
 */
sh_status sh_wire_read(sh_wire *wire, const sh_blob *blob, sh_arena *arena) SHOAL_CHECKED;

#endif
