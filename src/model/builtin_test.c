/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in models have the sizes and names of the literature, and every backend computes them.
 * src/train/golden_models_test.c compares training with PyTorch. */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/program.h"
#include "base/random.h"
#include "base/test.h"

static sh_status build(sh_graph **graph, const char *spec, const sh_problem *problem,
                       size_t samples, sh_model_mode mode)
{
    return sh_model_build(graph, &(sh_model_options){.spec = spec, .problem = *problem}, samples,
                          mode);
}

typedef struct published {
    const char *spec;
    sh_problem problem;
    size_t parameters;
    const char *first, *another, *last;
} published;

static const published known[] = {
    {"lenet", {1, 28, 28, 10, SH_TARGET_CLASS}, 431080, "conv1.weight", "conv2.bias", "fc2.bias"},
    {"mlp:784-128-64-10",
     {1, 28, 28, 10, SH_TARGET_CLASS},
     109386,
     "fc1.weight",
     "fc2.weight",
     "fc3.bias"},
    /* Not published: 2 (F 256 + 256 64 + 64 16) weights and biases; convolutions of 7, scale and
     * shift. */
    {"autoencoder",
     {1, 28, 28, 784, SH_TARGET_SAMPLE},
     2 * (784 * 256 + 256 * 64 + 64 * 16) + 2 * (256 + 64) + 16 + 784,
     "encoder.fc1.weight",
     "decoder.fc1.weight",
     "decoder.fc3.bias"},
    {"autoencoder",
     {1, 1, 13, 13, SH_TARGET_SAMPLE},
     13 * 6 + 6 + 6 * 13 + 13,
     "encoder.fc1.weight",
     "decoder.fc1.weight",
     "decoder.fc1.bias"},
    {"cnn1d",
     {3, 1, 128, 6, SH_TARGET_CLASS},
     7 * (3 * 32 + 32 * 64 + 64 * 128) + 2 * (32 + 64 + 128) + 128 * 6 + 6,
     "conv1.weight",
     "bn2.running_mean",
     "fc.bias"},
    /* As torch.nn.LSTM and GRU: 4 and 3 gates, two biases each; plus the dense layer. */
    {"lstm",
     {6, 1, 128, 5, SH_TARGET_CLASS},
     4 * 64 * (6 + 64 + 2) + 64 * 5 + 5,
     "lstm.weight_ih_l0",
     "lstm.bias_hh_l0",
     "fc.bias"},
    {"gru:20",
     {1, 12, 9, 5, SH_TARGET_LABELS}, /* 12 steps of 9 numbers */
     3 * 20 * (9 + 20 + 2) + 20 * 5 + 5,
     "gru.weight_ih_l0",
     "gru.weight_hh_l0",
     "fc.bias"},
    {"cnn1d:8",
     {2, 30, 5, 1, SH_TARGET_NUMBERS}, /* 30 steps of 10 numbers */
     7 * 10 * 8 + 2 * 8 + 8 + 1,
     "conv1.weight",
     "bn1.weight",
     "fc.bias"},
    {"nin", {3, 32, 32, 10, SH_TARGET_CLASS}, 966986, "conv1.weight", "cccp3.bias", "cccp6.bias"},
    /* Table 6 of He et al., as in akamaster/pytorch_resnet_cifar10. */
    {"resnet:20",
     {3, 32, 32, 10, SH_TARGET_CLASS},
     269722,
     "conv1.weight",
     "layer3.2.bn2.running_var",
     "linear.bias"},
    {"resnet:8",
     {3, 32, 32, 10, SH_TARGET_CLASS},
     75290,
     "conv1.weight",
     "layer2.0.conv1.weight",
     "linear.bias"},
    {"resnet:32",
     {3, 32, 32, 10, SH_TARGET_CLASS},
     464154,
     "conv1.weight",
     "layer2.4.conv1.weight",
     "linear.bias"},
    {"resnet:44",
     {3, 32, 32, 10, SH_TARGET_CLASS},
     658586,
     "conv1.weight",
     "layer2.6.conv1.weight",
     "linear.bias"},
    {"resnet:56",
     {3, 32, 32, 10, SH_TARGET_CLASS},
     853018,
     "conv1.weight",
     "layer2.8.conv1.weight",
     "linear.bias"},
    {"resnet:110",
     {3, 32, 32, 10, SH_TARGET_CLASS},
     1727962,
     "conv1.weight",
     "layer3.17.bn1.bias",
     "linear.bias"},
    {"resnet:20,B",
     {3, 32, 32, 10, SH_TARGET_CLASS},
     272474,
     "conv1.weight",
     "layer2.0.shortcut.0.weight",
     "linear.bias"},
    /* As in torchvision. */
    {"resnet18",
     {3, 224, 224, 1000, SH_TARGET_CLASS},
     11689512,
     "conv1.weight",
     "layer2.0.downsample.0.weight",
     "fc.bias"},
    {"resnet34",
     {3, 224, 224, 1000, SH_TARGET_CLASS},
     21797672,
     "conv1.weight",
     "layer3.5.bn2.running_mean",
     "fc.bias"},
    {"resnet50",
     {3, 224, 224, 1000, SH_TARGET_CLASS},
     25557032,
     "conv1.weight",
     "layer1.0.downsample.1.bias",
     "fc.bias"},
    {"squeezenet",
     {3, 224, 224, 1000, SH_TARGET_CLASS},
     1235496,
     "features.0.weight",
     "features.12.expand3x3.bias",
     "classifier.1.bias"},
    {"mobilenetv2",
     {3, 224, 224, 1000, SH_TARGET_CLASS},
     3504872,
     "features.0.0.weight",
     "features.17.conv.3.running_var",
     "classifier.1.bias"},
    {"mobilenetv2",
     {3, 64, 64, 10, SH_TARGET_CLASS},
     2236682,
     "features.0.0.weight",
     "features.1.conv.1.weight",
     "classifier.1.bias"},
    {"mobilenetv2:0.5",
     {3, 224, 224, 1000, SH_TARGET_CLASS},
     1968680,
     "features.0.0.weight",
     "features.18.1.running_mean",
     "classifier.1.bias"},
    {"resnet18",
     {3, 32, 32, 10, SH_TARGET_CLASS},
     11173962,
     "conv1.weight",
     "layer4.1.conv2.weight",
     "fc.bias"},
    {"wideresnet:28-10",
     {3, 32, 32, 10, SH_TARGET_CLASS},
     36479194,
     "conv1.weight",
     "block1.layer.0.convShortcut.weight",
     "fc.bias"},
    {"wideresnet:16-4",
     {3, 32, 32, 10, SH_TARGET_CLASS},
     2748890,
     "conv1.weight",
     "block3.layer.1.conv2.weight",
     "fc.bias"},
    /* The paper's count, plus a scale and a bias per channel. */
    {"dscnn",
     {1, 49, 10, 12, SH_TARGET_CLASS},
     22604 + 9 * 64,
     "conv1.weight",
     "block4.pointwise.weight",
     "fc.bias"},
    {"dscnn:m",
     {1, 49, 10, 12, SH_TARGET_CLASS},
     135032 + 9 * 172,
     "conv1.weight",
     "block4.bn2.running_var",
     "fc.bias"},
    {"dscnn:l",
     {1, 49, 10, 12, SH_TARGET_CLASS},
     410700 + 11 * 276,
     "conv1.weight",
     "block5.depthwise.weight",
     "fc.bias"},
};

