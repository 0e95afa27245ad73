/* Made finds the key of a tensor that an operation has just made, and reduces the tensor. */
#ifndef TB_GRADGRAPH_MADE_H
#define TB_GRADGRAPH_MADE_H

#include "keyed.h"

typedef struct {
    PyObject_HEAD
    Keyed *keyed;
    PyObject *types; /* a set: kinds of nodes whose results have no further statistics */
    PyObject *guard; /* makes a block in which no mode notices functions of torch */
} Made;

extern PyTypeObject *made_type;

/* Read a tensor, or leave it out for a good reason: 1; 0 if Python must look at it. With `may_skip`,
   a view of all elements is left out, and one of those of `source` (or NULL) gets its numbers. A
   mode may notice it. Never raises. */
int see_tensor(Made *self, PyObject *tensor, int may_skip, PyObject *source);

/* The same for what a call has returned: a tensor, or several in a tuple or list. */
int see_result(Made *self, PyObject *result, PyObject *source);

#endif
