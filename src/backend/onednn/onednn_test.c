/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this backend promises beyond the right numbers (ops_test.c checks those): layouts that cost
 * nothing between operators, conversions of weights once a step, the same bits on every lane, and
 * no memory taken in a run.
 */
#include "backend/onednn/onednn.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "backend/onednn/primitive.h"
#include "backend/program_impl.h"
#include "base/random.h"
#include "base/team.h"
#include "base/test.h"
#include "graph/layers.h"

#define GRAIN 4
#define MAX_GRADIENTS 8

/*
 * Counts what a thread takes from the heap. The sanitizers have an allocator of their own, and only
 * glibc gives its functions second names.
 */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_HEAP 1
#define INTERPOSED __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t item_bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *block);

static _Thread_local struct {
    bool counting;
    size_t taken, given_back; /* blocks */
    size_t largest_bytes;
} heap;

static void count_block(size_t bytes)
{
    if (!heap.counting)
        return;
    heap.taken++;
    if (bytes > heap.largest_bytes)
        heap.largest_bytes = bytes;
}

INTERPOSED void *malloc(size_t bytes)
{
    count_block(bytes);
    return __libc_malloc(bytes);
}

INTERPOSED void *calloc(size_t count, size_t item_bytes)
{
    count_block(count * item_bytes);
    return __libc_calloc(count, item_bytes);
}

INTERPOSED void *realloc(void *block, size_t bytes)
{
    count_block(bytes);
    return __libc_realloc(block, bytes);
}

INTERPOSED int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    count_block(bytes);
    *block = __libc_memalign(alignment, bytes);
    return *block == NULL ? ENOMEM : 0;
}

INTERPOSED void *aligned_alloc(size_t alignment, size_t bytes)
{
    count_block(bytes);
    return __libc_memalign(alignment, bytes);
}

INTERPOSED void free(void *block)
{
    heap.given_back += heap.counting && block != NULL;
    __libc_free(block);
}
#endif

/* A compiled graph and its weights; lanes add their own memory. */
typedef struct subject {
    sh_graph *graph;
    sh_program *program;
    float *weights[MAX_GRADIENTS];
    void *shared;
} subject;

static void fill(float *data, size_t count, uint32_t which)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, which, 0);
    for (size_t i = 0; i < count; i++)
        data[i] = sh_random_unit(&random) - 0.5f;
}

static void compile(subject *s, const char *backend)
{
    sh_backend_list backends;
    assert_ok(sh_graph_status(s->graph));
    assert_ok(sh_backend_choose(&backends, backend));
    assert_ok(sh_program_compile(&s->program, s->graph, &backends));
    assert_ok(sh_block_new(&s->shared, sh_program_shared_bytes(s->program), "shared memory"));
    assert_true(s->graph->parameter_count <= MAX_GRADIENTS);
    for (uint32_t i = 0; i < s->graph->parameter_count; i++) {
        const sh_type *type = sh_graph_type(s->graph, s->graph->parameters[i].value);
        void *block;
        assert_ok(sh_block_new(&block, sh_type_bytes(type), "weights"));
        s->weights[i] = block;
        fill(block, sh_shape_count(&type->shape), i);
    }
}

static void release(subject *s)
{
    for (size_t i = 0; i < s->graph->parameter_count; i++)
        free(s->weights[i]);
    free(s->shared);
    sh_program_free(s->program);
    sh_graph_free(s->graph);
}

static sh_value_id pixels(subject *s, size_t channels, size_t side)
{
    const size_t dim[] = {GRAIN, channels, side, side};
    assert_ok(sh_graph_new(&s->graph));
    return sh_graph_input(s->graph, (sh_type){SH_F32, sh_shape_of(4, dim)});
}

