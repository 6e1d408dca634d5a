/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A primitive is generated once, when the program is compiled, and shared by all lanes: with
 * scratch memory that the caller gives, one primitive may run in many threads at once. What a lane
 * needs of its own, a stream and memory objects that point at the lane's buffers, is made when it
 * binds the program, so that a run is one call of the library.
 *
 * A layout's description is an md, which is a plain value in this version of the library.
 */
#include "backend/onednn/primitive.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* As compiled: constant, shared by all lanes. */
typedef struct shared_call {
    const char *name;
    dnnl_primitive_t primitive;
    uint32_t count;
    struct {
        int arg;
        dnnl_memory_desc_t md;
    } operands[]; /* `count`; an md takes 700 bytes, so there is no room for more */
} shared_call;

/* As bound to one lane's memory. */
typedef struct lane_call {
    dnnl_stream_t stream;
    int count; /* of `args` whose memory exists */
    dnnl_exec_arg_t args[SH_MAX_OPERANDS];
} lane_call;

/* What a node's inputs and outputs are to the library, in their order. */
typedef struct arguments {
    int in[SH_MAX_INPUTS];
    int out[SH_MAX_OUTPUTS]; /* 0: the primitive does not make it */
    bool rows;               /* the md is of rows of channels, transposed ones among them */
} arguments;

static const arguments arguments_of[SH_OP_COUNT] = {
    [SH_OP_conv2d] = {.in = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS}, .out = {DNNL_ARG_DST}},
    [SH_OP_conv2d_grad_input] = {.in = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS},
                                 .out = {DNNL_ARG_DIFF_SRC}},
    [SH_OP_conv2d_grad_weight] = {.in = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST},
                                  .out = {DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS}},
    [SH_OP_linear] = {.in = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS},
                      .out = {DNNL_ARG_DST},
                      .rows = true},
    [SH_OP_linear_grad_input] = {.in = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS},
                                 .out = {DNNL_ARG_DST},
                                 .rows = true},
    [SH_OP_linear_grad_weight] = {.in = {DNNL_ARG_WEIGHTS, DNNL_ARG_SRC},
                                  .out = {DNNL_ARG_DST},
                                  .rows = true},
};

/* Written once, under `made`; constant afterwards. Why they are never freed: onednn.h. */
static struct {
    pthread_once_t made;
    dnnl_engine_t engine;
    dnnl_primitive_attr_t scratch_is_ours;
} library = {.made = PTHREAD_ONCE_INIT};

static void make_library(void)
{
    if (dnnl_primitive_attr_create(&library.scratch_is_ours) != dnnl_success ||
        dnnl_primitive_attr_set_scratchpad_mode(library.scratch_is_ours,
                                                dnnl_scratchpad_mode_user) != dnnl_success ||
        dnnl_engine_create(&library.engine, dnnl_cpu, 0) != dnnl_success)
        library.engine = NULL;
}

dnnl_engine_t sh_onednn_engine(void)
{
    pthread_once(&library.made, make_library);
    return library.engine;
}

sh_status sh_onednn_check(dnnl_status_t status, const char *tried)
{
    if (status == dnnl_success)
        return SH_OK;
    return sh_fail(status == dnnl_out_of_memory ? SH_NO_MEMORY : SH_INTERNAL,
                   "oneDNN: %s: status %d (%s)", tried, (int)status, dnnl_status2str(status));
}

bool sh_onednn_md(dnnl_memory_desc_t *md, const sh_type *type, dnnl_format_tag_t tag)
{
    const sh_shape *shape = &type->shape;
    dnnl_dims_t dims = {0};
    if (sh_shape_count(shape) > INT32_MAX)
        return false;
    for (size_t i = 0; i < shape->rank; i++)
        dims[i] = (dnnl_dim_t)shape->dim[i];
    return dnnl_memory_desc_init_by_tag(md, (int)shape->rank, dims,
                                        type->dtype == SH_U8 ? dnnl_u8 : dnnl_f32,
                                        tag) == dnnl_success;
}

