/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling and running, apart from what operators compute (ops_test.c). Two backends of the test's
 * own keep a journal: `left` computes relu on values that lie backwards, `right` computes add on
 * values that lie rotated by one, so a conversion that is missing or wrong shows in the numbers.
 */
#include "backend/program.h"

#include <stdlib.h>

#include "backend/compiler.h"
#include "backend/portable/portable.h"
#include "base/random.h"
#include "base/test.h"
#include "graph/layers.h"
#include "model/model.h"

/* ---- the test's backends --------------------------------------------------------------------- */

/*
 * What ran, in order: 'L' relu by left, 'R' add by right, 'c' a conversion, 'S' a kernel with
 * scratch, '0' .. '9' the sink of a parameter, else the first letter of an operator (diary).
 */
static struct journal {
    char text[256];
    size_t used;
    int live_states, live_bounds;  /* made and not freed */
    int binds_left, compiles_left; /* what succeeds before one fails; -1: all */
    bool run_fails;
} journal;

static void journal_clear(void)
{
    journal = (struct journal){.binds_left = -1, .compiles_left = -1};
}

static void note(char what)
{
    assert_true(journal.used + 1 < sizeof journal.text);
    journal.text[journal.used++] = what;
    journal.text[journal.used] = '\0';
}

static void expect_journal(const char *text)
{
    assert_string_equal(journal.text, text);
    journal.used = 0;
    journal.text[0] = '\0';
}

/* Of every kernel here. For conversions `from` and `to` are the owners, NULL is plain. */
typedef struct work {
    char name;
    size_t count;
    const sh_backend *from, *to;
} work;

static const sh_backend left, right;

static size_t place(const sh_backend *owner, size_t i, size_t count)
{
    return owner == &left ? count - 1 - i : owner == &right ? (i + 1) % count : i;
}

static sh_status bind_work(void **bound, const void *state, void *const *operands)
{
    (void)state;
    (void)operands;
    if (journal.binds_left == 0)
        return sh_fail(SH_NO_MEMORY, "no more binding");
    journal.binds_left--;
    *bound = malloc(1);
    journal.live_bounds++;
    return *bound == NULL ? sh_fail_memory(1, "a test") : SH_OK;
}

static void unbind_work(void *bound)
{
    journal.live_bounds--;
    free(bound);
}

static void release_work(void *state)
{
    journal.live_states--;
    free(state);
}

static sh_status run_work(const void *state, void *bound, void *const *operands)
{
    const work *self = state;
    const float *a = operands[0], *b = operands[1];
    assert_non_null(bound);
    note(self->name);
    for (size_t i = 0; i < self->count; i++) {
        if (self->name == 'L')
            ((float *)operands[1])[i] = a[i] > 0 ? a[i] : 0;
        else if (self->name == 'R')
            ((float *)operands[2])[i] = a[i] + b[i];
        else
            ((float *)operands[1])[place(self->to, i, self->count)] =
                a[place(self->from, i, self->count)];
    }
    return journal.run_fails ? sh_fail(SH_NUMERIC, "a kernel failed") : SH_OK;
}

/* relu that first spoils the scratch it was given: 16 times what it needs. */
static sh_status run_with_scratch(const void *state, void *bound, void *const *operands)
{
    const work *self = state;
    assert_non_null(bound);
    note(self->name);
    memset(operands[2], 0xa5, 16 * self->count * sizeof(float));
    for (size_t i = 0; i < self->count; i++)
        ((float *)operands[1])[i] = ((const float *)operands[0])[i];
    return SH_OK;
}

static const sh_kernel kernel = {
    .bind = bind_work, .run_bound = run_work, .unbind = unbind_work, .release = release_work};
static const sh_kernel kernel_with_scratch = {.bind = bind_work,
                                              .run_bound = run_with_scratch,
                                              .unbind = unbind_work,
                                              .release = release_work};

static sh_status emit_work(sh_compiler *compiler, const sh_kernel *how, const work *what,
                           const sh_buffer_id *operands, size_t count)
{
    if (journal.compiles_left == 0)
        return sh_fail(SH_LIMIT, "no more compiling");
    journal.compiles_left--;
    work *state = malloc(sizeof *state);
    if (state == NULL)
        return sh_fail_memory(sizeof *state, "a test");
    *state = *what;
    journal.live_states++;
    return sh_compiler_emit(compiler, how, state, operands, count);
}