/* LeNet in small, with its gradients; a seed is input 1. */
static subject network(void)
{
    subject s;
    sh_value_id x = pixels(&s, 3, 12);
    x = sh_layer_conv2d(&(sh_net){.graph = s.graph}, x, "c1",
                        &(sh_conv_options){.channels = 20, .kernel = 3});
    x = sh_layer_relu(
        &(sh_net){.graph = s.graph},
        sh_layer_max_pool(&(sh_net){.graph = s.graph}, x, &(sh_pool_options){.kernel = 2}));
    x = sh_layer_conv2d(&(sh_net){.graph = s.graph}, x, "c2",
                        &(sh_conv_options){.channels = 33, .kernel = 3});
    x = sh_layer_flatten(&(sh_net){.graph = s.graph},
                         sh_layer_relu(&(sh_net){.graph = s.graph}, x));
    x = sh_layer_linear(&(sh_net){.graph = s.graph}, x, "fc", 10);
    sh_graph_output(s.graph, x);
    sh_graph_differentiate(s.graph, x, sh_graph_input(s.graph, *sh_graph_type(s.graph, x)));
    compile(&s, "onednn");
    return s;
}

/* Instructions of a step (prepares: once a step) or of a grain; the sink's do no work. */
static size_t count_work(const sh_program *program, bool prepares)
{
    size_t count = 0;
    for (size_t i = 0; i < program->instruction_count; i++)
        count += program->instructions[i].kernel != NULL &&
                 program->instructions[i].prepares == prepares;
    return count;
}

/* Has the library kernels for this processor's vectors? Below, it leaves most to portable. */
static bool has_wide_kernels(void)
{
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2;
}

static void nothing_is_converted_between_convolutions(void **state)
{
    (void)state;
    if (!has_wide_kernels())
        skip_because("oneDNN has its wide kernels from AVX2 on");
    subject s;
    sh_value_id x = pixels(&s, 16, 10);
    x = sh_layer_conv2d(&(sh_net){.graph = s.graph}, x, "c1",
                        &(sh_conv_options){.channels = 20, .kernel = 3});
    x = sh_layer_relu(&(sh_net){.graph = s.graph}, x);
    x = sh_layer_max_pool(&(sh_net){.graph = s.graph}, x, &(sh_pool_options){.kernel = 2});
    x = sh_layer_conv2d(&(sh_net){.graph = s.graph}, x, "c2",
                        &(sh_conv_options){.channels = 33, .kernel = 3});
    sh_graph_output(s.graph, x);
    compile(&s, "onednn");
    assert_int_equal(count_work(s.program, false), 4 + 2); /* pixels in, output out */
    assert_int_equal(count_work(s.program, true), 2);      /* each convolution's weights */
    assert_true(sh_program_shared_bytes(s.program) >= sizeof(float) * 9 * (20 * 16 + 33 * 20));
    release(&s);
}

static void one_channel_is_plain_in_any_layout(void **state)
{
    (void)state;
    if (!has_wide_kernels())
        skip_because("oneDNN has its wide kernels from AVX2 on");
    subject s;
    sh_value_id x = pixels(&s, 1, 8);
    x = sh_layer_conv2d(&(sh_net){.graph = s.graph}, x, "c",
                        &(sh_conv_options){.channels = 16, .kernel = 3});
    sh_graph_output(s.graph, x);
    compile(&s, "onednn");
    assert_int_equal(count_work(s.program, false), 1 + 1); /* output out */
    release(&s);
}

static void dense_layers_convert_nothing(void **state)
{
    (void)state;
    subject s;
    const size_t dim[] = {GRAIN, 40};
    assert_ok(sh_graph_new(&s.graph));
    sh_value_id x = sh_graph_input(s.graph, (sh_type){SH_F32, sh_shape_of(2, dim)});
    x = sh_layer_linear(&(sh_net){.graph = s.graph},
                        sh_layer_linear(&(sh_net){.graph = s.graph}, x, "a", 30), "b", 20);
    sh_graph_output(s.graph, x);
    sh_graph_differentiate(s.graph, x, sh_graph_input(s.graph, *sh_graph_type(s.graph, x)));
    compile(&s, "onednn");
    assert_int_equal(sh_program_shared_bytes(s.program), 0);
    release(&s);
}

