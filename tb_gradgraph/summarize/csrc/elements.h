/* The elements of a tensor of any layout on the CPU, as blocks of float32. */
#ifndef TB_GRADGRAPH_ELEMENTS_H
#define TB_GRADGRAPH_ELEMENTS_H

#include "dlpack.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

enum { MOST_DIMS = 64, BLOCK = 8192 };

/* In memory order. Elements that an expanded tensor repeats come once. */
typedef struct {
    const char *data;
    enum { SINGLE, HALF, BRAIN } type;
    int64_t count;   /* without repeats */
    int64_t repeats; /* how often each of them occurs in the tensor */
    int is_dense;
    int is_in_order; /* memory order is row-major order, and no element is repeated */
    uint64_t layout; /* tells apart where elements lie, as far as tensors of one count go */
    int ndim;
    int64_t shape[MOST_DIMS], stride[MOST_DIMS]; /* outermost first */
    int whole_ndim;
    int64_t whole_shape[MOST_DIMS], whole_stride[MOST_DIMS]; /* as torch has them */
} Elements;

/* A walk over elements in blocks; `place` is the index of each dimension. */
typedef struct {
    const Elements *of;
    int64_t done;
    int64_t place[MOST_DIMS];
    float copy[BLOCK];
} Walk;

/* Describe the elements of a tensor; 0 if its kind is not supported here. */
int elements_of(const DLTensor *tensor, Elements *found);

/* Return whether two tensors have the same elements in the same memory, in whatever shape. */
int are_same(const Elements *one, const Elements *other);

/* Return the element at an offset from the first one, in elements. */
float element_at(const Elements *of, int64_t offset);

void begin_walk(Walk *walk, const Elements *of);

/* Return the next block and its count, which is BLOCK except for the last; NULL at the end. */
const float *next_block(Walk *walk, int64_t *count);

#endif
