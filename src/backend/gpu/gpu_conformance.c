/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands are every pair of chosen values with another as the third, then random bits. All NaN
 * count as equal.
 *
 * A multiplication followed by an addition is tested with one rounding and with two: compilers may
 * confuse them.
 */
#include "backend/gpu/gpu_conformance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/gpu_kernels.h"
#include "base/memory.h"
#include "base/random.h"

static const float chosen[] = {
    0.0f,
    -0.0f,
    0x1p-149f,
    -0x1p-149f,
    0x1.fffffcp-127f,
    0x1p-126f,
    -0x1p-126f,
    0x1p-75f,
    0x1.8p-75f,
    0x1p-64f,
    0x1.000002p-63f,
    0x1p-24f,
    0.1f,
    0.25f,
    0.5f,
    0x1.8p-1f,
    0x1.fffffep-1f,
    1.0f,
    -1.0f,
    0x1.000002p0f,
    1.5f,
    2.5f,
    3.0f,
    -3.0f,
    7.0f,
    0x1.921fb6p1f,
    10.0f,
    1000.5f,
    8388606.5f,
    8388607.5f,
    8388608.0f,
    8388609.0f,
    16777215.0f,
    16777216.0f,
    16777218.0f,
    2147483520.0f,
    2147483648.f,
    4294967296.f,
    0x1p63f,
    0x1p64f,
    0x1.000002p64f,
    0x1.8p100f,
    FLT_MAX,
    -FLT_MAX,
    INFINITY,
    -INFINITY,
    NAN,
    0x1.99999ap-4f,
};
enum {
    CHOSEN = sizeof chosen / sizeof *chosen,
    COUNT = CHOSEN * CHOSEN + 4096,
    GROUP = 64,
    COUNTERS = 2,
};

typedef struct conformance {
    float a[COUNT], b[COUNT], c[COUNT];
    uint32_t made[]; /* [operation][COUNT], then the counters */
} conformance;

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- the processor's results, in the order of gpu_conformance.cl ----------------------------- */

static uint32_t fused(float a, float b, float c)
{
    return bits_of(fmaf(a, b, c));
}

static uint32_t rounded_twice(float a, float b, float c)
{
    const float product = a * b;
    return bits_of(product + c);
}

static uint32_t difference(float a, float b, float c)
{
    (void)c;
    return bits_of(a - b);
}

static uint32_t quotient(float a, float b, float c)
{
    (void)c;
    return bits_of(a / b);
}

static uint32_t root(float a, float b, float c)
{
    (void)b, (void)c;
    return bits_of(sqrtf(fabsf(a)));
}

static uint32_t whole(float a, float b, float c)
{
    (void)b, (void)c;
    const float m = fabsf(a) < 2147483520.0f ? fabsf(a) : 2147483520.0f;
    const float rounded = (m + 8388608.0f) - 8388608.0f;
    return (uint32_t)(int32_t)(m < 8388608.0f ? rounded : m);
}

static uint32_t float_of_signed(float a, float b, float c)
{
    (void)b, (void)c;
    return bits_of((float)(int32_t)bits_of(a));
}

static uint32_t float_of_unsigned(float a, float b, float c)
{
    (void)b, (void)c;
    return bits_of((float)bits_of(a));
}

static uint32_t wide_sum(float a, float b, float c)
{
    const double product = (double)a * (double)b;
    return bits_of((float)(product + (double)c));
}

static uint32_t wide_quotient(float a, float b, float c)
{
    (void)c;
    return bits_of((float)((double)a / (double)b));
}

static uint32_t wide_root(float a, float b, float c)
{
    (void)b, (void)c;
    return bits_of((float)sqrt((double)fabsf(a)));
}

static uint32_t less(float a, float b, float c)
{
    (void)c;
    return a < b;
}

