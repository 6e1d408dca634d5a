/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A protobuf message is a list of fields. A field has a key (field number and kind of encoding),
 * and then a varint, 4 or 8 bytes, or a length and as many bytes. The walk follows the descriptors
 * that protobuf-c generates from onnx.proto and writes a copy of the known fields.
 *
 *     file    | key length graph ... | key length raw_data (skipped) | key length doc (skipped) |
 *     copy    | key length graph ... | key place                     |
 *
 * Only messages that onnx.proto declares are entered. None of them contains itself, so the schema
 * limits the depth. The length of a message is known after it was copied, so four bytes are
 * reserved for it.
 */
#include "onnx/wire.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define WINDOW_BYTES ((size_t)16 << 10)
#define DEPTH_MOST 16 /* the schema has 7 */
#define VARINT_MOST 10u
#define LENGTH_BYTES 4u /* of a reserved length: 28 bits */

#define PLACE_FIELD 536870911u /* TensorProto.place */

enum kind { KIND_VARINT = 0, KIND_64 = 1, KIND_LENGTH = 2, KIND_32 = 5 };

typedef struct file_walk {
    const sh_blob *blob;
    uint64_t at;     /* position in the blob */
    uint8_t *window; /* a part of the blob */
    uint64_t window_at;
    size_t window_count;
    uint8_t *copy;
    size_t copied, capacity;
    sh_wire_place *places;
    size_t place_count, place_capacity;
} file_walk;

typedef struct file_item {
    uint64_t at; /* of its key */
    uint32_t number;
    enum kind kind;
    uint64_t value; /* of a varint; the length for KIND_LENGTH */
    uint64_t end;   /* of the enclosing message */
} file_item;

/* Makes available at least one byte, and as many as are left and fit in the window. */
static sh_status look(file_walk *walk, const uint8_t **bytes, size_t *count)
{
    if (walk->at < walk->window_at || walk->at - walk->window_at >= walk->window_count) {
        const uint64_t left = walk->blob->count - walk->at;
        const size_t fill = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        SH_TRY(sh_blob_read(walk->blob, walk->window, fill, walk->at));
        walk->window_at = walk->at;
        walk->window_count = fill;
    }
    const size_t skipped = (size_t)(walk->at - walk->window_at);
    *bytes = walk->window + skipped;
    *count = walk->window_count - skipped;
    return SH_OK;
}

static sh_status fail_cut(const file_walk *walk, uint64_t at, uint64_t end)
{
    if (end == walk->blob->count)
        return sh_fail(SH_CORRUPT, "is cut short: it ends within the field at byte %" PRIu64, at);
    return sh_fail(SH_FORMAT, "the field at byte %" PRIu64 " goes beyond its message", at);
}

static sh_status read_varint(file_walk *walk, uint64_t *value, uint64_t end)
{
    const uint64_t at = walk->at;
    uint64_t number = 0;
    for (unsigned i = 0; i < VARINT_MOST; i++) {
        const uint8_t *bytes;
        size_t count;
        if (walk->at >= end)
            return fail_cut(walk, at, end);
        SH_TRY(look(walk, &bytes, &count));
        walk->at++;
        number |= (uint64_t)(*bytes & 0x7F) << (7 * i);
        if (*bytes < 0x80) {
            *value = number;
            return SH_OK;
        }
    }
    return sh_fail(SH_FORMAT, "the number at byte %" PRIu64 " does not end", at);
}

/* Reads the key of a field and its varint or length. */
static sh_status read_item(file_walk *walk, file_item *item, uint64_t end)
{
    uint64_t key;
    item->at = walk->at;
    item->end = end;
    item->value = 0;
    SH_TRY(read_varint(walk, &key, end));
    if (key > UINT32_MAX || key >> 3 == 0)
        return sh_fail(SH_FORMAT, "byte %" PRIu64 " does not begin a field", item->at);
    item->number = (uint32_t)(key >> 3);
    item->kind = (enum kind)(key & 7);
    uint64_t length = 0;
    switch (item->kind) {
    case KIND_VARINT:
        return read_varint(walk, &item->value, end);
    case KIND_64:
        length = 8;
        break;
    case KIND_32:
        length = 4;
        break;
    case KIND_LENGTH:
        SH_TRY(read_varint(walk, &length, end));
        item->value = length;
        break;
    default:
        return sh_fail(SH_FORMAT, "the field at byte %" PRIu64 " is of an unknown kind", item->at);
    }
    return length <= end - walk->at ? SH_OK : fail_cut(walk, item->at, end);
}

