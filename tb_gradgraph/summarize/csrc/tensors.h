/* Tensors of torch as Python objects, and memory that grows. */
#ifndef TB_GRADGRAPH_TENSORS_H
#define TB_GRADGRAPH_TENSORS_H

#define PY_SSIZE_T_CLEAN
#include "elements.h"

enum { WITHOUT_LOCK = 65536 }; /* from this many elements on, other threads may run meanwhile */

/* `size` and `room` in bytes. All zero: empty. */
typedef struct {
    char *content;
    size_t size, room;
} Grown;

/* Have tensors of two types be read, through torch's exchange table where it has one unless `asks`;
   `kinds` as for use_kinds. 1, or -1 and an exception. */
int use_types(PyObject *tensor, PyObject *parameter, PyObject *kinds, int asks);

/* Whether `object` is a tensor at all, and whether it is of one of the two types themselves. */
int is_tensor(PyObject *object);
int is_plain(PyObject *object);

/* Give whether `object` is a tensor that is read here: 1, 0, or -1 and an exception. What was
   found holds for as long as the object does. */
int describe(PyObject *object, Elements *found);

/* Make room for `more` bytes and return their address; NULL and an exception if it fails. */
void *grow(Grown *memory, size_t more);

/* Make room for `room` bytes altogether; -1 and an exception if it fails. */
int reserve(Grown *memory, size_t room);

/* Free an object of a type that was made by PyType_FromSpec. */
void release(PyObject *self);

#endif