static bool has_parameter(const sh_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->parameter_count; i++)
        if (strcmp(graph->parameters[i].name, name) == 0)
            return true;
    return false;
}

static void sizes_and_names_are_the_published_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sh_graph *graph;
        assert_ok(build(&graph, known[i].spec, &known[i].problem, 3, SH_MODEL_TRAIN));
        assert_ok(sh_graph_verify(graph));
        assert_int_equal(sh_model_parameters(graph), known[i].parameters);
        assert_string_equal(graph->parameters[0].name, known[i].first);
        assert_true(has_parameter(graph, known[i].another));
        assert_string_equal(graph->parameters[graph->parameter_count - 1].name, known[i].last);
        sh_graph_free(graph);
    }
}

static double initial_deviation(const char *spec, const sh_problem *problem, const char *name)
{
    sh_graph *graph;
    double squares = 0;
    assert_ok(build(&graph, spec, problem, 1, SH_MODEL_EVALUATE));
    float *weights = malloc(sh_model_weights(graph) * sizeof *weights), *at = weights;
    assert_non_null(weights);
    sh_model_initialise(graph, 1, weights);
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const size_t count =
            sh_shape_count(&sh_graph_type(graph, graph->parameters[i].value)->shape);
        if (strcmp(graph->parameters[i].name, name) == 0)
            for (size_t j = 0; j < count; j++)
                squares += (double)at[j] * (double)at[j] / (double)count;
        at += count;
    }
    free(weights);
    sh_graph_free(graph);
    return sqrt(squares);
}

