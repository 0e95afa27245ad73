/* Sums are in float64: of float32 neither a square nor a sum of squares overflows or vanishes
   there. What is not finite, and spreads that are the small difference of great numbers, are
   found by a second pass. */
#include "moments.h"

#include <math.h>
#include <string.h>

enum { LANES = 16 };
static const double LEAST_SPREAD = 1e-6; /* of the squares, as Limits of moments.py has it */

typedef struct {
    double total, square;
    float low, high;
    int64_t zero;
} Sums;

/* Separate lanes, so that compilers can vectorize without changing the order of additions. */
INLINE Sums sums_in_lanes(const float *block, int64_t count)
{
    double total[LANES] = {0}, square[LANES] = {0};
    float low[LANES], high[LANES];
    int32_t zero[LANES] = {0};
    Sums sums = {0, 0, INFINITY, -INFINITY, 0};
    int64_t start = 0;

    for (int lane = 0; lane < LANES; lane++) {
        low[lane] = INFINITY;
        high[lane] = -INFINITY;
    }
    for (; start + LANES <= count; start += LANES)
        for (int lane = 0; lane < LANES; lane++) {
            float x = block[start + lane];
            double wide = x;
            total[lane] += wide;
            square[lane] += wide * wide;
            low[lane] = x < low[lane] ? x : low[lane];
            high[lane] = x > high[lane] ? x : high[lane];
            zero[lane] += x == 0;
        }
    for (int lane = 0; lane < LANES; lane++) {
        sums.total += total[lane];
        sums.square += square[lane];
        sums.low = low[lane] < sums.low ? low[lane] : sums.low;
        sums.high = high[lane] > sums.high ? high[lane] : sums.high;
        sums.zero += zero[lane];
    }
    for (; start < count; start++) {
        float x = block[start];
        sums.total += x;
        sums.square += (double)x * x;
        sums.low = x < sums.low ? x : sums.low;
        sums.high = x > sums.high ? x : sums.high;
        sums.zero += x == 0;
    }
    return sums;
}

static Sums sums_plain(const float *block, int64_t count) { return sums_in_lanes(block, count); }
static Sums (*sums_of)(const float *, int64_t) = sums_plain;

#if defined(__GNUC__) && defined(__x86_64__)
__attribute__((target("avx2,fma"))) static Sums sums_avx2(const float *block, int64_t count)
{
    return sums_in_lanes(block, count);
}

__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512"))) static Sums
sums_avx512(const float *block, int64_t count)
{
    return sums_in_lanes(block, count);
}

void choose_kernels(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        sums_of = sums_avx512;
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        sums_of = sums_avx2;
}
#else
void choose_kernels(void) {}
#endif

static Sums sums_and_sample(const Elements *elements, int64_t step, float *sample)
{
    Walk walk;
    Sums all = {0, 0, INFINITY, -INFINITY, 0};
    const float *block;
    int64_t count, next = 0;
    begin_walk(&walk, elements);
    while ((block = next_block(&walk, &count))) {
        Sums sums = sums_of(block, count);
        all.total += sums.total;
        all.square += sums.square;
        all.low = sums.low < all.low ? sums.low : all.low;
        all.high = sums.high > all.high ? sums.high : all.high;
        all.zero += sums.zero;
        for (; next < count; next += step)
            *sample++ = block[next];
        next -= count;
    }
    return all;
}

/* Count non-finite elements; return the total and the extremes of the others. */
static Sums sums_of_finite(const Elements *elements, double *moments)
{
    Walk walk;
    Sums all = {0, 0, INFINITY, -INFINITY, 0};
    const float *block;
    int64_t count;
    begin_walk(&walk, elements);
    while ((block = next_block(&walk, &count)))
        for (int64_t place = 0; place < count; place++) {
            float x = block[place];
            if (isfinite(x)) {
                moments[FINITE]++;
                all.total += x;
                all.square += (double)x * x;
                all.low = x < all.low ? x : all.low;
                all.high = x > all.high ? x : all.high;
            } else
                moments[isnan(x) ? NANS : x > 0 ? POSINF : NEGINF]++;
        }
    return all;
}

static double spread_about(const Elements *elements, double mean)
{
    Walk walk;
    double spread = 0;
    const float *block;
    int64_t count;
    begin_walk(&walk, elements);
    while ((block = next_block(&walk, &count)))
        for (int64_t place = 0; place < count; place++)
            if (isfinite(block[place]))
                spread += (block[place] - mean) * (block[place] - mean);
    return spread;
}

void reduce(const Elements *elements, int64_t step, double *moments, float *sample)
{
    Sums sums = sums_and_sample(elements, step, sample);
    memset(moments, 0, MOMENTS * sizeof *moments);
    moments[ZERO] = (double)sums.zero;
    if (isfinite(sums.square))
        moments[FINITE] = (double)elements->count;
    else
        sums = sums_of_finite(elements, moments);
    double count = moments[FINITE], spread = 0;
    if (count > 0) {
        moments[MEAN] = sums.total / count;
        spread = sums.square - sums.total * moments[MEAN];
    }
    if (count > 1 && !(spread >= LEAST_SPREAD * sums.square))
        spread = spread_about(elements, moments[MEAN]);
    double most = fmax(fabs(sums.low), fabs(sums.high));
    double scale = most > 0 && isfinite(most) ? most * most : 1;
    moments[SPREAD] = count > 1 ? spread / scale : 0;
    moments[SQUARE] = sums.square / scale;
    moments[LOW] = sums.low;
    moments[HIGH] = sums.high;
    for (int column = FINITE; column <= ZERO; column++)
        moments[column] *= (double)elements->repeats;
    moments[SPREAD] *= (double)elements->repeats;
    moments[SQUARE] *= (double)elements->repeats;
}

double square_and_sample(const Elements *elements, int64_t step, float *sample)
{
    return sums_and_sample(elements, step, sample).square * (double)elements->repeats;
}

double square_of_move(const Elements *elements, int64_t step, const float *before)
{
    Walk walk;
    double square[LANES] = {0}, all = 0;
    const float *block;
    int64_t count, next = 0;
    begin_walk(&walk, elements);
    while ((block = next_block(&walk, &count))) {
        if (step == 1)
            for (; next + LANES <= count; next += LANES, before += LANES)
                for (int lane = 0; lane < LANES; lane++) {
                    double moved = (double)block[next + lane] - before[lane];
                    square[lane] += moved * moved;
                }
        for (; next < count; next += step, before++) {
            double moved = (double)block[next] - *before;
            all += moved * moved;
        }
        next -= count;
    }
    for (int lane = 0; lane < LANES; lane++)
        all += square[lane];
    return all * (double)elements->repeats;
}

void count_magnitudes(const float *sample, int64_t size, float divisor, uint16_t *bins)
{
    /* log2 from -48 on, two powers per bin; see HISTOGRAM_LOW of statistics.py. */
    for (int64_t place = 0; place < size; place++) {
        float x = sample[place] / divisor;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        bits &= 0x7fffffffu;
        if (bits == 0 || bits >= 0x7f800000u)
            continue;
        int exponent = (int)(bits >> 23) - 127 + 48;
        exponent = exponent < 0 ? 0 : exponent;
        bins[exponent / 2 < BINS ? exponent / 2 : BINS - 1]++;
    }
}
