/* Units of a tensor: the indices along one dimension. */
#ifndef TB_GRADGRAPH_UNITS_H
#define TB_GRADGRAPH_UNITS_H

#include "elements.h"

/* Count the indices along dimension `units` at which all elements are zero; 0 for an empty tensor. */
int64_t dead_units(const Elements *of, int units);

#endif
