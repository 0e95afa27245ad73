/* What looks at the calls of torch's functions. */
#ifndef TB_GRADGRAPH_CALLS_H
#define TB_GRADGRAPH_CALLS_H

#include "made.h"

/* Make the type of CallReader; -1 and an exception if that fails. */
int prepare_call_reader(void);

/* A method of Made. */
PyObject *made_call_reader(Made *self, PyObject *args);

#endif
