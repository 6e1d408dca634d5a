/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/model_shelf.h"

#include "base/scratch.h"
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

static int set_up(void **state)
{
    scratch_set_up(state);
    return setenv("XDG_CACHE_HOME", scratch_folder, 1);
}

static int tear_down(void **state)
{
    fixture_release(state);
    return scratch_tear_down(state);
}

static void test_what_is_put_is_got(void **state)
{
    (void)state;
    static const char spec_of_mlp[] = "mlp.onnx@" DIGITS;
    char spec[SH_MODEL_SPEC], path[SCRATCH_BYTES + 128];
    sh_onnx *model, *skeleton;
    snprintf(path, sizeof path, "%s/shoal/models/" DIGITS ".onnx", scratch_folder);
    assert_fails(sh_model_shelf_get(&skeleton, spec_of_mlp), SH_NOT_FOUND, "/shoal/models");
    assert_ok(sh_onnx_open(&model, fixture_path("mlp.onnx")));
    for (int i = 0; i < 2; i++) { /* again does no harm */
        assert_ok(sh_model_shelf_put(spec, model, sh_onnx_path(model)));
        assert_string_equal(spec, spec_of_mlp);
        assert_ok(sh_model_shelf_get(&skeleton, spec));
        assert_true(sh_onnx_is_skeleton(skeleton));
        assert_int_equal(sh_onnx_graph(skeleton)->n_node, 4);
        assert_string_equal(sh_onnx_path(skeleton), spec);
        sh_onnx_close(skeleton);
    }
    sh_onnx_close(model);
    char folder[SCRATCH_BYTES + 32];
    snprintf(folder, sizeof folder, "%s/shoal/models", scratch_folder);
    assert_int_equal(scratch_count(folder), 1); /* no temporary stays */

    uint8_t *bytes;
    size_t count;
    assert_ok(sh_model_shelf_read(&bytes, &count, spec));
    assert_int_equal(unlink(path), 0);
    bytes[count / 2] ^= 1;
    assert_fails(sh_model_shelf_keep(spec, bytes, count), SH_CORRUPT, "mlp.onnx@f80c");
    scratch_write(path, bytes, count);
    assert_fails(sh_model_shelf_get(&skeleton, spec), SH_CORRUPT, DIGITS ".onnx: is damaged");
    bytes[count / 2] ^= 1;
    assert_ok(sh_model_shelf_keep(spec, bytes, count)); /* in the damaged one's place */
    assert_ok(sh_model_shelf_get(&skeleton, spec));
    sh_onnx_close(skeleton);
    free(bytes);
    assert_fails(sh_model_shelf_get(&skeleton, "lenet"), SH_INVALID, "NAME.onnx@DIGEST");

    /* A link in the cache leads nowhere. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(fixture_path("mlp.onnx"), path), 0);
    assert_fails(sh_model_shelf_get(&skeleton, spec), SH_INVALID, "symbolic link");
    assert_int_equal(setenv("XDG_CACHE_HOME", "/proc/none", 1), 0);
    assert_fails(sh_model_shelf_get(&skeleton, spec), SH_NOT_FOUND, "XDG_CACHE_HOME");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_the_files),
        cmocka_unit_test_setup_teardown(test_what_is_put_is_got, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
