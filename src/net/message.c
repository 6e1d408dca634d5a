/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks walk the descriptors that protobuf-c generates from the schema, so they include new
 * fields. The schema is not recursive, so its depth bounds the recursion.
 *
 * A message is accepted only if packing it again gives the same bytes. The decoder alone would use
 * the last of duplicate fields, cut text at a zero byte, and read numbers that have more bytes than
 * necessary.
 */
#include "net/message.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "net/frame.h"
#include "net/key.h"

static sh_status check_text(const char *field, const char *text)
{
    const bool is_job = strcmp(field, "job") == 0;
    const size_t most = is_job ? SH_MESSAGE_JOB_MAX : SH_MESSAGE_STRING_MAX;
    if (is_job && (text == NULL || *text == '\0'))
        return sh_fail(SH_FORMAT, "a message without its 'job'");
    if (text == NULL)
        return SH_OK;
    if (strnlen(text, most + 1) > most)
        return sh_fail(SH_FORMAT, "a message whose '%s' has more than %zu bytes", field, most);
    const unsigned char *at = (const unsigned char *)text;
    while (*at != 0) {
        uint32_t point;
        const size_t bytes = sh_utf8_read(at, &point);
        if (bytes == 0)
            return sh_fail(SH_FORMAT, "a message whose '%s' is not UTF-8", field);
        if (sh_utf8_is_control(point))
            return sh_fail(SH_FORMAT, "a message whose '%s' has control characters", field);
        at += bytes;
    }
    return SH_OK;
}

static sh_status check_fields(const ProtobufCMessage *message);

static sh_status check_value(const ProtobufCFieldDescriptor *field, const void *value)
{
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return check_text(field->name, *(char *const *)value);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessage *inner = *(ProtobufCMessage *const *)value;
        return inner != NULL ? check_fields(inner)
                             : sh_fail(SH_FORMAT, "a message without its '%s'", field->name);
    }
    if (field->type == PROTOBUF_C_TYPE_BYTES) {
        const size_t bytes = ((const ProtobufCBinaryData *)value)->len;
        if (strcmp(field->name, "padding") == 0)
            return bytes <= SH_MESSAGE_PADDING_MAX
                       ? SH_OK
                       : sh_fail(SH_FORMAT, "a message with padding of %zu bytes", bytes);
        if (bytes != 0 && bytes != SH_KEY_BYTES)
            return sh_fail(SH_FORMAT, "a message whose '%s' has %zu bytes instead of %d",
                           field->name, bytes, SH_KEY_BYTES);
    }
    if ((field->type == PROTOBUF_C_TYPE_FLOAT && !isfinite(*(const float *)value)) ||
        (field->type == PROTOBUF_C_TYPE_DOUBLE && !isfinite(*(const double *)value)))
        return sh_fail(SH_FORMAT, "a message whose '%s' is not a finite number", field->name);
    return SH_OK;
}

static sh_status check_repeated(const ProtobufCFieldDescriptor *field, const unsigned char *values,
                                size_t count)
{
    if (count > SH_MESSAGE_MEMBERS_MAX)
        return sh_fail(SH_FORMAT, "a message with %zu '%s'; at most %d are allowed", count,
                       field->name, SH_MESSAGE_MEMBERS_MAX);
    const bool is_message = field->type == PROTOBUF_C_TYPE_MESSAGE;
    const size_t value_bytes = is_message ? sizeof(ProtobufCMessage *) : sizeof(uint64_t);
    /* The schema repeats no other type. */
    if (count > 0 && !is_message && field->type != PROTOBUF_C_TYPE_DOUBLE &&
        field->type != PROTOBUF_C_TYPE_UINT64)
        return sh_fail(SH_FORMAT, "a message whose '%s' is repeated", field->name);
    for (size_t i = 0; i < count; i++)
        SH_TRY(check_value(field, values + i * value_bytes));
    return SH_OK;
}

static sh_status check_fields(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    if (message->n_unknown_fields > 0)
        return sh_fail(SH_VERSION,
                       "a message with a field that this version does not know (%s, %lu): use the "
                       "same version of shoal on all devices",
                       type->short_name, (unsigned long)message->unknown_fields[0].tag);
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        const unsigned char *value = (const unsigned char *)message + field->offset;
        const void *quantifier = (const unsigned char *)message + field->quantifier_offset;
        if (field->label == PROTOBUF_C_LABEL_REPEATED)
            SH_TRY(check_repeated(field, *(const unsigned char *const *)(const void *)value,
                                  *(const size_t *)quantifier));
        else if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0 ||
                 *(const int *)quantifier == (int)field->id)
            SH_TRY(check_value(field, value));
    }
    return SH_OK;
}