static size_t elements(const sh_compiler *compiler, sh_value_id value)
{
    return sh_shape_count(&sh_graph_type(sh_compiler_graph(compiler), value)->shape);
}

static bool always(void)
{
    return true;
}

static bool same_layout(const sh_layout *a, const sh_layout *b)
{
    return a->bytes == b->bytes;
}

static sh_status convert(sh_compiler *compiler, sh_value_id value, sh_buffer_id from,
                         const sh_layout *from_layout, sh_buffer_id to, const sh_layout *to_layout)
{
    const work what = {'c', elements(compiler, value), from_layout->owner, to_layout->owner};
    assert_true(from_layout->owner == NULL || to_layout->owner == NULL);
    return emit_work(compiler, &kernel, &what, (sh_buffer_id[]){from, to}, 2);
}

/* Compiles `op` in the owner's layout and leaves the rest. */
static sh_status compile_own(sh_compiler *compiler, const sh_node *node, const sh_backend *owner,
                             sh_op op, char name, bool *taken)
{
    sh_buffer_id operands[SH_MAX_OPERANDS];
    if (node->op != op)
        return SH_OK;
    sh_layout layout = sh_compiler_plain(compiler, node->out[0]);
    layout.owner = owner;
    for (uint32_t i = 0; i < node->input_count; i++)
        SH_TRY(sh_compiler_input(compiler, &operands[i], node->in[i], &layout));
    SH_TRY(sh_compiler_output(compiler, &operands[node->input_count], node->out[0], &layout));
    *taken = true;
    const work what = {.name = name, .count = elements(compiler, node->out[0])};
    return emit_work(compiler, &kernel, &what, operands, node->input_count + 1u);
}

static sh_status compile_left(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    return compile_own(compiler, node, &left, SH_OP_relu, 'L', taken);
}

static sh_status compile_right(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    return compile_own(compiler, node, &right, SH_OP_add, 'R', taken);
}

static const sh_backend left = {.name = "left",
                                .available = always,
                                .compile = compile_left,
                                .same_layout = same_layout,
                                .convert = convert};
static const sh_backend right = {.name = "right",
                                 .available = always,
                                 .compile = compile_right,
                                 .same_layout = same_layout,
                                 .convert = convert};

/* relu as a copy through a kernel that wants much scratch. */
static sh_status compile_scratchy(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    sh_buffer_id operands[3];
    if (node->op != SH_OP_relu)
        return SH_OK;
    const work what = {.name = 'S', .count = elements(compiler, node->out[0])};
    SH_TRY(sh_compiler_input(compiler, &operands[0], node->in[0], NULL));
    SH_TRY(sh_compiler_output(compiler, &operands[1], node->out[0], NULL));
    SH_TRY(sh_compiler_scratch(compiler, &operands[2], 16 * what.count * sizeof(float)));
    *taken = true;
    return emit_work(compiler, &kernel_with_scratch, &what, operands, 3);
}

static const sh_backend scratchy = {
    .name = "scratchy", .available = always, .compile = compile_scratchy};

static void run_mark(const void *state, void *const *operands)
{
    (void)operands;
    note(*(const char *)state);
}

/* Notes the operator's first letter, then lets portable compute it. */
static sh_status compile_diary(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    static const sh_kernel mark = {.run = run_mark};
    const char *name = sh_op_about(node->op)->name; /* static storage: nothing to release */
    SH_TRY(sh_compiler_emit(compiler, &mark, (void *)name, NULL, 0));
    return sh_portable_backend.compile(compiler, node, taken);
}

static const sh_backend diary = {.name = "diary", .available = always, .compile = compile_diary};

/* ---- machines -------------------------------------------------------------------------------- */

#define GUARD_BYTES 256
#define GUARD 0x5a

/* A program with one execution; guards lie around the lane's and the shared memory. */
typedef struct machine {
    sh_program *program;
    sh_execution *execution;
    unsigned char *lane, *shared;
} machine;

static unsigned char *guarded_new(size_t bytes)
{
    void *block = NULL;
    assert_ok(sh_block_new(&block, bytes + 2 * GUARD_BYTES, "a test"));
    memset(block, GUARD, bytes + 2 * GUARD_BYTES);
    return block;
}

static void guarded_free(unsigned char *block, size_t bytes)
{
    for (size_t i = 0; i < GUARD_BYTES; i++)
        if (block[i] != GUARD || block[GUARD_BYTES + bytes + i] != GUARD)
            fail_msg("byte %zu beside the memory was written", i);
    free(block);
}

