/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The `node` tests of the onnx package (test/onnx/make_conformance.py): the result of each operator
 * must be that of the reference implementation, and its gradient that of finite differences.
 *
 *     CONFORMANCE=test_conv_ build/debug/src/onnx_conformance_test    only names with this prefix
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "backend/program.h"
#include "base/random.h"
#include "onnx/import.h"
#include "onnx/onnx_fixture.h"

#define MOST 16     /* inputs or outputs of a test */
#define STEP 0x1p-7 /* of finite differences */
#define PROBES 3    /* elements of each input whose gradient is checked */
#define SLACK 1e-2  /* relative, of a gradient */
#define BYTES (8 << 20)

/* ---- the tests --------------------------------------------------------------------------------
 */

/* The file has four bytes of length and a model for each test. Owned by the fixture. */
static const uint8_t *read_suite(size_t *count)
{
    gzFile file = gzopen(fixture_path("conformance.gz"), "rb");
    assert_non_null(file);
    uint8_t *bytes = fixture_alloc(NULL, BYTES);
    const int got = gzread(file, bytes, BYTES);
    assert_in_range(got, 1, BYTES - 1);
    assert_int_equal(gzclose(file), Z_OK);
    *count = (size_t)got;
    return bytes;
}

/* NULL after the last one. */
static sh_onnx *next_test(const uint8_t *suite, size_t count, size_t *at)
{
    sh_onnx *model;
    if (*at == count)
        return NULL;
    assert_true(count - *at > 4);
    const uint8_t *head = suite + *at;
    const size_t bytes = (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
    assert_true(head[3] == 0 && bytes <= count - *at - 4);
    *at += 4 + bytes;
    assert_ok(sh_onnx_open_bytes(&model, "test", head + 4, bytes));
    return model;
}

static const Sh__Onnx__TensorProto *find_tensor(const sh_onnx *model, const char *kind,
                                                const char *name)
{
    char full[256];
    snprintf(full, sizeof full, "%s %s", kind, name);
    return sh_onnx_initializer(model, full);
}

/* Returns the elements as doubles, also integers and truth values. The caller owns them. */
static double *read_tensor(sh_onnx_tensor *tensor, const sh_onnx *model,
                           const Sh__Onnx__TensorProto *stored)
{
    assert_non_null(stored);
    assert_ok(sh_onnx_tensor_of(tensor, model, stored));
    double *values = malloc((tensor->count + 1) * sizeof *values);
    void *read = malloc((tensor->count + 1) * sizeof(int64_t));
    const bool real = sh_onnx_type_is_float((int64_t)tensor->type);
    if (real)
        assert_ok(sh_onnx_floats(model, tensor, read));
    else
        assert_ok(sh_onnx_integers(model, tensor, read));
    for (size_t i = 0; i < tensor->count; i++)
        values[i] = real ? (double)((float *)read)[i] : (double)((int64_t *)read)[i];
    free(read);
    return values;
}

/* ---- importing a test -------------------------------------------------------------------------
 */

typedef struct subject {
    const sh_onnx *model;
    const char *name;
    sh_net net;
    sh_onnx_store store;
    sh_onnx_binding given[MOST]; /* in the order of the graph */
    size_t count;
    sh_onnx_result results[MOST];
} subject;

/* sh_message describes a failure. */
static sh_status build(subject *s, const sh_onnx *model)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    *s = (subject){.model = model, .name = graph->name};
    assert_in_range(graph->n_output, 1, MOST);
    assert_in_range(graph->n_input, 0, MOST);
    SH_TRY(sh_graph_new(&s->net.graph));
    for (size_t i = 0; i < graph->n_input; i++) {
        const Sh__Onnx__TensorProto *stored = find_tensor(model, "input", graph->input[i]->name);
        sh_onnx_tensor tensor;
        if (stored == NULL)
            continue;
        SH_TRY(sh_onnx_tensor_of(&tensor, model, stored));
        if (tensor.rank > SH_MAX_RANK)
            return sh_fail(SH_LIMIT, "an input of %zu dimensions", tensor.rank);
        const sh_type type = {SH_F32, sh_shape_of(tensor.rank, tensor.dim)};
        s->given[s->count++] = (sh_onnx_binding){.name = graph->input[i]->name,
                                                 .value = sh_graph_input(s->net.graph, type)};
    }
    SH_TRY(sh_graph_status(s->net.graph));
    SH_TRY(sh_onnx_apply(s->results, &s->net, model, s->given, s->count, &s->store));
    return sh_graph_verify(s->net.graph);
}