sh_status sh_onednn_choose(dnnl_primitive_desc_t *chosen, const void *operation,
                           const_dnnl_primitive_desc_t forward)
{
    const dnnl_engine_t engine = sh_onednn_engine(); /* first: it makes what is used below */
    dnnl_primitive_desc_t fresh = NULL;
    const dnnl_status_t status =
        dnnl_primitive_desc_create(&fresh, operation, library.scratch_is_ours, engine, forward);
    if (!sh_onednn_lacks(status))
        SH_TRY(sh_onednn_check(status, "choosing an implementation"));
    *chosen = status == dnnl_success ? fresh : NULL;
    return SH_OK;
}

bool sh_onednn_is(const_dnnl_primitive_desc_t chosen, const char *part)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(chosen, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           strstr(name, part) != NULL;
}

void sh_onednn_drop(dnnl_primitive_desc_t *chosen)
{
    if (*chosen != NULL)
        dnnl_primitive_desc_destroy(*chosen);
    *chosen = NULL;
}

/* The md that the implementation wants for an argument; borrowed until the descriptor is freed. */
static const dnnl_memory_desc_t *wanted(const_dnnl_primitive_desc_t chosen, int arg)
{
    return dnnl_primitive_desc_query_md(chosen, dnnl_query_exec_arg_md, arg);
}

/* Row-major without gaps? A dimension of 1 may have any stride: nobody steps along it. */
static bool is_plain(const dnnl_memory_desc_t *md)
{
    dnnl_dim_t stride = 1;
    if (md->format_kind != dnnl_blocked || md->format_desc.blocking.inner_nblks != 0 ||
        md->offset0 != 0 || md->extra.flags != 0)
        return false;
    for (int i = md->ndims - 1; i >= 0; i--) {
        if (md->padded_dims[i] != md->dims[i] ||
            (md->dims[i] != 1 && md->format_desc.blocking.strides[i] != stride))
            return false;
        stride *= md->dims[i];
    }
    return true;
}

sh_status sh_onednn_layout(sh_compiler *compiler, sh_layout *layout, const dnnl_memory_desc_t *md)
{
    if (is_plain(md)) {
        *layout = (sh_layout){.bytes = dnnl_memory_desc_get_size(md)};
        return SH_OK;
    }
    dnnl_memory_desc_t *description = sh_compiler_take(compiler, sizeof *description);
    if (description == NULL)
        return sh_fail_memory(sizeof *description, "a layout");
    *description = *md;
    *layout = (sh_layout){&sh_onednn_backend, description, dnnl_memory_desc_get_size(md)};
    return SH_OK;
}

sh_status sh_onednn_channels_last(sh_compiler *compiler, sh_layout *layout, sh_value_id value)
{
    static const dnnl_format_tag_t tags[SH_ONEDNN_CHANNELS_LAST_RANK + 1] = {
        [2] = dnnl_nc, [3] = dnnl_nwc, [4] = dnnl_nhwc, [5] = dnnl_ndhwc};
    const sh_type *type = sh_graph_type(sh_compiler_graph(compiler), value);
    dnnl_memory_desc_t md;
    assert(type->shape.rank >= 2 && type->shape.rank <= SH_ONEDNN_CHANNELS_LAST_RANK);
    if (!sh_onednn_md(&md, type, tags[type->shape.rank]))
        return sh_fail(SH_INTERNAL, "oneDNN: a tensor of another layout is too large for this one");
    return sh_onednn_layout(compiler, layout, &md);
}

static void unbind(void *bound)
{
    lane_call *call = bound;
    for (int i = 0; i < call->count; i++)
        dnnl_memory_destroy(call->args[i].memory);
    if (call->stream != NULL)
        dnnl_stream_destroy(call->stream);
    free(call);
}

