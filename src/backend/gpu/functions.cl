/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions and sums in 16 parts, defined in docs/arithmetic.md. On processors:
 * backend/kernel/functions.h and maps_loops.h.
 */
#define LN2_HIGH 0x1.62e43p-1f
#define LN2_LOW (-0x1.05c61p-29f)

INLINE float keep_nan(float x, float y)
{
    return x == x ? y : NOT_A_NUMBER;
}

INLINE float magnitude(float x)
{
    return AS_FLOAT(AS_UINT(x) & 0x7fffffffu);
}

INLINE float sign_of(float x, float y)
{
    return AS_FLOAT(AS_UINT(y) | (AS_UINT(x) & 0x80000000u));
}

static float exp_of(float x)
{
    float v = x < 89.0f ? x : 89.0f;
    v = v > -104.0f ? v : -104.0f;
    const float magic = 0x1.8p+23f, shifted = FMA(v, 0x1.715476p+0f, magic), k = shifted - magic;
    const int power = (int)(AS_UINT(shifted) - AS_UINT(magic)), half_power = power >> 1;
    const float r = FMA(k, -LN2_LOW, FMA(k, -LN2_HIGH, v));
    float p = 0x1.6a23f8p-10f;
    p = FMA(p, r, 0x1.123a0ap-7f);
    p = FMA(p, r, 0x1.5558f2p-5f);
    p = FMA(p, r, 0x1.555492p-3f);
    p = FMA(p, r, 0x1.fffffcp-2f);
    p = FMA(p, r, 0x1p+0f);
    p = FMA(p, r, 0x1p+0f);
    const float first = AS_FLOAT((uint)(half_power + 127) << 23);
    const float second = AS_FLOAT((uint)(power - half_power + 127) << 23);
    return keep_nan(x, p * first * second);
}

static float log_of(float x)
{
    const bool small = x < 0x1p-126f;
    const uint bits = AS_UINT(small ? x * 0x1p+23f : x);
    const int power = (int)(bits - 0x3f2aaaabu) >> 23;
    const float f = AS_FLOAT(bits - ((uint)power << 23)) - 1.0f;
    const float e = (float)(power - (small ? 23 : 0));
    const float square = f * f;
    float p = -0x1.fe18bcp-4f;
    p = FMA(p, f, 0x1.203b1ep-3f);
    p = FMA(p, f, -0x1.f6e5c4p-4f);
    p = FMA(p, f, 0x1.1e78e8p-3f);
    p = FMA(p, f, -0x1.557d6cp-3f);
    p = FMA(p, f, 0x1.99d5e4p-3f);
    p = FMA(p, f, -0x1.ffff94p-3f);
    p = FMA(p, f, 0x1.5554fap-2f);
    p = FMA(p, f, -0x1p-1f);
    const float rest = FMA(square, p, e * LN2_LOW);
    float y = FMA(e, LN2_HIGH, f + rest);
    y = x < INFINITE ? y : x;
    y = x == 0.0f ? -INFINITE : y;
    y = x < 0.0f ? NOT_A_NUMBER : y;
    return keep_nan(x, y);
}

static float tanh_of(float x)
{
    const float a = magnitude(x), square = a * a;
    float p = -0x1.75e1dcp-8f;
    p = FMA(p, square, 0x1.52269ep-6f);
    p = FMA(p, square, -0x1.b83c5ap-5f);
    p = FMA(p, square, 0x1.110726p-3f);
    p = FMA(p, square, -0x1.555532p-2f);
    const float near = FMA(a * square, p, a);
    const float far = 1.0f - DIVIDE(2.0f, exp_of(a + a) + 1.0f);
    return keep_nan(x, sign_of(x, a < 0.625f ? near : far));
}

