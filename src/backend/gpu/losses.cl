/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of logits [samples, middle]; an item a sample. */
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