static void weights_begin_as_published(void **state)
{
    (void)state;
    static const sh_problem cifar = {3, 32, 32, 10, SH_TARGET_CLASS},
                            imagenet = {3, 64, 64, 1000, SH_TARGET_CLASS},
                            speech = {1, 49, 10, 12, SH_TARGET_CLASS};
    const struct {
        const char *spec;
        const sh_problem *problem;
        const char *name;
        double deviation;
    } begun[] = {
        {"resnet:20", &cifar, "layer3.1.conv2.weight", sqrt(2.0 / (64 * 9))},
        {"resnet:20", &cifar, "layer2.0.conv1.weight", sqrt(2.0 / (16 * 9))},
        {"resnet:20", &cifar, "linear.weight", sqrt(2.0 / 64)},
        {"resnet:20", &cifar, "linear.bias", 1 / sqrt(64 * 3.0)},
        {"wideresnet:10-1", &cifar, "block2.layer.0.conv1.weight", sqrt(2.0 / (32 * 9))},
        {"wideresnet:10-1", &cifar, "fc.weight", 1 / sqrt(64 * 3.0)},
        {"wideresnet:10-1", &cifar, "bn1.weight", 1},
        {"wideresnet:10-1", &cifar, "fc.bias", 0},
        {"squeezenet", &imagenet, "features.12.expand3x3.weight", sqrt(2.0 / (64 * 9))},
        {"squeezenet", &imagenet, "classifier.1.weight", 0.01},
        {"mobilenetv2", &imagenet, "features.10.conv.1.0.weight", sqrt(2.0 / (384 * 9))},
        {"mobilenetv2", &imagenet, "classifier.1.weight", 0.01},
        {"mobilenetv2", &imagenet, "classifier.1.bias", 0},
        {"dscnn:l", &speech, "block1.pointwise.weight", sqrt(2.0 / (276 + 276))},
        {"lstm:36", &speech, "lstm.weight_ih_l0", 1 / sqrt(36 * 3.0)},
        {"gru:36", &speech, "gru.weight_hh_l0", 1 / sqrt(36 * 3.0)},
        {"gru:36", &speech, "gru.bias_hh_l0", 1 / sqrt(36 * 3.0)},
    };
    for (size_t i = 0; i < sizeof begun / sizeof *begun; i++) {
        const double got = initial_deviation(begun[i].spec, begun[i].problem, begun[i].name);
        if (fabs(got - begun[i].deviation) > 0.05 * begun[i].deviation)
            if (strstr(begun[i].name, ".bias") == NULL || begun[i].deviation == 0 ||
                fabs(got - begun[i].deviation) > 0.5 * begun[i].deviation)
                fail_msg("%s: %s: deviation %g, expected %g", begun[i].spec, begun[i].name, got,
                         begun[i].deviation);
    }
}

