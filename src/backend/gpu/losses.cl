/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of logits [samples, middle]; an item per sample. */
KERNEL(cross_entropy)
(WORK, GLOBAL const float *logits, GLOBAL const int *labels, GLOBAL float *loss)
{
    GRAIN_AND_ELEMENT
    const uint K = w->middle;
    logits += grain * w->step[0] + element * K;
    const float most = largest_of(logits, K, 1);
    const float log_of_sum = log_of(exp_sum(logits, K, 1, most));
    float expected = logits[labels[grain * w->step[1] + element]] - most;
    if (w->number > 0.0f) {
        const float mean = DIVIDE(sum_above(logits, K, 1, most), (float)K);
        expected = (1.0f - w->number) * expected + w->number * mean;
    }
    loss[at] = log_of_sum - expected;
}

KERNEL(cross_entropy_grad)
(WORK, GLOBAL const float *logits, GLOBAL const int *labels, GLOBAL const float *dloss,
 GLOBAL float *dlogits)
{
    GRAIN_AND_ELEMENT
    const uint K = w->middle;
    logits += grain * w->step[0] + element * K;
    dlogits += at * K;
    const float most = largest_of(logits, K, 1), sum = exp_sum(logits, K, 1, most);
    const float everywhere = DIVIDE(w->number, (float)K), on_label = 1.0f - w->number;
    const int label = labels[grain * w->step[1] + element];
    const float d = dloss[grain * w->step[2] + element];
    for (uint k = 0; k < K; k++) {
        const float expected = (int)k == label ? on_label : 0.0f;
        dlogits[k] = d * (DIVIDE(exp_of(logits[k] - most), sum) - expected - everywhere);
    }
}

KERNEL(argmax)(WORK, GLOBAL const float *logits, GLOBAL int *index)
{
    GRAIN_AND_ELEMENT
    logits += grain * w->step[0] + element * w->middle;
    uint best = 0;
    for (uint k = 1; k < w->middle; k++)
        best = logits[k] > logits[best] ? k : best;
    index[at] = (int)best;
}

/* By label: log(1 + exp(-|x|)) avoids overflow. Blocks of 256 terms. */
KERNEL(binary_cross_entropy)
(WORK, GLOBAL const float *logits, GLOBAL const float *targets, GLOBAL float *loss)
{
    GRAIN_AND_ELEMENT
    const uint K = w->middle;
    logits += grain * w->step[0] + element * K;
    targets += grain * w->step[1] + element * K;
    float sum = 0.0f;
    for (uint first = 0; first < K; first += 256) {
        const uint end = least(K, first + 256);
        float part[16];
        for (uint p = 0; p < 16; p++)
            part[p] = 0.0f;
        for (uint k = first; k < end; k += 16)
            for (uint p = 0; p < 16; p++)
                if (k + p < end) {
                    const float x = logits[k + p], product = x * targets[k + p];
                    const float above = x < 0.0f ? 0.0f : x;
                    part[p] += (above - product) + log_of(1.0f + exp_of(x < 0.0f ? x : -x));
                }
        sum += sum_of_parts(part);
    }
    loss[at] = DIVIDE(sum, (float)K);
}

KERNEL(binary_cross_entropy_grad)
(WORK, GLOBAL const float *logits, GLOBAL const float *targets, GLOBAL const float *dloss,
 GLOBAL float *dlogits)
{
    GRAIN_AND_ELEMENT
    const float s = sigmoid_of(logits[grain * w->step[0] + element]);
    dlogits[at] = dloss[grain * w->step[2] + element / w->middle] *
                  DIVIDE(s - targets[grain * w->step[1] + element], (float)w->middle);
}

KERNEL(mse)(WORK, GLOBAL const float *predictions, GLOBAL const float *targets, GLOBAL float *loss)
{
    GRAIN_AND_ELEMENT
    const uint P = w->middle;
    loss[at] = (float)(wide_sum(WIDE_DISTANCE, predictions + grain * w->step[0] + element * P,
                                targets + grain * w->step[1] + element * P, P, 0.0) /
                       (double)P);
}

KERNEL(mse_grad)
(WORK, GLOBAL const float *predictions, GLOBAL const float *targets, GLOBAL const float *dloss,
 GLOBAL float *d)
{
    GRAIN_AND_ELEMENT
    d[at] = DIVIDE(2.0f, (float)w->middle) *
            (predictions[grain * w->step[0] + element] - targets[grain * w->step[1] + element]) *
            dloss[grain * w->step[2] + element / w->middle];
}

/* db of scale: the double sum of dy x over `inner` elements. */
KERNEL(scale_grad)(WORK, GLOBAL const float *dy, GLOBAL const float *x, GLOBAL float *db)
{
    GRAIN_AND_ELEMENT
    db[at] = (float)wide_sum(WIDE_PRODUCTS, dy + grain * w->step[0] + element * w->inner,
                             x + grain * w->step[1] + element * w->inner, w->inner, 0.0);
}
