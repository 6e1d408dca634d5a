/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/run_network.h"

#include "base/scratch.h"
#include "onnx/model_cache.h"
#include "onnx/onnx_fixture.h"

static int set_up(void **state)
{
    scratch_set_up(state);
    return setenv("XDG_CACHE_HOME", "/proc/none", 1);
}

static int tear_down(void **state)
{
    fixture_release(state);
    return scratch_tear_down(state);
}

static void finds(const char *spec, const char *checkpoint)
{
    sh_network *network;
    char path[SH_PATH_BYTES];
    assert_ok(sh_path_join(path, scratch_folder, checkpoint));
    assert_ok(sh_run_network_find(&network, spec, path));
    assert_string_equal(network->spec, spec);
    sh_network_unref(network);
}

static void does_not_find(const char *spec, const char *checkpoint, sh_status code,
                          const char *message)
{
    sh_network *network;
    char path[SH_PATH_BYTES];
    assert_ok(sh_path_join(path, scratch_folder, checkpoint));
    assert_fails(sh_run_network_find(&network, spec, path), code, message);
    assert_null(network);
}

static void move(const char *from, const char *to)
{
    char old[SH_PATH_BYTES], fresh[SH_PATH_BYTES];
    assert_ok(sh_path_join(old, scratch_folder, from));
    assert_ok(sh_path_join(fresh, scratch_folder, to));
    assert_int_equal(rename(old, fresh), 0);
}

static void test_the_folder_is_enough(void **state)
{
    (void)state;
    sh_network *network, *none;
    sh_onnx *file;
    sh_run *run;
    char path[SH_PATH_BYTES];
    assert_ok(sh_model_cache_open(&network, &file, fixture_path("mlp.onnx")));
    sh_onnx_close(file);
    assert_ok(sh_path_join(path, scratch_folder, "run"));
    assert_ok(sh_run_open(&run, &(sh_run_options){.path = path}));
    assert_ok(sh_run_network_keep(run, NULL));
    does_not_find(network->spec, "run/checkpoints/last.safetensors", SH_INVALID,
                  "copy the whole folder of the run");
    assert_ok(sh_run_network_keep(run, network));
    finds(network->spec, "run/checkpoints/last.safetensors");
    sh_run_close(run);
    move("run", "moved");
    finds(network->spec, "moved/checkpoints/best.safetensors");
    finds(network->spec, "moved/copy.safetensors");
    assert_ok(sh_run_network_find(&none, "lenet", "moved/copy.safetensors"));
    assert_null(none);

    /* Of another network, or damaged. */
    char other[SH_MODEL_SPEC];
    sh_model_spec(other, "mlp.onnx",
                  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    does_not_find(other, "moved/checkpoints/last.safetensors", SH_CORRUPT,
                  "moved/checkpoints/../model.skeleton.onnx: is damaged");
    assert_ok(sh_path_join(path, scratch_folder, "moved/" SH_RUN_NETWORK));
    assert_ok(sh_file_replace(path, network->bytes, network->count / 2));
    does_not_find(network->spec, "moved/checkpoints/last.safetensors", SH_CORRUPT,
                  "copy the run's file model.skeleton.onnx here again");
    assert_int_equal(setenv("XDG_CACHE_HOME", scratch_folder, 1), 0);
    assert_ok(sh_model_cache_put(network));
    finds(network->spec, "moved/checkpoints/last.safetensors");
    sh_network_unref(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_folder_is_enough, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
