/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels-last images: x [N, H, W, G C], y [N, P, Q, G O], G groups. Each result is a sum of
 * products (kernel/product.h), in ascending order, over
 *
 *     y    row, column and channel of the window
 *     dx   row, column and channel of dy whose window contains the position
 *     dw   sample, row and column of dy
 *
 * Positions outside of the image are skipped, except that in dw columns outside count as +0: the
 * image is copied to a *frame* with zeros left and right, so one product covers all columns of a
 * window.
 *
 * Outputs with the same weights are computed together; in dx, these are positions that differ by
 * multiples of the stride. Each such class is a convolution with a part of the weights.
 *
 * Weights are packed in the order of use, except for dx of 1x1 windows. If each channel is a group,
 * small windows use kernel/depthwise.h.
 */
#include <string.h>

#include "backend/lower/lowering.h"

/* A block of positions in dw fits the cache, and pays for loading the partial sum. */
#define BLOCK_FLOATS ((size_t)32768)
#define LEAST_BLOCK ((size_t)64)

#define BAND_FLOATS ((size_t)8192)

#define NEIGHBOURS 8

typedef struct conv {
    const sh_attributes *a;
    size_t images, groups;
    size_t C, O; /* of a group */
    size_t in[2], kernel[2], out[2];
} conv;

static conv conv_of(const sh_attributes *a, const sh_type *x, const sh_type *w, const sh_type *y)
{
    const size_t *in = x->shape.dim, *kernel = w->shape.dim, *out = y->shape.dim;
    return (conv){
        .a = a,
        .images = in[0],
        .groups = a->groups,
        .C = kernel[1],
        .O = kernel[0] / a->groups,
        .in = {in[2], in[3]},
        .kernel = {kernel[2], kernel[3]},
        .out = {out[2], out[3]},
    };
}

static conv forward_of(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    return conv_of(a, &in[0], &in[1], &out[0]);
}

static conv grad_input_of(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    return conv_of(a, &out[0], &in[1], &in[0]);
}

static conv grad_weight_of(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    return conv_of(a, &in[0], &out[0], &in[1]);
}

static bool is_depthwise(const conv *g)
{
    return g->groups > 1 && g->C == 1 && g->O == 1 && g->kernel[0] <= SH_DEPTHWISE_MAX &&
           g->kernel[1] <= SH_DEPTHWISE_MAX;
}

static sh_depthwise depthwise_of(const conv *g)
{
    sh_depthwise d = {.images = g->images, .channels = g->groups};
    for (int i = 0; i < 2; i++) {
        d.in[i] = g->in[i];
        d.out[i] = g->out[i];
        d.kernel[i] = g->kernel[i];
        d.stride[i] = g->a->stride[i];
        d.dilation[i] = g->a->dilation[i];
        d.padding[i] = g->a->padding[i];
    }
    return d;
}

/* Whether output i sees only position i. */
static bool is_pointwise(const conv *g)
{
    return g->kernel[0] * g->kernel[1] == 1 && g->in[0] == g->out[0] && g->in[1] == g->out[1] &&
           g->a->stride[0] * g->a->stride[1] == 1;
}

/* --- Frames -------------------------------------------------------------------------------- */

/* Zeros left and right reach as far as windows; extents are in columns. */
typedef struct frame {
    size_t channels, rows, image; /* image: its columns */
    size_t before, columns;
    bool none; /* the image is the frame */
} frame;

static frame frame_for_windows(const conv *g)
{
    const size_t reach =
        (g->out[1] - 1) * g->a->stride[1] + (g->kernel[1] - 1) * g->a->dilation[1] + 1;
    frame f = {.channels = g->groups * g->C,
               .rows = g->in[0],
               .image = g->in[1],
               .before = g->a->padding[1]};
    f.columns = f.before + f.image > reach ? f.before + f.image : reach;
    f.none = f.columns == f.image;
    return f;
}

static size_t frame_floats(const frame *f)
{
    return f->none ? 0 : (f->rows * f->columns * f->channels + 15) / 16 * 16;
}

static void frame_clear(const frame *f, float *framed)
{
    memset(framed, 0, frame_floats(f) * sizeof *framed);
}