static machine start(const sh_graph *graph, const sh_backend_list *backends,
                     float *const *parameters)
{
    machine m = {0};
    sh_backend_enter_thread(backends);
    assert_ok(sh_program_compile(&m.program, graph, backends));
    m.lane = guarded_new(sh_program_lane_bytes(m.program));
    m.shared = guarded_new(sh_program_shared_bytes(m.program));
    assert_ok(sh_execution_new(&m.execution, m.program, m.lane + GUARD_BYTES,
                               m.shared + GUARD_BYTES, parameters));
    return m;
}

static void stop(machine *m)
{
    sh_execution_free(m->execution);
    guarded_free(m->lane, sh_program_lane_bytes(m->program));
    guarded_free(m->shared, sh_program_shared_bytes(m->program));
    sh_program_free(m->program);
    assert_int_equal(journal.live_states, 0);
    assert_int_equal(journal.live_bounds, 0);
}

static sh_graph *new_graph(void)
{
    sh_graph *graph = NULL;
    assert_ok(sh_graph_new(&graph));
    journal_clear();
    return graph;
}

static const sh_type eight = {SH_F32, {1, {8}}}; /* 32 bytes: half of a place */

static sh_value_id apply(sh_graph *graph, sh_op op, sh_value_id a, sh_value_id b)
{
    sh_value_id out[SH_MAX_OUTPUTS];
    return sh_graph_add(graph, op, NULL, (sh_value_id[]){a, b, SH_NO_VALUE, SH_NO_VALUE}, out);
}

static void fill(void *data, const float values[8])
{
    memcpy(data, values, 8 * sizeof *values);
}

static void expect_floats(const void *data, size_t count, const float *expected)
{
    for (size_t i = 0; i < count; i++)
        if (((const float *)data)[i] != expected[i])
            fail_msg("element %zu is %g, expected %g", i, (double)((const float *)data)[i],
                     (double)expected[i]);
}

static const float up[8] = {-3, -2, -1, 0, 1, 2, 3, 4};
static const float odd[8] = {10, 20, 30, 40, 50, 60, 70, 80};

/* ---- what is compiled ------------------------------------------------------------------------ */

/* a = relu x, b = relu a, c = a + b, d = c + a: `a` is converted once although right wants it
 * twice, and between the two strangers everything passes through the plain layout. */
static void values_are_converted_once_for_each_layout(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id x = sh_graph_input(graph, eight);
    const sh_value_id a = sh_layer_relu(&(sh_net){.graph = graph}, x),
                      b = sh_layer_relu(&(sh_net){.graph = graph}, a);
    const sh_value_id c = apply(graph, SH_OP_add, a, b);
    sh_graph_output(graph, apply(graph, SH_OP_add, c, a));
    sh_graph_output(graph, a);
    machine m = start(graph, &(sh_backend_list){{&left, &right}, 2}, NULL);
    sh_graph_free(graph); /* a program stands alone */
    fill(sh_execution_input(m.execution, 0), up);
    assert_ok(sh_execution_run(m.execution, NULL, NULL));
    expect_journal("cLLccccRRc"); /* x; a, b; a and b through plain; c, d; d */
    expect_floats(sh_execution_output(m.execution, 0), 8, (float[]){0, 0, 0, 0, 3, 6, 9, 12});
    expect_floats(sh_execution_output(m.execution, 1), 8, (float[]){0, 0, 0, 0, 1, 2, 3, 4});
    stop(&m);
}

