/* SPDX-License-Identifier: Apache-2.0 */
#include "data/array/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define WORD_BYTES 32 /* of a word in the dictionary */

typedef struct reader {
    const char *at, *end;
    const char *start; /* for offsets in messages */
} reader;

static uint64_t little_endian(const uint8_t *bytes, uint32_t count)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static void skip_blanks(reader *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' || *in->at == '\t'))
        in->at++;
}

static bool take(reader *in, char c)
{
    skip_blanks(in);
    if (in->at == in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

static sh_status expect(reader *in, char c)
{
    return take(in, c) ? SH_OK
                       : sh_fail(SH_FORMAT,
                                 "has a header that NumPy does not write: byte %zu of its "
                                 "dictionary should be '%c'; save the array again with numpy.save",
                                 (size_t)(in->at - in->start), c);
}

static sh_status read_word(char word[WORD_BYTES], reader *in)
{
    skip_blanks(in);
    const char quote = in->at < in->end ? *in->at : '\0';
    if (quote != '"')
        SH_TRY(expect(in, '\''));
    else
        in->at++;
    size_t length = 0;
    while (in->at < in->end && *in->at != quote && *in->at >= ' ' && *in->at < 0x7f &&
           *in->at != '\\' && length < WORD_BYTES - 1)
        word[length++] = *in->at++;
    word[length] = '\0';
    return expect(in, quote);
}

static bool take_name(reader *in, const char *name)
{
    skip_blanks(in);
    const size_t length = strlen(name);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, name, length) != 0)
        return false;
    in->at += length;
    return true;
}

static sh_status read_order(reader *in)
{
    if (take_name(in, "True"))
        return sh_fail(SH_UNSUPPORTED, "is stored in Fortran order; save it with "
                                       "numpy.save(FILE, numpy.ascontiguousarray(x))");
    return take_name(in, "False")
               ? SH_OK
               : sh_fail(SH_FORMAT, "has a header whose fortran_order is neither True nor "
                                    "False; save the array again with numpy.save");
}

static sh_status read_dimension(uint64_t *dimension, reader *in)
{
    skip_blanks(in);
    const char *first = in->at;
    uint64_t value = 0;
    for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*in->at - '0'), &value))
            return sh_fail(SH_LIMIT, "has a dimension that does not fit into 64 bits");
    if (in->at == first)
        return sh_fail(
            SH_FORMAT,
            "has a shape that is not whole numbers; save the array again with numpy.save");
    if (in->at < in->end && *in->at == 'L') /* written by Python 2 */
        in->at++;
    *dimension = value;
    return SH_OK;
}

static sh_status read_shape(sh_npy_header *header, reader *in)
{
    SH_TRY(expect(in, '('));
    while (!take(in, ')')) {
        if (header->rank == SH_NPY_RANK_MOST)
            return sh_fail(SH_LIMIT, "has more than %d dimensions", SH_NPY_RANK_MOST);
        SH_TRY(read_dimension(&header->shape[header->rank++], in));
        if (!take(in, ',')) {
            SH_TRY(expect(in, ')'));
            break;
        }
    }
    return SH_OK;
}

static sh_status refuse_type(const char *type)
{
    if (type[0] == '>')
        return sh_fail(SH_UNSUPPORTED,
                       "holds big-endian numbers ('%s'); save it with x.astype('<%s')", type,
                       type + 1);
    if (type[0] != '\0' && type[1] == 'O')
        return sh_fail(SH_UNSUPPORTED,
                       "holds Python objects ('%s'), which could run code and are never loaded; "
                       "save an array of numbers, such as x.astype('<f4')",
                       type);
    if (type[0] != '\0' && (type[1] == 'U' || type[1] == 'S'))
        return sh_fail(SH_UNSUPPORTED,
                       "holds text ('%s'); save numbers of the classes: "
                       "numpy.unique(y, return_inverse=True)[1]",
                       type);
    return sh_fail(SH_UNSUPPORTED,
                   "holds numbers of type '%s'; save it with x.astype('<f4'), or '<i8' for classes",
                   type);
}

static sh_status read_type(sh_npy_header *header, reader *in)
{
    static const struct {
        char name[4];
        sh_npy_kind kind;
    } types[] = {{"|b1", SH_NPY_BOOL},     {"|u1", SH_NPY_UNSIGNED}, {"|i1", SH_NPY_SIGNED},
                 {"<u2", SH_NPY_UNSIGNED}, {"<u4", SH_NPY_UNSIGNED}, {"<i2", SH_NPY_SIGNED},
                 {"<i4", SH_NPY_SIGNED},   {"<i8", SH_NPY_SIGNED},   {"<f4", SH_NPY_FLOAT},
                 {"<f8", SH_NPY_FLOAT}};
    char type[WORD_BYTES];
    skip_blanks(in);
    if (in->at < in->end && *in->at == '[')
        return sh_fail(SH_UNSUPPORTED, "holds records with named fields; save each field as an "
                                       "array of its own, such as x['name']");
    SH_TRY(read_word(type, in));
    const bool byte = type[0] != '\0' && type[1] != '\0' && strcmp(type + 2, "1") == 0;
    if (byte && strchr("<>=", type[0]) != NULL)
        type[0] = '|'; /* byte order does not apply to single bytes */
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0) {
            header->kind = types[i].kind;
            header->item_bytes = (uint32_t)(type[2] - '0');
            return SH_OK;
        }
    return refuse_type(type);
}