static const float *frame_put(const frame *f, const float *image, float *framed)
{
    if (f->none)
        return image;
    const size_t row = f->image * f->channels, step = f->columns * f->channels;
    float *const to = framed + f->before * f->channels;
    for (size_t h = 0; h < f->rows; h++)
        memcpy(to + h * step, image + h * row, row * sizeof *to);
    return framed;
}

/* Of `count` rows at first + i step, sets `range` to those inside an image of `rows` rows. */
static void rows_inside(ptrdiff_t first, ptrdiff_t step, size_t count, size_t rows, size_t range[2])
{
    range[0] = 0;
    while (range[0] < count && first + (ptrdiff_t)range[0] * step < 0)
        range[0]++;
    range[1] = range[0];
    while (range[1] < count && first + (ptrdiff_t)range[1] * step < (ptrdiff_t)rows)
        range[1]++;
}

/* --- Windows: y and dx --------------------------------------------------------------------- */

/*
 * Output i is at first + i step, and through weight t sees position origin + i advance + t pitch of
 * the other image, if that exists.
 */
typedef struct axis {
    size_t outputs, first, step, taps, extent;
    ptrdiff_t origin, advance, pitch;
} axis;

/* Channels are per group. */
typedef struct windows {
    axis axes[2];
    size_t images, groups, from_channels, to_channels;
    size_t from_columns, from_image, to_columns, to_image; /* images: in elements */
    const float *from, *weights, *bias;
    float *to;
} windows;

typedef struct segments {
    sh_segment *starts;
    size_t (*ranges)[2];
} segments;

static size_t segments_bytes(const conv *g)
{
    const size_t taps = g->kernel[0] * g->kernel[1];
    const size_t lines = g->in[0] > g->out[0] ? g->in[0] : g->out[0];
    return (taps > lines ? taps : lines) * sizeof(sh_segment) + lines * sizeof(size_t[2]);
}

static segments segments_of(const conv *g, void *scratch)
{
    const size_t lines = g->in[0] > g->out[0] ? g->in[0] : g->out[0];
    size_t(*const ranges)[2] = scratch;
    return (segments){.ranges = ranges, .starts = (sh_segment *)(ranges + lines)};
}

static void see(const axis *along, size_t output, size_t range[2])
{
    rows_inside(along->origin + (ptrdiff_t)output * along->advance, along->pitch, along->taps,
                along->extent, range);
}

static void run_columns(const sh_kernels *kernels, const windows *w, const segments *seg,
                        size_t first, size_t end, const size_t taps[2])
{
    const axis *const down = &w->axes[0], *const across = &w->axes[1];
    const size_t C = w->groups * w->from_channels, O = w->groups * w->to_channels;
    const ptrdiff_t row = (ptrdiff_t)(w->from_columns * C);
    const size_t seen = taps[1] - taps[0], panel = sh_panel_width(w->to_channels);
    const size_t joined = w->groups == 1 && across->pitch == 1 ? seen : 1;
    const size_t parts = seen == 0 ? 0 : seen / joined;
    for (size_t r = 0; r < down->taps; r++)
        for (size_t s = 0; s < parts; s++)
            seg->starts[r * parts + s] = (sh_segment){
                .a = (down->origin + (ptrdiff_t)r * down->pitch) * row +
                     (across->origin + (ptrdiff_t)(taps[0] + s) * across->pitch) * (ptrdiff_t)C,
                .b = (r * across->taps + taps[0] + s) * w->from_channels,
            };
    for (size_t line = 0; line < down->outputs; line++) {
        see(down, line, seg->ranges[line]);
        seg->ranges[line][0] *= parts;
        seg->ranges[line][1] *= parts;
    }
    sh_matrix_product p = {
        .a_line = (size_t)(down->advance * row),
        .a_row = (size_t)across->advance * C,
        .a_step = 1,
        .starts = seg->starts,
        .segments = down->taps * parts,
        .ranges = (const size_t(*)[2])seg->ranges,
        .length = joined * w->from_channels,
        .b_row = panel,
        .b_panel = down->taps * across->taps * w->from_channels * panel,
        .b_padded = true,
        .c_line = down->step * w->to_columns * O,
        .c_row = across->step * O,
        .lines = down->outputs,
        .rows = end - first,
        .columns = w->to_channels,
    };
    /* If neighbours are few, a tile has the same column of all images. */
    const bool by_image = end - first < NEIGHBOURS && w->images > end - first;
    const size_t turns = by_image ? end - first : w->images;
    if (by_image) {
        p.a_row = w->from_image;
        p.c_row = w->to_image;
        p.rows = w->images;
    }
    for (size_t i = 0; i < turns; i++)
        for (size_t group = 0; group < w->groups; group++) {
            const size_t image = by_image ? 0 : i, column = first + (by_image ? i : 0);
            p.a = w->from + image * w->from_image + group * w->from_channels +
                  column * (size_t)across->advance * C;
            p.b = w->weights +
                  group * sh_panel_floats(down->taps * across->taps * w->from_channels, p.columns);
            p.c = w->to + image * w->to_image + group * w->to_channels +
                  (down->first * w->to_columns + across->first + column * across->step) * O;
            p.bias = w->bias == NULL ? NULL : w->bias + group * w->to_channels;
            kernels->product(&p);
        }
}