/* One lane's memory and what it computed. */
typedef struct lane {
    const subject *subject;
    void *memory;
    sh_execution *execution;
    float *gradients[MAX_GRADIENTS];
    float *logits;
    sh_status status;
} lane;

static float *copy(const void *data, size_t bytes)
{
    float *held = malloc(bytes);
    memcpy(held, data, bytes);
    return held;
}

static void keep_gradient(void *context, uint32_t parameter, const float *gradient)
{
    lane *l = context;
    const sh_graph *graph = l->subject->graph;
    free(l->gradients[parameter]);
    l->gradients[parameter] =
        copy(gradient, sh_type_bytes(sh_graph_type(graph, graph->parameters[parameter].value)));
}

static void give_inputs(lane *l)
{
    const sh_graph *graph = l->subject->graph;
    for (uint32_t i = 0; i < graph->input_count; i++)
        fill(sh_execution_input(l->execution, i),
             sh_shape_count(&sh_graph_type(graph, graph->inputs[i])->shape), 100 + i);
}

/* `offset`: by how many bytes the memory is off a page, whatever the heap gives. */
static void start_lane(lane *l, const subject *s, size_t offset)
{
    const size_t page = 4096, bytes = sh_program_lane_bytes(s->program) + 2 * page;
    *l = (lane){.subject = s};
    assert_ok(sh_block_new(&l->memory, bytes, "lane memory"));
    memset(l->memory, 0xFF, bytes); /* NaN: what is not written must not be read */
    unsigned char *first =
        (unsigned char *)(((uintptr_t)l->memory + page) & ~(uintptr_t)(page - 1));
    assert_ok(sh_execution_new(&l->execution, s->program, first + offset, s->shared, s->weights));
}

static void stop_lane(lane *l)
{
    for (size_t i = 0; i < MAX_GRADIENTS; i++)
        free(l->gradients[i]);
    free(l->logits);
    sh_execution_free(l->execution);
    free(l->memory);
}

static void run_lane(void *context, uint32_t worker)
{
    lane *l = (lane *)context + worker;
    const sh_graph *graph = l->subject->graph;
    sh_onednn_backend.enter_thread();
    give_inputs(l);
    l->status = sh_execution_run(l->execution, keep_gradient, l);
    l->logits = copy(sh_execution_output(l->execution, 0),
                     sh_type_bytes(sh_graph_type(graph, graph->outputs[0])));
}

static void same_bits_on_every_lane(void **state)
{
    enum { LANES = 3 };
    (void)state;
    subject s = network();
    lane lanes[LANES];
    sh_team *team;
    for (size_t i = 0; i < LANES; i++)
        start_lane(&lanes[i], &s, i * SH_ALIGNMENT);
    assert_ok(sh_execution_prepare(lanes[0].execution));
    assert_ok(sh_team_start(&team, LANES));
    sh_team_run(team, run_lane, lanes);
    sh_team_stop(team);
    for (size_t i = 0; i < LANES; i++) {
        assert_int_equal(lanes[i].status, SH_OK);
        assert_true(isfinite(lanes[i].logits[0]));
        assert_memory_equal(lanes[i].logits, lanes[0].logits,
                            sh_type_bytes(sh_graph_type(s.graph, s.graph->outputs[0])));
        for (size_t j = 0; j < s.graph->parameter_count; j++)
            assert_memory_equal(
                lanes[i].gradients[j], lanes[0].gradients[j],
                sh_type_bytes(sh_graph_type(s.graph, s.graph->parameters[j].value)));
    }
    for (size_t i = 0; i < LANES; i++)
        stop_lane(&lanes[i]);
    release(&s);
}

/*
 * A program compiled by a thread with many OpenMP threads is the same: threads decide how the
 * library blocks its work, and so the bits.
 */