static void release(subject *s)
{
    sh_graph_free(s->net.graph);
    sh_onnx_store_release(&s->store);
}

/* ---- run --------------------------------------------------------------------------------------
 */

typedef struct machine {
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    float **inputs;  /* by input of the graph; copied to the execution before each run */
    float **weights; /* by parameter */
} machine;

static size_t count_of(const sh_graph *graph, sh_value_id value)
{
    return sh_shape_count(&sh_graph_type(graph, value)->shape);
}

static float *read_floats(const sh_onnx *model, const Sh__Onnx__TensorProto *stored)
{
    sh_onnx_tensor tensor;
    double *values = read_tensor(&tensor, model, stored);
    float *floats = aligned_alloc(64, sh_align_up(tensor.count * sizeof *floats));
    for (size_t i = 0; i < tensor.count; i++)
        floats[i] = (float)values[i];
    free(values);
    return floats;
}

static float *read_parameter(const subject *s, const sh_parameter *parameter)
{
    const sh_initial *initial = &parameter->initial;
    const size_t count = count_of(s->net.graph, parameter->value);
    if (parameter->role != SH_ROLE_FROZEN)
        return read_floats(s->model, sh_onnx_initializer(s->model, parameter->name));
    float *values = aligned_alloc(64, sh_align_up(count * sizeof *values));
    for (size_t i = 0; i < count; i++)
        values[i] = initial->kind == SH_INITIAL_VALUES ? initial->values[i] : initial->size;
    return values;
}

static sh_status start(machine *m, const subject *s)
{
    const sh_kernels *kernels;
    const sh_graph *graph = s->net.graph;
    *m = (machine){.weights = calloc(graph->parameter_count + 1, sizeof(float *)),
                   .inputs = calloc(graph->input_count + 1, sizeof(float *))};
    for (size_t i = 0; i < graph->parameter_count; i++)
        m->weights[i] = read_parameter(s, &graph->parameters[i]);
    for (size_t i = 0; i < s->count; i++)
        m->inputs[i] = read_floats(s->model, find_tensor(s->model, "input", s->given[i].name));
    assert_ok(sh_kernels_choose(&kernels, NULL));
    SH_TRY(sh_program_compile(&m->program, graph, kernels));
    assert_ok(sh_block_new(&m->lane, sh_program_lane_bytes(m->program), "lane memory"));
    assert_ok(sh_block_new(&m->shared, sh_program_shared_bytes(m->program), "shared memory"));
    return sh_execution_new(&m->execution, m->program, m->lane, m->shared, m->weights);
}

/* Copies the inputs first, because a run may overwrite them. */
static sh_status run(const machine *m, const sh_graph *graph)
{
    for (size_t i = 0; i < graph->input_count; i++)
        memcpy(sh_execution_input(m->execution, i), m->inputs[i],
               count_of(graph, graph->inputs[i]) * sizeof(float));
    SH_TRY(sh_execution_prepare(m->execution));
    return sh_execution_run(m->execution, NULL, NULL);
}

static void stop(machine *m, const sh_graph *graph)
{
    sh_execution_free(m->execution);
    sh_program_free(m->program);
    free(m->lane);
    free(m->shared);
    for (size_t i = 0; i < graph->parameter_count; i++)
        free(m->weights[i]);
    for (size_t i = 0; i < graph->input_count; i++)
        free(m->inputs[i]);
    free(m->weights);
    free(m->inputs);
}

