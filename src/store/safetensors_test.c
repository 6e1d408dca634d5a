/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <malloc.h>

#include "base/scratch.h"
#include "store/safetensors.h"

static char folder[SH_PATH_BYTES];
static char path[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    return sh_path_join(path, folder, "w.safetensors") == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static const float floats[2] = {1.5f, -2.0f};
static const int32_t integer = -7;
static const uint8_t octets[3] = {1, 2, 255};
static const sh_stored_tensor tensors[] = {
    {"w", {SH_F32, {2, {2, 1}}}, floats},
    {"\xC3\xA9/s", {SH_I32, {0, {0}}}, &integer},
    {"u", {SH_U8, {1, {3}}}, octets},
};
static const sh_metadata pairs[] = {{"by", "a \"test\""}};

/* The digits are Python's: hashlib.sha256 over the file with 64 zeros in their place. */
#define GOLDEN_HEADER                                                                              \
    "{\"__metadata__\":{\"shoal.sha256\":"                                                         \
    "\"9ac7b7d3c68fd8ca0eeda6285fb4d5c530a57f70a43c3e25ecc0a5eabe27d40b\","                        \
    "\"by\":\"a \\\"test\\\"\"},"                                                                  \
    "\"w\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"                            \
    "\"\xC3\xA9/s\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[8,12]},"                     \
    "\"u\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[12,15]}}"                             \
    "     "
static const char golden[] =
    "\x20\x01"
    "\0\0\0\0\0\0" GOLDEN_HEADER "\0\0\xC0\x3F\0\0\0\xC0\xF9\xFF\xFF\xFF\x01\x02\xFF";
#define GOLDEN_BYTES (sizeof golden - 1)

static void writes_the_golden_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        char *found;
        size_t bytes;
        assert_ok(sh_safetensors_write(path, tensors, 3, pairs, 1));
        assert_ok(sh_file_read(&found, &bytes, path, 4096));
        assert_int_equal(bytes, GOLDEN_BYTES);
        assert_memory_equal(found, golden, bytes);
        free(found);
    }
    assert_int_equal(scratch_count(folder), 1);
}

static void check_golden(const sh_safetensors *file)
{
    float f[2];
    int32_t i;
    uint8_t u[3];
    assert_int_equal(sh_safetensors_count(file), 3);
    for (size_t t = 0; t < 3; t++) {
        size_t index;
        sh_type type;
        assert_string_equal(sh_safetensors_name(file, t), tensors[t].name);
        assert_ok(sh_safetensors_find(&index, file, tensors[t].name));
        assert_int_equal(index, t);
        assert_ok(sh_safetensors_type(&type, file, t));
        assert_true(sh_type_equal(&type, &tensors[t].type));
    }
    assert_ok(sh_safetensors_load(file, "w", &tensors[0].type, f));
    assert_memory_equal(f, floats, sizeof f);
    assert_ok(sh_safetensors_read(file, 1, &i, sizeof i));
    assert_int_equal(i, -7);
    assert_ok(sh_safetensors_load(file, "u", &tensors[2].type, u));
    assert_memory_equal(u, octets, sizeof u);
    assert_string_equal(sh_safetensors_metadata(file, "by"), "a \"test\"");
    assert_null(sh_safetensors_metadata(file, "with"));
    assert_ok(sh_safetensors_verify(file));

    char hash[SH_DIGEST_TEXT], expected[SH_DIGEST_TEXT];
    sh_digest *digest;
    assert_ok(sh_digest_new(&digest));
    sh_digest_add(digest, golden, GOLDEN_BYTES);
    assert_ok(sh_digest_finish(digest, expected));
    assert_ok(sh_safetensors_hash(hash, file));
    assert_string_equal(hash, expected);
}