static void threads_of_the_compiling_thread_do_not_matter(void **state)
{
    (void)state;
    lane lanes[2];
    subject s[2];
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(i == 0 ? 1 : 7);
        s[i] = network();
        assert_int_equal(omp_get_max_threads(), i == 0 ? 1 : 7);
        start_lane(&lanes[i], &s[i], 0);
        omp_set_num_threads(1);
        assert_ok(sh_execution_prepare(lanes[i].execution));
        run_lane(lanes, (uint32_t)i);
        assert_int_equal(lanes[i].status, SH_OK);
    }
    assert_int_equal(sh_program_lane_bytes(s[0].program), sh_program_lane_bytes(s[1].program));
    for (size_t j = 0; j < s[0].graph->parameter_count; j++)
        assert_memory_equal(
            lanes[0].gradients[j], lanes[1].gradients[j],
            sh_type_bytes(sh_graph_type(s[0].graph, s[0].graph->parameters[j].value)));
    for (int i = 0; i < 2; i++) {
        stop_lane(&lanes[i]);
        release(&s[i]);
    }
}

/*
 * A run takes no memory that counts: the library builds a table of a call's arguments on the heap,
 * some two hundred bytes that it gives back at once, and nothing else.
 */
static void runs_take_no_memory(void **state)
{
    (void)state;
#ifdef COUNTS_HEAP
    subject s = network();
    lane l;
    start_lane(&l, &s, 0);
    sh_onednn_backend.enter_thread();
    assert_ok(sh_execution_prepare(l.execution));
    for (int i = 0; i < 2; i++) {
        give_inputs(&l);
        memset(&heap, 0, sizeof heap);
        heap.counting = true;
        const sh_status status = sh_execution_run(l.execution, NULL, NULL);
        heap.counting = false;
        assert_ok(status);
        assert_int_equal(heap.taken, heap.given_back);
        assert_true(heap.largest_bytes <= 512);
    }
    stop_lane(&l);
    release(&s);
#else
    skip_because("a sanitizer has the heap, which cannot be counted then");
#endif
}

static void library_failures_are_told(void **state)
{
    (void)state;
    assert_ok(sh_onednn_check(dnnl_success, "nothing"));
    assert_fails(sh_onednn_check(dnnl_out_of_memory, "conv2d"), SH_NO_MEMORY,
                 "oneDNN: conv2d: status 1");
    assert_fails(sh_onednn_check(dnnl_runtime_error, "conv2d"), SH_INTERNAL,
                 "oneDNN: conv2d: status 5");
}

/* More elements than the library's kernels can count: nothing is asked of it. */
static void huge_tensors_are_left_to_others(void **state)
{
    (void)state;
    dnnl_memory_desc_t md;
    const sh_type huge = {SH_F32, sh_shape_of(4, (size_t[]){2048, 1024, 32, 32})};
    const sh_type large = {SH_F32, sh_shape_of(4, (size_t[]){1024, 1024, 32, 32})};
    assert_false(sh_onednn_md(&md, &huge, dnnl_nhwc));
    assert_true(sh_onednn_md(&md, &large, dnnl_nhwc));
}

typedef struct pool_case {
    size_t channels, kernel[2], stride[2], padding[2];
} pool_case;

static const pool_case pool_cases[] = {
    {16, {2, 2}, {2, 2}, {0, 0}}, {20, {3, 3}, {2, 2}, {1, 1}}, {65, {3, 3}, {1, 1}, {1, 1}},
    {17, {1, 4}, {3, 2}, {0, 2}}, {33, {2, 1}, {1, 1}, {1, 0}}, {1, {2, 2}, {2, 2}, {0, 0}},
    {20, {3, 3}, {3, 3}, {0, 0}}, {50, {2, 2}, {2, 2}, {1, 1}}, {18, {2, 2}, {3, 3}, {0, 0}},
};

