/* The types of this module. Each is defined in its own file. */
#ifndef TB_GRADGRAPH_MODULE_H
#define TB_GRADGRAPH_MODULE_H

#include "tensors.h"

/* Make a type and add it; -1 and an exception if that fails. */
int add_reducer(PyObject *module);
int add_snapshot(PyObject *module);
int add_keyed(PyObject *module);
int add_made(PyObject *module);

/* Add what makes objects of a type that only these make; likewise. */
int add_hooks(PyObject *module);
int add_calls(PyObject *module);

#endif