/* Returns the bytes of a field that read_item has not read. */
static uint64_t item_bytes(const file_item *item)
{
    switch (item->kind) {
    case KIND_64:
        return 8;
    case KIND_32:
        return 4;
    case KIND_LENGTH:
        return item->value;
    default:
        return 0;
    }
}

static sh_status grow(file_walk *walk, size_t bytes)
{
    if (bytes > SH_WIRE_SMALL_MOST - walk->copied)
        return sh_fail(SH_LIMIT, "has more than %u MiB besides the values of its tensors",
                       SH_WIRE_SMALL_MOST >> 20);
    void *copy = walk->copy;
    const sh_status status = sh_array_grow(&copy, &walk->capacity, walk->copied + bytes, 1);
    walk->copy = copy;
    return status;
}

static void put_varint(file_walk *walk, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        walk->copy[walk->copied++] = (uint8_t)(value | 0x80);
    walk->copy[walk->copied++] = (uint8_t)value;
}

static sh_status put_key(file_walk *walk, uint32_t number, enum kind kind, uint64_t value)
{
    SH_TRY(grow(walk, 2 * VARINT_MOST));
    put_varint(walk, (uint64_t)number << 3 | (uint64_t)kind);
    if (kind == KIND_VARINT || kind == KIND_LENGTH)
        put_varint(walk, value);
    return SH_OK;
}

/* `*copied` is borrowed until the next call. */
static sh_status put_bytes(file_walk *walk, uint64_t bytes, const uint8_t **copied)
{
    if (bytes > SH_WIRE_FIELD_MOST)
        return sh_fail(SH_LIMIT,
                       "the field before byte %" PRIu64 " has %" PRIu64 " bytes, more "
                       "than %u",
                       walk->at, bytes, SH_WIRE_FIELD_MOST);
    SH_TRY(grow(walk, (size_t)bytes + 1));
    *copied = walk->copy + walk->copied;
    for (size_t left = (size_t)bytes; left > 0;) {
        const uint8_t *seen;
        size_t count;
        SH_TRY(look(walk, &seen, &count));
        count = count < left ? count : left;
        memcpy(walk->copy + walk->copied, seen, count);
        walk->copied += count;
        walk->at += count;
        left -= count;
    }
    walk->copy[walk->copied] = 0; /* terminates a text for the check; not part of the copy */
    return SH_OK;
}

static sh_status check_text(const file_item *item, const uint8_t *text, const char *field)
{
    const bool is_value = strcmp(field, "value") == 0; /* of metadata */
    if (!is_value && item->value > SH_WIRE_TEXT_MOST)
        return sh_fail(SH_LIMIT, "the %s at byte %" PRIu64 " has more than %u bytes", field,
                       item->at, SH_WIRE_TEXT_MOST);
    for (uint64_t i = 0; i < item->value;) {
        uint32_t point;
        const size_t bytes = text[i] == 0 ? 0 : sh_utf8_read(text + i, &point);
        if (bytes == 0)
            return sh_fail(SH_FORMAT, "the %s at byte %" PRIu64 " is not UTF-8", field, item->at);
        const bool fine = point == '\n' || point == '\r' || point == '\t' || sh_utf8_is_turn(point);
        if (sh_utf8_is_control(point) && !(is_value && fine))
            return sh_fail(SH_FORMAT, "the %s at byte %" PRIu64 " has control characters", field,
                           item->at);
        i += bytes;
    }
    return SH_OK;
}

static sh_status check_packed(const file_item *item, const uint8_t *bytes, ProtobufCType type)
{
    bool whole = true;
    if (type == PROTOBUF_C_TYPE_FLOAT)
        whole = item->value % 4 == 0;
    else
        for (uint64_t i = 0, length = 0; i < item->value; i++) {
            length = bytes[i] < 0x80 ? 0 : length + 1;
            whole = whole && length < VARINT_MOST && (i + 1 < item->value || length == 0);
        }
    if (!whole)
        return sh_fail(SH_FORMAT, "the numbers at byte %" PRIu64 " are damaged", item->at);
    return SH_OK;
}

