/* How a tensor of torch is read without its headers: the parts of DLPack 1.3 that this takes.

   Layouts as DLPack fixes them for every 1.x (https://github.com/dmlc/dlpack). */
#ifndef TB_GRADGRAPH_DLPACK_H
#define TB_GRADGRAPH_DLPACK_H

#include <Python.h>
#include <stdint.h>

enum { DL_CPU = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_MAJOR = 1, DL_MINOR = 3 };

typedef struct {
    void *data;
    struct {
        int32_t type, number;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: row-major */
    uint64_t byte_offset;
} DLTensor;

typedef struct {
    uint32_t major, minor;
    void *previous;
    void *allocate, *managed_from_object, *object_from_managed;
    /* Fills in a description that holds for as long as the object does; -1 and an exception if it
       cannot. Nothing is copied, no device is waited for. */
    int (*describe)(void *object, DLTensor *found);
    void *current_stream;
} DLExchange;

#endif
