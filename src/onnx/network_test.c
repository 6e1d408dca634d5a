/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/network.h"

#include "onnx/onnx_fixture.h"

#define DIGITS                                                                                     \
    "f80c71ea2c3c6290a808d5fa520d3f33aca46664d2dbb4375bc04e7fe5b2aa6b" /* of mlp.onnx              \
                                                                        */

static void test_names_are_the_files(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"lenet.onnx", "lenet"},
        {"/home/me/My nets/lenet-5.v2.onnx", "lenet-5.v2"},
        {"net", "net"},
        {"a b\xc3\xa9.onnx", "a_b__"},
        {".onnx", "model"},
        {"nets/", "model"},
        {"0123456789012345678901234567890123456789.onnx", "01234567890123456789012345678901"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char spec[SH_MODEL_SPEC], expected[128], digest[SH_DIGEST_TEXT];
        snprintf(expected, sizeof expected, "%s.onnx@" DIGITS, cases[i][1]);
        sh_model_spec(spec, cases[i][0], DIGITS);
        assert_string_equal(spec, expected);
        assert_true(sh_model_spec_is(spec, digest));
        assert_string_equal(digest, DIGITS);
    }
    static const char *const others[] = {
        "lenet",
        "lenet:2",
        "lenet.onnx",
        "",
        "@",
        ".onnx@" DIGITS,
        "a/b.onnx@" DIGITS,
        "a.onnx@" DIGITS "0",
        "a.onnx@f80c",
        "a.onnx@F80" DIGITS,
        "aonnx@" DIGITS,
        "../a.onnx@" DIGITS,
        "012345678901234567890123456789012.onnx@" DIGITS,
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (sh_model_spec_is(others[i], NULL))
            fail_msg("'%s' is taken", others[i]);
}

static sh_network *network_of(const char *name)
{
    sh_network *network;
    sh_onnx *model;
    assert_ok(sh_onnx_open(&model, fixture_path(name)));
    assert_ok(sh_network_of_model(&network, model, sh_onnx_path(model)));
    sh_onnx_close(model);
    return network;
}

static uint8_t *copy_of(const sh_network *network)
{
    uint8_t *bytes = malloc(network->count);
    assert_non_null(bytes);
    memcpy(bytes, network->bytes, network->count);
    return bytes;
}

static void test_a_network_is_its_skeleton(void **state)
{
    (void)state;
    sh_network *network = network_of("mlp.onnx"), *again;
    assert_string_equal(network->spec, "mlp.onnx@" DIGITS);
    assert_true(sh_onnx_is_skeleton(network->model));
    assert_int_equal(sh_onnx_graph(network->model)->n_node, 4);
    assert_string_equal(sh_onnx_path(network->model), network->spec);
    assert_ok(sh_network_of_bytes(&again, "other.onnx@" DIGITS, copy_of(network), network->count));
    assert_string_equal(again->spec, "other.onnx@" DIGITS); /* the name does not matter */
    assert_int_equal(again->count, network->count);
    sh_network_unref(again);
    sh_network_unref(network);
}

static void test_bytes_are_not_trusted(void **state)
{
    (void)state;
    sh_network *network = network_of("mlp.onnx"), *none;
    const char *spec = network->spec;
    const size_t count = network->count;
    for (size_t i = 0; i < count; i += 7) {
        uint8_t *bytes = copy_of(network);
        bytes[i] ^= 1;
        assert_fails(sh_network_of_bytes(&none, spec, bytes, count), SH_CORRUPT, "is damaged");
    }
    assert_fails(sh_network_of_bytes(&none, spec, copy_of(network), count - 1), SH_CORRUPT,
                 "instead of " DIGITS);
    assert_fails(sh_network_of_bytes(&none, spec, copy_of(network), 0), SH_CORRUPT, "is damaged");
    assert_fails(sh_network_of_bytes(&none, "lenet", copy_of(network), count), SH_INVALID,
                 "NAME.onnx@DIGEST");
    uint8_t *large = calloc(1, SH_SKELETON_MOST + 1);
    assert_non_null(large);
    assert_fails(sh_network_of_bytes(&none, spec, large, SH_SKELETON_MOST + 1), SH_LIMIT, "16 MiB");

    char digest[SH_DIGEST_TEXT], junk[SH_MODEL_SPEC];
    uint8_t *bytes = calloc(1, 5);
    assert_non_null(bytes);
    assert_ok(sh_skeleton_digest(digest, bytes, 5));
    sh_model_spec(junk, "junk", digest);
    assert_fails(sh_network_of_bytes(&none, junk, bytes, 5), SH_FORMAT, "junk.onnx@");
    sh_network_unref(network);
}

static void test_the_last_user_frees_it(void **state)
{
    (void)state;
    sh_network *network = network_of("mlp.onnx");
    assert_ptr_equal(sh_network_ref(network), network);
    sh_network_unref(network);
    assert_int_equal(sh_onnx_graph(network->model)->n_node, 4); /* still there */
    sh_network_unref(network);
    assert_null(sh_network_ref(NULL));
    sh_network_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_the_files),
        cmocka_unit_test_teardown(test_a_network_is_its_skeleton, fixture_release),
        cmocka_unit_test_teardown(test_bytes_are_not_trusted, fixture_release),
        cmocka_unit_test_teardown(test_the_last_user_frees_it, fixture_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