static void what_comes_from_weights_alone_is_prepared_once(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id x = sh_graph_input(graph, eight);
    const sh_value_id w = sh_graph_parameter(graph, "w", eight, SH_ROLE_TRAINED, (sh_initial){0});
    const sh_value_id v = sh_graph_parameter(graph, "v", eight, SH_ROLE_TRAINED, (sh_initial){0});
    const sh_value_id made =
        apply(graph, SH_OP_add, sh_layer_relu(&(sh_net){.graph = graph}, w), v);
    sh_graph_output(graph,
                    apply(graph, SH_OP_add, sh_layer_relu(&(sh_net){.graph = graph}, x), made));
    float first[8], second[8];
    fill(first, up);
    fill(second, odd);
    const sh_backend_list backends = {{&left, &right}, 2};
    machine m = start(graph, &backends, (float *const[]){first, second});
    assert_ok(sh_execution_prepare(m.execution));
    expect_journal("cLcccR"); /* w; relu; relu's plain, it and v rotated; add */
    for (int i = 0; i < 2; i++) {
        fill(sh_execution_input(m.execution, 0), odd);
        assert_ok(sh_execution_run(m.execution, NULL, NULL));
        expect_journal("cLccRc");
        expect_floats(sh_execution_output(m.execution, 0), 8,
                      (float[]){20, 40, 60, 80, 101, 122, 143, 164});
    }

    /* Another lane needs no preparation: what was prepared is shared. */
    void *lane = NULL;
    sh_execution *other = NULL;
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(m.program), "a test"));
    assert_ok(sh_execution_new(&other, m.program, lane, m.shared + GUARD_BYTES,
                               (float *const[]){first, second}));
    fill(sh_execution_input(other, 0), up);
    assert_ok(sh_execution_run(other, NULL, NULL));
    expect_floats(sh_execution_output(other, 0), 8, (float[]){10, 20, 30, 40, 52, 64, 76, 88});
    sh_execution_free(other);
    free(lane);

    /* New weights count from the next preparation on. */
    first[0] = 5;
    assert_ok(sh_execution_prepare(m.execution));
    fill(sh_execution_input(m.execution, 0), up);
    assert_ok(sh_execution_run(m.execution, NULL, NULL));
    expect_floats(sh_execution_output(m.execution, 0), 1, (float[]){15});
    stop(&m);
    sh_graph_free(graph);
}

/* The scratch of a preparing kernel is used before the run: it must not lie where an input waits,
 * even an input that the run reads only before that kernel's turn. */
static void preparing_leaves_inputs_alone(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id x = sh_graph_input(graph, eight);
    const sh_value_id w = sh_graph_parameter(graph, "w", eight, SH_ROLE_TRAINED, (sh_initial){0});
    const sh_value_id y = apply(graph, SH_OP_add, x, x);
    sh_graph_output(graph, apply(graph, SH_OP_add, y, sh_layer_relu(&(sh_net){.graph = graph}, w)));
    float weights[8];
    fill(weights, odd);
    machine m = start(graph, &(sh_backend_list){{&scratchy, &sh_portable_backend}, 2},
                      (float *const[]){weights});
    fill(sh_execution_input(m.execution, 0), up);
    assert_ok(sh_execution_prepare(m.execution));
    expect_journal("S");
    assert_ok(sh_execution_run(m.execution, NULL, NULL));
    expect_journal("");
    expect_floats(sh_execution_output(m.execution, 0), 8, (float[]){4, 16, 28, 40, 52, 64, 76, 88});
    stop(&m);
    sh_graph_free(graph);
}

static void reshape_costs_nothing(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    sh_value_id out[SH_MAX_OUTPUTS];
    const sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, {3, {4, 2, 3}}});
    sh_graph_add(graph, SH_OP_reshape, &(sh_attributes){.shape = {2, {4, 6}}}, &x, out);
    sh_graph_output(graph, out[0]);
    machine m = start(graph, &(sh_backend_list){{&sh_portable_backend}, 1}, NULL);
    assert_ptr_equal(sh_execution_output(m.execution, 0), sh_execution_input(m.execution, 0));
    assert_int_equal(sh_program_lane_bytes(m.program), sh_align_up(4 * 2 * 3 * sizeof(float)));
    assert_int_equal(sh_program_shared_bytes(m.program), 0);
    stop(&m);
    sh_graph_free(graph);
}

/* A chain in place needs one place; each value that is to be read afterwards keeps one more. */
static void outputs_stay_readable(void **state)
{
    (void)state;
    enum { LENGTH = 9 };
    for (unsigned kept = 0; kept < 1u << LENGTH; kept += 37) {
        sh_graph *graph = new_graph();
        const sh_value_id one = sh_graph_input(graph, eight);
        sh_value_id x = one;
        for (unsigned i = 0; i < LENGTH; i++) {
            x = apply(graph, SH_OP_add, x, x); /* one * 2^(i + 1) */
            if ((kept >> i & 1) != 0)
                sh_graph_output(graph, x);
        }
        machine m = start(graph, &(sh_backend_list){{&sh_portable_backend}, 1}, NULL);
        const size_t places = sh_program_lane_bytes(m.program) / SH_ALIGNMENT;
        assert_in_range(places, 1, 1 + graph->output_count);
        fill(sh_execution_input(m.execution, 0), odd);
        assert_ok(sh_execution_run(m.execution, NULL, NULL));
        for (unsigned i = 0, output = 0; i < LENGTH; i++)
            if ((kept >> i & 1) != 0)
                expect_floats(sh_execution_output(m.execution, output++), 1,
                              (float[]){10.0f * (float)(2u << i)});
        stop(&m);
        sh_graph_free(graph);
    }
}