static void bad_parameters_are_refused(void **state)
{
    (void)state;
    static const sh_problem cifar = {3, 32, 32, 10, SH_TARGET_CLASS},
                            tiny = {3, 7, 7, 10, SH_TARGET_CLASS},
                            speech = {1, 49, 10, 12, SH_TARGET_CLASS},
                            table = {1, 1, 9, 1, SH_TARGET_NUMBERS},
                            series = {3, 1, 64, 2, SH_TARGET_CLASS},
                            brief = {9, 1, 3, 2, SH_TARGET_CLASS},
                            point = {9, 1, 1, 2, SH_TARGET_CLASS},
                            endless = {1, 1, 257, 2, SH_TARGET_CLASS},
                            itself = {1, 1, 9, 9, SH_TARGET_SAMPLE};
    static const struct {
        const char *spec, *part;
        const sh_problem *problem;
    } bad[] = {
        {"nin:2", "'2': nin takes no parameters", &cifar},
        {"nin", "the data's images are 7x7, nin needs at least 9x9; --resize 9", &tiny},
        {"resnet", "the depth is 6n + 2 from 8 to 110, as in resnet:20", &cifar},
        {"resnet:", "the depth is 6n + 2 from 8 to 110", &cifar},
        {"resnet:18", "'18': the depth is 6n + 2 from 8 to 110", &cifar},
        {"resnet:2", "'2': the depth is", &cifar},
        {"resnet:116", "'116': the depth is", &cifar},
        {"resnet:20,C", "'20,C': the depth is", &cifar},
        {"resnet:20B", "'20B': the depth is", &cifar},
        {"resnet:-20", "'-20': the depth is", &cifar},
        {"resnet:20", "resnet needs at least 8x8", &tiny},
        {"resnet18:x", "resnet18 takes no parameters", &cifar},
        {"resnet34:", "resnet34 takes no parameters", &cifar},
        {"resnet50:1", "resnet50 takes no parameters", &cifar},
        {"resnet50", "resnet50 needs at least 16x16", &tiny},
        {"resnet:1000020", "the depth is", &cifar},
        {"wideresnet", "expected depth and factor, such as 28-10", &cifar},
        {"wideresnet:28", "'28': expected depth and factor", &cifar},
        {"wideresnet:27-10", "'27-10': expected depth and factor", &cifar},
        {"wideresnet:4-1", "'4-1': expected depth and factor", &cifar},
        {"wideresnet:28-0", "the factor 1 to 64", &cifar},
        {"wideresnet:28-10-1", "expected depth and factor", &cifar},
        {"wideresnet:99999999-1", "expected depth and factor", &cifar},
        {"wideresnet:16-1", "wideresnet needs at least 8x8", &tiny},
        {"squeezenet:1.1", "squeezenet takes no parameters", &cifar},
        {"squeezenet", "squeezenet needs at least 25x25; --resize 25", &speech},
        {"mobilenetv2:", "'': expected a width from 0.05 to 4", &cifar},
        {"mobilenetv2:0", "'0': expected a width", &cifar},
        {"mobilenetv2:5", "'5': expected a width", &cifar},
        {"mobilenetv2:0.", "'0.': expected a width", &cifar},
        {"mobilenetv2:.5", "'.5': expected a width", &cifar},
        {"mobilenetv2:1e0", "'1e0': expected a width", &cifar},
        {"mobilenetv2:1,", "'1,': expected a width", &cifar},
        {"mobilenetv2:1,1", "dropout from 0 to 0.9", &cifar},
        {"mobilenetv2:1,0.5,1", "dropout from 0 to 0.9", &cifar},
        {"mobilenetv2", "mobilenetv2 needs at least 16x16", &tiny},
        {"dscnn", "dscnn needs at least 8x8; --resize 8", &tiny},
        {"dscnn", "one row of 9, but dscnn is for images of at least 8x8; mlp", &table},
        {"cnn1d:", "'': expected the channels of each convolution, such as 32-64-128", &series},
        {"cnn1d:8-0", "'8-0': expected the channels", &series},
        {"cnn1d:8,8", "'8,8': expected the channels", &series},
        {"cnn1d", "the data's series have 3 steps, cnn1d needs at least 4", &brief},
        {"lstm:", "'': expected a number of units from 1 to 4096, as in lstm:64", &series},
        {"gru:0", "'0': expected a number of units from 1 to 4096, as in gru:64", &series},
        {"gru:5000", "'5000': expected a number of units", &series},
        {"lstm:8-8", "'8-8': expected a number of units", &series},
        {"lstm", "the data's series have 1 step, lstm needs at least 2", &point},
        {"gru", "series have 257 steps, gru takes at most 256; cnn1d takes longer", &endless},
        {"autoencoder:", "'': expected the widths of the encoder's layers", &itself},
        {"autoencoder:9-x", "'9-x': expected the widths", &itself},
        {"autoencoder", "the data's task is classification; use --task reconstruction", &cifar},
        {"dscnn:x", "'x': the size is s, m or l, as in dscnn:m", &speech},
        {"dscnn:", "'': the size is s, m or l", &speech},
        {"dscnn:sm", "'sm': the size is s, m or l", &speech},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sh_graph *graph = NULL;
        assert_fails(build(&graph, bad[i].spec, bad[i].problem, 2, SH_MODEL_TRAIN), SH_INVALID,
                     bad[i].part);
        assert_null(graph);
    }
}

