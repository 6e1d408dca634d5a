/* SPDX-License-Identifier: Apache-2.0 */
#include "model/choice.h"

#include "base/test.h"

static void data_get_their_model(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        sh_problem problem;
        uint32_t samples;
        const char *why; /* begins with the model's name */
    } asked[] = {
        {"table", {1, 1, 13, 3, SH_TARGET_CLASS}, 142, "mlp:h32 for 142 samples of 13 numbers"},
        {"table", {1, 1, 1, 1, SH_TARGET_NUMBERS}, 142, "mlp:h16 for 142 samples of 1 number"},
        {"table", {1, 1, 30, 2, SH_TARGET_CLASS}, 500, "mlp:h64-32 for"},
        {"table", {1, 1, 54, 7, SH_TARGET_LABELS}, 5000, "mlp:h128-64 for"},
        {"table", {1, 1, 54, 7, SH_TARGET_CLASS}, 400000, "mlp:h256-128 for"},
        {"table", {1, 1, 4, 7, SH_TARGET_CLASS}, 400000, "mlp:h64-32 for"},
        {"text", {1, 1, 64, 256, SH_TARGET_CLASS}, 90000, "mlp:h256-128 for"},
        {"npy", {1, 1, 64, 2, SH_TARGET_CLASS}, 80, "mlp:h32 for"},
        {"npy", {1, 5, 64, 2, SH_TARGET_CLASS}, 80, "mlp:h32 for 80 samples of 64x5 pixels and 1 "},
        {"npy", {3, 1, 64, 2, SH_TARGET_CLASS}, 80, "cnn1d for"},
        {"npy", {1, 28, 28, 10, SH_TARGET_CLASS}, 80, "lenet for"},
        {"series",
         {6, 1, 128, 6, SH_TARGET_CLASS},
         7000,
         "cnn1d for 7000 samples of 128 steps and 6 channels"},
        {"series", {1, 1, 128, 1, SH_TARGET_NUMBERS}, 70, "cnn1d for 70 samples of 128 "},
        {"series", {2, 1, 3, 6, SH_TARGET_CLASS}, 70, "mlp:h32 for 70 samples of 3 "},
        {"audio",
         {1, 98, 40, 10, SH_TARGET_CLASS},
         2500,
         "dscnn:s for 2500 samples of 98 frames of 40 bands"},
        {"audio", {1, 98, 40, 35, SH_TARGET_CLASS}, 84000, "dscnn:m for"},
        {"audio", {1, 7, 40, 35, SH_TARGET_CLASS}, 84000, "mlp:h256-128 for"},
        {"mnist", {1, 28, 28, 10, SH_TARGET_CLASS}, 60000, "lenet for"},
        {"photos", {3, 28, 28, 10, SH_TARGET_CLASS}, 1999, "resnet:8 for"},
        {"photos", {3, 28, 28, 10, SH_TARGET_CLASS}, 2000, "resnet:20 for"},
        {"photos", {1, 12, 12, 10, SH_TARGET_CLASS}, 100, "resnet:8 for"},
        {"photos", {1, 40, 40, 10, SH_TARGET_CLASS}, 2000, "resnet:20 for"},
        {"photos", {3, 100, 12, 10, SH_TARGET_CLASS}, 2000, "resnet:20 for"},
        {"photos",
         {3, 64, 97, 5, SH_TARGET_CLASS},
         3000,
         "mobilenetv2:0.5 for 3000 samples of 97x64 pixels and 3 channels"},
        {"photos", {3, 96, 97, 5, SH_TARGET_LABELS}, 20000, "resnet18 for"},
        {"photos", {3, 64, 64, 5, SH_TARGET_CLASS}, 325, "resnet:8 for"},
        {"photos", {3, 96, 96, 5, SH_TARGET_CLASS}, 20000, "resnet:20 for"},
        {"mnist",
         {1, 28, 28, 784, SH_TARGET_SAMPLE},
         54000,
         "autoencoder for 54000 samples of 28x28 pixels and 1 channel, to be reconstructed"},
        {"series", {6, 1, 128, 768, SH_TARGET_SAMPLE}, 500, "autoencoder for"},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        sh_model_choice choice;
        sh_model_choose(&choice, &asked[i].problem, asked[i].kind, asked[i].samples);
        if (strncmp(choice.why, asked[i].why, strlen(asked[i].why)) != 0)
            fail_msg("case %zu: '%s' is not '%s'", i, choice.why, asked[i].why);
        assert_memory_equal(choice.why, choice.spec, strlen(choice.spec));
    }
}

static void what_is_chosen_fits(void **state)
{
    (void)state;
    static const char *const kinds[] = {"table", "series", "audio", "photos", "npy", "text"};
    static const size_t sides[] = {1, 3, 4, 7, 8, 15, 16, 33, 96, 97, 128}, channels[] = {1, 3, 6};
    static const uint32_t samples[] = {1, 499, 1999, 19999, 20000, UINT32_MAX};
    const size_t count = sizeof sides / sizeof *sides;
    for (size_t i = 0; i < count * count * 3 * 6; i++) {
        sh_problem problem = {channels[i % 3], sides[i / 3 % count], sides[i / 3 / count % count],
                              1 + i % 2, i % 2 == 0 ? SH_TARGET_NUMBERS : SH_TARGET_CLASS};
        if (i % 7 == 0) {
            problem.target = SH_TARGET_SAMPLE;
            problem.outputs = problem.channels * problem.height * problem.width;
        }
        sh_model_choice choice;
        sh_graph *graph;
        sh_model_choose(&choice, &problem, kinds[i / 3 / count / count], samples[i % 6]);
        const sh_model_options options = {.spec = choice.spec, .problem = problem};
        assert_ok(sh_model_build(&graph, &options, 2, SH_MODEL_EVALUATE));
        sh_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_get_their_model),
        cmocka_unit_test(what_is_chosen_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