/* What an element-wise operator takes the place of, told by addresses: of two inputs the one that
 * nobody needs afterwards, none where both are needed, and not what another name still means. */
static void results_take_the_place_of_what_is_needed_no_more(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    sh_value_id same[SH_MAX_OUTPUTS];
    const sh_value_id x = sh_graph_input(graph, eight), y = sh_graph_input(graph, eight);
    const sh_value_id a = apply(graph, SH_OP_add, x, y);            /* over x; y is used below */
    const sh_value_id b = apply(graph, SH_OP_relu, y, SH_NO_VALUE); /* not over y: used below */
    sh_graph_add(graph, SH_OP_reshape, &(sh_attributes){.shape = {2, {2, 4}}}, &b, same);
    const sh_value_id c = apply(graph, SH_OP_add, b, y); /* not over b: `same` is b; over y */
    const sh_value_id d = apply(graph, SH_OP_add, c, a); /* over one of them */
    sh_graph_output(graph, d);
    sh_graph_output(graph, same[0]);
    machine m = start(graph, &(sh_backend_list){{&sh_portable_backend}, 1}, NULL);
    assert_int_equal(sh_program_lane_bytes(m.program), 3 * SH_ALIGNMENT); /* x a, y c d, b */
    fill(sh_execution_input(m.execution, 0), odd);
    fill(sh_execution_input(m.execution, 1), up);
    assert_ptr_equal(sh_execution_output(m.execution, 0), sh_execution_input(m.execution, 1));
    assert_ok(sh_execution_run(m.execution, NULL, NULL));
    expect_floats(sh_execution_output(m.execution, 0), 8, (float[]){4, 16, 28, 40, 53, 66, 79, 92});
    expect_floats(sh_execution_output(m.execution, 1), 8, (float[]){0, 0, 0, 0, 1, 2, 3, 4});
    stop(&m);
    sh_graph_free(graph);
}

/* ---- gradients ------------------------------------------------------------------------------- */

typedef struct received {
    float gradient[4][12];
} received;

static const size_t sizes[4] = {12, 4, 8, 2}; /* of fc1.weight, fc1.bias, fc2.weight, fc2.bias */

static void take(void *context, uint32_t parameter, const float *gradient)
{
    received *r = context;
    note((char)('0' + parameter));
    memcpy(r->gradient[parameter], gradient, sizes[parameter] * sizeof *gradient);
}

static void gradients_are_handed_over_as_soon_as_they_exist(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, {2, {1, 3}}});
    const sh_value_id seed = sh_graph_input(graph, (sh_type){SH_F32, {2, {1, 2}}});
    const sh_value_id h = sh_layer_relu(&(sh_net){.graph = graph},
                                        sh_layer_linear(&(sh_net){.graph = graph}, x, "fc1", 4));
    sh_graph_differentiate(graph, sh_layer_linear(&(sh_net){.graph = graph}, h, "fc2", 2), seed);
    float w1[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, -1, -1, -1}, b1[4] = {1, 0, -9, 0};
    float w2[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b2[2] = {0};
    machine m = start(graph, &(sh_backend_list){{&diary}, 1}, (float *const[]){w1, b1, w2, b2});
    assert_ok(sh_execution_prepare(m.execution));
    expect_journal("");
    received got;
    memcpy(sh_execution_input(m.execution, 0), (float[]){2, 3, 5}, 3 * sizeof(float));
    memcpy(sh_execution_input(m.execution, 1), (float[]){10, 1}, 2 * sizeof(float));
    assert_ok(sh_execution_run(m.execution, take, &got));
    /* linear relu linear; linear_grad_weight, its two; linear_grad_input relu_grad;
     * linear_grad_weight, its two */
    expect_journal("lrll23lrl01");
    /* h = relu(3, 3, -4, -10); dw2 = seed x h; dh = w2^T seed = 15, 26, 37, 48, where h > 0 */
    expect_floats(got.gradient[3], 2, (float[]){10, 1});
    expect_floats(got.gradient[2], 8, (float[]){30, 30, 0, 0, 3, 3, 0, 0});
    expect_floats(got.gradient[1], 4, (float[]){15, 26, 0, 0});
    expect_floats(got.gradient[0], 12, (float[]){30, 45, 75, 52, 78, 130, 0, 0, 0, 0, 0, 0});
    assert_ok(sh_execution_run(m.execution, NULL, NULL)); /* nobody needs to listen */
    stop(&m);
    sh_graph_free(graph);
}

