/* Keyed reduces tensors to the next row of a table, and notes the row under a key. */
#ifndef TB_GRADGRAPH_KEYED_H
#define TB_GRADGRAPH_KEYED_H

#include "reducer.h"

typedef struct {
    PyObject_HEAD
    PyObject *reducer;          /* a Reducer; NULL or None: no tensor is taken */
    PyObject *places;           /* a dict: key to piece and row */
    long long piece, row, most; /* the present piece, its next row, and how many it has */
    int64_t most_whole;         /* tensors of so many elements are kept whole */
} Keyed;

extern PyTypeObject *keyed_type;

/* Take a tensor: 1; 0 if it is not supported or the piece is full; -1 and an exception. */
int take_keyed(Keyed *self, PyObject *key, PyObject *tensor);

#endif
