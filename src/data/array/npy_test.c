/* SPDX-License-Identifier: Apache-2.0 */
#include "data/array/npy.h"

#include <inttypes.h>

#include "base/test.h"

typedef struct file {
    uint8_t bytes[512];
    size_t count;
} file;

static file file_of(int version, const char *dictionary, size_t numbers)
{
    file f = {.bytes = "\x93NUMPY"};
    const size_t length = strlen(dictionary), begins = version == 1 ? 10 : 12;
    f.bytes[6] = (uint8_t)version;
    f.bytes[8] = (uint8_t)length;
    assert_in_range(length, 0, 255);
    memcpy(f.bytes + begins, dictionary, length);
    for (size_t i = 0; i < numbers; i++)
        f.bytes[begins + length + i] = (uint8_t)(i + 1);
    f.count = begins + length + numbers;
    return f;
}

static sh_status parse(sh_npy_header *header, const file *f)
{
    return sh_npy_parse(header, f->bytes, f->count, f->count);
}

static void headers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary;
        sh_npy_kind kind;
        uint32_t bytes, rank;
        uint64_t shape[2];
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n",
         SH_NPY_FLOAT,
         4,
         2,
         {2, 3}},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }\n", SH_NPY_FLOAT, 8, 1, {4}},
        {"{'shape': (), 'fortran_order': False, 'descr': '|u1'}", SH_NPY_UNSIGNED, 1, 0, {0}},
        {"{\"descr\": \"<u1\", 'fortran_order':False,'shape':(5L,)}", SH_NPY_UNSIGNED, 1, 1, {5}},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (3, 1)}", SH_NPY_BOOL, 1, 2, {3, 1}},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (0, 7)}", SH_NPY_SIGNED, 2, 2, {0, 7}},
        {"{'descr': '<u4', 'fortran_order': False, 'shape': (1,)}", SH_NPY_UNSIGNED, 4, 1, {1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int version = 1; version <= 3; version++) {
            size_t count = 1;
            for (uint32_t k = 0; k < cases[i].rank; k++)
                count *= (size_t)cases[i].shape[k];
            const file f = file_of(version, cases[i].dictionary, count * cases[i].bytes);
            sh_npy_header header;
            assert_ok(parse(&header, &f));
            assert_int_equal(header.kind, cases[i].kind);
            assert_int_equal(header.item_bytes, cases[i].bytes);
            assert_int_equal(header.rank, cases[i].rank);
            assert_int_equal(header.count, count);
            assert_int_equal(header.data_at, f.count - count * cases[i].bytes);
            for (uint32_t k = 0; k < cases[i].rank; k++)
                assert_int_equal(header.shape[k], cases[i].shape[k]);
        }
}