static void run_windows(const sh_kernels *kernels, const windows *w, const segments *seg)
{
    const axis *const across = &w->axes[1];
    size_t taps[2], next[2];
    for (size_t first = 0, end; first < across->outputs; first = end) {
        see(across, first, taps);
        for (end = first + 1; end < across->outputs; end++) {
            see(across, end, next);
            if (next[0] != taps[0] || next[1] != taps[1])
                break;
        }
        run_columns(kernels, w, seg, first, end, taps);
    }
}

/* Weights are packed, or plain [from_channels, to_channels] by group. */
static void run_pointwise(const sh_kernels *kernels, const windows *w, bool packed)
{
    const size_t C = w->from_channels, O = w->to_channels;
    const size_t panel = packed ? sh_panel_width(O) : SH_PANEL;
    for (size_t group = 0; group < w->groups; group++)
        kernels->product(&(sh_matrix_product){
            .a = w->from + group * C,
            .a_row = w->groups * C,
            .a_step = 1,
            .segments = 1,
            .length = C,
            .b = w->weights + group * (packed ? sh_panel_floats(C, O) : C * O),
            .b_row = packed ? panel : O,
            .b_panel = packed ? C * panel : SH_PANEL,
            .b_padded = packed,
            .c = w->to + group * O,
            .c_row = w->groups * O,
            .lines = 1,
            .rows = w->images * (w->from_image / (w->groups * C)),
            .columns = O,
            .bias = w->bias == NULL ? NULL : w->bias + group * O,
        });
}

/* --- Forward ------------------------------------------------------------------------------- */

static void pack_matrix(sh_packing *packing, sh_matrix *at, size_t columns)
{
    at->columns = columns;
    at->width = sh_panel_width(columns);
    at->to = packing->floats;
    packing->floats += sh_panel_floats(at->count[0] * at->count[1] * at->count[2], columns);
}

/* Weights as [R, S, C]. */
static sh_matrix depthwise_matrix(const conv *g)
{
    return (sh_matrix){
        .count = {g->kernel[0], g->kernel[1], 1},
        .step = {(ptrdiff_t)g->kernel[1], 1, 0},
        .columns = g->groups,
        .column_step = g->kernel[0] * g->kernel[1],
        .width = g->groups,
    };
}

/* Weights as [R, S, C, O]. */
static sh_matrix forward_matrix(const conv *g, size_t group)
{
    const size_t taps = g->kernel[0] * g->kernel[1];
    return (sh_matrix){
        .from = group * g->O * g->C * taps,
        .count = {g->kernel[0], g->kernel[1], g->C},
        .step = {(ptrdiff_t)g->kernel[1], 1, (ptrdiff_t)taps},
        .column_step = g->C * taps,
        .columns = g->O,
        .width = g->O,
    };
}

static sh_status pack_depthwise(sh_compiler *compiler, const conv *g, sh_layout *layout)
{
    sh_packing *packing;
    SH_TRY(sh_packing_new(&packing, compiler, 1));
    packing->matrices[0] = depthwise_matrix(g);
    packing->floats = g->groups * g->kernel[0] * g->kernel[1];
    *layout = sh_layout_packed(packing);
    return SH_OK;
}