/* Pooling of what a convolution gives, with its gradients. */
static subject pooled(const pool_case *which, const char *backend)
{
    subject s;
    sh_value_id x = pixels(&s, 3, 9), out[SH_MAX_OUTPUTS];
    const sh_attributes attributes = {
        .kernel = {which->kernel[0], which->kernel[1]},
        .stride = {which->stride[0], which->stride[1]},
        .padding = {which->padding[0], which->padding[1]},
    };
    x = sh_layer_conv2d(&(sh_net){.graph = s.graph}, x, "c",
                        &(sh_conv_options){.channels = which->channels, .kernel = 1});
    x = sh_graph_add(s.graph, SH_OP_max_pool, &attributes, &x, out);
    sh_graph_output(s.graph, x);
    sh_graph_differentiate(s.graph, x, sh_graph_input(s.graph, *sh_graph_type(s.graph, x)));
    compile(&s, backend);
    return s;
}

/* Small integers, on which all arithmetic is exact, and of which many are equal. */
static void fill_integers(float *data, size_t count, uint32_t which)
{
    sh_random random = sh_random_for(3, SH_RANDOM_TEST, which, 0);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)sh_random_below(&random, 9) - 4.0f;
}

static void run_pooled(subject *s, lane *l, bool finite)
{
    start_lane(l, s, 0);
    for (uint32_t i = 0; i < s->graph->parameter_count; i++) {
        const sh_value_id value = s->graph->parameters[i].value;
        fill_integers(s->weights[i], sh_shape_count(&sh_graph_type(s->graph, value)->shape), i);
    }
    for (uint32_t i = 0; i < s->graph->input_count; i++)
        fill_integers(sh_execution_input(l->execution, i),
                      sh_shape_count(&sh_graph_type(s->graph, s->graph->inputs[i])->shape), 9 + i);
    float *x = sh_execution_input(l->execution, 0);
    for (size_t i = 0; i < 81 && !finite; i += 2) /* a channel of image 0 */
        x[i] = i % 6 == 0 ? NAN : i % 6 == 2 ? INFINITY : -INFINITY;
    assert_ok(sh_execution_prepare(l->execution));
    assert_ok(sh_execution_run(l->execution, keep_gradient, l));
}

static void assert_same_floats(const float *a, const float *b, const sh_type *type)
{
    for (size_t i = 0; i < sh_shape_count(&type->shape); i++)
        if (!(a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))))
            fail_msg("element %zu is %g, portable's is %g", i, (double)a[i], (double)b[i]);
}

/* Bit for bit: of equals the first is chosen, and NaN and infinities go through. */
static void pooling_is_that_of_portable(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof pool_cases / sizeof *pool_cases; i++) {
        subject s = pooled(&pool_cases[i / 2], "onednn");
        subject oracle = pooled(&pool_cases[i / 2], "portable");
        lane a, b;
        run_pooled(&s, &a, i % 2 == 0);
        run_pooled(&oracle, &b, i % 2 == 0);
        assert_same_floats(sh_execution_output(a.execution, 0), sh_execution_output(b.execution, 0),
                           sh_graph_type(s.graph, s.graph->outputs[0]));
        for (size_t j = 0; j < s.graph->parameter_count; j++)
            assert_same_floats(a.gradients[j], b.gradients[j],
                               sh_graph_type(s.graph, s.graph->parameters[j].value));
        stop_lane(&a);
        stop_lane(&b);
        release(&s);
        release(&oracle);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_converted_between_convolutions),
        cmocka_unit_test(one_channel_is_plain_in_any_layout),
        cmocka_unit_test(dense_layers_convert_nothing),
        cmocka_unit_test(same_bits_on_every_lane),
        cmocka_unit_test(threads_of_the_compiling_thread_do_not_matter),
        cmocka_unit_test(runs_take_no_memory),
        cmocka_unit_test(pooling_is_that_of_portable),
        cmocka_unit_test(library_failures_are_told),
        cmocka_unit_test(huge_tensors_are_left_to_others),
    };
    if (!sh_onednn_backend.available())
        return test_skip_all("oneDNN makes no engine here");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
