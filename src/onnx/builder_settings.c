/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses settings in the notation that ONNX uses to print attributes: name = value, separated by
 * commas. A value is a number, a text in double quotes, or a list in brackets. A number with a
 * point or an exponent is a float.
 */
#include <string.h>

#include "onnx/builder_parts.h"
#include "onnx/onnx_types.h"

#define LIST_MOST 32
#define WORD_MOST 64
#define DIGITS_MOST 15
#define POWER_MOST 22
#define SETTINGS_MOST 8 /* the emitter has room for these */

typedef struct number {
    bool real;
    int64_t whole;
    float number;
} number;

static const char *skip(const char *at)
{
    return at + strspn(at, " \t\n");
}

/* False if there are more digits than a double can represent. */
static bool read_digits(int64_t *digits, size_t *count, const char **at)
{
    for (; **at >= '0' && **at <= '9'; ++*at, ++*count) {
        if (*count >= DIGITS_MOST)
            return false;
        *digits = 10 * *digits + (**at - '0');
    }
    return true;
}

/* Does not depend on the program's locale. 15 digits and powers of ten up to 22 are exact in a
 * double. */
static bool read_number(number *value, const char **at)
{
    const bool minus = **at == '-';
    int64_t digits = 0, exponent = 0;
    size_t count = 0, whole, of_exponent = 0;
    double power = 1;
    *at += minus;
    if (!read_digits(&digits, &count, at))
        return false;
    whole = count;
    const bool point = **at == '.';
    *at += point;
    if (!read_digits(&digits, &count, at) || count == 0)
        return false;
    const bool scaled = **at == 'e' || **at == 'E';
    if (scaled) {
        const bool smaller = *++*at == '-';
        *at += smaller || **at == '+';
        if (!read_digits(&exponent, &of_exponent, at) || of_exponent == 0)
            return false;
        exponent = smaller ? -exponent : exponent;
    }
    exponent -= (int64_t)(count - whole);
    if (exponent > POWER_MOST || exponent < -POWER_MOST)
        return false;
    for (int64_t i = exponent < 0 ? -exponent : exponent; i > 0; i--)
        power *= 10;
    const double real = exponent < 0 ? (double)digits / power : (double)digits * power;
    *value = (number){.real = point || scaled,
                      .whole = minus ? -digits : digits,
                      .number = (float)(minus ? -real : real)};
    *at = skip(*at);
    return true;
}

static bool read_list(number *values, size_t *count, const char **at)
{
    *count = 0;
    *at = skip(*at + 1);
    while (**at != ']') {
        if (*count == LIST_MOST || !read_number(&values[*count], at))
            return false;
        ++*count;
        if (**at == ',')
            *at = skip(*at + 1);
        else if (**at != ']')
            return false;
    }
    *at = skip(*at + 1);
    return true;
}

static Sh__Onnx__AttributeProto *last_of(const sh_emitted *node)
{
    return node == NULL || node->n_attribute == 0 ? NULL : node->attribute[node->n_attribute - 1];
}

void sh_builder_word(sh_builder *builder, sh_emitted *node, const char *name, const char *word)
{
    const size_t bytes = strlen(word);
    char *copy = sh_emit_text(&builder->e, word);
    sh_emit_int(&builder->e, node, name, 0);
    Sh__Onnx__AttributeProto *attribute = last_of(node);
    if (attribute == NULL || copy == NULL || builder->e.status != SH_OK)
        return;
    attribute->type = SH_ONNX_ATTRIBUTE_STRING;
    attribute->has_i = false;
    attribute->has_s = true;
    attribute->s = (ProtobufCBinaryData){.len = bytes, .data = (uint8_t *)copy};
}

static void set_list(sh_builder *builder, sh_emitted *node, const char *name, const number *values,
                     size_t count)
{
    int64_t whole[LIST_MOST];
    bool real = false;
    for (size_t i = 0; i < count; i++) {
        whole[i] = values[i].whole;
        real = real || values[i].real;
    }
    sh_emit_ints(&builder->e, node, name, whole, real ? 0 : count);
    Sh__Onnx__AttributeProto *attribute = last_of(node);
    float *numbers = sh_emit_take(&builder->e, count, sizeof *numbers);
    if (!real || attribute == NULL || numbers == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        numbers[i] = values[i].number;
    attribute->type = SH_ONNX_ATTRIBUTE_FLOATS;
    attribute->floats = numbers;
    attribute->n_floats = count;
}

/* False on a syntax error. */
static bool set_one(sh_builder *builder, sh_emitted *node, const char **at)
{
    char name[WORD_MOST] = "", word[WORD_MOST] = "";
    number values[LIST_MOST];
    size_t count, length = strcspn(*at, " \t\n=,");
    if (length == 0 || length >= sizeof name)
        return false;
    memcpy(name, *at, length);
    *at = skip(*at + length);
    if (**at != '=')
        return false;
    *at = skip(*at + 1);
    if (**at == '"') {
        length = strcspn(*at + 1, "\"");
        if (length >= sizeof word || (*at)[length + 1] != '"')
            return false;
        memcpy(word, *at + 1, length);
        *at = skip(*at + length + 2);
        sh_builder_word(builder, node, name, word);
    } else if (**at == '[') {
        if (!read_list(values, &count, at))
            return false;
        set_list(builder, node, name, values, count);
    } else {
        if (!read_number(values, at))
            return false;
        if (values->real)
            sh_emit_float(&builder->e, node, name, values->number);
        else
            sh_emit_int(&builder->e, node, name, values->whole);
    }
    return true;
}

void sh_builder_set(sh_builder *builder, sh_emitted *node, const char *settings)
{
    if (settings == NULL || node == NULL)
        return;
    for (const char *at = skip(settings); *at != '\0';) {
        const char *before = at;
        if (node->n_attribute == SETTINGS_MOST || !set_one(builder, node, &at) ||
            (*at != ',' && *at != '\0')) {
            (void)sh_builder_failed(builder,
                                    sh_fail(SH_INVALID,
                                            "%s: settings '%.128s': expected name = value at "
                                            "'%.32s', with commas between them",
                                            node->op_type, settings, before));
            return;
        }
        if (*at == ',')
            at = skip(at + 1);
    }
}
