/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact sum (docs/arithmetic.md, train/sum_kernels.h): adds a tensor's gradients of all grains,
 * as 32-bit integers, to `sum`. One item per element. facts [grains, 2]: the magnitude bits of a
 * grain's largest finite element, and the number of non-finite ones. A group first finds its own
 * maxima, for some grains at a time. `step` is the distance between gradients of grains.
 */
#define GRAINS_AT_ONCE 64

KERNEL(add_gradients)
(const uint count, const uint grains, const uint step, const float unit,
 GLOBAL const float *gradient, GLOBAL uint *sum, volatile GLOBAL uint *facts)
{
    GROUP_MEMORY uint top[GRAINS_AT_ONCE];
    const uint element = GROUP_X * GROUP_ITEMS + ITEM;
    uint total = 0;
    for (uint first = 0; first < grains; first += GRAINS_AT_ONCE) {
        const uint end = least(grains, first + GRAINS_AT_ONCE);
        if (ITEM < GRAINS_AT_ONCE)
            top[ITEM] = 0;
        BARRIER();
        for (uint grain = first; grain < end && element < count; grain++) {
            const uint bits = AS_UINT(gradient[grain * step + element]);
            const uint positive = bits & 0x7fffffffu;
            if (positive >= 0x7f800000u) {
                add_to(facts + 2 * grain + 1, 1);
                continue;
            }
            float m = AS_FLOAT(positive) * unit;
            m = m < 2147483520.0f ? m : 2147483520.0f;
            const float rounded = (m + 8388608.0f) - 8388608.0f;
            const uint whole = (uint)(int)(m < 8388608.0f ? rounded : m);
            total += bits >> 31 ? 0u - whole : whole;
            if (positive > *(volatile GROUP_MEMORY uint *)&top[grain - first])
                raise_in_group(&top[grain - first], positive);
        }
        BARRIER();
        if (ITEM < end - first && top[ITEM] > 0)
            raise_to(facts + 2 * (first + ITEM), top[ITEM]);
        BARRIER();
    }
    if (element < count)
        sum[element] += total;
}
