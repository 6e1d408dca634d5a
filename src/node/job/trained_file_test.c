/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/trained_file.h"

#include "base/scratch.h"
#include "onnx/onnx_fixture.h"

static int tear_down(void **state)
{
    fixture_release(state);
    return scratch_tear_down(state);
}

#define TRAINED                                                                                    \
    "{\"format\": \"photos\", \"channels\": 1, \"height\": 3, \"width\": 4, \"element\": "         \
    "\"byte\", \"target\": \"classification\", \"outputs\": 3, \"samples\": [5, 2], \"mean\": "    \
    "[0.5], \"deviation\": [0.25], \"fingerprint\": \"ab\"}"

static sh_status open_with(sh_trained_file *model, const char *name, const char *const (*pairs)[2],
                           size_t count)
{
    char path[SCRATCH_BYTES + 32];
    size_t bytes;
    Sh__Onnx__ModelProto *changed = fixture_unpack(name);
    changed->metadata_props = fixture_alloc(NULL, (count + 1) * sizeof *changed->metadata_props);
    changed->n_metadata_props = count;
    for (size_t i = 0; i < count; i++) {
        const Sh__Onnx__StringStringEntryProto none = SH__ONNX__STRING_STRING_ENTRY_PROTO__INIT;
        Sh__Onnx__StringStringEntryProto *entry = fixture_alloc(NULL, sizeof *entry);
        *entry = none;
        entry->key = fixture_text(pairs[i][0]);
        entry->value = fixture_text(pairs[i][1]);
        changed->metadata_props[i] = entry;
    }
    const uint8_t *packed = fixture_pack(changed, &bytes);
    snprintf(path, sizeof path, "%s/changed.onnx", scratch_folder);
    scratch_write(path, packed, bytes);
    assert_true(sh_trained_file_is(path));
    return sh_trained_file_open(model, path);
}

static void what_a_file_says_is_taken(void **state)
{
    (void)state;
    sh_trained_file model;
    sh_trained *trained;
    assert_ok(open_with(&model, "mlp.onnx",
                        (const char *const[][2]){{"author", "x"}, {"shoal.trained", TRAINED}}, 2));
    assert_false(model.baked);
    assert_string_equal(model.job.normalize, "none");
    assert_true(sh_model_spec_is(model.job.model, NULL));
    assert_ok(sh_trained_file_trained(&trained, &model));
    assert_int_equal(trained->info.outputs, 3);
    assert_float_equal(trained->info.mean[0], 0.5, 0);
    sh_trained_free(trained);
    sh_trained_file_close(&model);

    assert_ok(open_with(&model, "mlp.onnx",
                        (const char *const[][2]){{"shoal.trained", TRAINED}, {"shoal.baked", "1"}},
                        2));
    assert_true(model.baked);
    assert_string_equal(model.job.normalize, "dataset");
    assert_ok(sh_trained_file_trained(&trained, &model));
    assert_float_equal(trained->info.mean[0], 0, 0);
    assert_float_equal(trained->info.deviation[0], 1.0f / 255, 0);
    sh_trained_free(trained);
    sh_trained_file_close(&model);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const char *const jobs[] = {"", "[]", "{}", "{\"seed\": \"x\"}", "nonsense"};
    static const char *const texts[] = {"", "[]", "{}", "{\"format\": 3}", "\"mean\""};
    sh_trained_file model;
    sh_trained *trained;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        assert_fails(
            open_with(&model, "mlp.onnx", (const char *const[][2]){{"shoal.job", jobs[i]}}, 1),
            SH_FORMAT, "changed.onnx: shoal.job");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t baked = 0; baked < 2; baked++) {
            assert_ok(open_with(
                &model, "mlp.onnx",
                (const char *const[][2]){{"shoal.trained", texts[i]}, {"shoal.baked", "1"}},
                1 + baked));
            assert_fails(sh_trained_file_trained(&trained, &model), SH_FORMAT,
                         "changed.onnx: shoal.trained");
            sh_trained_file_close(&model);
        }
    assert_fails(
        open_with(&model, "mlp.onnx", (const char *const[][2]){{"shoal.skeleton", "1"}}, 1),
        SH_INVALID, "name the run's folder instead");
}

static void other_files_are_given_photos(void **state)
{
    (void)state;
    sh_trained_file model;
    sh_trained *trained;
    assert_ok(sh_trained_file_open(&model, fixture_path("networks/resnet_like.onnx")));
    assert_null(model.trained);
    assert_ok(sh_trained_file_trained(&trained, &model));
    assert_string_equal(trained->info.name, "photos");
    assert_int_equal(trained->info.channels, 3);
    assert_int_equal(trained->info.height, 8);
    assert_int_equal(trained->info.width, 8);
    assert_int_equal(trained->info.outputs, 5);
    assert_float_equal(trained->info.mean[2], 0, 0);
    assert_float_equal(trained->info.deviation[2], 1, 0);
    sh_trained_free(trained);
    sh_trained_file_close(&model);
    static const char *const others[] = {"networks/line.onnx", "networks/gates.onnx"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_ok(sh_trained_file_open(&model, fixture_path(others[i])));
        assert_fails(sh_trained_file_trained(&trained, &model), SH_UNSUPPORTED,
                     "does not take square photos");
        sh_trained_file_close(&model);
    }
    assert_false(sh_trained_file_is("runs/one"));
    assert_false(sh_trained_file_is("none.onnx"));
    sh_trained_file_close(&(sh_trained_file){0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_file_says_is_taken, scratch_set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_makes_no_sense_is_refused, scratch_set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_files_are_given_photos, scratch_set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
