/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations that backend/gpu/gpu_conformance.c checks. a, b, c [count]; made [PROOFS, count]: the result
 * bits of each operation, in the order of gpu_conformance.c; counters [2]: the sum and maximum of the bits of
 * a.
 */
KERNEL(prove)
(const uint count, GLOBAL const float *in_a, GLOBAL const float *in_b, GLOBAL const float *in_c,
 GLOBAL uint *made, volatile GLOBAL uint *counters)
{
    const uint at = GROUP_X * GROUP_ITEMS + ITEM;
    if (at >= count)
        return;
    const float a = in_a[at], b = in_b[at], c = in_c[at];
    const float positive = AS_FLOAT(AS_UINT(a) & 0x7fffffffu);
    const float m = positive < 2147483520.0f ? positive : 2147483520.0f;
    const float rounded = (m + 8388608.0f) - 8388608.0f;
    made[at] = AS_UINT(FMA(a, b, c));
    made[count + at] = AS_UINT(a * b + c);
    made[2 * count + at] = AS_UINT(a - b);
    made[3 * count + at] = AS_UINT(DIVIDE(a, b));
    made[4 * count + at] = AS_UINT(SQRT(positive));
    made[5 * count + at] = (uint)(int)(m < 8388608.0f ? rounded : m);
    made[6 * count + at] = AS_UINT((float)AS_INT(a));
    made[7 * count + at] = AS_UINT((float)AS_UINT(a));
    made[8 * count + at] = AS_UINT((float)((double)a * (double)b + (double)c));
    made[9 * count + at] = AS_UINT((float)((double)a / (double)b));
    made[10 * count + at] = AS_UINT((float)SQRT_WIDE((double)positive));
    made[11 * count + at] = a < b ? 1u : 0u;
    add_to(counters, AS_UINT(a));
    raise_to(counters + 1, AS_UINT(a));
}
