/* Count the units of a tensor all of whose elements are zero. Most units end the search at once. */
#include "units.h"

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