static sh_status forward_layout(sh_compiler *compiler, const sh_node *node, uint32_t input,
                                sh_layout *layout)
{
    const sh_graph *graph = sh_compiler_graph(compiler);
    if (input != 1)
        return SH_OK;
    const conv g = conv_of(&node->attributes, sh_graph_type(graph, node->in[0]),
                           sh_graph_type(graph, node->in[1]), sh_graph_type(graph, node->out[0]));
    if (is_depthwise(&g))
        return pack_depthwise(compiler, &g, layout);
    sh_packing *packing;
    SH_TRY(sh_packing_new(&packing, compiler, g.groups));
    for (size_t group = 0; group < g.groups; group++) {
        packing->matrices[group] = forward_matrix(&g, group);
        pack_matrix(packing, &packing->matrices[group], g.O);
    }
    *layout = sh_layout_packed(packing);
    return SH_OK;
}

static size_t forward_scratch(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    const conv g = forward_of(a, in, out);
    return is_depthwise(&g) || is_pointwise(&g) ? 0 : segments_bytes(&g);
}

static void forward(const sh_call *call)
{
    const conv g = forward_of(call->attributes, call->in_type, call->out_type);
    const float *x = call->in[0], *w = call->in[1], *b = call->in_count > 2 ? call->in[2] : NULL;
    if (is_depthwise(&g)) {
        const sh_depthwise d = depthwise_of(&g);
        call->kernels->depthwise_forward(&d, x, w, b, call->out[0]);
        return;
    }
    windows all = {
        .images = g.images,
        .groups = g.groups,
        .from_channels = g.C,
        .to_channels = g.O,
        .from_columns = g.in[1],
        .from_image = g.in[0] * g.in[1] * g.groups * g.C,
        .to_columns = g.out[1],
        .to_image = g.out[0] * g.out[1] * g.groups * g.O,
        .from = x,
        .weights = w,
        .bias = b,
        .to = call->out[0],
    };
    if (is_pointwise(&g)) {
        run_pointwise(call->kernels, &all, true);
        return;
    }
    for (int i = 0; i < 2; i++)
        all.axes[i] = (axis){.outputs = g.out[i],
                             .step = 1,
                             .taps = g.kernel[i],
                             .extent = g.in[i],
                             .origin = -(ptrdiff_t)g.a->padding[i],
                             .advance = (ptrdiff_t)g.a->stride[i],
                             .pitch = (ptrdiff_t)g.a->dilation[i]};
    const segments seg = segments_of(&g, call->scratch);
    run_windows(call->kernels, &all, &seg);
}

const sh_lowering sh_lower_conv2d = {
    .run = forward,
    .scratch_bytes = forward_scratch,
    .layout = SH_LAYOUT_CHANNELS_LAST,
    .input_layout = forward_layout,
    .by_sample = SH_IN(0) | SH_OUT(0),
};

/* --- The gradient of the input -------------------------------------------------------------- */

/*
 * The weights along one axis that positions h with (h + padding) mod stride = residue see: last,
 * last - step, ... (`count` of them). Descending, so that positions of dy ascend.
 */
typedef struct taps {
    size_t count, last, step;
} taps;

static taps taps_of(const conv *g, int i, size_t residue)
{
    const size_t stride = g->a->stride[i], dilation = g->a->dilation[i];
    taps t = {.count = 0};
    for (size_t tap = 0; tap < g->kernel[i]; tap++)
        if (tap * dilation % stride == residue) {
            t.step = t.count > 0 ? tap - t.last : 1;
            t.last = tap;
            t.count++;
        }
    return t;
}

/* One class of weights as [R, S, O, C]. */
static sh_matrix class_matrix(const conv *g, size_t group, const taps *rows, const taps *columns)
{
    const size_t S = g->kernel[1], positions = g->kernel[0] * S;
    return (sh_matrix){
        .from = group * g->O * g->C * positions + rows->last * S + columns->last,
        .count = {rows->count, columns->count, g->O},
        .step = {-(ptrdiff_t)(rows->step * S), -(ptrdiff_t)columns->step,
                 (ptrdiff_t)(g->C * positions)},
        .column_step = positions,
    };
}