static void bad_headers_are_refused(void **state)
{
    (void)state;
#define WITH(type, shape) "{'descr': " type ", 'fortran_order': False, 'shape': " shape ", }"
    static const struct {
        const char *dictionary;
        sh_status code;
        const char *message;
    } cases[] = {
        {WITH("'<f4'", "(9223372036854775808,)"), SH_LIMIT, "more bytes than 64 bits"},
        {WITH("'<f4'", "(4294967296, 4294967296)"), SH_LIMIT, "more numbers than 64 bits"},
        {WITH("'<f4'", "(99999999999999999999,)"), SH_LIMIT, "does not fit into 64 bits"},
        {WITH("'<f4'", "(1,1,1,1,1,1,1,1,1)"), SH_LIMIT, "more than 8 dimensions"},
        {WITH("'<f4'", "(-1,)"), SH_FORMAT, "is not whole numbers"},
        {WITH("'<f4'", "(1.5,)"), SH_FORMAT, "should be ')'"},
        {WITH("'<f4'", "(2,)"), SH_CORRUPT, "cut off: "},
        {WITH("'<f4'", "[1]"), SH_FORMAT, "should be '('"},
        {WITH("'|O'", "(1,)"), SH_UNSUPPORTED, "Python objects ('|O'), which could run code"},
        {WITH("'>f4'", "(1,)"), SH_UNSUPPORTED,
         "big-endian numbers ('>f4'); save it with x.astype('<f4')"},
        {WITH("'<U3'", "(1,)"), SH_UNSUPPORTED, "numpy.unique(y, return_inverse=True)"},
        {WITH("'<f2'", "(1,)"), SH_UNSUPPORTED,
         "numbers of type '<f2'; save it with x.astype('<f4')"},
        {WITH("''", "(1,)"), SH_UNSUPPORTED, "numbers of type ''"},
        {WITH("[('a', '<f4')]", "(1,)"), SH_UNSUPPORTED, "records with named fields"},
        {"{'descr': '<f4", SH_FORMAT, "should be '''"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", SH_UNSUPPORTED,
         "numpy.ascontiguousarray"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", SH_FORMAT,
         "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False}", SH_FORMAT, "without 'shape'"},
        {"{'descr': '<f4', 'descr': '<f4'}", SH_FORMAT, "a second entry 'descr'"},
        {"{'code': '<f4'}", SH_FORMAT, "an unknown entry 'code'"},
        {"__import__('os')", SH_FORMAT, "byte 0 of its dictionary should be '{'"},
        {WITH("'<f4'", "(1,)") " + x", SH_FORMAT, "data after the dictionary"},
        {"", SH_FORMAT, "should be '{'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const file f = file_of(1, cases[i].dictionary, 4);
        sh_npy_header header;
        assert_fails(parse(&header, &f), cases[i].code, cases[i].message);
    }
}

static void files_that_are_cut_off_are_refused(void **state)
{
    (void)state;
    const file f = file_of(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4);
    sh_npy_header header;
    assert_ok(parse(&header, &f));
    for (size_t count = 0; count < f.count; count++) {
        const char *message = count < 6             ? "does not begin with"
                              : count < f.count - 4 ? "cut off within its header"
                                                    : "is cut off: ";
        /* At the end of an allocation, so that the sanitizer detects reads past the end. */
        uint8_t *block = malloc(f.count);
        assert_non_null(block);
        uint8_t *bytes = block + f.count - count;
        memcpy(bytes, f.bytes, count);
        assert_fails(sh_npy_parse(&header, bytes, count, count), count < 6 ? SH_FORMAT : SH_CORRUPT,
                     message);
        free(block);
    }
    file other = f;
    other.bytes[6] = 4;
    assert_fails(parse(&header, &other), SH_VERSION, "version 4");
    other = f;
    other.bytes[9] = 1, other.bytes[10] = 1; /* 65 KB of header */
    assert_fails(parse(&header, &other), SH_LIMIT, "at most 65536");
    assert_fails(sh_npy_parse(&header, f.bytes, f.count, f.count + 1), SH_CORRUPT, "too long");
}

static void numbers_are_read(void **state)
{
    (void)state;
    static const struct {
        sh_npy_header header;
        uint8_t bytes[8];
        double number;
    } cases[] = {
        {{.kind = SH_NPY_BOOL, .item_bytes = 1}, {2}, 1},
        {{.kind = SH_NPY_UNSIGNED, .item_bytes = 1}, {255}, 255},
        {{.kind = SH_NPY_UNSIGNED, .item_bytes = 2}, {0, 128}, 32768},
        {{.kind = SH_NPY_UNSIGNED, .item_bytes = 4}, {0, 0, 0, 128}, 2147483648.0},
        {{.kind = SH_NPY_SIGNED, .item_bytes = 1}, {255}, -1},
        {{.kind = SH_NPY_SIGNED, .item_bytes = 2}, {0, 128}, -32768},
        {{.kind = SH_NPY_SIGNED, .item_bytes = 4}, {254, 255, 255, 255}, -2},
        {{.kind = SH_NPY_SIGNED, .item_bytes = 8}, {0, 0, 0, 0, 1}, 4294967296.0},
        {{.kind = SH_NPY_SIGNED, .item_bytes = 8}, {253, 255, 255, 255, 255, 255, 255, 255}, -3},
        {{.kind = SH_NPY_FLOAT, .item_bytes = 4}, {0, 0, 0xc0, 0xbf}, -1.5},
        {{.kind = SH_NPY_FLOAT, .item_bytes = 8}, {0, 0, 0, 0, 0, 0, 4, 64}, 2.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double number;
        sh_npy_numbers(&number, &cases[i].header, cases[i].bytes, 1);
        if (number != cases[i].number)
            fail_msg("case %zu: %g", i, number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_read),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(files_that_are_cut_off_are_refused),
        cmocka_unit_test(numbers_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