static void reads_what_it_wrote(void **state)
{
    (void)state;
    sh_safetensors *file;
    assert_ok(sh_safetensors_write(path, tensors, 3, pairs, 1));
    assert_ok(sh_safetensors_open(&file, path));
    assert_string_equal(sh_safetensors_path(file), path);
    check_golden(file);
    sh_safetensors_close(file);
    assert_ok(sh_safetensors_open_bytes(&file, "memory", golden, GOLDEN_BYTES));
    check_golden(file);
    sh_safetensors_close(file);
    sh_safetensors_close(NULL);
}

static void says_what_does_not_fit(void **state)
{
    (void)state;
    sh_safetensors *file;
    size_t index = 99;
    float f[4];
    assert_ok(sh_safetensors_open_bytes(&file, "m", golden, GOLDEN_BYTES));
    assert_fails(sh_safetensors_find(&index, file, "x\n"), SH_NOT_FOUND, "m: has no tensor \"x?\"");
    assert_int_equal(index, 99);
    const sh_type flat = {SH_F32, {1, {2}}}, whole = {SH_I32, {2, {2, 1}}};
    assert_fails(sh_safetensors_load(file, "w", &flat, f), SH_MISMATCH,
                 "m: tensor \"w\" is F32 2x1, the model needs F32 2");
    assert_fails(sh_safetensors_load(file, "w", &whole, f), SH_MISMATCH, "needs I32 2x1");
    assert_fails(sh_safetensors_load(file, "v", &whole, f), SH_NOT_FOUND, "no tensor \"v\"");
    assert_fails(sh_safetensors_read(file, 0, f, 16), SH_MISMATCH, "has 8 bytes, not 16");
    sh_safetensors_close(file);
}

static void checks_large_files(void **state)
{
    (void)state;
    const size_t count = 100003;
    float *data = malloc(count * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)i;
    const sh_stored_tensor large = {"large", {SH_F32, {1, {count}}}, data};
    sh_safetensors *file;
    assert_ok(sh_safetensors_write(path, &large, 1, NULL, 0));
    assert_ok(sh_safetensors_open(&file, path));
    assert_ok(sh_safetensors_verify(file));
    float *back = calloc(count, sizeof *back);
    assert_non_null(back);
    assert_ok(sh_safetensors_load(file, "large", &large.type, back));
    assert_memory_equal(back, data, count * sizeof *data);

    assert_int_equal(truncate(path, 1000), 0);
    assert_fails(sh_safetensors_load(file, "large", &large.type, back), SH_CORRUPT,
                 "became shorter while it was read: ends at byte 1000");
    assert_fails(sh_safetensors_verify(file), SH_CORRUPT, "became shorter");
    sh_safetensors_close(file);
    free(data);
    free(back);
}

