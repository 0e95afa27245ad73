/* Reads a tensor by its public attributes, for a torch without the exchange table. */
#ifndef TB_GRADGRAPH_ASKED_H
#define TB_GRADGRAPH_ASKED_H

#define PY_SSIZE_T_CLEAN
#include "elements.h"

/* Memory for the sizes of one tensor. */
typedef struct {
    int64_t shape[MOST_DIMS], strides[MOST_DIMS];
} Sizes;

/* Keep torch.strided, torch.float32, torch.float16 and torch.bfloat16, by which tensors are known:
   1, or -1 and an exception. */
int use_kinds(PyObject *kinds);

/* Describe a dense tensor on the CPU; `sizes` are part of what was found. 0 if it is none. */
int ask(PyObject *object, DLTensor *found, Sizes *sizes);

#endif
