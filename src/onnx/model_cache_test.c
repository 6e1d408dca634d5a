/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/model_cache.h"

#include "base/scratch.h"
#include "onnx/onnx_fixture.h"

#define DIGITS                                                                                     \
    "f80c71ea2c3c6290a808d5fa520d3f33aca46664d2dbb4375bc04e7fe5b2aa6b" /* of mlp.onnx              \
                                                                        */

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

static void damage(const char *path)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 100, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, 100, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    assert_int_equal(fclose(file), 0);
}

static void test_what_is_put_is_got(void **state)
{
    (void)state;
    static const char spec[] = "mlp.onnx@" DIGITS;
    char path[SCRATCH_BYTES + 128], folder[SCRATCH_BYTES + 32];
    sh_network *network, *again;
    sh_onnx *file;
    snprintf(path, sizeof path, "%s/shoal/models/" DIGITS ".onnx", scratch_folder);
    snprintf(folder, sizeof folder, "%s/shoal/models", scratch_folder);
    assert_fails(sh_model_cache_get(&again, spec), SH_NOT_FOUND, "/shoal/models");
    assert_ok(sh_model_cache_open(&network, &file, fixture_path("mlp.onnx")));
    assert_false(sh_onnx_is_skeleton(file));
    sh_onnx_close(file);
    for (int i = 0; i < 2; i++) { /* putting it again is harmless */
        assert_ok(sh_model_cache_get(&again, spec));
        assert_string_equal(again->spec, spec);
        assert_int_equal(again->count, network->count);
        sh_network_unref(again);
        assert_ok(sh_model_cache_put(network));
    }
    assert_int_equal(scratch_count(folder), 1); /* no temporary file is left */
    assert_ok(sh_model_cache_open(&again, &file, spec));
    assert_null(file);
    sh_network_unref(again);
    assert_ok(sh_model_cache_open(&again, &file, "lenet"));
    assert_null(again);
    assert_fails(sh_model_cache_open(&again, &file, "none.onnx"), SH_NOT_FOUND, "none.onnx");

    damage(path);
    assert_fails(sh_model_cache_get(&again, spec), SH_CORRUPT, "is damaged");
    assert_ok(sh_model_cache_put(network)); /* replaces the damaged file */
    assert_ok(sh_model_cache_get(&again, spec));
    sh_network_unref(again);
    assert_fails(sh_model_cache_get(&again, "lenet"), SH_INVALID, "NAME.onnx@DIGEST");

    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(fixture_path("mlp.onnx"), path), 0);
    assert_fails(sh_model_cache_get(&again, spec), SH_INVALID, "symbolic link");
    sh_network_unref(network);

    assert_int_equal(setenv("XDG_CACHE_HOME", "/proc/none", 1), 0);
    assert_fails(sh_model_cache_get(&again, spec), SH_NOT_FOUND, "XDG_CACHE_HOME");
    assert_ok(sh_model_cache_open(&network, &file, fixture_path("mlp.onnx")));
    sh_onnx_close(file);
    sh_network_unref(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_put_is_got, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