static sh_status grad_input_layout(sh_compiler *compiler, const sh_node *node, uint32_t input,
                                   sh_layout *layout)
{
    const sh_graph *graph = sh_compiler_graph(compiler);
    if (input != 1)
        return SH_OK;
    const conv g = conv_of(&node->attributes, sh_graph_type(graph, node->out[0]),
                           sh_graph_type(graph, node->in[1]), sh_graph_type(graph, node->in[0]));
    if (is_depthwise(&g))
        return pack_depthwise(compiler, &g, layout);
    if (is_pointwise(&g)) {
        *layout = sh_layout_plain(sh_graph_type(graph, node->in[1]));
        return SH_OK;
    }
    sh_packing *packing;
    SH_TRY(sh_packing_new(&packing, compiler, g.a->stride[0] * g.a->stride[1] * g.groups));
    size_t used = 0;
    for (size_t i = 0; i < g.a->stride[0]; i++)
        for (size_t j = 0; j < g.a->stride[1]; j++)
            for (size_t group = 0; group < g.groups; group++) {
                const taps rows = taps_of(&g, 0, i), columns = taps_of(&g, 1, j);
                packing->matrices[used] = class_matrix(&g, group, &rows, &columns);
                pack_matrix(packing, &packing->matrices[used++], g.C);
            }
    *layout = sh_layout_packed(packing);
    return SH_OK;
}

static size_t grad_input_scratch(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    const conv g = grad_input_of(a, in, out);
    return is_depthwise(&g) || is_pointwise(&g) ? 0 : segments_bytes(&g);
}

/* The positions h of x on one axis with (h + padding) mod stride = residue. */
static axis class_axis(const conv *g, int i, size_t residue)
{
    const size_t stride = g->a->stride[i], padding = g->a->padding[i];
    const ptrdiff_t dilation = (ptrdiff_t)g->a->dilation[i];
    const taps t = taps_of(g, i, residue);
    const size_t first = (residue + stride - padding % stride) % stride;
    axis along = {.first = first, .step = stride, .taps = t.count, .extent = g->out[i]};
    along.outputs = first < g->in[i] ? (g->in[i] - first + stride - 1) / stride : 0;
    along.advance = 1;
    if (t.count > 0) {
        along.origin =
            ((ptrdiff_t)(first + padding) - (ptrdiff_t)t.last * dilation) / (ptrdiff_t)stride;
        along.pitch = (ptrdiff_t)t.step * dilation / (ptrdiff_t)stride;
    }
    return along;
}

static void add_bias(size_t rows, size_t channels, const float *restrict bias, float *restrict y)
{
    for (size_t i = 0; i < rows; i++, y += channels)
        for (size_t c = 0; c < channels; c++)
            y[c] += bias[c];
}

static void grad_input(const sh_call *call)
{
    const conv g = grad_input_of(call->attributes, call->in_type, call->out_type);
    const float *const bias = call->in_count > 2 ? call->in[2] : NULL;
    if (is_depthwise(&g)) {
        const sh_depthwise d = depthwise_of(&g);
        call->kernels->depthwise_input(&d, call->in[0], call->in[1], call->out[0]);
        if (bias != NULL)
            add_bias(g.images * g.in[0] * g.in[1], g.groups, bias, call->out[0]);
        return;
    }
    windows all = {
        .images = g.images,
        .groups = g.groups,
        .from_channels = g.O,
        .to_channels = g.C,
        .from_columns = g.out[1],
        .from_image = g.out[0] * g.out[1] * g.groups * g.O,
        .to_columns = g.in[1],
        .to_image = g.in[0] * g.in[1] * g.groups * g.C,
        .from = call->in[0],
        .weights = call->in[1],
        .bias = bias,
        .to = call->out[0],
    };
    if (is_pointwise(&g)) {
        run_pointwise(call->kernels, &all, false);
        return;
    }
    const segments seg = segments_of(&g, call->scratch);
    for (size_t i = 0; i < g.a->stride[0]; i++)
        for (size_t j = 0; j < g.a->stride[1]; j++) {
            all.axes[0] = class_axis(&g, 0, i);
            all.axes[1] = class_axis(&g, 1, j);
            run_windows(call->kernels, &all, &seg);
            const size_t K = all.axes[0].taps * all.axes[1].taps * g.O;
            all.weights += g.groups * sh_panel_floats(K, g.C);
        }
}

const sh_lowering sh_lower_conv2d_grad_input = {
    .run = grad_input,
    .scratch_bytes = grad_input_scratch,
    .layout = SH_LAYOUT_CHANNELS_LAST,
    .input_layout = grad_input_layout,
    .by_sample = SH_IN(0) | SH_OUT(0),
};