/* Keys in any order, white space between them, escapes, no checksum. */
static void reads_files_of_others(void **state)
{
    (void)state;
    static const char text[] =
        "{ \"b\" : {\"data_offsets\":[4, 6] ,\"shape\" : [ 2,1 ], \"dtype\":\"U8\"},\n"
        "\t\"none\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[4,4]},\n"
        "\"\\u0061\" :{\"shape\":[],\"dtype\":\"F32\",\"data_offsets\":[0,4]},\n"
        "\"__metadata__\" : { \"format\" : \"pt\" } ,\n"
        "\"n\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[6,14]},"
        "\"six\":{\"dtype\":\"I8\",\"shape\":[1,1,1,1,1,1],\"data_offsets\":[14,15]},"
        "\"deep\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[15,16]}"
        "}  \n ";
    unsigned char bytes[8 + sizeof text - 1 + 16] = {(sizeof text - 1) & 0xFF,
                                                     (sizeof text - 1) >> 8};
    memcpy(bytes + 8, text, sizeof text - 1);
    memcpy(bytes + 8 + sizeof text - 1, "\0\0\x80\x3F\x05\x06", 6);
    sh_safetensors *file;
    scratch_write(path, bytes, sizeof bytes);
    assert_ok(sh_safetensors_open(&file, path));
    static const char *const names[] = {"a", "none", "b", "n", "six", "deep"};
    assert_int_equal(sh_safetensors_count(file), 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(sh_safetensors_name(file, i), names[i]);
    float a = 0;
    uint8_t b[2];
    assert_ok(sh_safetensors_load(file, "a", &(sh_type){SH_F32, {0, {0}}}, &a));
    assert_true(a == 1.0f);
    assert_ok(sh_safetensors_load(file, "b", &(sh_type){SH_U8, {2, {2, 1}}}, b));
    assert_memory_equal(b, "\x05\x06", 2);
    assert_string_equal(sh_safetensors_metadata(file, "format"), "pt");
    assert_fails(sh_safetensors_verify(file), SH_NOT_FOUND, "w.safetensors: has no checksum");

    sh_type type;
    assert_fails(
        sh_safetensors_type(&type, file, 3), SH_UNSUPPORTED,
        "w.safetensors: tensor \"n\" holds I64, which is not supported: convert it to F32");
    assert_fails(sh_safetensors_read(file, 3, bytes, 8), SH_UNSUPPORTED, "holds I64");
    assert_fails(sh_safetensors_type(&type, file, 1), SH_LIMIT, "\"none\": shape 0x3: dimension 0");
    assert_fails(sh_safetensors_type(&type, file, 5), SH_LIMIT,
                 "\"deep\": a shape of 9 dimensions");
    sh_safetensors_close(file);
}

#define T(dtype, shape, offsets)                                                                   \
    "{\"t\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define GOOD "\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]"
#define DEEP "[[[[[[[[[[[[[[[["

