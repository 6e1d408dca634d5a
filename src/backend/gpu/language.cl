/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The language of the kernels: OpenCL C 1.2 without its library, plus what this file defines.
 * OpenCL drivers compile it with their library; clang compiles it to PTX with NVIDIA's
 * instructions.
 *
 *     KERNEL(double_all)(WORK, GLOBAL const float *x, GLOBAL float *y)
 *     {
 *         GRAIN_AND_ELEMENT                           // returns if there is nothing to do
 *         y[at] = 2.0f * x[grain * w->step[0] + element];
 *     }
 *
 * Every operation rounds once; only FMA fuses. Floats use DIVIDE instead of `/`, which OpenCL
 * drivers may round differently unless asked not to.
 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

typedef uint uint32_t;

#define GLOBAL __global
#define GROUP_MEMORY __local
#define INLINE static inline __attribute__((always_inline))

#ifdef __NVPTX__
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#define SQRT(x) __nvvm_sqrt_rn_f(x)
#define DIVIDE(a, b) __nvvm_div_rn_f(a, b)
#define SQRT_WIDE(x) __nvvm_sqrt_rn_d(x)
#define FLOOR(x) __nvvm_floor_f(x)
#define BARRIER() __syncthreads()
#define AS_FLOAT(x) __builtin_astype(x, float)
#define AS_UINT(x) __builtin_astype(x, uint)
#define AS_INT(x) __builtin_astype(x, int)
#define ITEM ((uint)__nvvm_read_ptx_sreg_tid_x())
#define GROUP_X ((uint)__nvvm_read_ptx_sreg_ctaid_x())
#define GROUP_Y ((uint)__nvvm_read_ptx_sreg_ctaid_y())
#define GROUP_Z ((uint)__nvvm_read_ptx_sreg_ctaid_z())
#define GROUP_ITEMS ((uint)__nvvm_read_ptx_sreg_ntid_x())
#define KERNEL(name) __kernel void gpu_##name
INLINE void raise_to(volatile GLOBAL uint *at, uint value)
{
    __asm__ volatile("red.global.max.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
INLINE void raise_in_group(GROUP_MEMORY uint *at, uint value)
{
    __asm__ volatile("red.shared.max.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
INLINE void lower_in_group(GROUP_MEMORY uint *at, uint value)
{
    __asm__ volatile("red.shared.min.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
INLINE void add_to(volatile GLOBAL uint *at, uint value)
{
    __asm__ volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
#else
#define FMA(a, b, c) fma(a, b, c)
#define SQRT(x) sqrt(x)
#define DIVIDE(a, b) ((a) / (b))
#define SQRT_WIDE(x) sqrt(x)
#define FLOOR(x) floor(x)
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define AS_FLOAT(x) as_float(x)
#define AS_UINT(x) as_uint(x)
#define AS_INT(x) as_int(x)
#define ITEM ((uint)get_local_id(0))
#define GROUP_X ((uint)get_group_id(0))
#define GROUP_Y ((uint)get_group_id(1))
#define GROUP_Z ((uint)get_group_id(2))
#define GROUP_ITEMS ((uint)get_local_size(0))
#define KERNEL(name) __kernel void gpu_##name
INLINE void raise_to(volatile GLOBAL uint *at, uint value)
{
    atomic_max(at, value);
}
INLINE void raise_in_group(volatile GROUP_MEMORY uint *at, uint value)
{
    atomic_max(at, value);
}
INLINE void lower_in_group(volatile GROUP_MEMORY uint *at, uint value)
{
    atomic_min(at, value);
}
INLINE void add_to(volatile GLOBAL uint *at, uint value)
{
    atomic_add(at, value);
}
#endif

#define INFINITE AS_FLOAT(0x7f800000u)
#define NOT_A_NUMBER AS_FLOAT(0x7fc00000u)

/* The first parameter of a kernel. */
#define WORK const sh_gpu_work work

/* The item's element of a grain; returns if there is none. */
#define FIND_ELEMENT                                                                               \
    const uint at = GROUP_X * GROUP_ITEMS + ITEM;                                                  \
    if (at >= w->total)                                                                            \
        return;                                                                                    \
    const uint grain = at / w->count, element = at % w->count;

#define GRAIN_AND_ELEMENT                                                                          \
    const sh_gpu_work *const w = &work;                                                            \
    FIND_ELEMENT

/* Element `d` of four, for a constant d. */
#define NTH(four, d) ((d) == 0 ? (four).x : (d) == 1 ? (four).y : (d) == 2 ? (four).z : (four).w)

/* An unrolled loop, so that arrays stay in registers. `most` is a constant; iterations from `count`
 * on disappear if the compiler knows it. */
#define UP_TO(i, most, count) _Pragma("unroll") for (uint i = 0; i < (most); i++) if (i < (count))

/* a / b for a stride b, mostly 1 or 2: avoids the division, which is slow on GPUs. */
INLINE uint by_stride(uint a, uint b)
{
    return b == 1 ? a : b == 2 ? a >> 1 : a / b;
}

INLINE uint least(uint a, uint b)
{
    return a < b ? a : b;
}