/* ---- results ----------------------------------------------------------------------------------
 */

/* The suite's own criterion: a relative and an absolute tolerance. */
static bool is_near(double is, double expected, const double *tolerance)
{
    if (isnan(is) || isnan(expected))
        return isnan(is) && isnan(expected);
    if (isinf(is) || isinf(expected))
        return is == expected;
    return fabs(is - expected) <= tolerance[1] + tolerance[0] * fabs(expected);
}

static bool is_expected(char *text, size_t bytes, const subject *s, size_t output,
                        const float *computed)
{
    const sh_onnx_result *result = &s->results[output];
    sh_onnx_tensor tensor, limits;
    double *expected =
        read_tensor(&tensor, s->model,
                    find_tensor(s->model, "output", sh_onnx_graph(s->model)->output[output]->name));
    double *tolerance = read_tensor(&limits, s->model, sh_onnx_initializer(s->model, "tolerance"));
    const sh_shape *shape =
        computed == NULL ? NULL : &sh_graph_type(s->net.graph, result->value)->shape;
    const size_t rank = shape == NULL ? result->constant.rank : shape->rank;
    const size_t *dim = shape == NULL ? result->constant.dim : shape->dim;
    bool same = rank == tensor.rank;
    for (size_t i = 0; i < rank && same; i++)
        same = dim[i] == tensor.dim[i];
    if (!same)
        snprintf(text, bytes, "output %zu has another shape", output);
    for (size_t i = 0; i < tensor.count && same; i++) {
        const double is = computed != NULL        ? (double)computed[i]
                          : result->constant.real ? result->constant.cells[i].real
                                                  : (double)result->constant.cells[i].whole;
        same = is_near(is, expected[i], tolerance);
        if (!same)
            snprintf(text, bytes, "output %zu, element %zu is %g, expected %g", output, i, is,
                     expected[i]);
    }
    free(expected);
    free(tolerance);
    return same;
}

static bool passes(char *text, size_t bytes, const sh_onnx *model)
{
    subject s;
    bool same = true, computes = false;
    const size_t outputs = sh_onnx_graph(model)->n_output;
    if (build(&s, model) != SH_OK) {
        snprintf(text, bytes, "%s", sh_message());
        release(&s);
        return false;
    }
    machine m = {0};
    for (size_t i = 0; i < outputs; i++)
        if (s.results[i].value != SH_NO_VALUE) {
            sh_graph_output(s.net.graph, s.results[i].value);
            computes = true;
        }
    if (computes && (start(&m, &s) != SH_OK || run(&m, s.net.graph) != SH_OK)) {
        snprintf(text, bytes, "%s", sh_message());
        same = false;
    }
    for (size_t i = 0, made = 0; i < outputs && same; i++) {
        const float *values =
            s.results[i].value == SH_NO_VALUE ? NULL : sh_execution_output(m.execution, made++);
        same = is_expected(text, bytes, &s, i, values);
    }
    if (computes)
        stop(&m, s.net.graph);
    release(&s);
    return same;
}

/* ---- gradients --------------------------------------------------------------------------------
 */

static sh_value_id join_outputs(subject *s)
{
    sh_value_id rows[MOST];
    size_t count = 0;
    for (size_t i = 0; i < sh_onnx_graph(s->model)->n_output; i++) {
        const sh_value_id y = s->results[i].value;
        if (y == SH_NO_VALUE)
            continue;
        const size_t elements = count_of(s->net.graph, y);
        rows[count++] = sh_layer_reshape(&s->net, y, sh_shape_of(1, &elements));
    }
    return count == 0 ? SH_NO_VALUE : sh_layer_concat(&s->net, rows, count, 0);
}