/* What a sink finds in a product's places, and the gradient; by parameter. */
typedef struct factors {
    const sh_execution *execution;
    float x[2][64], dy[2][64], gradient[2][64];
    size_t bytes[2];
} factors;

static void keep_factors(void *context, uint32_t parameter, const float *gradient)
{
    factors *kept = context;
    sh_product product;
    if (parameter % 2 == 1) { /* a bias */
        assert_false(sh_execution_product(kept->execution, parameter, &product));
        return;
    }
    const uint32_t layer = parameter / 2;
    assert_true(sh_execution_product(kept->execution, parameter, &product));
    memcpy(kept->x[layer], product.x, product.x_bytes);
    memcpy(kept->dy[layer], product.dy, product.dy_bytes);
    kept->bytes[layer] = product.x_bytes / 2 * product.dy_bytes / 2 / sizeof(float); /* 2 samples */
    memcpy(kept->gradient[layer], gradient, kept->bytes[layer]);
}

/* On both backends: the factors that a sink sees make the same bits again, in any order of layers,
 * after other samples. */
static void a_gradient_is_made_again_of_its_factors(void **state)
{
    (void)state;
    sh_backend_list lists[] = {{{&sh_portable_backend}, 1}, {{NULL}, 0}};
    assert_ok(sh_backend_choose(&lists[1], NULL));
    for (size_t l = 0; l < 2; l++) {
        sh_graph *graph = new_graph();
        sh_net net = {.graph = graph};
        const sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, {2, {2, 3}}});
        const sh_value_id seed = sh_graph_input(graph, (sh_type){SH_F32, {2, {2, 5}}});
        const sh_value_id h = sh_layer_relu(&net, sh_layer_linear(&net, x, "fc1", 4));
        sh_graph_differentiate(graph, sh_layer_linear(&net, h, "fc2", 5), seed);
        float w1[12], b1[4], w2[20], b2[5] = {0}, samples[6], seeds[10];
        for (int i = 0; i < 20; i++) {
            w2[i] = 1.0f / (float)(i + 3);
            w1[i % 12] = 0.7f / (float)(i % 12 + 1);
            samples[i % 6] = 1.3f / (float)(i % 6 + 1);
            seeds[i % 10] = -1.1f / (float)(i % 10 + 2);
            b1[i % 4] = 0.1f;
        }
        machine m = start(graph, &lists[l], (float *const[]){w1, b1, w2, b2});
        assert_ok(sh_execution_prepare(m.execution));
        memcpy(sh_execution_input(m.execution, 0), samples, sizeof samples);
        memcpy(sh_execution_input(m.execution, 1), seeds, sizeof seeds);
        static factors kept, other;
        kept.execution = other.execution = m.execution;
        assert_ok(sh_execution_run(m.execution, keep_factors, &kept));
        memcpy(sh_execution_input(m.execution, 0), seeds, sizeof samples);
        memcpy(sh_execution_input(m.execution, 1), seeds, sizeof seeds);
        assert_ok(sh_execution_run(m.execution, keep_factors, &other));
        for (uint32_t layer = 0; layer < 2; layer++) {
            const float *again;
            sh_product product;
            assert_true(sh_execution_product(m.execution, 2 * layer, &product));
            memcpy(product.x, kept.x[layer], product.x_bytes);
            memcpy(product.dy, kept.dy[layer], product.dy_bytes);
            assert_ok(sh_execution_multiply(m.execution, 2 * layer, &again));
            assert_memory_not_equal(kept.gradient[layer], other.gradient[layer], kept.bytes[layer]);
            assert_memory_equal(again, kept.gradient[layer], kept.bytes[layer]);
        }
        stop(&m);
        sh_graph_free(graph);
    }
}

static void count_call(void *context, uint32_t parameter, const float *gradient)
{
    int *calls = context;
    calls[parameter]++;
    expect_floats(gradient, 8, odd);
}