static size_t count_nodes(const sh_graph *graph, sh_op op)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        count += graph->nodes[i].op == op;
    return count;
}

/* 7 of 19 convolutions are frozen; neither they nor the nodes before them have gradients. */
static void nothing_is_computed_for_frozen_weights(void **state)
{
    (void)state;
    static const char *const frozen[] = {NULL, "conv1.*,bn1.*,layer1.*", "*.weight"};
    static const size_t weights[] = {19, 12, 0}, inputs[] = {18, 11, 18}, moments[] = {19, 12, 19};
    for (int i = 0; i < 3; i++) {
        sh_graph *graph;
        const sh_model_options options = {
            .spec = "resnet:20", .problem = {3, 32, 32, 10, SH_TARGET_CLASS}, .frozen = frozen[i]};
        assert_ok(sh_model_build(&graph, &options, 2, SH_MODEL_TRAIN));
        assert_int_equal(count_nodes(graph, SH_OP_conv2d_grad_weight), weights[i]);
        assert_int_equal(count_nodes(graph, SH_OP_conv2d_grad_input), inputs[i]);
        assert_int_equal(count_nodes(graph, SH_OP_moments), moments[i]);
        assert_int_equal(sh_model_parameters(graph), 269722);
        sh_graph_free(graph);
    }
}

/* ---- every model on every backend, on small data -----------------------------------------------
 */

#define SAMPLES 2
#define MAX_LOGITS (SAMPLES * 27)

static const struct {
    const char *name, *spec;
    sh_problem problem;
} cheap[] = {
    {"mlp", "mlp:16-8-3", {1, 4, 4, 3, SH_TARGET_CLASS}},
    {"mlp", "mlp", {1, 1, 13, 1, SH_TARGET_NUMBERS}},
    {"mlp", "mlp:h9", {1, 1, 13, 4, SH_TARGET_LABELS}},
    {"autoencoder", "autoencoder:9-2", {3, 3, 3, 27, SH_TARGET_SAMPLE}},
    {"lstm", "lstm:17", {5, 1, 7, 3, SH_TARGET_CLASS}},
    {"lstm", "lstm:1", {2, 2, 3, 2, SH_TARGET_NUMBERS}},
    {"gru", "gru:17", {5, 1, 7, 3, SH_TARGET_CLASS}},
    {"gru", "gru:3", {1, 3, 2, 3, SH_TARGET_LABELS}},
    {"cnn1d", "cnn1d", {5, 1, 19, 3, SH_TARGET_CLASS}},
    {"cnn1d", "cnn1d:7-9", {2, 8, 3, 2, SH_TARGET_NUMBERS}},
    {"lenet", "lenet", {1, 16, 16, 3, SH_TARGET_CLASS}},
    {"nin", "nin", {3, 12, 12, 3, SH_TARGET_CLASS}},
    {"resnet", "resnet:20", {3, 16, 16, 3, SH_TARGET_CLASS}},
    {"resnet", "resnet:20,B", {3, 16, 16, 3, SH_TARGET_CLASS}},
    {"resnet18", "resnet18", {3, 16, 16, 3, SH_TARGET_CLASS}},
    {"resnet18", "resnet18", {3, 64, 64, 3, SH_TARGET_CLASS}}, /* the other stem */
    {"resnet34", "resnet34", {3, 16, 16, 3, SH_TARGET_CLASS}},
    {"resnet50", "resnet50", {3, 16, 16, 3, SH_TARGET_CLASS}},
    {"wideresnet", "wideresnet:10-2", {3, 16, 16, 3, SH_TARGET_CLASS}},
    {"squeezenet", "squeezenet", {3, 25, 25, 3, SH_TARGET_CLASS}},
    {"mobilenetv2", "mobilenetv2:0.25", {3, 32, 32, 3, SH_TARGET_CLASS}},
    {"dscnn", "dscnn:s", {1, 25, 10, 12, SH_TARGET_CLASS}},
    {"dscnn", "dscnn:m", {1, 24, 9, 12, SH_TARGET_CLASS}},
    {"dscnn", "dscnn:s", {1, 8, 11, 2, SH_TARGET_NUMBERS}},
    {"nin", "nin", {1, 9, 14, 1, SH_TARGET_NUMBERS}},
    {"squeezenet", "squeezenet", {4, 25, 31, 5, SH_TARGET_LABELS}},
};