typedef struct subject_part {
    bool input;    /* or a weight */
    size_t index;  /* of the weight or input */
    size_t count;  /* of its elements */
    size_t output; /* the output of the graph with the gradient */
} subject_part;

/* sum(seed * outputs). */
static double objective(const machine *m, const sh_graph *graph)
{
    const float *seed = m->inputs[graph->input_count - 1];
    const size_t count = count_of(graph, graph->outputs[0]);
    double sum = 0;
    assert_ok(run(m, graph));
    const float *y = sh_execution_output(m->execution, 0);
    for (size_t i = 0; i < count; i++)
        sum += seed[i] == 0 ? 0 : (double)seed[i] * (double)y[i];
    return sum;
}

/* The gradient must lie between the slopes on both sides, which differ at a kink. */
static bool fits(char *text, size_t bytes, const machine *m, const sh_graph *graph,
                 const subject_part *part)
{
    float *values = (part->input ? m->inputs : m->weights)[part->index];
    for (size_t probe = 0; probe < PROBES && probe < part->count; probe++) {
        const size_t element = probe * 7919 % part->count;
        const float held = values[element];
        const double here = objective(m, graph);
        const double is = ((const float *)sh_execution_output(m->execution, part->output))[element];
        values[element] = held + (float)STEP;
        const double after = (objective(m, graph) - here) / STEP;
        values[element] = held - (float)STEP;
        const double before = (here - objective(m, graph)) / STEP;
        values[element] = held;
        const double slack = SLACK * fmax(1, fmax(fabs(before), fabs(after)));
        if (!isfinite(before) || !isfinite(after))
            continue; /* the step left the domain of the operator */
        if (!(is >= fmin(before, after) - slack && is <= fmax(before, after) + slack)) {
            snprintf(text, bytes, "output %zu, element %zu: gradient %g, differences %g and %g",
                     part->output, element, is, before, after);
            return false;
        }
    }
    return true;
}

/* Makes the gradients of all inputs and weights outputs of the graph. */
static size_t differentiate(subject_part *parts, subject *s)
{
    sh_graph *graph = s->net.graph;
    const sh_value_id y = join_outputs(s);
    size_t count = 0;
    if (y == SH_NO_VALUE)
        return 0;
    sh_graph_output(graph, y);
    const size_t weights = graph->parameter_count;
    const sh_value_id seed = sh_graph_input(graph, *sh_graph_type(graph, y));
    for (size_t i = 0; i < s->count + weights && count < 2 * MOST; i++) {
        const bool input = i < s->count;
        const sh_value_id x = input ? s->given[i].value : graph->parameters[i - s->count].value;
        if (!input && graph->parameters[i - s->count].role != SH_ROLE_TRAINED)
            continue;
        const sh_value_id gradient = sh_graph_gradient_of(graph, y, seed, x);
        if (gradient == SH_NO_VALUE)
            continue;
        parts[count++] = (subject_part){.input = input,
                                        .index = input ? i : i - s->count,
                                        .count = count_of(graph, x),
                                        .output = graph->output_count};
        sh_graph_output(graph, gradient);
    }
    return count;
}