static const struct malformed {
    const char *header;
    sh_status code;
    const char *part;
} malformed[] = {
    {"", SH_FORMAT, "does not begin with {"},
    {" {}", SH_FORMAT, "does not begin with {"},
    {"[]", SH_FORMAT, "does not begin with {"},
    {"\x80\x02}q", SH_FORMAT, "is not a safetensors file"},
    {"{", SH_FORMAT, "header, at byte 9:"},
    {"{\"t\":{" GOOD "}", SH_FORMAT, "header, at byte"},
    {"{\"t\":{" GOOD "}} x", SH_FORMAT, "end of file expected"},
    {"{\"t\":{" GOOD "},}", SH_FORMAT, "header, at byte"},
    {"{'t':1}", SH_FORMAT, "header, at byte"},
    {"{\"t\":{" GOOD "},\"t\":{" GOOD "}}", SH_FORMAT, "duplicate object key"},
    {"{\"t\":{" GOOD ",\"dtype\":\"F32\"}}", SH_FORMAT, "duplicate object key"},
    {"{\"t\xFF\":{" GOOD "}}", SH_FORMAT, "unable to decode byte 0xff"},
    {"{\"t\\u0000\":{" GOOD "}}", SH_FORMAT, "\\u0000"},
    {"{\"t\n\":{" GOOD "}}", SH_FORMAT, "header, at byte"},
    {"{\"t\":NaN}", SH_FORMAT, "header, at byte"},
    {"{\"t\":" DEEP DEEP DEEP DEEP "}", SH_FORMAT, "header, at byte 15: nested too deeply for a"},
    {"{\"t\":{\"shape\":[{}]}}", SH_FORMAT, "header, at byte 23: nested too deeply for a"},
    {"{\"t\":{\"dtype\":\"[{[{\\\"[{\"}}", SH_FORMAT, "dtype \"[{[{'[{\" is unknown"},
    {"{\"t\":1}", SH_FORMAT, "bad: tensor \"t\": its description is not an object"},
    {"{\"t\":[]}", SH_FORMAT, "tensor \"t\": its description is not an object"},
    {"{\"t\":{}}", SH_FORMAT, "tensor \"t\": dtype is missing"},
    {"{\"t\":{\"shape\":[],\"data_offsets\":[0,4]}}", SH_FORMAT, "dtype is missing"},
    {"{\"t\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", SH_FORMAT, "shape is missing"},
    {"{\"t\":{\"dtype\":\"F32\",\"shape\":[]}}", SH_FORMAT, "data_offsets is not two"},
    {"{\"t\":{" GOOD ",\"more\":1}}", SH_FORMAT, "a field besides dtype"},
    {T("4", "[1]", "[0,4]"), SH_FORMAT, "dtype is missing or not a string"},
    {T("\"F31\"", "[1]", "[0,4]"), SH_FORMAT, "dtype \"F31\" is unknown"},
    {T("\"f32\"", "[1]", "[0,4]"), SH_FORMAT, "dtype \"f32\" is unknown"},
    {T("\"\"", "[1]", "[0,4]"), SH_FORMAT, "dtype \"\" is unknown"},
    {T("\"F32\"", "1", "[0,4]"), SH_FORMAT, "shape is missing or not a list"},
    {T("\"F32\"", "[-1]", "[0,4]"), SH_FORMAT, "dimension 0 is not a whole number"},
    {T("\"F32\"", "[1,1.0]", "[0,4]"), SH_FORMAT, "dimension 1 is not a whole number"},
    {T("\"F32\"", "[\"1\"]", "[0,4]"), SH_FORMAT, "dimension 0 is not a whole number"},
    {T("\"F32\"", "[9223372036854775808]", "[0,4]"), SH_FORMAT, "integer"},
    {T("\"F32\"", "[4611686018427387905,4]", "[0,4]"), SH_FORMAT, "more elements than a file"},
    {T("\"F32\"", "[4294967296,4294967296]", "[0,4]"), SH_FORMAT, "more elements than a file"},
    {T("\"F32\"", "[576460752303423489]", "[0,4]"), SH_FORMAT, "more elements than a file"},
    {T("\"F4\"", "[1]", "[0,4]"), SH_FORMAT, "4 bits are not whole bytes"},
    {T("\"F32\"", "[1]", "{}"), SH_FORMAT, "data_offsets is not two whole numbers"},
    {T("\"F32\"", "[1]", "[0]"), SH_FORMAT, "data_offsets is not two whole numbers"},
    {T("\"F32\"", "[1]", "[0,4,8]"), SH_FORMAT, "data_offsets is not two whole numbers"},
    {T("\"F32\"", "[1]", "[-4,0]"), SH_FORMAT, "data_offsets is not two whole numbers"},
    {T("\"F32\"", "[1]", "[0,4.0]"), SH_FORMAT, "data_offsets is not two whole numbers"},
    {T("\"F32\"", "[1]", "[4,0]"), SH_FORMAT, "data_offsets decrease, from 4 to 0"},
    {T("\"F32\"", "[2]", "[0,4]"), SH_FORMAT, "need 8 bytes, data_offsets hold 4"},
    {T("\"U8\"", "[1]", "[0,4]"), SH_FORMAT, "need 1 bytes, data_offsets hold 4"},
    {T("\"F32\"", "[0]", "[0,4]"), SH_FORMAT, "need 0 bytes, data_offsets hold 4"},
    {T("\"F32\"", "[2]", "[0,8]"), SH_CORRUPT, "is cut short: tensor \"t\" ends at byte 8"},
    {T("\"F32\"", "[1]", "[9223372036854775803,9223372036854775807]"), SH_CORRUPT, "cut short"},
    {T("\"U8\"", "[3]", "[1,4]"), SH_FORMAT, "\"t\" begins at byte 1 of the data, after a hole"},
    {T("\"U8\"", "[3]", "[0,3]"), SH_FORMAT, "1 bytes follow the last tensor"},
    {"{}", SH_FORMAT, "4 bytes follow the last tensor"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
     SH_FORMAT, "\"b\" begins at byte 2 of the data, inside the one before"},
    {"{\"a\":{" GOOD "},\"b\":{" GOOD "}}", SH_FORMAT,
     "\"b\" begins at byte 0 of the data, inside"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
     SH_FORMAT, "\"b\" begins at byte 2 of the data, after a hole"},
    {"{\"a\":{" GOOD "},\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}", SH_FORMAT,
     "\"b\" begins at byte 2 of the data, inside"},
    {"{\"__metadata__\":[],\"t\":{" GOOD "}}", SH_FORMAT, "__metadata__ is not an object"},
    {"{\"__metadata__\":{\"epoch\":1},\"t\":{" GOOD "}}", SH_FORMAT,
     "__metadata__ \"epoch\" is not a string"},
    {"{\"__metadata__\":{\"epoch\":null},\"t\":{" GOOD "}}", SH_FORMAT,
     "\"epoch\" is not a string"},
};