static sh_status check(const Shoal__Message *message)
{
    if (message->protocol != SH_MESSAGE_PROTOCOL)
        return sh_fail(SH_VERSION,
                       "the other device speaks protocol %lu, this one %d: use the same version of "
                       "shoal on all devices",
                       (unsigned long)message->protocol, SH_MESSAGE_PROTOCOL);
    SH_TRY(check_fields(&message->base));
    if (message->body_case == SHOAL__MESSAGE__BODY__NOT_SET)
        return sh_fail(SH_FORMAT, "a message without a body");
    return SH_OK;
}

sh_status sh_message_pack(uint8_t **bytes, size_t *count, const Shoal__Message *message)
{
    if (check(message) != SH_OK)
        return sh_fail_in(SH_INVALID, "sending");
    const size_t size = shoal__message__get_packed_size(message);
    if (size > SH_FRAME_CONTROL_MAX)
        return sh_fail(SH_LIMIT, "a message of %zu bytes; at most %u are allowed", size,
                       SH_FRAME_CONTROL_MAX);
    uint8_t *fresh = malloc(size);
    if (fresh == NULL)
        return sh_fail_memory(size, "a message");
    *count = shoal__message__pack(message, fresh);
    *bytes = fresh;
    return SH_OK;
}

/* What unpacking a message may still allocate. */
struct budget {
    size_t left;
    bool exceeded, out;
};

static void *budget_alloc(void *context, size_t bytes)
{
    struct budget *budget = context;
    if (bytes > budget->left) {
        budget->exceeded = true;
        return NULL;
    }
    budget->left -= bytes;
    void *block = malloc(bytes > 0 ? bytes : 1);
    budget->out = budget->out || block == NULL;
    return block;
}

static void budget_free(void *context, void *block)
{
    (void)context;
    free(block);
}

sh_status sh_message_send(sh_channel *channel, const Shoal__Message *message)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    SH_TRY(sh_message_pack(&bytes, &count, message));
    const sh_status status = sh_channel_send_control(channel, bytes, count);
    sh_key_free(bytes, count);
    return status;
}

sh_status sh_message_unpack(Shoal__Message **message, const uint8_t *bytes, size_t count)
{
    if (count > SH_FRAME_CONTROL_MAX)
        return sh_fail(SH_FORMAT, "a message of %zu bytes; at most %u are allowed", count,
                       SH_FRAME_CONTROL_MAX);
    struct budget budget = {.left = SH_MESSAGE_MEMORY_MAX};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
    Shoal__Message *fresh = shoal__message__unpack(&allocator, count, bytes);
    if (fresh == NULL && budget.out)
        return sh_fail_memory(count, "a message");
    if (fresh == NULL && budget.exceeded)
        return sh_fail(SH_LIMIT, "a message of %zu bytes that unpacks to more than %u", count,
                       SH_MESSAGE_MEMORY_MAX);
    if (fresh == NULL)
        return sh_fail(SH_FORMAT, "a message of %zu bytes that is malformed", count);
    sh_status status;
    SH_TRY_DONE(check(fresh));
    bool canonical = shoal__message__get_packed_size(fresh) == count;
    if (canonical) {
        uint8_t *again = malloc(count + 1);
        if (again == NULL)
            SH_TRY_DONE(sh_fail_memory(count, "checking a message"));
        canonical = shoal__message__pack(fresh, again) == count && memcmp(again, bytes, count) == 0;
        sh_key_free(again, count);
    }
    if (!canonical)
        SH_TRY_DONE(sh_fail(SH_FORMAT, "a message that is not in canonical encoding"));
    *message = fresh;
    return SH_OK;
done:
    sh_message_free(fresh);
    return status;
}

static void wipe(const ProtobufCBinaryData *key)
{
    sh_key_wipe(key->data, key->len);
}

void sh_message_free(Shoal__Message *message)
{
    if (message == NULL)
        return;
    if (message->body_case == SHOAL__MESSAGE__BODY_ORDER && message->order != NULL) {
        const Shoal__Order *order = message->order;
        for (size_t i = 0; i < order->n_links; i++)
            wipe(&order->links[i]->key);
        for (size_t i = 0; i < order->n_transfers; i++)
            for (size_t k = 0; k < order->transfers[i]->n_donors; k++)
                wipe(&order->transfers[i]->donors[k]->key);
    }
    if (message->body_case == SHOAL__MESSAGE__BODY_WELCOME && message->welcome != NULL) {
        const Shoal__Welcome *welcome = message->welcome;
        wipe(&welcome->data_key);
        for (size_t i = 0; i < welcome->n_sources; i++)
            wipe(&welcome->sources[i]->key);
    }
    shoal__message__free_unpacked(message, NULL);
}