static enum kind kind_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_FLOAT:
        return KIND_32;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT32:
        return KIND_VARINT;
    default:
        assert(type == PROTOBUF_C_TYPE_STRING || type == PROTOBUF_C_TYPE_BYTES ||
               type == PROTOBUF_C_TYPE_MESSAGE); /* onnx.proto has no other types */
        return KIND_LENGTH;
    }
}

static sh_status copy_field(file_walk *walk, const file_item *item,
                            const ProtobufCFieldDescriptor *field)
{
    const uint8_t *bytes;
    const bool is_packed = field->label == PROTOBUF_C_LABEL_REPEATED && item->kind == KIND_LENGTH &&
                           kind_of(field->type) != KIND_LENGTH;
    if (item->kind != kind_of(field->type) && !is_packed)
        return sh_fail(SH_FORMAT, "the %s at byte %" PRIu64 " is of another kind", field->name,
                       item->at);
    if (field->type == PROTOBUF_C_TYPE_STRING && field->label != PROTOBUF_C_LABEL_REPEATED &&
        item->value == 0)
        return SH_OK; /* an empty text equals a missing one; the copy omits it */
    SH_TRY(put_key(walk, item->number, item->kind, item->value));
    if (item->kind == KIND_VARINT)
        return SH_OK;
    SH_TRY(put_bytes(walk, item_bytes(item), &bytes));
    if (is_packed)
        return check_packed(item, bytes, field->type);
    return field->type == PROTOBUF_C_TYPE_STRING ? check_text(item, bytes, field->name) : SH_OK;
}

/* Records their place and skips them. */
static sh_status leave_values(file_walk *walk, const file_item *item, bool *has_values)
{
    if (item->kind != KIND_LENGTH)
        return sh_fail(SH_UNSUPPORTED, "the values at byte %" PRIu64 " are not packed", item->at);
    if (item->value == 0)
        return SH_OK;
    if (*has_values)
        return sh_fail(SH_FORMAT, "the tensor at byte %" PRIu64 " has values twice", item->at);
    *has_values = true;
    void *places = walk->places;
    SH_TRY(
        sh_array_grow(&places, &walk->place_capacity, walk->place_count + 1, sizeof *walk->places));
    walk->places = places;
    walk->places[walk->place_count++] =
        (sh_wire_place){walk->at, item->value, (sh_wire_encoding)item->number};
    walk->at += item->value;
    return put_key(walk, PLACE_FIELD, KIND_VARINT, walk->place_count);
}

/* Refuses unsupported fields that affect what the model computes. */
static sh_status check_dropped(const ProtobufCMessageDescriptor *type, uint32_t number)
{
    if (type == &sh__onnx__model_proto__descriptor && number == 25)
        return sh_fail(SH_UNSUPPORTED, "has functions of its own: inline them with "
                                       "onnx.inliner.inline_local_functions() and save it again");
    if (type == &sh__onnx__graph_proto__descriptor && number == 15)
        return sh_fail(SH_UNSUPPORTED, "has sparse tensors: save it with dense ones");
    return SH_OK;
}

static bool is_values(const ProtobufCMessageDescriptor *type, uint32_t number)
{
    if (type != &sh__onnx__tensor_proto__descriptor)
        return false;
    return number == SH_WIRE_FLOATS || number == SH_WIRE_INT32S || number == SH_WIRE_INT64S ||
           number == SH_WIRE_RAW || number == SH_WIRE_DOUBLES || number == SH_WIRE_UINT64S;
}

static sh_status walk_message(file_walk *walk, const ProtobufCMessageDescriptor *type, uint64_t end,
                              int depth);

