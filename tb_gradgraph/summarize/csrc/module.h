/* The types of this module; each is made by a file of its own. */
#ifndef TB_GRADGRAPH_MODULE_H
#define TB_GRADGRAPH_MODULE_H

#include "tensors.h"

/* Make a type and add it; -1 and an exception if that fails. */
int add_reducer(PyObject *module);
int add_snapshot(PyObject *module);

#endif