static void refuses_malformed_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        const size_t length = strlen(malformed[i].header);
        unsigned char *bytes = calloc(1, 8 + length + 4); /* its exact size, for the sanitizer */
        assert_non_null(bytes);
        bytes[0] = (unsigned char)(length & 0xFF);
        bytes[1] = (unsigned char)(length >> 8);
        memcpy(bytes + 8, malformed[i].header, length);
        sh_safetensors *const untouched = (sh_safetensors *)&folder;
        sh_safetensors *file = untouched;
        assert_fails(sh_safetensors_open_bytes(&file, "bad", bytes, 8 + length + 4),
                     malformed[i].code, malformed[i].part);
        assert_non_null(strstr(sh_message(), "bad: "));
        assert_ptr_equal(file, untouched);
        free(bytes);
    }
}

static void refuses_impossible_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        sh_status code;
        const char *part;
    } cases[] = {
        {"", 0, SH_FORMAT, "0 bytes, at least 8 needed"},
        {"\2\0\0\0\0\0\0", 7, SH_FORMAT, "7 bytes, at least 8 needed"},
        {"\0\0\0\0\0\0\0\0", 8, SH_FORMAT, "does not begin with {"},
        {"\3\0\0\0\0\0\0\0{}", 10, SH_CORRUPT, "is cut short: a header of 3 bytes in a file of 10"},
        {"\0\0\x40\6\0\0\0\0{}", 10, SH_CORRUPT, "a header of 104857600 bytes in a file of 10"},
        {"\1\0\x40\6\0\0\0\0{}", 10, SH_FORMAT, "104857601 bytes, the format allows 104857600"},
        {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10, SH_FORMAT, "a header of 18446744073709551615"},
        {"PK\3\4\x14\0\0\0\0\0", 10, SH_FORMAT, "is not a safetensors file: a header of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_safetensors *file;
        assert_fails(sh_safetensors_open_bytes(&file, "bad", cases[i].bytes, cases[i].count),
                     cases[i].code, cases[i].part);
    }
    sh_safetensors *file;
    assert_ok(sh_safetensors_open_bytes(&file, "empty", "\2\0\0\0\0\0\0\0{}", 10));
    assert_int_equal(sh_safetensors_count(file), 0);
    assert_null(sh_safetensors_metadata(file, "any"));
    assert_fails(sh_safetensors_find(&(size_t){0}, file, "t"), SH_NOT_FOUND,
                 "empty: has no tensor");
    sh_safetensors_close(file);
    assert_fails(sh_safetensors_open_bytes(&file, "none", NULL, 0), SH_FORMAT, "none: is not a");
}

static size_t parser_bytes, parser_most;

static void *count_in(size_t bytes)
{
    void *block = malloc(bytes);
    parser_bytes += malloc_usable_size(block);
    parser_most = parser_bytes > parser_most ? parser_bytes : parser_most;
    return block;
}

static void count_out(void *block)
{
    parser_bytes -= malloc_usable_size(block);
    free(block);
}