static sh_status walk_inner(file_walk *walk, const file_item *item,
                            const ProtobufCFieldDescriptor *field, int depth)
{
    if (item->kind != KIND_LENGTH)
        return sh_fail(SH_FORMAT, "the %s at byte %" PRIu64 " is of another kind", field->name,
                       item->at);
    SH_TRY(put_key(walk, item->number, KIND_LENGTH, 0));
    walk->copied--; /* drop the length of one byte; four bytes follow later */
    SH_TRY(grow(walk, LENGTH_BYTES));
    const size_t length_at = walk->copied;
    walk->copied += LENGTH_BYTES;
    SH_TRY(walk_message(walk, field->descriptor, walk->at + item->value, depth + 1));
    const size_t length = walk->copied - length_at - LENGTH_BYTES;
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        walk->copy[length_at + i] =
            (uint8_t)((length >> (7 * i) & 0x7F) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
    return SH_OK;
}

static sh_status walk_message(file_walk *walk, const ProtobufCMessageDescriptor *type, uint64_t end,
                              int depth)
{
    uint32_t seen = 0; /* fields, as bits by index */
    bool has_values = false;
    assert(type->n_fields <= 32);
    if (depth > DEPTH_MOST)
        return sh_fail(SH_LIMIT, "messages are nested more than %d deep", DEPTH_MOST);
    while (walk->at < end) {
        file_item item;
        SH_TRY(read_item(walk, &item, end));
        if (is_values(type, item.number)) {
            SH_TRY(leave_values(walk, &item, &has_values));
            continue;
        }
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(type, item.number);
        if (field == NULL || item.number == PLACE_FIELD) {
            SH_TRY(check_dropped(type, item.number));
            walk->at += item_bytes(&item);
            continue;
        }
        const uint32_t bit = UINT32_C(1) << (unsigned)(field - type->fields);
        if (field->label != PROTOBUF_C_LABEL_REPEATED && (seen & bit) != 0)
            return sh_fail(SH_FORMAT, "the %s at byte %" PRIu64 " is there twice", field->name,
                           item.at);
        seen |= bit;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE)
            SH_TRY(walk_inner(walk, &item, field, depth));
        else
            SH_TRY(copy_field(walk, &item, field));
    }
    return SH_OK;
}

/* Limits the memory of unpacking. Allocates from an arena. */
struct budget {
    sh_arena *arena;
    size_t left;
    bool exceeded;
};

static void *budget_alloc(void *context, size_t bytes)
{
    struct budget *budget = context;
    budget->exceeded = budget->exceeded || bytes > budget->left;
    if (budget->exceeded)
        return NULL;
    budget->left -= bytes;
    return sh_arena_take(budget->arena, bytes > 0 ? bytes : 1, 1);
}

static void budget_free(void *context, void *block)
{
    (void)context;
    (void)block;
}

static sh_status unpack(sh_wire *wire, const file_walk *walk, sh_arena *arena)
{
    struct budget budget = {.arena = arena, .left = SH_WIRE_MEMORY_MOST};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
    const sh_wire_place none = {0};
    sh_wire_place *places = sh_arena_take(arena, walk->place_count + 1, sizeof *places);
    if (places == NULL)
        return sh_fail_memory(walk->place_count * sizeof *places, "places of tensors");
    memcpy(places, walk->place_count > 0 ? walk->places : &none,
           (walk->place_count > 0 ? walk->place_count : 1) * sizeof *places);
    Sh__Onnx__ModelProto *model =
        sh__onnx__model_proto__unpack(&allocator, walk->copied, walk->copy);
    if (model == NULL && budget.exceeded)
        return sh_fail(SH_LIMIT, "unpacks to more than %zu MiB besides the values of its tensors",
                       SH_WIRE_MEMORY_MOST >> 20);
    if (model == NULL)
        return sh_fail_memory(walk->copied, "the messages of a model");
    *wire = (sh_wire){model, places, walk->place_count};
    return SH_OK;
}

sh_status sh_wire_read(sh_wire *wire, const sh_blob *blob, sh_arena *arena)
{
    sh_status status;
    file_walk walk = {.blob = blob, .window = malloc(WINDOW_BYTES)};
    if (walk.window == NULL)
        SH_TRY_DONE(sh_fail_memory(WINDOW_BYTES, "reading a model"));
    SH_TRY_DONE(walk_message(&walk, &sh__onnx__model_proto__descriptor, blob->count, 1));
    SH_TRY_DONE(grow(&walk, 1)); /* an empty model needs an address too */
    status = unpack(wire, &walk, arena);
done:
    free(walk.window);
    free(walk.copy);
    free(walk.places);
    return status;
}