static sh_status make_lane_call(lane_call *call, const shared_call *shared, void *const *operands)
{
    SH_TRY(sh_onednn_check(
        dnnl_stream_create(&call->stream, sh_onednn_engine(), dnnl_stream_default_flags),
        "making a stream"));
    for (uint32_t i = 0; i < shared->count; i++) {
        dnnl_exec_arg_t *arg = &call->args[i];
        SH_TRY(sh_onednn_check(dnnl_memory_create(&arg->memory, &shared->operands[i].md,
                                                  sh_onednn_engine(), operands[i]),
                               "making a memory object"));
        arg->arg = shared->operands[i].arg;
        call->count++;
    }
    return SH_OK;
}

static sh_status bind(void **bound, const void *state, void *const *operands)
{
    lane_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return sh_fail_memory(sizeof *call, "a lane's kernel");
    const sh_status status = make_lane_call(call, state, operands);
    if (status != SH_OK) {
        unbind(call);
        return status;
    }
    *bound = call;
    return SH_OK;
}

static sh_status run(const void *state, void *bound, void *const *operands)
{
    const shared_call *shared = state;
    const lane_call *call = bound;
    (void)operands;
    return sh_onednn_check(
        dnnl_primitive_execute(shared->primitive, call->stream, call->count, call->args),
        shared->name);
}

static void release(void *state)
{
    shared_call *shared = state;
    if (shared->primitive != NULL)
        dnnl_primitive_destroy(shared->primitive);
    free(shared);
}

static const sh_kernel kernel = {
    .bind = bind, .run_bound = run, .unbind = unbind, .release = release};

/* An instruction in the making. */
typedef struct draft {
    shared_call *shared;
    sh_buffer_id buffers[SH_MAX_OPERANDS];
} draft;

static void add_operand(draft *d, int arg, const dnnl_memory_desc_t *md, sh_buffer_id buffer)
{
    assert(d->shared->count < SH_MAX_OPERANDS);
    d->shared->operands[d->shared->count].arg = arg;
    d->shared->operands[d->shared->count].md = *md;
    d->buffers[d->shared->count++] = buffer;
}

static sh_status start_draft(draft *d, const char *name)
{
    const size_t bytes = sizeof *d->shared + SH_MAX_OPERANDS * sizeof *d->shared->operands;
    d->shared = calloc(1, bytes);
    if (d->shared == NULL)
        return sh_fail_memory(bytes, "a kernel");
    d->shared->name = name;
    return SH_OK;
}

/* Adds scratch, generates the primitive and emits it. */
static sh_status finish_draft(draft *d, sh_compiler *compiler, const_dnnl_primitive_desc_t chosen)
{
    const dnnl_memory_desc_t *scratch = wanted(chosen, DNNL_ARG_SCRATCHPAD);
    const size_t bytes = dnnl_memory_desc_get_size(scratch);
    if (bytes > 0) {
        sh_buffer_id buffer;
        SH_TRY(sh_compiler_scratch(compiler, &buffer, bytes));
        add_operand(d, DNNL_ARG_SCRATCHPAD, scratch, buffer);
    }
    SH_TRY(sh_onednn_check(dnnl_primitive_create(&d->shared->primitive, chosen), d->shared->name));
    const size_t used = sizeof *d->shared + d->shared->count * sizeof *d->shared->operands;
    shared_call *smaller = realloc(d->shared, used);
    shared_call *given = smaller != NULL ? smaller : d->shared;
    d->shared = NULL;
    return sh_compiler_emit(compiler, &kernel, given, d->buffers, given->count);
}

static void discard_draft(draft *d)
{
    if (d->shared != NULL)
        release(d->shared);
}

/* The layout that the implementation wants for one operand of the node. */
static sh_status wanted_layout(sh_compiler *compiler, sh_layout *layout, sh_value_id value,
                               const arguments *args, const dnnl_memory_desc_t *md)
{
    if (!args->rows)
        return sh_onednn_layout(compiler, layout, md);
    if (sh_graph_type(sh_compiler_graph(compiler), value)->shape.rank > 2) /* images */
        return sh_onednn_channels_last(compiler, layout, value);
    *layout = sh_compiler_plain(compiler, value);
    return SH_OK;
}