/* A file without data, whose header is `lead`, `part` as often as fits into `bytes`, and `tail`.
 * Owned. */
static unsigned char *header_of(size_t *file_bytes, const char *lead, const char *part,
                                const char *tail, size_t bytes)
{
    const size_t lead_bytes = strlen(lead), part_bytes = strlen(part), tail_bytes = strlen(tail);
    unsigned char *file = malloc(8 + bytes);
    assert_non_null(file);
    memset(file + 8, ' ', bytes);
    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)((uint64_t)bytes >> 8 * i);
    size_t used = 8 + lead_bytes;
    memcpy(file + 8, lead, lead_bytes);
    const size_t parts = (8 + bytes - used - tail_bytes) / part_bytes;
    unsigned char *first = file + used;
    memcpy(first, part, part_bytes);
    for (size_t done = 1; done < parts; done *= 2)
        memcpy(first + done * part_bytes, first,
               (done < parts - done ? done : parts - done) * part_bytes);
    used += parts * part_bytes;
    memcpy(file + used, tail, tail_bytes);
    *file_bytes = 8 + bytes;
    return file;
}

/* Without the limits, the parser takes 1.3 GB for the first case. */
static void bounds_the_parser(void **state)
{
    (void)state;
    const size_t vast = 62000000, large = 4000000;
    const struct {
        const char *lead, *part, *tail;
        size_t bytes, parser_most;
        sh_status code;
        const char *words;
    } cases[] = {
        {"{\"t\":{\"shape\":[", "1,", "1]}}", vast, 0, SH_LIMIT,
         "a header of 62000000 bytes, at most 37748736 are read"},
        {"{\"t\":{\"shape\":[", "1,", "1]}}", large, 0, SH_LIMIT, "more than 262144 values"},
        {"{\"t\":[", "[],", "[]]}", large, 0, SH_LIMIT, "more than 262144 values"},
        {"{\"t\":[", "{},", "{}]}", large, 0, SH_LIMIT, "more than 16384 tensors"},
        {"{\"t\":{\"", "a\":1,\"", "b\":1}}", large, 0, SH_LIMIT, "more than 262144 values"},
        {"{\"t\":", "[", "", large, 0, SH_FORMAT, "at byte 15: nested too"},
        /* Just below the limits, for each expensive kind of value. */
        {"{\"t\":{\"shape\":[", "1,", "1]}}", 520000, 24 << 20, SH_FORMAT, "dtype is missing"},
        {"{\"t\":[", "{},", "{}]}", 49100, 8 << 20, SH_FORMAT, "is not an object"},
        {"{\"t\":[", "[],", "[]]}", 390000, 32 << 20, SH_FORMAT, "is not an object"},
        {"{\"t\":{\"shape\":[\"", "a", "\"]}}", 9000000, 40 << 20, SH_FORMAT, "dtype is missing"},
    };
    json_malloc_t old_malloc;
    json_free_t old_free;
    json_get_alloc_funcs(&old_malloc, &old_free);
    json_set_alloc_funcs(count_in, count_out);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes;
        unsigned char *file =
            header_of(&bytes, cases[i].lead, cases[i].part, cases[i].tail, cases[i].bytes);
        sh_safetensors *opened;
        parser_most = 0;
        assert_fails(sh_safetensors_open_bytes(&opened, "bad", file, bytes), cases[i].code,
                     cases[i].words);
        assert_int_equal(parser_bytes, 0);
        assert_in_range(parser_most, 0, cases[i].parser_most);
        free(file);
    }
    json_set_alloc_funcs(old_malloc, old_free);
}

