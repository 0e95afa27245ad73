/* The elements of tensors of every layout and 16- or 32-bit float type, in the order of memory. */
#include "elements.h"

#include <string.h>

INLINE float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE float widened(uint16_t bits, int is_half)
{
    if (!is_half)
        return float_of((uint32_t)bits << 16);
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00)
        return float_of(sign | 0x7f800000u | rest << 13);
    if (rest >= 0x0400) /* exponents are biased by 127 and by 15 */
        return float_of(sign | ((rest << 13) + ((127u - 15) << 23)));
    float magnitude = (float)(int32_t)rest * 0x1p-24f; /* never a subnormal float: those may be flushed */
    return sign ? -magnitude : magnitude;
}

/* Like FNV-1a, but with whole words. */
INLINE uint64_t mixed(uint64_t hash, int64_t word)
{
    return (hash ^ (uint64_t)word) * UINT64_C(0x100000001b3);
}

int elements_of(const DLTensor *tensor, Elements *found)
{
    int is_half = tensor->dtype.bits == 16;
    if (tensor->device.type != DL_CPU || tensor->dtype.lanes != 1 || tensor->ndim > MOST_DIMS)
        return 0;
    if (tensor->dtype.code == DL_FLOAT && (is_half || tensor->dtype.bits == 32))
        found->type = is_half ? HALF : SINGLE;
    else if (tensor->dtype.code == DL_BFLOAT && is_half)
        found->type = BRAIN;
    else
        return 0;
    found->data = (const char *)tensor->data + tensor->byte_offset;
    if ((uintptr_t)found->data % (tensor->dtype.bits / 8)) /* of torch.frombuffer */
        return 0;
    found->layout = 0;
    found->count = found->repeats = found->is_in_order = 1;
    found->whole_ndim = tensor->ndim;
    found->ndim = 0;
    for (int dim = 0; dim < tensor->ndim; dim++) {
        int64_t length = tensor->shape[dim], stride = tensor->strides ? tensor->strides[dim] : 0;
        if (!tensor->strides)
            return 0;
        found->whole_shape[dim] = length;
        found->whole_stride[dim] = stride;
        if (length == 1)
            continue;
        found->layout = mixed(mixed(found->layout, length), stride);
        if (stride == 0 && length > 0) {
            found->repeats *= length;
            found->is_in_order = 0;
            continue;
        }
        found->count *= length;
        int place = found->ndim++; /* sorted by stride; the sort is stable */
        for (; place > 0 && found->stride[place - 1] < stride; place--) {
            found->is_in_order = 0;
            found->shape[place] = found->shape[place - 1];
            found->stride[place] = found->stride[place - 1];
        }
        found->shape[place] = length;
        found->stride[place] = stride;
    }
    int64_t expected = 1;
    found->is_dense = 1;
    for (int dim = found->ndim; dim-- > 0; expected *= found->shape[dim])
        found->is_dense &= found->stride[dim] == expected;
    return found->count == 0 || tensor->data != NULL;
}

/* Merge dimensions that one stride steps through; return how many are left. */
static int merged(const Elements *of, int64_t *shape, int64_t *stride)
{
    int count = 0;
    for (int dim = 0; dim < of->ndim; dim++) {
        if (count && stride[count - 1] == of->shape[dim] * of->stride[dim])
            shape[count - 1] *= of->shape[dim];
        else
            shape[count++] = of->shape[dim];
        stride[count - 1] = of->stride[dim];
    }
    return count;
}

int are_same(const Elements *one, const Elements *other)
{
    int64_t shape[2][MOST_DIMS], stride[2][MOST_DIMS];
    if (one->data != other->data || one->type != other->type || one->count != other->count
        || one->repeats != other->repeats)
        return 0;
    int count = merged(one, shape[0], stride[0]);
    return count == merged(other, shape[1], stride[1])
           && !memcmp(shape[0], shape[1], (size_t)count * sizeof(int64_t))
           && !memcmp(stride[0], stride[1], (size_t)count * sizeof(int64_t));
}

float element_at(const Elements *of, int64_t offset)
{
    if (of->type == SINGLE)
        return ((const float *)of->data)[offset];
    return widened(((const uint16_t *)of->data)[offset], of->type == HALF);
}

static void copy_scattered(Walk *walk, int64_t count)
{
    const Elements *of = walk->of;
    int last = of->ndim - 1;
    int64_t copied = 0;
    while (copied < count) {
        int64_t offset = 0, index = walk->place[last];
        int64_t run = of->shape[last] - index, stride = of->stride[last];
        for (int dim = 0; dim < last; dim++)
            offset += walk->place[dim] * of->stride[dim];
        run = run < count - copied ? run : count - copied;
        if (of->type == SINGLE && stride == 1)
            memcpy(walk->copy + copied, (const float *)of->data + offset + index,
                   (size_t)run * sizeof(float));
        else
            for (int64_t at = 0; at < run; at++)
                walk->copy[copied + at] = element_at(of, offset + (index + at) * stride);
        copied += run;
        walk->place[last] = index + run;
        for (int dim = last; dim > 0 && walk->place[dim] == of->shape[dim]; dim--) {
            walk->place[dim] = 0;
            walk->place[dim - 1]++;
        }
    }
}

const float *next_block(Walk *walk, int64_t *count)
{
    const Elements *of = walk->of;
    int64_t start = walk->done;
    *count = of->count - start < BLOCK ? of->count - start : BLOCK;
    walk->done += *count;
    if (*count == 0)
        return NULL;
    if (!of->is_dense)
        copy_scattered(walk, *count);
    else if (of->type == SINGLE)
        return (const float *)of->data + start;
    else if (of->type == HALF)
        for (int64_t place = 0; place < *count; place++)
            walk->copy[place] = widened(((const uint16_t *)of->data)[start + place], 1);
    else
        for (int64_t place = 0; place < *count; place++)
            walk->copy[place] = widened(((const uint16_t *)of->data)[start + place], 0);
    return walk->copy;
}

void begin_walk(Walk *walk, const Elements *of)
{
    walk->of = of;
    walk->done = 0;
    memset(walk->place, 0, sizeof walk->place);
}
