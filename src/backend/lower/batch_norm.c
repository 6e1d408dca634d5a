/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/lower/lowering.h"
#include "backend/lower/norm_rows.h"

static sh_norm norm_of(const sh_attributes *a, const sh_shape *x, const sh_slab *slab)
{
    const size_t count = sh_shape_count(x) / x->dim[1], each = count / x->dim[0];
    sh_norm norm = sh_norm_of(slab->samples * each, x->dim[1]);
    norm.first = slab->first * each;
    norm.count = count;
    norm.epsilon = a->number;
    norm.activation = a->activation;
    norm.training = a->training;
    return norm;
}

static size_t least_samples(const sh_attributes *a, const sh_type *in)
{
    const sh_shape *x = &in[0].shape;
    const sh_norm norm = norm_of(a, x, &(sh_slab){0, x->dim[0], x->dim[0]});
    const size_t each = norm.rows / x->dim[0];
    return (sh_norm_block(&norm) + each - 1) / each;
}

static size_t scratch_bytes(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)out;
    const sh_shape *x = &in[0].shape;
    const sh_norm norm = norm_of(a, x, &(sh_slab){0, x->dim[0], x->dim[0]});
    return sh_norm_scratch(&norm);
}

static void moments(const sh_call *call)
{
    const sh_norm norm = norm_of(call->attributes, &call->in_type[0].shape, &call->slab);
    sh_norm_moments(call->kernels->variant, &norm, call->in[0], call->out[0], call->out[1],
                    call->scratch);
}

const sh_lowering sh_lower_moments = {
    .run = moments,
    .scratch_bytes = scratch_bytes,
    .layout = SH_LAYOUT_CHANNELS_LAST,
    .by_sample = SH_IN(0),
    .least_samples = least_samples,
};

static void forward(const sh_call *call)
{
    const sh_norm norm = norm_of(call->attributes, &call->in_type[0].shape, &call->slab);
    const sh_norm_channels of = {call->in[1], call->in[2], call->in[3], call->in[4]};
    sh_norm_forward(call->kernels->variant, &norm, call->in[0], &of,
                    call->in_count > 5 ? call->in[5] : NULL, call->out[0], call->scratch);
}

const sh_lowering sh_lower_batch_norm = {
    .run = forward,
    .scratch_bytes = scratch_bytes,
    .layout = SH_LAYOUT_CHANNELS_LAST,
    .by_sample = SH_IN(0) | SH_IN(5) | SH_OUT(0),
};

static void sums(const sh_call *call)
{
    const sh_norm norm = norm_of(call->attributes, &call->in_type[0].shape, &call->slab);
    const sh_norm_channels of = {call->in[2], call->in[3], call->in[4], call->in[5]};
    sh_norm_sums(call->kernels->variant, &norm, call->in[0], call->in[1], &of, call->out[0],
                 call->out[1], call->out[2], call->scratch);
}

const sh_lowering sh_lower_batch_norm_sums = {
    .run = sums,
    .scratch_bytes = scratch_bytes,
    .layout = SH_LAYOUT_CHANNELS_LAST,
    .by_sample = SH_IN(0) | SH_IN(1),
};

static void backward(const sh_call *call)
{
    const sh_norm norm = norm_of(call->attributes, &call->in_type[0].shape, &call->slab);
    const sh_norm_channels of = {call->in[2], call->in[3], call->in[4], call->in[5]};
    sh_norm_backward(call->kernels->variant, &norm, call->in[0], call->in[1], &of, call->in[6],
                     call->out[0], call->scratch);
}

const sh_lowering sh_lower_batch_norm_grad = {
    .run = backward,
    .scratch_bytes = scratch_bytes,
    .layout = SH_LAYOUT_CHANNELS_LAST,
    .by_sample = SH_IN(0) | SH_IN(1) | SH_OUT(0),
};

static void statistic(const sh_call *call)
{
    const float *in = call->in[0], *weights = call->in[1];
    float *out = call->out[0], part = 0;
    for (size_t n = 0; n < call->in_type[1].shape.dim[0]; n++)
        part += weights[n];
    for (size_t c = 0; c < call->in_type[0].shape.dim[0]; c++)
        out[c] = in[c] * (part * call->attributes->number);
}

const sh_lowering sh_lower_statistic = {.run = statistic};
