/* The hooks that pass gradients to a Reducer. */
#ifndef TB_GRADGRAPH_HOOKS_H
#define TB_GRADGRAPH_HOOKS_H

#include "reducer.h"

/* Make the types of hooks; -1 and an exception if that fails. */
int prepare_hooks(void);

/* Methods of Reducer. */
PyObject *reducer_hook(Reducer *self, PyObject *args);
PyObject *reducer_hook_slots(Reducer *self, PyObject *args);

#endif