typedef struct outcome {
    const sh_graph *graph;
    size_t logits;
    float logit[MAX_LOGITS];
    uint32_t *gradients; /* by parameter: number received */
    bool finite;
} outcome;

static void take_gradient(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    outcome *out = context;
    out->gradients[parameter] += gradient->last;
    for (size_t i = 0; i < gradient->count; i++)
        out->finite = out->finite && isfinite(gradient->values[i]);
}

static void fill_inputs(const sh_execution *execution, const sh_problem *problem, bool training)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    float *pixels = sh_execution_input(execution, SH_MODEL_SAMPLES);
    for (size_t i = 0; i < SAMPLES * problem->channels * problem->height * problem->width; i++)
        pixels[i] = 2 * sh_random_unit(&random) - 1;
    void *targets = sh_execution_input(execution, SH_MODEL_TARGETS);
    const bool numbers =
        problem->target == SH_TARGET_LABELS || problem->target == SH_TARGET_NUMBERS;
    for (size_t i = 0; numbers && i < SAMPLES * problem->outputs; i++)
        ((float *)targets)[i] = (float)(i % 2);
    for (int i = 0; i < SAMPLES; i++) {
        if (!numbers)
            ((int32_t *)targets)[i] = i;
        if (training) {
            ((float *)sh_execution_input(execution, SH_MODEL_LOSS_WEIGHTS))[i] = 1.0f / SAMPLES;
            memset(sh_execution_input(execution, SH_MODEL_KEYS), i, sizeof(int32_t[2]));
        }
    }
}

/* `out` contains the graph and memory for its gradients. */
static void run_grain(outcome *out, const sh_kernels *kernels, const sh_problem *problem,
                      float *const *parameters, bool training)
{
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    assert_ok(sh_program_compile(&program, out->graph, kernels));
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "a test"));
    assert_ok(sh_block_new(&shared, sh_program_shared_bytes(program), "a test"));
    assert_ok(sh_execution_new(&execution, program, lane, shared, parameters));
    fill_inputs(execution, problem, training);
    assert_ok(sh_execution_prepare(execution));
    out->finite = true;
    assert_ok(sh_execution_run(execution, take_gradient, out));
    out->logits = SAMPLES * problem->outputs;
    assert_in_range(out->logits, 1, MAX_LOGITS);
    memcpy(out->logit, sh_execution_output(execution, 3), out->logits * sizeof(float));
    for (int i = 0; i < SAMPLES; i++)
        out->finite =
            out->finite && isfinite(((const float *)sh_execution_output(execution, 0))[i]);
    sh_execution_free(execution);
    sh_program_free(program);
    free(shared);
    free(lane);
}

/* About as large as the initial weights. Drawing 23 million random numbers takes too long. */
static size_t begin_parameter(float *weights, const sh_graph *graph, const sh_parameter *parameter)
{
    const size_t count = sh_shape_count(&sh_graph_type(graph, parameter->value)->shape);
    uint32_t state = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        weights[i] = parameter->initial.kind == SH_INITIAL_CONSTANT
                         ? parameter->initial.size
                         : parameter->initial.size * ((float)(state >> 8) * 0x1p-23f - 1);
    }
    return count;
}

