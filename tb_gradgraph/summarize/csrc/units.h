/* What only values have. Units of a tensor are the indices along one dimension. */
#ifndef TB_GRADGRAPH_UNITS_H
#define TB_GRADGRAPH_UNITS_H

#include "elements.h"

/* Count the indices along dimension `units` at which all elements are zero; 0 for an empty tensor. */
int64_t dead_units(const Elements *of, int units);

/* Count the elements that are at most `low` or at least `high`. */
int64_t near_ends(const Elements *of, double low, double high);

/* Return the mean of -sum(p log p) over every `step`-th row along the last dimension; a row that
   gives NaN does not count. NaN if none does. */
double mean_entropy(const Elements *of, int64_t step);

#endif