static float erf_of(float x)
{
    const float a = magnitude(x), square = a * a;
    float p = 0x1.496a1cp-14f;
    p = FMA(p, square, -0x1.a3f6f8p-11f);
    p = FMA(p, square, 0x1.5405bp-8f);
    p = FMA(p, square, -0x1.b7f90cp-6f);
    p = FMA(p, square, 0x1.ce2cf8p-4f);
    p = FMA(p, square, -0x1.81273ep-2f);
    p = FMA(p, square, 0x1.06eba8p-3f);
    const float near = FMA(a, p, a);
    const float t = (a < 3.92f ? a : 3.92f) - 2.5f;
    float q = 0x1.80f162p-22f;
    q = FMA(q, t, -0x1.db0dd8p-21f);
    q = FMA(q, t, -0x1.d85608p-19f);
    q = FMA(q, t, 0x1.0715e8p-16f);
    q = FMA(q, t, -0x1.fcac78p-18f);
    q = FMA(q, t, -0x1.53b57p-14f);
    q = FMA(q, t, 0x1.0970eep-12f);
    q = FMA(q, t, -0x1.0f747p-12f);
    q = FMA(q, t, -0x1.1d5e64p-11f);
    q = FMA(q, t, 0x1.6eb1e6p-9f);
    q = FMA(q, t, -0x1.90dd04p-8f);
    q = FMA(q, t, 0x1.1a8b5ap-7f);
    q = FMA(q, t, -0x1.119e7ep-7f);
    q = FMA(q, t, 0x1.64e392p-8f);
    q = FMA(q, t, -0x1.1d82eep-9f);
    q = FMA(q, t, 0x1.aab86cp-12f);
    const float far = a < 3.92f ? 1.0f - q : 1.0f;
    return keep_nan(x, sign_of(x, a < 1.0f ? near : far));
}

INLINE float sigmoid_of(float x)
{
    return DIVIDE(1.0f, 1.0f + exp_of(-x));
}

INLINE float clamp6(float x)
{
    const float above = x < 0.0f ? 0.0f : x; /* keeps NaN */
    return above > 6.0f ? 6.0f : above;
}

/* Applies an activation to y: 1: relu, 2: relu6, others: none. */
INLINE float activated(uint activation, float y)
{
    if (activation == 1)
        return y < 0.0f ? 0.0f : y;
    return activation == 2 ? clamp6(y) : y;
}

INLINE bool passes(uint activation, float y)
{
    return activation == 0 || (y > 0.0f && !(activation == 2 && y >= 6.0f));
}

INLINE float sum_of_parts(float *part)
{
    for (uint h = 8; h > 0; h /= 2)
        for (uint p = 0; p < h; p++)
            part[p] += part[p + h];
    return part[0];
}

/* Sums x[i * step] - shift, or exp of it, in 16 parts. */
#define SUM_IN_PARTS(name, term)                                                                   \
    static float name(GLOBAL const float *x, uint count, uint step, float shift)                   \
    {                                                                                              \
        float part[16];                                                                            \
        for (uint p = 0; p < 16; p++)                                                              \
            part[p] = 0.0f;                                                                        \
        for (uint first = 0; first < count; first += 16)                                           \
            for (uint p = 0; p < 16; p++)                                                          \
                if (first + p < count)                                                             \
                    part[p] += term(x[(first + p) * step] - shift);                                \
        return sum_of_parts(part);                                                                 \
    }
#define ITSELF(x) (x)
SUM_IN_PARTS(sum_above, ITSELF)
SUM_IN_PARTS(exp_sum, exp_of)

INLINE float largest_of(GLOBAL const float *x, uint count, uint step)
{
    float most = x[0];
    for (uint i = 1; i < count; i++)
        most = x[i * step] > most ? x[i * step] : most;
    return most;
}

INLINE double sum_of_wide_parts(double *part)
{
    for (uint h = 8; h > 0; h /= 2)
        for (uint p = 0; p < h; p++)
            part[p] += part[p + h];
    return part[0];
}

/* Double sums in 16 parts: of a, (a - center)^2, a (b - center) or (a - b)^2. */
#define WIDE_SUM 0
#define WIDE_SQUARES 1
#define WIDE_PRODUCTS 2
#define WIDE_DISTANCE 3

INLINE double wide_sum(const uint kind, GLOBAL const float *a, GLOBAL const float *b, uint count,
                       double center)
{
    double part[16];
    for (uint p = 0; p < 16; p++)
        part[p] = 0.0;
    for (uint first = 0; first < count; first += 16)
        for (uint p = 0; p < 16; p++)
            if (first + p < count) {
                const double x = (double)a[first + p], y = (double)b[first + p];
                part[p] += kind == WIDE_SQUARES    ? (x - center) * (x - center)
                           : kind == WIDE_PRODUCTS ? x * (y - center)
                           : kind == WIDE_DISTANCE ? (x - y) * (x - y)
                                                   : x;
            }
    return sum_of_wide_parts(part);
}