/* y = v + w: both gradients are the seed itself, which no node makes. */
static void a_gradient_that_is_given_is_handed_over_too(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id seed = sh_graph_input(graph, eight);
    const sh_value_id v = sh_graph_parameter(graph, "v", eight, SH_ROLE_TRAINED, (sh_initial){0});
    const sh_value_id w = sh_graph_parameter(graph, "w", eight, SH_ROLE_TRAINED, (sh_initial){0});
    sh_graph_differentiate(graph, apply(graph, SH_OP_add, v, w), seed);
    float a[8] = {0}, b[8] = {0};
    int calls[2] = {0};
    machine m = start(graph, &(sh_backend_list){{&sh_portable_backend}, 1}, (float *const[]){a, b});
    fill(sh_execution_input(m.execution, 0), odd);
    assert_ok(sh_execution_prepare(m.execution));
    assert_ok(sh_execution_run(m.execution, count_call, calls));
    assert_int_equal(calls[0], 1);
    assert_int_equal(calls[1], 1);
    stop(&m);
    sh_graph_free(graph);
}

/* ---- real models ----------------------------------------------------------------------------- */

static void sum_up(void *context, uint32_t parameter, const float *gradient)
{
    double *sum = context;
    *sum += (double)(parameter + 1) * (double)gradient[0];
}

/* Nothing is written beyond the memory that was announced, and what it held before is of no
 * meaning: every backend, training and evaluation, twice each with other garbage. */
static void models_run_within_their_memory(void **state)
{
    (void)state;
    const sh_model_options options = {.spec = "lenet", .problem = {1, 28, 28, 10}};
    for (const sh_backend *const *all = sh_backend_all(); *all != NULL; all++)
        for (int mode = 0; mode < 2 && (*all)->available(); mode++) {
            sh_graph *graph;
            sh_backend_list backends;
            journal_clear();
            assert_ok(sh_model_build(&graph, &options, 3, (sh_model_mode)mode));
            assert_ok(sh_backend_choose(&backends, (*all)->name));
            float *weights = malloc(sh_model_weights(graph) * sizeof *weights), *parameters[16];
            sh_model_initialise(graph, 1, weights);
            assert_in_range(graph->parameter_count, 1, 16);
            for (size_t i = 0, at = 0; i < graph->parameter_count; i++) {
                parameters[i] = weights + at;
                at += sh_shape_count(&sh_graph_type(graph, graph->parameters[i].value)->shape);
            }
            machine m = start(graph, &backends, parameters);
            double sums[2] = {0};
            for (int i = 0; i < 2; i++) {
                memset(m.lane + GUARD_BYTES, i == 0 ? 0xff : 0x11,
                       sh_program_lane_bytes(m.program));
                assert_ok(sh_execution_prepare(m.execution));
                memset(sh_execution_input(m.execution, 0), 0, 3 * 28 * 28 * sizeof(float));
                memset(sh_execution_input(m.execution, 1), 0, 3 * sizeof(int32_t));
                if (mode == SH_MODEL_TRAIN)
                    memcpy(sh_execution_input(m.execution, 2), odd, 3 * sizeof(float));
                assert_ok(sh_execution_run(m.execution, sum_up, &sums[i]));
                sums[i] += (double)((const float *)sh_execution_output(m.execution, 0))[2];
            }
            assert_true(sums[0] == sums[1]);
            stop(&m);
            free(weights);
            sh_graph_free(graph);
        }
}

/* ---- failures -------------------------------------------------------------------------------- */

/* relu(x) + relu(w) on left and right: 8 instructions, of which some prepare. */
static sh_graph *mixed_graph(void)
{
    sh_graph *graph = new_graph();
    const sh_value_id x = sh_graph_input(graph, eight);
    const sh_value_id w = sh_graph_parameter(graph, "w", eight, SH_ROLE_TRAINED, (sh_initial){0});
    sh_graph_output(graph, apply(graph, SH_OP_add, sh_layer_relu(&(sh_net){.graph = graph}, x),
                                 sh_layer_relu(&(sh_net){.graph = graph}, w)));
    return graph;
}