/* --- The gradient of the weights ------------------------------------------------------------ */

static size_t grad_weight_scratch(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    const conv g = grad_weight_of(a, in, out);
    const frame f = frame_for_windows(&g);
    const size_t sums = sh_type_bytes(&out[0]);
    if (is_depthwise(&g))
        return sums;
    return is_pointwise(&g) ? 0 : frame_floats(&f) * sizeof(float) + segments_bytes(&g) + sums;
}

/* The window columns in one product: adjacent elements of a frame. */
static size_t joined_columns(const conv *g)
{
    return g->groups == 1 && g->a->dilation[1] == 1 ? g->kernel[1] : 1;
}

/* Whether vectors run across the outputs: if these are fewer than across the joined columns, or if
 * image rows are not a whole number of chain steps apart, which joined columns need. */
static bool runs_across_outputs(const conv *g)
{
    const size_t seen = joined_columns(g) * g->C;
    if (g->a->stride[0] % g->a->stride[1] != 0)
        return true;
    return seen * ((g->O + 15) / 16) < g->O * ((seen + 15) / 16);
}

/* The order of the sums: [R, S, C, O], or [R, S, O, C] if columns are not joined, or [R, O, S,
 * C]. */
static sh_matrix sums_matrix(const conv *g, size_t group)
{
    const size_t S = g->kernel[1], positions = g->kernel[0] * S;
    sh_matrix m = forward_matrix(g, group);
    if (runs_across_outputs(g))
        return m;
    const bool joined = joined_columns(g) == S;
    m.count[joined ? 1 : 2] = g->O;
    m.step[joined ? 1 : 2] = (ptrdiff_t)(g->C * positions);
    m.count[joined ? 2 : 1] = S;
    m.step[joined ? 2 : 1] = 1;
    m.columns = m.width = g->C;
    m.column_step = positions;
    return m;
}

typedef struct band {
    const float *image, *dy;
    size_t first, end; /* rows of dy */
    bool continues;    /* not the first band of all images */
} band;

/* Continues the sums of one group and window row. */
static void add_window_row(const sh_kernels *kernels, const conv *g, const frame *f, const band *of,
                           sh_segment *starts, size_t group, size_t r, float *sums)
{
    const size_t C = g->groups * g->C, O = g->groups * g->O, joined = joined_columns(g);
    const size_t seen = joined * g->C, stride = g->a->stride[0];
    /* The rows of dy that see row r of the window in the image. */
    const ptrdiff_t above =
        (ptrdiff_t)(of->first * stride + r * g->a->dilation[0]) - (ptrdiff_t)g->a->padding[0];
    size_t range[2];
    rows_inside(above, (ptrdiff_t)stride, of->end - of->first, g->in[0], range);
    const size_t row = range[0] < range[1] ? (size_t)(above + (ptrdiff_t)(range[0] * stride)) : 0;
    const float *const x = of->image + row * f->columns * C + group * g->C;
    const float *const dy = of->dy + (of->first + range[0]) * g->out[1] * O + group * g->O;
    const bool across = runs_across_outputs(g);
    /* Steps of a chain between rows of dy, in dy and in the image. */
    const size_t dy_line = g->out[1], x_line = f->columns * stride / g->a->stride[1];
    for (size_t p = 0; p < range[1] - range[0]; p++)
        starts[p] = across ? (sh_segment){(ptrdiff_t)(p * stride * f->columns * C), p * dy_line}
                           : (sh_segment){(ptrdiff_t)(p * dy_line * O), p * x_line};
    for (size_t s = 0; s < g->kernel[1]; s += joined, sums += seen * g->O)
        kernels->product(&(sh_matrix_product){
            .a = across ? x + s * g->a->dilation[1] * C : dy,
            .a_row = 1,
            .a_step = across ? g->a->stride[1] * C : O,
            .starts = starts,
            .segments = range[1] - range[0],
            .length = g->out[1],
            .b = across ? dy : x + s * g->a->dilation[1] * C,
            .b_row = across ? O : g->a->stride[1] * C,
            .b_panel = SH_PANEL,
            .c = sums,
            .c_row = across ? g->O : seen,
            .lines = 1,
            .rows = across ? seen : g->O,
            .columns = across ? g->O : seen,
            .continues = of->continues,
        });
}

