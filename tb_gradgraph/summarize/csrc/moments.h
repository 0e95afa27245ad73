/* The moments and the sample of one tensor on the CPU, in one pass over it. */
#ifndef TB_GRADGRAPH_MOMENTS_H
#define TB_GRADGRAPH_MOMENTS_H

#include "elements.h"

enum { BINS = 32 };

/* The same order and meaning as COLUMNS of moments.py. */
enum { FINITE, NANS, POSINF, NEGINF, ZERO, MEAN, SPREAD, SQUARE, LOW, HIGH, MOMENTS };

/* Fill `moments`, and `sample` with every `step`-th element, of which there are
   ceil(count / step). Needs no interpreter. */
void reduce(const Elements *elements, int64_t step, double *moments, float *sample);

/* Fill `sample` likewise; return the square of the l2 norm over all elements. */
double square_and_sample(const Elements *elements, int64_t step, float *sample);

/* Return the square of the l2 norm of the change of a sample. */
double square_of_move(const Elements *elements, int64_t step, const float *before);

/* Count finite elements that are not zero, divided by `divisor`, by log2 of their magnitude. */
void count_magnitudes(const float *sample, int64_t size, float divisor, uint16_t *bins);

/* Choose the fastest code for this processor. Call it once, before all else. */
void choose_kernels(void);

#endif