static void a_failure_anywhere_leaves_nothing_behind(void **state)
{
    (void)state;
    sh_graph *graph = mixed_graph();
    const sh_backend_list backends = {{&left, &right}, 2};
    float weights[8] = {0};
    int instructions = 0;
    sh_status status;
    for (;; instructions++) { /* compiling: each instruction in turn is refused */
        sh_program *program = NULL;
        journal.compiles_left = instructions;
        status = sh_program_compile(&program, graph, &backends);
        sh_program_free(program);
        assert_int_equal(journal.live_states, 0);
        if (status == SH_OK)
            break;
        assert_null(program);
        assert_int_equal(status, SH_LIMIT);
        if (instructions < 2) /* of the first node: its conversion and itself */
            assert_string_equal(sh_message(), "compiling node 0 (relu): no more compiling");
    }
    assert_int_equal(instructions, 10);

    journal_clear();
    machine m = start(graph, &backends, (float *const[]){weights});
    for (int binds = 0; binds < instructions; binds++) { /* binding */
        sh_execution *second = NULL;
        const int live = journal.live_bounds;
        journal.binds_left = binds;
        assert_fails(
            sh_execution_new(&second, m.program, m.lane, m.shared, (float *const[]){weights}),
            SH_NO_MEMORY, "no more binding");
        assert_null(second);
        assert_int_equal(journal.live_bounds, live);
    }
    journal.run_fails = true; /* running: the rest is left out */
    assert_fails(sh_execution_prepare(m.execution), SH_NUMERIC, "a kernel failed");
    expect_journal("c");
    assert_fails(sh_execution_run(m.execution, NULL, NULL), SH_NUMERIC, "a kernel failed");
    expect_journal("c");
    stop(&m);
    sh_graph_free(graph);
    sh_execution_free(NULL);
    sh_program_free(NULL);
}

static void what_nobody_computes_is_refused(void **state)
{
    (void)state;
    sh_graph *graph = mixed_graph();
    sh_program *program = NULL;
    assert_fails(sh_program_compile(&program, graph, &(sh_backend_list){{&right}, 1}),
                 SH_UNSUPPORTED, "compiling node 0 (relu): no backend computes relu");
    assert_fails(sh_program_compile(&program, graph, &(sh_backend_list){{&left}, 1}),
                 SH_UNSUPPORTED, "compiling node 2 (add): no backend computes add");
    graph->nodes[1].op = SH_OP_COUNT;
    assert_fails(sh_program_compile(&program, graph, &(sh_backend_list){{&left, &right}, 2}),
                 SH_INTERNAL, "node 1: operator ");
    sh_graph_failed(graph, sh_fail(SH_INVALID, "the graph was never whole"));
    assert_fails(sh_program_compile(&program, graph, &(sh_backend_list){{&left, &right}, 2}),
                 SH_INVALID, "the graph was never whole");
    assert_null(program);
    sh_graph_free(graph);
}

static void backends_are_chosen_by_name(void **state)
{
    (void)state;
    sh_backend_list list = {.count = 77};
    assert_fails(sh_backend_choose(&list, "abacus"), SH_INVALID,
                 "backend 'abacus' is not available here; there is: ");
    assert_non_null(strstr(sh_message(), "portable"));
    assert_int_equal(list.count, 77); /* untouched */
    for (const sh_backend *const *all = sh_backend_all(); *all != NULL; all++) {
        if (!(*all)->available())
            continue;
        assert_ok(sh_backend_choose(&list, (*all)->name));
        assert_ptr_equal(list.items[0], *all);
        assert_ptr_equal(list.items[list.count - 1], &sh_portable_backend);
        assert_int_equal(list.count, *all == &sh_portable_backend ? 1 : 2);
    }
    sh_backend_list any;
    assert_ok(sh_backend_choose(&list, NULL));
    assert_ok(sh_backend_choose(&any, ""));
    assert_int_equal(any.count, list.count);
    assert_ptr_equal(list.items[list.count - 1], &sh_portable_backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_converted_once_for_each_layout),
        cmocka_unit_test(what_comes_from_weights_alone_is_prepared_once),
        cmocka_unit_test(preparing_leaves_inputs_alone),
        cmocka_unit_test(reshape_costs_nothing),
        cmocka_unit_test(outputs_stay_readable),
        cmocka_unit_test(results_take_the_place_of_what_is_needed_no_more),
        cmocka_unit_test(gradients_are_handed_over_as_soon_as_they_exist),
        cmocka_unit_test(a_gradient_is_made_again_of_its_factors),
        cmocka_unit_test(a_gradient_that_is_given_is_handed_over_too),
        cmocka_unit_test(models_run_within_their_memory),
        cmocka_unit_test(a_failure_anywhere_leaves_nothing_behind),
        cmocka_unit_test(what_nobody_computes_is_refused),
        cmocka_unit_test(backends_are_chosen_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