static const struct {
    const char *name;
    uint32_t (*expected)(float a, float b, float c);
    bool makes_float;
} operations[] = {
    {"fused multiply-add", fused, true},
    {"multiplication and addition", rounded_twice, true},
    {"subtraction", difference, true},
    {"division", quotient, true},
    {"square root", root, true},
    {"rounding to an integer", whole, false},
    {"conversion of a signed integer", float_of_signed, true},
    {"conversion of an unsigned integer", float_of_unsigned, true},
    {"multiplication and addition in double precision", wide_sum, true},
    {"division in double precision", wide_quotient, true},
    {"square root in double precision", wide_root, true},
    {"comparison", less, false},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static bool is_same(size_t operation, uint32_t got, uint32_t expected)
{
    return got == expected ||
           (operations[operation].makes_float && isnan(float_of(got)) && isnan(float_of(expected)));
}

/* ---- the proof ------------------------------------------------------------------------------- */

static void choose_values(conformance *at)
{
    sh_random random = sh_random_for(0, SH_RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < COUNT; i++) {
        const bool pair = i < CHOSEN * CHOSEN;
        at->a[i] = pair ? chosen[i / CHOSEN] : float_of(sh_random_next(&random));
        at->b[i] = pair ? chosen[i % CHOSEN] : float_of(sh_random_next(&random));
        at->c[i] = pair ? chosen[(i / CHOSEN + i) % CHOSEN] : float_of(sh_random_next(&random));
        if (!pair && i % 2 == 0) /* near cancellation shows one rounding or two */
            at->c[i] = -(at->a[i] * at->b[i]);
    }
}

static sh_status judge(const conformance *at, const char *gpu)
{
    uint32_t sum = 0, largest = 0;
    for (size_t operation = 0; operation < OPERATIONS; operation++)
        for (size_t i = 0; i < COUNT; i++) {
            const float a = at->a[i], b = at->b[i], c = at->c[i];
            const uint32_t got = at->made[operation * COUNT + i];
            const uint32_t expected = operations[operation].expected(a, b, c);
            if (!is_same(operation, got, expected))
                return sh_fail(SH_UNSUPPORTED,
                               "GPU %s is not used: its %s differs from a processor's; from %a, %a "
                               "and %a it makes 0x%08x, not 0x%08x",
                               gpu, operations[operation].name, (double)a, (double)b, (double)c,
                               got, expected);
        }
    for (size_t i = 0; i < COUNT; i++) {
        sum += bits_of(at->a[i]);
        largest = bits_of(at->a[i]) > largest ? bits_of(at->a[i]) : largest;
    }
    const uint32_t *counters = at->made + (size_t)OPERATIONS * COUNT;
    if (counters[0] == sum && counters[1] == largest)
        return SH_OK;
    return sh_fail(SH_UNSUPPORTED, "GPU %s is not used: its atomic %s of integers is wrong", gpu,
                   counters[0] != sum ? "addition" : "maximum");
}

enum { PARTS = 5 };

static size_t lay_out(sh_gpu_range parts[PARTS])
{
    static const size_t bytes[PARTS] = {
        COUNT * sizeof(float),       COUNT * sizeof(float),
        COUNT * sizeof(float),       (size_t)OPERATIONS * COUNT * sizeof(uint32_t),
        COUNTERS * sizeof(uint32_t),
    };
    size_t end = 0;
    for (int i = 0; i < PARTS; i++) {
        parts[i] = (sh_gpu_range){NULL, end, bytes[i]};
        end += (bytes[i] + SH_GPU_ALIGNMENT - 1) / SH_GPU_ALIGNMENT * SH_GPU_ALIGNMENT;
    }
    return end;
}

static sh_status compute(conformance *at, sh_gpu_kernels *kernels, const sh_gpu_range parts[PARTS])
{
    sh_gpu_kernel *kernel;
    sh_gpu_argument arguments[1 + PARTS] = {sh_gpu_u32(COUNT)};
    for (int i = 0; i < PARTS; i++)
        arguments[1 + i] = sh_gpu_pointer(parts[i]);
    SH_TRY(sh_gpu_kernels_find(&kernel, kernels, "prove"));
    SH_TRY(sh_gpu_write(parts[0], at->a));
    SH_TRY(sh_gpu_write(parts[1], at->b));
    SH_TRY(sh_gpu_write(parts[2], at->c));
    SH_TRY(sh_gpu_clear(parts[4]));
    SH_TRY(sh_gpu_launch(kernel, (uint32_t[]){(COUNT + GROUP - 1) / GROUP, 1, 1},
                         (uint32_t[]){GROUP, 1, 1}, arguments, 1 + PARTS));
    SH_TRY(sh_gpu_read(at->made, parts[3]));
    return sh_gpu_read(at->made + (size_t)OPERATIONS * COUNT, parts[4]);
}

sh_status sh_gpu_check_conformance(sh_gpu_kernels *kernels)
{
    void *block;
    sh_gpu_memory *memory;
    sh_gpu_range parts[PARTS];
    sh_gpu *gpu = sh_gpu_kernels_device(kernels);
    const size_t made = ((size_t)OPERATIONS * COUNT + COUNTERS) * sizeof(uint32_t);
    SH_TRY(sh_gpu_memory_new(&memory, gpu, lay_out(parts)));
    for (int i = 0; i < PARTS; i++)
        parts[i].memory = memory;
    sh_status status = sh_block_new(&block, sizeof(conformance) + made, "the proof of a GPU");
    if (status == SH_OK) {
        choose_values(block);
        status = compute(block, kernels, parts);
        /* Queued commands write to the block. */
        const sh_status finished = sh_gpu_finish(gpu);
        status = status == SH_OK ? finished : status;
        if (status == SH_OK)
            status = judge(block, sh_gpu_describe_open(gpu)->name);
        free(block);
    }
    sh_gpu_memory_free(memory);
    return status;
}