static void holds_as_many_tensors_as_it_says(void **state)
{
    (void)state;
    const size_t most = SH_SAFETENSORS_TENSORS;
    static const float one = 1;
    char(*names)[16] = calloc(most + 1, sizeof *names);
    sh_stored_tensor *many = calloc(most + 1, sizeof *many);
    assert_non_null(names);
    assert_non_null(many);
    for (size_t i = 0; i <= most; i++) {
        snprintf(names[i], sizeof *names, "t%zu", i);
        many[i] = (sh_stored_tensor){names[i], {SH_F32, {8, {1, 1, 1, 1, 1, 1, 1, 1}}}, &one};
    }
    sh_safetensors *file;
    assert_ok(sh_safetensors_write(path, many, most, pairs, 1));
    assert_ok(sh_safetensors_open(&file, path));
    assert_int_equal(sh_safetensors_count(file), most);
    assert_ok(sh_safetensors_verify(file));
    sh_safetensors_close(file);
    assert_fails(sh_safetensors_write(path, many, most + 1, pairs, 1), SH_LIMIT,
                 "w.safetensors: 16385 tensors, at most 16384 fit in a file");
    free(many);
    free(names);
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    sh_safetensors *file;
    assert_fails(sh_safetensors_open(&file, path), SH_NOT_FOUND, "w.safetensors: cannot open");
    assert_fails(sh_safetensors_open(&file, folder), SH_INVALID, "is not a file");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails(sh_safetensors_open(&file, path), SH_INVALID, "is not a file");
}

static sh_status check_bytes(const char *bytes, size_t count)
{
    sh_safetensors *file;
    SH_TRY(sh_safetensors_open_bytes(&file, "flipped", bytes, count));
    const sh_status status = sh_safetensors_verify(file);
    sh_safetensors_close(file);
    return status;
}

static void finds_every_flipped_bit(void **state)
{
    (void)state;
    char bytes[GOLDEN_BYTES];
    memcpy(bytes, golden, sizeof bytes);
    assert_ok(check_bytes(bytes, sizeof bytes));
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        if (check_bytes(bytes, sizeof bytes) == SH_OK)
            fail_msg("bit %zu flipped unnoticed", bit);
        bytes[bit / 8] = golden[bit / 8];
    }
    bytes[sizeof bytes - 1] ^= 1;
    assert_fails(check_bytes(bytes, sizeof bytes), SH_CORRUPT,
                 "flipped: is damaged: its checksum does not match its content");
}

static void finds_every_cut_and_extension(void **state)
{
    (void)state;
    for (size_t count = 0; count < GOLDEN_BYTES; count++) {
        char *bytes = malloc(count + 1);
        assert_non_null(bytes);
        memcpy(bytes, golden, count);
        if (check_bytes(bytes, count) == SH_OK)
            fail_msg("cut at %zu unnoticed", count);
        free(bytes);
    }
    char longer[GOLDEN_BYTES + 1] = {0};
    memcpy(longer, golden, GOLDEN_BYTES);
    assert_fails(check_bytes(longer, sizeof longer), SH_FORMAT, "1 bytes follow the last tensor");
}

static void refuses_a_checksum_out_of_place(void **state)
{
    (void)state;
    static const char text[] = "{\"__metadata__\": {\"shoal.sha256\": \"00\"}}";
    char bytes[8 + sizeof text - 1] = {sizeof text - 1};
    memcpy(bytes + 8, text, sizeof text - 1);
    assert_fails(check_bytes(bytes, sizeof bytes), SH_CORRUPT, "was rewritten by another program");
}

