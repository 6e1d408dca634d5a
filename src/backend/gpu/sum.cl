/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact sum (docs/arithmetic.md, train/sum_kernels.h): a tensor's gradients of all grains, as
 * integers of 32 bits, added to `sum`. An item an element. facts [grains, 2]: the magnitude bits of
 * a grain's largest finite element, and how many are not finite. `step` elements lie between a
 * grain's gradient and the next one's.
 */
KERNEL(add_gradients)
(const uint count, const uint grains, const uint step, const float unit,
 GLOBAL const float *gradient, GLOBAL uint *sum, volatile GLOBAL uint *facts)
{
    const uint element = GROUP_X * GROUP_ITEMS + ITEM;
    if (element >= count)
        return;
    uint total = 0;
    for (uint grain = 0; grain < grains; grain++) {
        const uint bits = AS_UINT(gradient[grain * step + element]), positive = bits & 0x7fffffffu;
        if (positive >= 0x7f800000u) {
            add_to(facts + 2 * grain + 1, 1);
            continue;
        }
        float m = AS_FLOAT(positive) * unit;
        m = m < 2147483520.0f ? m : 2147483520.0f;
        const float rounded = (m + 8388608.0f) - 8388608.0f;
        const uint whole = (uint)(int)(m < 8388608.0f ? rounded : m);
        total += bits >> 31 ? 0u - whole : whole;
        if (positive > facts[2 * grain])
            raise_to(facts + 2 * grain, positive);
    }
    sum[element] += total;
}