static void add_band(const sh_kernels *kernels, const conv *g, const frame *f, const band *of,
                     sh_segment *starts, float *sums)
{
    for (size_t group = 0; group < g->groups; group++)
        for (size_t r = 0; r < g->kernel[0]; r++, sums += g->kernel[1] * g->C * g->O)
            add_window_row(kernels, g, f, of, starts, group, r, sums);
}

/* The bands of an image stay in the first-level cache for all rows of the window. */
static void add_image(const sh_kernels *kernels, const conv *g, const frame *f, const float *image,
                      const float *dy, sh_segment *starts, bool continues, float *sums)
{
    const size_t row = g->groups * (g->a->stride[0] * f->columns * g->C + g->out[1] * g->O);
    const size_t rows = BAND_FLOATS / row + 1;
    for (size_t p = 0; p < g->out[0]; p += rows) {
        const size_t left = g->out[0] - p;
        const band of = {image, dy, p, p + (left < rows ? left : rows), continues || p > 0};
        add_band(kernels, g, f, &of, starts, sums);
    }
}

static void grad_weight_pointwise(const sh_kernels *kernels, const conv *g, const float *x,
                                  const float *dy, bool continues, float *dw)
{
    const size_t C = g->groups * g->C, O = g->groups * g->O;
    const size_t positions = g->images * g->out[0] * g->out[1];
    size_t block = BLOCK_FLOATS / (C + O);
    if (block < LEAST_BLOCK)
        block = LEAST_BLOCK;
    for (size_t first = 0; first < positions; first += block)
        for (size_t group = 0; group < g->groups; group++)
            kernels->product(&(sh_matrix_product){
                .a = dy + first * O + group * g->O,
                .a_row = 1,
                .a_step = O,
                .segments = 1,
                .length = positions - first < block ? positions - first : block,
                .b = x + first * C + group * g->C,
                .b_row = C,
                .b_panel = SH_PANEL,
                .c = dw + group * g->O * g->C,
                .c_row = g->C,
                .lines = 1,
                .rows = g->O,
                .columns = g->C,
                .continues = continues || first > 0,
            });
}

static void grad_weight(const sh_call *call)
{
    const conv g = grad_weight_of(call->attributes, call->in_type, call->out_type);
    const float *x = call->in[0], *dy = call->in[1];
    const size_t C = g.groups * g.C, O = g.groups * g.O;
    float *dw = call->out[0];
    if (call->out_count > 1)
        sh_sum_rows(call->kernels->variant, g.images * g.out[0] * g.out[1], O, dy, call->out[1]);
    if (is_depthwise(&g)) {
        const sh_depthwise d = depthwise_of(&g);
        const sh_matrix matrix = depthwise_matrix(&g);
        call->kernels->depthwise_weight(&d, x, dy, !sh_call_begins(call), call->scratch);
        if (sh_call_ends(call))
            sh_matrix_unpack(&matrix, call->scratch, dw);
        return;
    }
    if (is_pointwise(&g)) {
        grad_weight_pointwise(call->kernels, &g, x, dy, !sh_call_begins(call), dw);
        return;
    }
    const frame f = frame_for_windows(&g);
    float *const framed = call->scratch;
    const segments seg = segments_of(&g, framed + frame_floats(&f));
    float *const sums = (float *)((char *)(framed + frame_floats(&f)) + segments_bytes(&g));
    if (sh_call_begins(call))
        frame_clear(&f, framed);
    for (size_t n = 0; n < g.images; n++) {
        const float *const image = frame_put(&f, x + n * g.in[0] * g.in[1] * C, framed);
        add_image(call->kernels, &g, &f, image, dy + n * g.out[0] * g.out[1] * O, seg.starts,
                  n > 0 || !sh_call_begins(call), sums);
    }
    for (size_t group = 0; group < g.groups && sh_call_ends(call); group++) {
        const sh_matrix matrix = sums_matrix(&g, group);
        sh_matrix_unpack(&matrix, sums + group * g.kernel[0] * g.kernel[1] * g.C * g.O, dw);
    }
}

const sh_lowering sh_lower_conv2d_grad_weight = {
    .run = grad_weight,
    .scratch_bytes = grad_weight_scratch,
    .layout = SH_LAYOUT_CHANNELS_LAST,
    .plain_outputs = true,
    .by_sample = SH_IN(0) | SH_IN(1),
};