static void refuses_to_write_nonsense(void **state)
{
    (void)state;
    static const sh_type scalar = {SH_F32, {0, {0}}};
    static const float one = 1;
    const struct {
        sh_stored_tensor tensors[2];
        sh_metadata pair;
        sh_status code;
        const char *part;
    } cases[] = {
        {{{"a", scalar, &one}, {"a", scalar, &one}},
         {"k", "t"},
         SH_INVALID,
         "w.safetensors: tensor name \"a\" is given twice or reserved"},
        {{{"__metadata__", scalar, &one}, {"a", scalar, &one}}, {"k", "t"}, SH_INVALID, "reserved"},
        {{{"", scalar, &one}, {"a", scalar, &one}}, {"k", "t"}, SH_INVALID, "name \"\" is empty"},
        {{{"\xFF", scalar, &one}, {"a", scalar, &one}}, {"k", "t"}, SH_INVALID, "is not UTF-8"},
        {{{"a", {SH_F32, {1, {0}}}, &one}, {"b", scalar, &one}},
         {"k", "t"},
         SH_LIMIT,
         "tensor \"a\": shape 0: dimension 0 is empty"},
#if SIZE_MAX > UINT32_MAX
        {{{"a", {SH_F32, {1, {SIZE_MAX / 8}}}, &one}, {"b", scalar, &one}},
         {"k", "t"},
         SH_LIMIT,
         "tensor \"b\" makes the file larger than files can be"},
#endif
        {{{"a", scalar, &one}, {"b", scalar, &one}}, {"shoal.sha256", "t"}, SH_INVALID, "reserved"},
        {{{"a", scalar, &one}, {"b", scalar, &one}}, {"", "t"}, SH_INVALID, "key \"\" is empty"},
        {{{"a", scalar, &one}, {"b", scalar, &one}}, {"k", "\xC0"}, SH_INVALID, "not UTF-8"},
        {{{"a", scalar, &one}, {"b", scalar, &one}}, {"k", NULL}, SH_INVALID, "not UTF-8"},
    };
    assert_ok(sh_file_replace(path, "old", 3));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(sh_safetensors_write(path, cases[i].tensors, 2, &cases[i].pair, 1),
                     cases[i].code, cases[i].part);
        scratch_expect(path, "old");
    }
    assert_int_equal(scratch_count(folder), 1);
}

static void reads_a_published_file(void **state)
{
    (void)state;
    char name[SH_PATH_BYTES];
    sh_safetensors *file;
    find_real_data(name, sizeof name, "pretrained/resnet20-12fca82f.safetensors");
    assert_ok(sh_safetensors_open(&file, name));
    size_t parameters = 0;
    for (size_t i = 0; i < sh_safetensors_count(file); i++) {
        sh_type type;
        assert_ok(sh_safetensors_type(&type, file, i));
        assert_int_equal(type.dtype, SH_F32);
        if (strstr(sh_safetensors_name(file, i), "running") == NULL)
            parameters += sh_shape_count(&type.shape);
    }
    assert_int_equal(sh_safetensors_count(file), 97);
    assert_int_equal(parameters, 269722); /* ResNet-20 for 10 classes */
    float weights[16 * 3 * 3 * 3];
    const sh_type conv1 = {SH_F32, {4, {16, 3, 3, 3}}};
    assert_ok(sh_safetensors_load(file, "conv1.weight", &conv1, weights));
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        assert_true(weights[i] > -10.0f && weights[i] < 10.0f);
    assert_fails(sh_safetensors_verify(file), SH_NOT_FOUND, "has no checksum");
    sh_safetensors_close(file);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(writes_the_golden_bytes),
        WITH_FOLDER(reads_what_it_wrote),
        cmocka_unit_test(says_what_does_not_fit),
        WITH_FOLDER(checks_large_files),
        WITH_FOLDER(reads_files_of_others),
        cmocka_unit_test(refuses_malformed_headers),
        cmocka_unit_test(refuses_impossible_lengths),
        cmocka_unit_test(bounds_the_parser),
        WITH_FOLDER(holds_as_many_tensors_as_it_says),
        WITH_FOLDER(refuses_what_is_no_file),
        cmocka_unit_test(finds_every_flipped_bit),
        cmocka_unit_test(finds_every_cut_and_extension),
        cmocka_unit_test(refuses_a_checksum_out_of_place),
        WITH_FOLDER(refuses_to_write_nonsense),
        cmocka_unit_test(reads_a_published_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