/* Runs one grain with each variant that is fast enough and compares the results bit by bit. */
static void run_everywhere(const char *spec, const sh_problem *problem, sh_model_mode mode)
{
    sh_graph *graph;
    float oracle[MAX_LOGITS];
    bool first = true;
    assert_ok(build(&graph, spec, problem, SAMPLES, mode));
    assert_ok(sh_graph_verify(graph));
    const size_t tensors = graph->parameter_count;
    float *weights = malloc(sh_model_weights(graph) * sizeof *weights), *at = weights;
    float **parameters = calloc(tensors, sizeof *parameters);
    assert_true(weights != NULL && parameters != NULL);
    for (size_t i = 0; i < tensors; i++) {
        parameters[i] = at;
        at += begin_parameter(at, graph, &graph->parameters[i]);
    }
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++) {
        if (!sh_variant_runs((*all)->variant) || ((*all)->emulates && !first))
            continue;
        outcome out = {.graph = graph, .gradients = calloc(tensors, sizeof *out.gradients)};
        assert_non_null(out.gradients);
        run_grain(&out, *all, problem, parameters, mode == SH_MODEL_TRAIN);
        assert_true(out.finite);
        for (size_t i = 0; i < tensors; i++)
            assert_int_equal(out.gradients[i], mode == SH_MODEL_TRAIN);
        if (first)
            memcpy(oracle, out.logit, sizeof oracle);
        first = false;
        for (size_t i = 0; i < out.logits; i++)
            if (memcmp(&out.logit[i], &oracle[i], sizeof oracle[i]) != 0)
                fail_msg("%s by %s: logit %zu is %a, elsewhere %a", spec, (*all)->name, i,
                         (double)out.logit[i], (double)oracle[i]);
        free(out.gradients);
    }
    free(parameters);
    free(weights);
    sh_graph_free(graph);
}

static void every_backend_computes_every_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cheap / sizeof *cheap; i++) {
        run_everywhere(cheap[i].spec, &cheap[i].problem, SH_MODEL_EVALUATE);
        run_everywhere(cheap[i].spec, &cheap[i].problem, SH_MODEL_TRAIN);
    }
}

/* ---- samples of two classes ------------------------------------------------------------------ */

enum { MIXED_WEIGHTS = 4 * 3 + 3 };

typedef struct mixed_grain {
    float loss[SAMPLES], gradient[MIXED_WEIGHTS];
} mixed_grain;

static void keep_gradient(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    mixed_grain *grain = context;
    assert_true(gradient->last);
    memcpy(grain->gradient + (parameter == 0 ? 0 : 4 * 3), gradient->values,
           gradient->count * sizeof *gradient->values);
}

/* Sample i has class i with this share, and class 2 with the rest. */
static mixed_grain run_mixed(float share)
{
    static const sh_problem problem = {1, 1, 4, 3, SH_TARGET_CLASS};
    float weights[MIXED_WEIGHTS], *parameters[] = {weights, weights + 4 * 3};
    mixed_grain grain = {.loss = {0}};
    const sh_kernels *kernels;
    sh_graph *graph;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_model_build(
        &graph, &(sh_model_options){.spec = "mlp:4-3", .problem = problem, .mixed = true}, SAMPLES,
        SH_MODEL_TRAIN));
    assert_ok(sh_graph_verify(graph));
    sh_model_initialise(graph, 5, weights);
    assert_ok(sh_program_compile(&program, graph, kernels));
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "a test"));
    assert_ok(sh_block_new(&shared, sh_program_shared_bytes(program), "a test"));
    assert_ok(sh_execution_new(&execution, program, lane, shared, parameters));
    fill_inputs(execution, &problem, true);
    for (int i = 0; i < SAMPLES; i++) {
        ((int32_t *)sh_execution_input(execution, SH_MODEL_OTHER_TARGETS))[i] = 2;
        ((float *)sh_execution_input(execution, SH_MODEL_SHARES))[i] = share;
        ((float *)sh_execution_input(execution, SH_MODEL_OTHER_SHARES))[i] = 1 - share;
    }
    assert_ok(sh_execution_prepare(execution));
    assert_ok(sh_execution_run(execution, keep_gradient, &grain));
    memcpy(grain.loss, sh_execution_output(execution, 0), sizeof grain.loss);
    sh_execution_free(execution);
    sh_program_free(program);
    sh_graph_free(graph);
    free(shared);
    free(lane);
    return grain;
}