/* Each entry must occur once, in any order. */
static sh_status read_dictionary(sh_npy_header *header, reader *in)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    unsigned seen = 0;
    SH_TRY(expect(in, '{'));
    while (!take(in, '}')) {
        char key[WORD_BYTES];
        unsigned which = 0;
        SH_TRY(read_word(key, in));
        while (which < 3 && strcmp(key, keys[which]) != 0)
            which++;
        if (which == 3 || (seen >> which & 1) != 0)
            return sh_fail(SH_FORMAT,
                           "has a header with %s entry '%s'; save the array again with numpy.save",
                           which == 3 ? "an unknown" : "a second", key);
        seen |= 1u << which;
        SH_TRY(expect(in, ':'));
        SH_TRY(which == 0   ? read_type(header, in)
               : which == 1 ? read_order(in)
                            : read_shape(header, in));
        if (!take(in, ',')) {
            SH_TRY(expect(in, '}'));
            break;
        }
    }
    for (unsigned i = 0; i < 3; i++)
        if ((seen >> i & 1) == 0)
            return sh_fail(SH_FORMAT,
                           "has a header without '%s'; save the array again with numpy.save",
                           keys[i]);
    skip_blanks(in);
    return in->at == in->end ? SH_OK
                             : sh_fail(SH_FORMAT, "has data after the dictionary of its header; "
                                                  "save the array again with numpy.save");
}

/* The numbers must end exactly where the file does. */
static sh_status check_size(sh_npy_header *header, uint64_t file_bytes)
{
    uint64_t bytes = header->item_bytes;
    header->count = 1;
    for (uint32_t i = 0; i < header->rank; i++)
        if (__builtin_mul_overflow(header->count, header->shape[i], &header->count))
            return sh_fail(SH_LIMIT, "has a shape of more numbers than 64 bits can count");
    if (__builtin_mul_overflow(bytes, header->count, &bytes) ||
        __builtin_add_overflow(bytes, header->data_at, &bytes))
        return sh_fail(SH_LIMIT, "has a shape of more bytes than 64 bits can count");
    if (bytes != file_bytes)
        return sh_fail(SH_CORRUPT,
                       "is %s: %" PRIu64 " bytes, its header promises %" PRIu64
                       "; save or copy it again",
                       file_bytes < bytes ? "cut off" : "too long", file_bytes, bytes);
    return SH_OK;
}

sh_status sh_npy_parse(sh_npy_header *header, const uint8_t *bytes, size_t count,
                       uint64_t file_bytes)
{
    sh_npy_header fresh = {0};
    if (count < MAGIC_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
        return sh_fail(SH_FORMAT, "is not an array of NumPy: it does not begin with \\x93NUMPY; "
                                  "save it with numpy.save");
    if (count < MAGIC_BYTES + 2 || count < (bytes[MAGIC_BYTES] == 1 ? 10u : 12u))
        return sh_fail(SH_CORRUPT, "is cut off within its header; save or copy it again");
    const uint8_t major = bytes[MAGIC_BYTES];
    if (major < 1 || major > 3)
        return sh_fail(SH_VERSION, "is of version %u of NumPy's format; versions 1 to 3 are known",
                       major);
    const uint32_t begins = major == 1 ? 10 : 12;
    const uint64_t length = little_endian(bytes + MAGIC_BYTES + 2, major == 1 ? 2 : 4);
    fresh.data_at = begins + length;
    if (fresh.data_at > SH_NPY_HEADER_MOST)
        return sh_fail(SH_LIMIT, "has a header of %" PRIu64 " bytes; at most %u are read",
                       fresh.data_at, SH_NPY_HEADER_MOST);
    if (fresh.data_at > count)
        return sh_fail(SH_CORRUPT, "is cut off within its header; save or copy it again");
    const char *text = (const char *)bytes + begins;
    reader in = {text, text + length, text};
    SH_TRY(read_dictionary(&fresh, &in));
    SH_TRY(check_size(&fresh, file_bytes));
    *header = fresh;
    return SH_OK;
}

/* Numbers are little-endian in the file and on all processors that shoal supports. */
#define CONVERT(type)                                                                              \
    for (size_t i = 0; i < count; i++) {                                                           \
        type value;                                                                                \
        memcpy(&value, bytes + i * sizeof value, sizeof value);                                    \
        numbers[i] = (double)value;                                                                \
    }

void sh_npy_numbers(double *numbers, const sh_npy_header *header, const uint8_t *bytes,
                    size_t count)
{
    const uint32_t width = header->item_bytes;
    if (header->kind == SH_NPY_BOOL) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = bytes[i] != 0;
    } else if (header->kind == SH_NPY_FLOAT) {
        if (width == 4)
            CONVERT(float) else CONVERT(double)
    } else if (header->kind == SH_NPY_UNSIGNED) {
        if (width == 1)
            CONVERT(uint8_t) else if (width == 2) CONVERT(uint16_t) else CONVERT(uint32_t)
    } else if (width == 1) {
        CONVERT(int8_t)
    } else if (width == 2) {
        CONVERT(int16_t)
    } else if (width == 4) {
        CONVERT(int32_t)
    } else {
        CONVERT(int64_t)
    }
}