static sh_status gather_operands(draft *d, sh_compiler *compiler, const sh_node *node,
                                 const arguments *args, const_dnnl_primitive_desc_t chosen)
{
    const dnnl_memory_desc_t *md;
    sh_layout layout;
    sh_buffer_id buffer;
    for (uint32_t i = 0; i < node->input_count; i++) {
        md = wanted(chosen, args->in[i]);
        SH_TRY(wanted_layout(compiler, &layout, node->in[i], args, md));
        SH_TRY(sh_compiler_input(compiler, &buffer, node->in[i], &layout));
        add_operand(d, args->in[i], md, buffer);
    }
    for (uint32_t i = 0; i < node->output_count && args->out[i] != 0; i++) {
        md = wanted(chosen, args->out[i]);
        if (md->ndims == 0) /* the primitive was made without it */
            continue;
        SH_TRY(wanted_layout(compiler, &layout, node->out[i], args, md));
        SH_TRY(sh_compiler_output(compiler, &buffer, node->out[i], &layout));
        add_operand(d, args->out[i], md, buffer);
    }
    return SH_OK;
}

sh_status sh_onednn_emit_as(sh_compiler *compiler, const sh_node *node, sh_op op,
                            dnnl_primitive_desc_t chosen)
{
    draft d = {0};
    sh_status status;
    SH_TRY_DONE(start_draft(&d, sh_op_about(node->op)->name));
    SH_TRY_DONE(gather_operands(&d, compiler, node, &arguments_of[op], chosen));
    SH_TRY_DONE(finish_draft(&d, compiler, chosen));
done:
    sh_onednn_drop(&chosen);
    discard_draft(&d);
    return status;
}

sh_status sh_onednn_emit(sh_compiler *compiler, const sh_node *node, dnnl_primitive_desc_t chosen)
{
    return sh_onednn_emit_as(compiler, node, node->op, chosen);
}

bool sh_onednn_same_layout(const sh_layout *a, const sh_layout *b)
{
    return dnnl_memory_desc_equal(a->description, b->description) == 1;
}

/* The md of a layout; plain takes its dimensions from the other side of the conversion, which may
 * see the same elements with one dimension more (groups of weights). */
static sh_status layout_md(dnnl_memory_desc_t *md, const sh_layout *layout, const sh_layout *other)
{
    if (layout->owner == &sh_onednn_backend) {
        memcpy(md, layout->description, sizeof *md);
        return SH_OK;
    }
    dnnl_memory_desc_t like;
    dnnl_dims_t strides = {0};
    memcpy(&like, other->description, sizeof like);
    for (int i = like.ndims - 1, next = 1; i >= 0; next *= (int)like.dims[i--])
        strides[i] = next;
    return sh_onednn_check(
        dnnl_memory_desc_init_by_strides(md, like.ndims, like.dims, like.data_type, strides),
        "describing a layout");
}

sh_status sh_onednn_convert(sh_compiler *compiler, sh_value_id value, sh_buffer_id from,
                            const sh_layout *from_layout, sh_buffer_id to,
                            const sh_layout *to_layout)
{
    const dnnl_engine_t engine = sh_onednn_engine(); /* first: it makes what is used below */
    dnnl_memory_desc_t from_md, to_md;
    dnnl_primitive_desc_t chosen = NULL;
    draft d = {0};
    sh_status status;
    (void)value;
    SH_TRY(layout_md(&from_md, from_layout, to_layout));
    SH_TRY(layout_md(&to_md, to_layout, from_layout));
    SH_TRY_DONE(start_draft(&d, "reorder"));
    SH_TRY_DONE(
        sh_onednn_check(dnnl_reorder_primitive_desc_create(&chosen, &from_md, engine, &to_md,
                                                           engine, library.scratch_is_ours),
                        "reorder"));
    add_operand(&d, DNNL_ARG_FROM, &from_md, from);
    add_operand(&d, DNNL_ARG_TO, &to_md, to);
    SH_TRY_DONE(finish_draft(&d, compiler, chosen));
done:
    sh_onednn_drop(&chosen);
    discard_draft(&d);
    return status;
}
