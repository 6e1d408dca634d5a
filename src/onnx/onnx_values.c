/* SPDX-License-Identifier: Apache-2.0 */
/* All encodings are first converted to the bits that raw_data would have, in a 64-bit integer. The
 * element type determines the number that they mean. */
#include "onnx/onnx_values.h"

#include <inttypes.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)8 << 10) /* a multiple of the largest element */
#define VARINT_MOST 10u

typedef struct value_reader {
    const sh_blob *blob;
    uint64_t at, left; /* unread bytes */
    size_t have, used; /* in the chunk */
    uint8_t chunk[CHUNK_BYTES];
} value_reader;

static void reader_init(value_reader *reader, const sh_wire_place *place, const sh_blob *blob)
{
    reader->blob = blob;
    reader->at = place->offset;
    reader->left = place->bytes;
    reader->have = reader->used = 0;
}

static sh_status refill(value_reader *reader)
{
    const size_t fill = reader->left < CHUNK_BYTES ? (size_t)reader->left : CHUNK_BYTES;
    if (fill == 0)
        return sh_fail(SH_FORMAT, "has too few values");
    SH_TRY(sh_blob_read(reader->blob, reader->chunk, fill, reader->at));
    reader->at += fill;
    reader->left -= fill;
    reader->have = fill;
    reader->used = 0;
    return SH_OK;
}

static bool is_varint(sh_wire_encoding encoding)
{
    return encoding == SH_WIRE_INT32S || encoding == SH_WIRE_INT64S || encoding == SH_WIRE_UINT64S;
}

static size_t fixed_bytes(sh_wire_encoding encoding, sh_onnx_type type)
{
    return encoding == SH_WIRE_FLOATS    ? 4
           : encoding == SH_WIRE_DOUBLES ? 8
                                         : sh_onnx_type_bytes(type);
}

static sh_status next_varint(value_reader *reader, uint64_t *bits)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < VARINT_MOST; i++) {
        if (reader->used == reader->have)
            SH_TRY(refill(reader));
        const uint8_t byte = reader->chunk[reader->used++];
        number |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            *bits = number;
            return SH_OK;
        }
    }
    return sh_fail(SH_FORMAT, "has a number that does not end");
}

/* Chunks hold whole values: their size is a multiple of that of a value. */
static sh_status next_bits(value_reader *reader, sh_wire_encoding encoding, sh_onnx_type type,
                           uint64_t *bits)
{
    if (is_varint(encoding))
        return next_varint(reader, bits);
    const size_t bytes = fixed_bytes(encoding, type);
    if (reader->used == reader->have)
        SH_TRY(refill(reader));
    if (reader->have - reader->used < bytes)
        return sh_fail(SH_FORMAT, "has too few values");
    *bits = 0;
    memcpy(bits, reader->chunk + reader->used, bytes); /* the host is little-endian too */
    reader->used += bytes;
    return SH_OK;
}

static bool fits(sh_wire_encoding encoding, sh_onnx_type type)
{
    switch (encoding) {
    case SH_WIRE_RAW:
        return true;
    case SH_WIRE_FLOATS:
        return type == SH_ONNX_FLOAT;
    case SH_WIRE_DOUBLES:
        return type == SH_ONNX_DOUBLE;
    case SH_WIRE_INT64S:
        return type == SH_ONNX_INT64;
    case SH_WIRE_UINT64S:
        return type == SH_ONNX_UINT64 || type == SH_ONNX_UINT32;
    case SH_WIRE_INT32S:
        return type != SH_ONNX_FLOAT && type != SH_ONNX_DOUBLE && type != SH_ONNX_INT64 &&
               type != SH_ONNX_UINT64 && type != SH_ONNX_UINT32;
    }
    return false;
}

