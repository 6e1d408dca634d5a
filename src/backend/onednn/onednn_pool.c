/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max pooling and its gradient.
 *
 * It works in the layout that its input has. What the library leaves for the gradient, its
 * workspace, is the value `choice`; the layout of that describes the whole operation, so that the
 * gradient sees which forward pass it belongs to, and that it was this backend's. Both are decided
 * together, at the forward pass: where the library has no generated kernel for one, neither is
 * taken.
 */
#include "backend/onednn/primitive.h"

/* What the layout of `choice` describes. */
typedef struct pooling {
    dnnl_memory_desc_t workspace; /* first: this is what makes it a layout */
    dnnl_memory_desc_t x, y;
} pooling;

/* The window of an operation in the library's words. */
typedef struct window {
    dnnl_dims_t kernel, stride, padding;
} window;

static window window_of(const sh_attributes *a)
{
    window w = {0};
    for (int i = 0; i < 2; i++) {
        w.kernel[i] = (dnnl_dim_t)a->kernel[i];
        w.stride[i] = (dnnl_dim_t)a->stride[i];
        w.padding[i] = (dnnl_dim_t)a->padding[i];
    }
    return w;
}

static sh_status choose_forward(dnnl_primitive_desc_t *chosen, const window *w,
                                const dnnl_memory_desc_t *x, const dnnl_memory_desc_t *y)
{
    dnnl_pooling_desc_t operation;
    const dnnl_status_t status =
        dnnl_pooling_forward_desc_init(&operation, dnnl_forward_training, dnnl_pooling_max, x, y,
                                       w->stride, w->kernel, w->padding, w->padding);
    *chosen = NULL;
    if (sh_onednn_lacks(status))
        return SH_OK;
    SH_TRY(sh_onednn_check(status, "describing max_pool"));
    return sh_onednn_choose(chosen, &operation, NULL);
}

/* The gradients lie as what they are of. */
static sh_status choose_backward(dnnl_primitive_desc_t *chosen, const window *w,
                                 const dnnl_memory_desc_t *x, const dnnl_memory_desc_t *y,
                                 const_dnnl_primitive_desc_t forward)
{
    dnnl_pooling_desc_t operation;
    const dnnl_status_t status = dnnl_pooling_backward_desc_init(
        &operation, dnnl_pooling_max, x, y, w->stride, w->kernel, w->padding, w->padding);
    *chosen = NULL;
    if (sh_onednn_lacks(status))
        return SH_OK;
    SH_TRY(sh_onednn_check(status, "describing max_pool_grad"));
    return sh_onednn_choose(chosen, &operation, forward);
}

static bool is_generated(const_dnnl_primitive_desc_t chosen)
{
    return chosen != NULL && sh_onednn_is(chosen, "jit");
}

/* The md of the node's input as it lies; false where it cannot be the library's. */
static bool input_md(dnnl_memory_desc_t *x, const sh_compiler *compiler, sh_value_id value)
{
    const sh_layout layout = sh_compiler_layout(compiler, value);
    if (layout.owner != &sh_onednn_backend)
        return sh_onednn_md(x, &sh_graph_type(sh_compiler_graph(compiler), value)->shape,
                            dnnl_nchw);
    *x = *(const dnnl_memory_desc_t *)layout.description;
    return true;
}

/* *chosen = NULL where the node is not to be taken; else fills `p`. */
static sh_status choose(dnnl_primitive_desc_t *chosen, pooling *p, const window *w,
                        const sh_shape *y_shape)
{
    dnnl_memory_desc_t any;
    dnnl_primitive_desc_t backward = NULL;
    *chosen = NULL;
    if (!sh_onednn_md(&any, y_shape, dnnl_format_tag_any))
        return SH_OK;
    SH_TRY(choose_forward(chosen, w, &p->x, &any));
    if (is_generated(*chosen)) {
        p->y = *sh_onednn_wanted(*chosen, DNNL_ARG_DST);
        p->workspace = *sh_onednn_wanted(*chosen, DNNL_ARG_WORKSPACE);
        const sh_status status = choose_backward(&backward, w, &p->x, &p->y, *chosen);
        if (status != SH_OK) {
            sh_onednn_drop(chosen);
            return status;
        }
    }
    if (!is_generated(backward))
        sh_onednn_drop(chosen);
    sh_onednn_drop(&backward);
    return SH_OK;
}

sh_status sh_onednn_max_pool(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    const window w = window_of(&node->attributes);
    dnnl_primitive_desc_t chosen;
    pooling p;
    sh_layout choice;
    if (!input_md(&p.x, compiler, node->in[0]))
        return SH_OK;
    SH_TRY(
        choose(&chosen, &p, &w, &sh_graph_type(sh_compiler_graph(compiler), node->out[0])->shape));
    if (chosen == NULL)
        return SH_OK;
    *taken = true;
    const sh_status status =
        sh_onednn_layout(compiler, &choice, (const dnnl_memory_desc_t *)&p, sizeof p);
    if (status != SH_OK) {
        sh_onednn_drop(&chosen);
        return status;
    }
    return sh_onednn_emit(compiler, node, chosen, &choice);
}

sh_status sh_onednn_max_pool_grad(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    const window w = window_of(&node->attributes);
    const sh_layout choice = sh_compiler_layout(compiler, node->in[1]);
    if (choice.owner != &sh_onednn_backend)
        return SH_OK; /* portable's forward pass */
    const pooling *p = choice.description;
    dnnl_primitive_desc_t forward, backward = NULL;
    SH_TRY(choose_forward(&forward, &w, &p->x, &p->y));
    sh_status status = SH_OK;
    if (forward != NULL)
        status = choose_backward(&backward, &w, &p->x, &p->y, forward);
    sh_onednn_drop(&forward);
    SH_TRY(status);
    if (backward == NULL)
        return sh_fail(SH_INTERNAL, "oneDNN: max_pool_grad is lacking where max_pool is not");
    *taken = true;
    return sh_onednn_emit(compiler, node, backward, &choice);
}
