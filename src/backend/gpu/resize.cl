/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing of images (docs/arithmetic.md): an output is made of taps (weighted positions) on each
 * axis. */
typedef struct taps {
    uint count, at[4];
    float weight[4];
} taps;

INLINE float resize_position(const sh_gpu_work *w, uint axis, uint output)
{
    const float i = (float)output, scale = w->scale[axis];
    const uint from = w->image[axis], made = w->windows[axis];
    const float half_pixel = DIVIDE(i + 0.5f, scale) - 0.5f;
    switch (w->position) {
    case RESIZE_HALF_PIXEL_SYMMETRIC:
        return 0.5f * (float)from * (1.0f - DIVIDE((float)made, scale * (float)from)) + half_pixel;
    case RESIZE_PYTORCH_HALF_PIXEL:
        return made == 1 ? 0.0f : half_pixel;
    case RESIZE_ASYMMETRIC:
        return DIVIDE(i, scale);
    case RESIZE_ALIGN_CORNERS:
        return made == 1 ? 0.0f : DIVIDE(i * (float)(from - 1), (float)(made - 1));
    default:
        return half_pixel;
    }
}

/* The position nearest to `whole`. */
INLINE uint nearest_inside(float whole, uint extent)
{
    if (!(whole > 0.0f))
        return 0;
    return whole < (float)(extent - 1) ? (uint)whole : extent - 1;
}

INLINE float cubic_near(float a, float t)
{
    return ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
}

INLINE float cubic_far(float a, float t)
{
    return ((a * t - 5.0f * a) * t + 8.0f * a) * t - 4.0f * a;
}

INLINE void resize_taps(const sh_gpu_work *w, uint axis, uint output, taps *made)
{
    const uint extent = w->image[axis];
    const float p = resize_position(w, axis, output), low = FLOOR(p), d = p - low;
    made->at[0] = nearest_inside(low, extent);
    made->weight[0] = 1.0f;
    made->count = 1;
    if (w->method == RESIZE_LINEAR) {
        const bool beside = p < 0.0f || p > (float)(extent - 1);
        made->count = 2;
        made->weight[0] = beside ? 1.0f : 1.0f - d;
        made->at[1] = nearest_inside(low + 1.0f, extent);
        made->weight[1] = beside ? 0.0f : d;
    } else if (w->method == RESIZE_CUBIC) {
        const float a = w->number;
        float sum = 0.0f;
        made->count = 4;
        made->weight[0] = cubic_far(a, d + 1.0f);
        made->weight[1] = cubic_near(a, d);
        made->weight[2] = cubic_near(a, 1.0f - d);
        made->weight[3] = cubic_far(a, 2.0f - d);
        for (uint i = 0; i < 4; i++) {
            const float at = low + ((float)i - 1.0f);
            made->at[i] = nearest_inside(at, extent);
            if (w->inside && (at < 0.0f || at > (float)(extent - 1)))
                made->weight[i] = 0.0f;
            sum += made->weight[i];
        }
        for (uint i = 0; i < 4; i++)
            made->weight[i] = w->inside ? DIVIDE(made->weight[i], sum) : made->weight[i];
    } else {
        const bool up = w->method == RESIZE_ROUND_DOWN ? d > 0.5f
                        : w->method == RESIZE_ROUND_UP ? d >= 0.5f
                                                       : w->method == RESIZE_CEIL && d > 0.0f;
        made->at[0] = nearest_inside(up ? low + 1.0f : low, extent);
    }
}

KERNEL(resize)(WORK, GLOBAL const float *x, GLOBAL float *y)
{
    GRAIN_AND_ELEMENT
    const uint positions = w->windows[0] * w->windows[1];
    taps rows, columns;
    resize_taps(w, 0, element % positions / w->windows[1], &rows);
    resize_taps(w, 1, element % w->windows[1], &columns);
    x += grain * w->step[0] + element / positions * (w->image[0] * w->image[1]);
    float sum = 0.0f;
    for (uint i = 0; i < rows.count; i++)
        for (uint j = 0; j < columns.count; j++) {
            const float part =
                x[rows.at[i] * w->image[1] + columns.at[j]] * (rows.weight[i] * columns.weight[j]);
            sum = i + j > 0 ? sum + part : part;
        }
    y[at] = sum;
}

KERNEL(resize_grad)(WORK, GLOBAL const float *dy, GLOBAL float *dx)
{
    GRAIN_AND_ELEMENT
    const uint area = w->image[0] * w->image[1];
    const uint line = element % area / w->image[1], column = element % w->image[1];
    dy += grain * w->step[0] + element / area * (w->windows[0] * w->windows[1]);
    float sum = 0.0f;
    for (uint p = 0; p < w->windows[0]; p++) {
        taps rows, columns;
        bool sees = false;
        resize_taps(w, 0, p, &rows);
        for (uint i = 0; i < rows.count; i++)
            sees = sees || rows.at[i] == line;
        for (uint q = 0; q < w->windows[1] && sees; q++) {
            resize_taps(w, 1, q, &columns);
            for (uint i = 0; i < rows.count; i++)
                for (uint j = 0; j < columns.count; j++)
                    if (rows.at[i] == line && columns.at[j] == column)
                        sum += dy[p * w->windows[1] + q] * (rows.weight[i] * columns.weight[j]);
        }
    }
    dx[at] = sum;
}