sh_status sh_values_check(const sh_wire_place *place, sh_onnx_type type, size_t count,
                          const sh_blob *blob)
{
    if (!fits(place->encoding, type))
        return sh_fail(SH_FORMAT, "its values are encoded for another type of elements");
    if (!is_varint(place->encoding)) {
        uint64_t need;
        if (__builtin_mul_overflow((uint64_t)count, (uint64_t)fixed_bytes(place->encoding, type),
                                   &need) ||
            need != place->bytes)
            return sh_fail(SH_FORMAT,
                           "its shape needs %zu values, and it has %" PRIu64 " bytes of them",
                           count, place->bytes);
        return SH_OK;
    }
    value_reader reader;
    reader_init(&reader, place, blob);
    size_t found = 0;
    for (uint64_t bits; reader.left > 0 || reader.used < reader.have; found++)
        SH_TRY(next_varint(&reader, &bits));
    if (found != count)
        return sh_fail(SH_FORMAT, "its shape needs %zu values, and it has %zu", count, found);
    return SH_OK;
}

/* Every IEEE 754 binary16 is exact in float32. */
static float float_of_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, fraction = half & 0x3FFu;
    const uint32_t exponent = half >> 10 & 0x1Fu;
    uint32_t bits = sign | (exponent + 112) << 23 | fraction << 13;
    float value;
    if (exponent == 0x1F) /* infinity or NaN */
        bits = sign | 0x7F800000u | fraction << 13;
    if (exponent == 0) { /* zero or subnormal: fraction * 2^-24 */
        value = (float)fraction * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float float_of(sh_onnx_type type, uint64_t bits)
{
    float value;
    double wide;
    uint32_t word = (uint32_t)bits;
    switch (type) {
    case SH_ONNX_FLOAT16:
        return float_of_half((uint16_t)bits);
    case SH_ONNX_DOUBLE:
        memcpy(&wide, &bits, sizeof wide);
        return (float)wide;
    case SH_ONNX_BFLOAT16:
        word <<= 16;
        break;
    default:
        break;
    }
    memcpy(&value, &word, sizeof value);
    return value;
}

sh_status sh_values_floats(float *values, const sh_wire_place *place, sh_onnx_type type,
                           size_t count, const sh_blob *blob)
{
    if (type == SH_ONNX_FLOAT) /* both encodings are as in memory */
        return sh_blob_read(blob, values, count * sizeof *values, place->offset);
    value_reader reader;
    reader_init(&reader, place, blob);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        SH_TRY(next_bits(&reader, place->encoding, type, &bits));
        values[i] = float_of(type, bits);
    }
    return SH_OK;
}

static int64_t integer_of(sh_onnx_type type, uint64_t bits)
{
    switch (type) {
    case SH_ONNX_UINT8:
        return (uint8_t)bits;
    case SH_ONNX_INT8:
        return (int8_t)bits;
    case SH_ONNX_UINT16:
        return (uint16_t)bits;
    case SH_ONNX_INT16:
        return (int16_t)bits;
    case SH_ONNX_INT32:
        return (int32_t)bits;
    case SH_ONNX_UINT32:
        return (uint32_t)bits;
    case SH_ONNX_BOOL:
        return (uint8_t)bits != 0;
    default:
        return (int64_t)bits;
    }
}

sh_status sh_values_integers(int64_t *values, const sh_wire_place *place, sh_onnx_type type,
                             size_t count, const sh_blob *blob)
{
    value_reader reader;
    reader_init(&reader, place, blob);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        SH_TRY(next_bits(&reader, place->encoding, type, &bits));
        if (type == SH_ONNX_UINT64 && bits > INT64_MAX)
            return sh_fail(SH_LIMIT, "its value %zu is %" PRIu64 ", more than 2^63 - 1", i, bits);
        values[i] = integer_of(type, bits);
    }
    return SH_OK;
}

sh_status sh_values_raw(uint8_t *bytes, const sh_wire_place *place, sh_onnx_type type, size_t count,
                        const sh_blob *blob)
{
    const size_t each = sh_onnx_type_bytes(type);
    if (!is_varint(place->encoding))
        return sh_blob_read(blob, bytes, count * each, place->offset);
    value_reader reader;
    reader_init(&reader, place, blob);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        SH_TRY(next_bits(&reader, place->encoding, type, &bits));
        memcpy(bytes + i * each, &bits, each);
    }
    return SH_OK;
}