/* The softmax of fully masked rows and its gradient are NaN, as in PyTorch. */
static bool has_gradient(const char *name)
{
    static const char *const none[] = {"test_attention_*fullymasked*_expanded",
                                       "test_attention_*structural_empty_expanded",
                                       "test_attention_causal_boolmask_nan_robustness_expanded",
                                       "test_attention_local_window_gqa_rank4_mask_expanded"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (fnmatch(none[i], name, 0) == 0)
            return false;
    return true;
}

/* Adds the number of gradients to `*checked`. */
static bool gradients_fit(char *text, size_t bytes, size_t *checked, const sh_onnx *model)
{
    subject s;
    subject_part parts[2 * MOST];
    bool good = build(&s, model) == SH_OK; /* the other test reports it */
    sh_graph *graph = s.net.graph;
    const size_t count = good ? differentiate(parts, &s) : 0;
    if (count > 0) {
        machine m;
        const sh_status status = start(&m, &s);
        sh_random random = sh_random_for(3, SH_RANDOM_TEST, 0, 0);
        if (status != SH_OK)
            fail_msg("%s: %s", s.name, sh_message());
        const size_t seeds = count_of(graph, graph->outputs[0]);
        float *seed = m.inputs[graph->input_count - 1] = malloc(seeds * sizeof *seed);
        for (size_t i = 0; i < seeds; i++)
            seed[i] = 2 * sh_random_unit(&random) - 1;
        for (size_t i = 0; i < count && good; i++) {
            good = fits(text, bytes, &m, graph, &parts[i]);
            *checked += good;
        }
        stop(&m, graph);
    }
    release(&s);
    return good || count == 0;
}

/* ---- all tests --------------------------------------------------------------------------------
 */

static bool is_chosen(const char *name)
{
    const char *wanted = getenv("CONFORMANCE");
    return wanted == NULL || strncmp(name, wanted, strlen(wanted)) == 0;
}

/* A line of test/onnx/<file> has the name of a test, a tab and a reason. NULL counts all lines. */
static size_t count_lines(const char *file, const char *name)
{
    FILE *stream = fopen(fixture_path(file), "r");
    char line[256];
    size_t count = 0;
    assert_non_null(stream);
    while (fgets(line, sizeof line, stream) != NULL) {
        char *tab = strchr(line, '\t');
        assert_non_null(tab);
        *tab = '\0';
        count += name == NULL || strcmp(line, name) == 0;
    }
    fclose(stream);
    return count;
}

/* None of the listed tests passes. */
static void they_give_what_the_suite_expects(void **state)
{
    (void)state;
    size_t count, at = 0, passed = 0, known = 0, wrong = 0;
    const uint8_t *suite = read_suite(&count);
    for (sh_onnx *model; (model = next_test(suite, count, &at)) != NULL; sh_onnx_close(model)) {
        char text[1024];
        const char *name = sh_onnx_graph(model)->name;
        if (!is_chosen(name))
            continue;
        const bool passes_now = passes(text, sizeof text, model);
        const size_t lines = count_lines("conformance.failing", name);
        passed += passes_now;
        known += lines;
        wrong += lines != !passes_now;
        if (passes_now && lines > 0)
            print_message("%s passes: take it from conformance.failing\n", name);
        else if (!passes_now && (lines != 1 || getenv("CONFORMANCE") != NULL))
            print_message("%s: %s\n", name, text);
    }
    print_message("node tests of listed operators: %zu passed, %zu skipped, %zu failed as listed, "
                  "%zu not as listed\n",
                  passed, count_lines("conformance.skipped", NULL), known, wrong);
    assert_int_equal(wrong, 0);
    if (getenv("CONFORMANCE") == NULL) /* every listed name is a test */
        assert_int_equal(known, count_lines("conformance.failing", NULL));
}

static void gradients_are_finite_differences(void **state)
{
    (void)state;
    size_t count, at = 0, tests = 0, checked = 0, failed = 0;
    const uint8_t *suite = read_suite(&count);
    for (sh_onnx *model; (model = next_test(suite, count, &at)) != NULL; sh_onnx_close(model)) {
        char text[1024];
        const char *name = sh_onnx_graph(model)->name;
        const size_t before = checked;
        if (!is_chosen(name) || !has_gradient(name))
            continue;
        if (!gradients_fit(text, sizeof text, &checked, model)) {
            print_message("%s: %s\n", name, text);
            failed++;
        }
        tests += checked > before;
    }
    print_message("%zu gradients of %zu node tests fit\n", checked, tests);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_give_what_the_suite_expects),
        cmocka_unit_test(gradients_are_finite_differences),
    };
    return cmocka_run_group_tests(tests, NULL, fixture_release);
}