/* The shares weight losses and gradients of both classes. */
static void losses_of_two_classes_are_mixed(void **state)
{
    (void)state;
    const float share = 0.3f;
    const mixed_grain mixed = run_mixed(share), own = run_mixed(1), other = run_mixed(0);
    for (int i = 0; i < SAMPLES; i++) {
        assert_true(fabsf(own.loss[i] - other.loss[i]) > 1e-3f);
        const float loss = share * own.loss[i] + (1 - share) * other.loss[i];
        assert_true(fabsf(mixed.loss[i] - loss) < 1e-6f);
    }
    for (int i = 0; i < MIXED_WEIGHTS; i++) {
        const float gradient = share * own.gradient[i] + (1 - share) * other.gradient[i];
        assert_true(fabsf(mixed.gradient[i] - gradient) < 1e-6f);
    }
}

static void families_fit_any_data(void **state)
{
    (void)state;
    static const char *const images[] = {
        "mlp",      "mlp:h20",         "lenet",      "nin",
        "resnet:8", "resnet:8,B",      "resnet18",   "resnet34",
        "resnet50", "wideresnet:10-1", "squeezenet", "mobilenetv2:0.25",
        "dscnn",    "dscnn:m",         "cnn1d:8-16", "lstm:5",
        "gru:5",
    };
    static const sh_problem asked[] = {
        {1, 25, 41, 2, SH_TARGET_CLASS},    {2, 90, 27, 1000, SH_TARGET_CLASS},
        {3, 32, 33, 1, SH_TARGET_NUMBERS},  {4, 65, 97, 7, SH_TARGET_NUMBERS},
        {3, 100, 64, 1, SH_TARGET_LABELS},  {1, 31, 25, 12, SH_TARGET_LABELS},
        {1, 26, 25, 650, SH_TARGET_SAMPLE},
    };
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        for (size_t j = 0; j < sizeof asked / sizeof *asked; j++) {
            sh_graph *graph;
            assert_ok(build(&graph, images[i], &asked[j], 3, SH_MODEL_TRAIN));
            assert_ok(sh_graph_verify(graph));
            const sh_shape *given = &sh_graph_type(graph, graph->outputs[3])->shape;
            assert_int_equal(given->rank, 2);
            assert_int_equal(given->dim[0], 3);
            assert_int_equal(given->dim[1], asked[j].outputs);
            sh_graph_free(graph);
        }
}

static void every_family_is_here_and_its_example_fits(void **state)
{
    (void)state;
    for (const sh_model_def *const *all = sh_model_all(); *all != NULL; all++) {
        sh_graph *graph;
        bool is_run = false, is_known = false;
        for (size_t i = 0; i < sizeof cheap / sizeof *cheap; i++)
            is_run = is_run || strcmp(cheap[i].name, (*all)->name) == 0;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known = is_known || strncmp(known[i].spec, (*all)->name, strlen((*all)->name)) == 0;
        assert_true(is_run && is_known);
        assert_ok(build(&graph, (*all)->example, &(*all)->example_problem, 1, SH_MODEL_TRAIN));
        sh_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_names_are_the_published_ones),
        cmocka_unit_test(weights_begin_as_published),
        cmocka_unit_test(bad_parameters_are_refused),
        cmocka_unit_test(every_family_is_here_and_its_example_fits),
        cmocka_unit_test(families_fit_any_data),
        cmocka_unit_test(nothing_is_computed_for_frozen_weights),
        cmocka_unit_test(every_backend_computes_every_model),
        cmocka_unit_test(losses_of_two_classes_are_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
