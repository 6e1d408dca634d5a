/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bound that a library of kernels sets: how many images a second one core could train if
 * nothing but oneDNN's own convolutions took time. Each convolution of a network runs alone, on one
 * thread, with its operands in the layout that it likes best (channels-last, or the library's own
 * choice): forward, gradient of the input (not the first layer's), gradient of the weights. Only
 * processor time counts, the least of several rounds, so that a busy machine changes little.
 *
 *     bench_bare_convolutions              images a second and core by grain, as one JSON object
 *     bench_bare_convolutions layers 16    each layer's times at a grain of 16, for people;
 * Winograd's algorithm too, which the bound leaves out
 *
 * Operands stay in the caches between runs, as they cannot in a training: the bound is generous.
 */
#include <math.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAYERS_MOST 64
#define OPERANDS_MOST 4
#define ROUNDS 5
#define ROUND_SECONDS 0.004

/* One convolution, as often as the network has it; square in all respects. */
typedef struct layer {
    int in, out, groups; /* channels */
    int extent;          /* of the input */
    int kernel, stride, padding;
    int count;
} layer;

typedef struct network {
    const char *name;
    layer layers[LAYERS_MOST];
    int count;
} network;

typedef enum direction { FORWARD, GRAD_INPUT, GRAD_WEIGHT, DIRECTIONS } direction;

static const struct method {
    dnnl_format_tag_t tag;
    dnnl_alg_kind_t algorithm;
} methods_known[] = {
    {dnnl_nhwc, dnnl_convolution_direct},
    {dnnl_format_tag_any, dnnl_convolution_direct},
    {dnnl_format_tag_any, dnnl_convolution_winograd},
};

#define METHODS (sizeof methods_known / sizeof *methods_known)
#define DIRECT 2 /* of them; the bound is theirs */

static void check(dnnl_status_t status, const char *tried)
{
    if (status == dnnl_success)
        return;
    fprintf(stderr, "bare_convolutions: %s: status %d\n", tried, (int)status);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Appends a layer, or counts it where the one before is the same. */
static void add(network *net, layer one)
{
    one.count = 1;
    for (int i = 0; i < net->count; i++) {
        layer like = net->layers[i];
        like.count = 1;
        if (i > 0 && memcmp(&like, &one, sizeof one) == 0) { /* the first has no input gradient */
            net->layers[i].count++;
            return;
        }
    }
    net->layers[net->count++] = one;
}

/* LeCun et al. 1998, as Caffe has it, on MNIST. */
static network lenet(void)
{
    network net = {.name = "lenet"};
    add(&net, (layer){1, 20, 1, 28, 5, 1, 0, 0});
    add(&net, (layer){20, 50, 1, 12, 5, 1, 0, 0});
    return net;
}

/* He et al. 2016, for CIFAR: three stages of 16, 32 and 64 channels, shortcuts without weights. */
static network resnet20(void)
{
    network net = {.name = "resnet:20"};
    int channels = 16, extent = 32;
    add(&net, (layer){3, channels, 1, extent, 3, 1, 1, 0});
    for (int stage = 0; stage < 3; stage++)
        for (int i = 0; i < 6; i++) {
            const bool halves = stage > 0 && i == 0;
            const int out = halves ? 2 * channels : channels;
            add(&net, (layer){channels, out, 1, extent, 3, halves ? 2 : 1, 1, 0});
            channels = out;
            extent = halves ? extent / 2 : extent;
        }
    return net;
}

/* Sandler et al. 2018, table 2, on images of 64x64. */
static network mobilenetv2(void)
{
    static const struct {
        int expansion, channels, blocks, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    network net = {.name = "mobilenetv2"};
    int channels = 32, extent = 32;
    add(&net, (layer){3, channels, 1, 64, 3, 2, 1, 0});
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
        for (int i = 0; i < stages[s].blocks; i++) {
            const int wide = channels * stages[s].expansion;
            const int stride = i == 0 ? stages[s].stride : 1;
            if (wide != channels)
                add(&net, (layer){channels, wide, 1, extent, 1, 1, 0, 0});
            add(&net, (layer){wide, wide, wide, extent, 3, stride, 1, 0});
            extent /= stride;
            channels = stages[s].channels;
            add(&net, (layer){wide, channels, 1, extent, 1, 1, 0, 0});
        }
    add(&net, (layer){channels, 1280, 1, extent, 1, 1, 0, 0});
    return net;
}

/* A primitive on memory of its own. */
typedef struct work {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    int count;
    dnnl_exec_arg_t args[OPERANDS_MOST];
} work;

/* NULL where the library has no such method for this layer. */
static dnnl_primitive_desc_t choose(dnnl_engine_t engine, const layer *l, int grain, direction way,
                                    const struct method *method)
{
    const int extent = (l->extent + 2 * l->padding - l->kernel) / l->stride + 1;
    const dnnl_dims_t x_dims = {grain, l->in, l->extent, l->extent};
    const dnnl_dims_t y_dims = {grain, l->out, extent, extent};
    const dnnl_dims_t plain = {l->out, l->in, l->kernel, l->kernel};
    const dnnl_dims_t grouped = {l->groups, l->out / l->groups, l->in / l->groups, l->kernel,
                                 l->kernel};
    const dnnl_dims_t stride = {l->stride, l->stride}, dilation = {0, 0};
    const dnnl_dims_t padding = {l->padding, l->padding};
    dnnl_memory_desc_t x, w, y;
    dnnl_convolution_desc_t operation;
    dnnl_primitive_desc_t forward = NULL, chosen = NULL;
    check(dnnl_memory_desc_init_by_tag(&x, 4, x_dims, dnnl_f32, method->tag), "an input");
    check(dnnl_memory_desc_init_by_tag(&y, 4, y_dims, dnnl_f32, method->tag), "a result");
    check(dnnl_memory_desc_init_by_tag(&w, l->groups == 1 ? 4 : 5, l->groups == 1 ? plain : grouped,
                                       dnnl_f32, dnnl_format_tag_any),
          "weights");
    check(dnnl_dilated_convolution_forward_desc_init(&operation, dnnl_forward_training,
                                                     method->algorithm, &x, &w, NULL, &y, stride,
                                                     dilation, padding, padding),
          "a convolution");
    if (dnnl_primitive_desc_create(&forward, &operation, NULL, engine, NULL) != dnnl_success)
        return NULL;
    if (way == FORWARD)
        return forward;
    if (way == GRAD_INPUT)
        check(dnnl_dilated_convolution_backward_data_desc_init(
                  &operation, method->algorithm, &x, &w, &y, stride, dilation, padding, padding),
              "a gradient of an input");
    else
        check(dnnl_dilated_convolution_backward_weights_desc_init(&operation, method->algorithm, &x,
                                                                  &w, NULL, &y, stride, dilation,
                                                                  padding, padding),
              "a gradient of weights");
    if (dnnl_primitive_desc_create(&chosen, &operation, NULL, engine, forward) != dnnl_success)
        chosen = NULL;
    dnnl_primitive_desc_destroy(forward);
    return chosen;
}

/* An operand in memory of the library's, filled with ones: the values do not change the time. */
static void add_operand(work *w, dnnl_primitive_desc_t chosen, int arg)
{
    const dnnl_memory_desc_t *md =
        dnnl_primitive_desc_query_md(chosen, dnnl_query_exec_arg_md, arg);
    dnnl_memory_t memory;
    void *data;
    check(dnnl_memory_create(&memory, md, w->engine, DNNL_MEMORY_ALLOCATE), "memory");
    check(dnnl_memory_get_data_handle(memory, &data), "memory");
    for (size_t i = 0; i < dnnl_memory_desc_get_size(md) / sizeof(float); i++)
        ((float *)data)[i] = 1.0f;
    w->args[w->count++] = (dnnl_exec_arg_t){arg, memory};
}

/* Seconds of one run: the best round's. */
static double time_work(const work *w)
{
    double best = 1e9;
    for (int round = 0; round <= ROUNDS; round++) { /* the first one warms up */
        const double began = now();
        double used = 0;
        int runs = 0;
        while (used < ROUND_SECONDS) {
            check(dnnl_primitive_execute(w->primitive, w->stream, w->count, w->args), "running");
            runs++;
            used = now() - began;
        }
        if (round > 0 && used / runs < best)
            best = used / runs;
    }
    return best;
}

/* Infinite where the library has no such method. */
static double time_direction(dnnl_engine_t engine, const layer *l, int grain, direction way,
                             const struct method *method)
{
    static const int arguments[DIRECTIONS][3] = {
        {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
        {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
        {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS},
    };
    work w = {.engine = engine};
    dnnl_primitive_desc_t chosen = choose(engine, l, grain, way, method);
    if (chosen == NULL)
        return INFINITY;
    check(dnnl_stream_create(&w.stream, engine, dnnl_stream_default_flags), "a stream");
    check(dnnl_primitive_create(&w.primitive, chosen), "a primitive");
    for (int i = 0; i < 3; i++)
        add_operand(&w, chosen, arguments[way][i]);
    const double seconds = time_work(&w);
    for (int i = 0; i < w.count; i++)
        dnnl_memory_destroy(w.args[i].memory);
    dnnl_primitive_destroy(w.primitive);
    dnnl_stream_destroy(w.stream);
    dnnl_primitive_desc_destroy(chosen);
    return seconds;
}

static void print_layer(const layer *l, double seconds[DIRECTIONS][METHODS])
{
    printf("%3d x %4d -> %4d %s%dx%d/%d at %2d ", l->count, l->in, l->out,
           l->groups > 1 ? "depthwise " : "          ", l->kernel, l->kernel, l->stride, l->extent);
    for (int way = 0; way < DIRECTIONS; way++) {
        for (size_t m = 0; m < METHODS; m++)
            printf(" %6.3f", 1e3 * seconds[way][m]);
        printf(way < DIRECTIONS - 1 ? " |" : "\n");
    }
}

/* Seconds that one grain's convolutions take, each by the best of the first `methods`. */
static double time_network(dnnl_engine_t engine, const network *net, int grain, size_t methods,
                           bool print)
{
    double total = 0;
    for (int i = 0; i < net->count; i++) {
        const layer *l = &net->layers[i];
        double seconds[DIRECTIONS][METHODS] = {{0}};
        for (int way = 0; way < DIRECTIONS; way++) {
            if (i == 0 && way == GRAD_INPUT)
                continue;
            double best = INFINITY;
            for (size_t m = 0; m < methods; m++) {
                seconds[way][m] = time_direction(engine, l, grain, way, &methods_known[m]);
                best = fmin(best, seconds[way][m]);
            }
            total += l->count * best;
        }
        if (print)
            print_layer(l, seconds);
    }
    return total;
}

static void print_layers(dnnl_engine_t engine, const network *net, int grain)
{
    printf(
        "%s, in ms: forward, input gradient, weight gradient, each channels-last, in blocks, and "
        "in blocks by Winograd's algorithm\n",
        net->name);
    const double any = time_network(engine, net, grain, METHODS, true);
    const double direct = time_network(engine, net, grain, DIRECT, false);
    printf("%s, grain %d: %.0f images/s a core, %.0f with Winograd's where it is faster\n",
           net->name, grain, grain / direct, grain / any);
}

static void print_json(dnnl_engine_t engine, const network *net, const char *before)
{
    static const int grains[] = {8, 16, 32};
    printf("%s\"%s\": {", before, net->name);
    for (size_t g = 0; g < sizeof grains / sizeof *grains; g++)
        printf("%s\"%d\": %.1f", g == 0 ? "" : ", ", grains[g],
               grains[g] / time_network(engine, net, grains[g], DIRECT, false));
    printf("}");
}

int main(int argc, char **argv)
{
    const bool layers = argc == 3 && strcmp(argv[1], "layers") == 0;
    const long grain = layers ? strtol(argv[2], NULL, 10) : 1;
    const network networks[] = {lenet(), resnet20(), mobilenetv2()};
    const size_t count = sizeof networks / sizeof *networks;
    dnnl_engine_t engine;
    if ((argc > 1 && !layers) || grain < 1 || grain > 1024) {
        fprintf(stderr, "usage: bench_bare_convolutions [layers GRAIN]\n");
        return 2;
    }
    omp_set_num_threads(1);
    check(dnnl_engine_create(&engine, dnnl_cpu, 0), "an engine");
    for (size_t n = 0; n < count; n++)
        if (layers)
            print_layers(engine, &networks[n], (int)grain);
        else
            print_json(engine, &networks[n], n == 0 ? "{" : ", ");
    if (!layers)
        printf("}\n");
    dnnl_engine_destroy(engine);
    return 0;
}
