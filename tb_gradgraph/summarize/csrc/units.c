/* Units that are zero, of which most end the search at once; elements near the ends; entropy. */
#include "units.h"

#include <math.h>

/* Whether an element is zero, by its bits: those of -0 but for the sign. */
INLINE int is_zero(const Elements *of, int64_t offset)
{
    if (of->type == SINGLE)
        return (((const uint32_t *)of->data)[offset] & 0x7fffffffu) == 0;
    return (((const uint16_t *)of->data)[offset] & 0x7fffu) == 0;
}

/* Whether all elements are zero whose index along `units` is that of `offset`. */
static int is_dead(const Elements *of, int units, int64_t offset)
{
    int64_t place[MOST_DIMS] = {0};
    int last = of->whole_ndim - 1;
    for (;;) {
        if (!is_zero(of, offset))
            return 0;
        int dim = last;
        for (; dim >= 0; dim--) {
            if (dim == units)
                continue;
            offset += of->whole_stride[dim];
            if (++place[dim] < of->whole_shape[dim])
                break;
            offset -= place[dim] * of->whole_stride[dim];
            place[dim] = 0;
        }
        if (dim < 0)
            return 1;
    }
}

int64_t dead_units(const Elements *of, int units)
{
    int64_t dead = 0;
    for (int64_t unit = 0; of->count && unit < of->whole_shape[units]; unit++)
        dead += is_dead(of, units, unit * of->whole_stride[units]);
    return dead;
}

int64_t near_ends(const Elements *of, double low, double high)
{
    Walk walk;
    const float *block;
    int64_t count, near = 0;
    float least = (float)low, most = (float)high;
    begin_walk(&walk, of);
    while ((block = next_block(&walk, &count))) {
        int32_t found = 0;
        for (int64_t place = 0; place < count; place++)
            found += (block[place] <= least) | (block[place] >= most);
        near += found;
    }
    return near * of->repeats;
}

static double entropy_of_row(const Elements *of, int64_t offset)
{
    int last = of->whole_ndim - 1;
    double entropy = 0;
    for (int64_t place = 0; place < of->whole_shape[last]; place++, offset += of->whole_stride[last]) {
        double share = element_at(of, offset);
        if (share != 0)
            entropy -= share * log(share);
    }
    return entropy;
}

double mean_entropy(const Elements *of, int64_t step)
{
    int64_t rows = 1, counted = 0;
    double total = 0;
    for (int dim = 0; dim < of->whole_ndim - 1; dim++)
        rows *= of->whole_shape[dim];
    for (int64_t row = 0; row < rows; row += step) {
        int64_t offset = 0, rest = row;
        for (int dim = of->whole_ndim - 2; dim >= 0; dim--) {
            offset += rest % of->whole_shape[dim] * of->whole_stride[dim];
            rest /= of->whole_shape[dim];
        }
        double entropy = entropy_of_row(of, offset);
        if (!isnan(entropy)) {
            total += entropy;
            counted++;
        }
    }
    return counted ? total / (double)counted : NAN;
}
