/* Reducer reduces tensors, each at once, and keeps the results by row. */
#ifndef TB_GRADGRAPH_REDUCER_H
#define TB_GRADGRAPH_REDUCER_H

#include "moments.h"
#include "tensors.h"

typedef struct {
    PyObject_HEAD
    Py_ssize_t rows;
    int64_t sample_limit, most, ticket, most_whole;
    PyObject *whole; /* bytes, one per row: KEPT if it is kept whole */
    Grown entries, samples, shapes;
} Reducer;

extern PyTypeObject *reducer_type;

/* Reduce a tensor: 1; 0 if it is not supported, or cannot be kept whole but should be; -1 and an
   exception. */
int take(Reducer *self, Py_ssize_t row, PyObject *tensor, int keeps_whole);

#endif
