/* Reducer reduces tensors while a backward runs. */
#include "module.h"
#include "reducer.h"

#include <string.h>

/* The record of one tensor; DTYPE of native.py has the same fields. */
typedef struct {
    int64_t row, ticket, numel, sampled;
    int64_t ndim; /* of a tensor that is kept whole, whose sample is all of it; else -1 */
    double moments[MOMENTS];
} Entry;

/* Whether the tensor of a row is kept whole; KEPT_IF_SMALL: a large one is only reduced. */
enum { NOT_KEPT, KEPT, KEPT_IF_SMALL };

/* Store the result for a tensor. */
static int keep(Reducer *self, const Entry *entry, const Elements *elements)
{
    size_t size = entry->ndim > 0 ? (size_t)entry->ndim * sizeof(int64_t) : 0;
    int64_t *shape = grow(&self->shapes, size);
    Entry *kept = shape ? grow(&self->entries, sizeof *kept) : NULL;
    if (!kept) {
        self->samples.size -= (size_t)entry->sampled * sizeof(float);
        self->shapes.size -= shape ? size : 0;
        return -1;
    }
    memcpy(shape, elements->whole_shape, size);
    *kept = *entry;
    return 1;
}

/* Reduce while other threads run. They may add tensors too, and take out all results. Therefore the
   result is stored only when it is complete. */
static int take_unlocked(Reducer *self, const Elements *elements, int64_t step, Entry *entry)
{
    size_t size = (size_t)entry->sampled * sizeof(float);
    float *apart = PyMem_Malloc(size);
    if (!apart) {
        PyErr_NoMemory();
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS
    reduce(elements, step, entry->moments, apart);
    Py_END_ALLOW_THREADS
    float *sample = grow(&self->samples, size);
    if (sample)
        memcpy(sample, apart, size);
    PyMem_Free(apart);
    return sample ? keep(self, entry, elements) : -1;
}

int take(Reducer *self, Py_ssize_t row, PyObject *tensor, int keeps_whole)
{
    Elements elements;
    if (row < 0 || row >= self->rows) {
        PyErr_Format(PyExc_IndexError, "row %zd of %zd", row, self->rows);
        return -1;
    }
    int is_read = describe(tensor, &elements);
    int is_whole = keeps_whole ? PyBytes_AsString(self->whole)[row] : NOT_KEPT;
    if (is_read < 1 || elements.count > self->most)
        return is_read < 0 ? -1 : 0;
    if (is_whole == KEPT_IF_SMALL && elements.count * elements.repeats > self->most_whole)
        is_whole = NOT_KEPT;
    int64_t step = (elements.count + self->sample_limit - 1) / self->sample_limit;
    step = step > 1 ? step : 1;
    if (is_whole && (elements.count > self->most_whole || step > 1 || !elements.is_in_order))
        return 0;
    int64_t sampled = (elements.count + step - 1) / step;
    Entry entry = {row,
                   ++self->ticket,
                   elements.count * elements.repeats,
                   sampled,
                   is_whole ? elements.whole_ndim : -1,
                   {0}};
    if (elements.count >= WITHOUT_LOCK)
        return take_unlocked(self, &elements, step, &entry);
    float *sample = grow(&self->samples, (size_t)sampled * sizeof(float));
    if (!sample)
        return -1;
    reduce(&elements, step, entry.moments, sample);
    return keep(self, &entry, &elements);
}

/* The same for a tensor in a list, which other threads may remove from it meanwhile. */
static int take_held(Reducer *self, Py_ssize_t row, PyObject *tensor)
{
    Py_INCREF(tensor);
    int taken = take(self, row, tensor, 1);
    Py_DECREF(tensor);
    return taken;
}

static PyObject *reducer_add(Reducer *self, PyObject *args)
{
    Py_ssize_t row;
    PyObject *tensor;
    if (!PyArg_ParseTuple(args, "nO", &row, &tensor))
        return NULL;
    int taken = take(self, row, tensor, 0);
    return taken < 0 ? NULL : PyBool_FromLong(taken);
}

static PyObject *reducer_take(Reducer *self, PyObject *args)
{
    Py_ssize_t row;
    PyObject *tensor;
    if (!PyArg_ParseTuple(args, "nO", &row, &tensor))
        return NULL;
    int taken = take(self, row, tensor, 1);
    return taken < 0 ? NULL : PyBool_FromLong(taken);
}

static PyObject *reducer_add_many(Reducer *self, PyObject *args)
{
    PyObject *rows, *tensors;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &rows, &PyList_Type, &tensors))
        return NULL;
    PyObject *left = PyList_New(0);
    for (Py_ssize_t place = 0; left && place < PyList_Size(rows) && place < PyList_Size(tensors); place++) {
        Py_ssize_t row = PyLong_AsSsize_t(PyList_GetItem(rows, place));
        int taken =
            row == -1 && PyErr_Occurred() ? -1 : take_held(self, row, PyList_GetItem(tensors, place));
        PyObject *number = taken ? NULL : PyLong_FromSsize_t(place);
        if (taken < 0 || (!taken && (!number || PyList_Append(left, number) < 0)))
            Py_CLEAR(left);
        Py_XDECREF(number);
    }
    return left;
}

static PyObject *reducer_next_ticket(Reducer *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLongLong(++self->ticket);
}

static PyObject *reducer_take_out(Reducer *self, PyObject *unused)
{
    (void)unused;
    /* No format with a hash sign: its meaning differs between Python 3.13 and earlier ones. */
    PyObject *found = Py_BuildValue(
        "NNN", PyBytes_FromStringAndSize(self->entries.content, (Py_ssize_t)self->entries.size),
        PyBytes_FromStringAndSize(self->samples.content, (Py_ssize_t)self->samples.size),
        PyBytes_FromStringAndSize(self->shapes.content, (Py_ssize_t)self->shapes.size));
    self->entries.size = self->samples.size = self->shapes.size = 0;
    return found;
}

static PyObject *reducer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"rows", "sample_limit", "most", "whole", "most_whole", NULL};
    Py_ssize_t rows;
    long long limit, most, most_whole;
    PyObject *whole;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "nLLSL", names, &rows, &limit, &most, &whole,
                                     &most_whole))
        return NULL;
    if (rows < 0 || limit < 1 || PyBytes_Size(whole) != rows) {
        PyErr_SetString(PyExc_ValueError, "Reducer(): rows, sample_limit or whole out of range");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Reducer *self = (Reducer *)allocate(type, 0);
    if (self) {
        self->rows = rows;
        self->sample_limit = limit;
        self->most = most;
        self->most_whole = most_whole;
        self->whole = whole;
        Py_INCREF(whole);
    }
    return (PyObject *)self;
}

static void reducer_dealloc(Reducer *self)
{
    PyMem_Free(self->entries.content);
    PyMem_Free(self->samples.content);
    PyMem_Free(self->shapes.content);
    Py_XDECREF(self->whole);
    release((PyObject *)self);
}

static PyMethodDef reducer_methods[] = {
    {"add", (PyCFunction)reducer_add, METH_VARARGS, NULL},
    {"take", (PyCFunction)reducer_take, METH_VARARGS, NULL},
    {"add_many", (PyCFunction)reducer_add_many, METH_VARARGS, NULL},
    {"next_ticket", (PyCFunction)reducer_next_ticket, METH_NOARGS, NULL},
    {"take_out", (PyCFunction)reducer_take_out, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot reducer_slots[] = {
    {Py_tp_new, reducer_new},
    {Py_tp_dealloc, reducer_dealloc},
    {Py_tp_methods, reducer_methods},
    {0, NULL},
};
static PyType_Spec reducer_spec = {
    "tb_gradgraph.summarize._native.Reducer", sizeof(Reducer), 0, Py_TPFLAGS_DEFAULT, reducer_slots,
};
PyTypeObject *reducer_type;

int add_reducer(PyObject *module)
{
    reducer_type = (PyTypeObject *)PyType_FromSpec(&reducer_spec);
    if (!reducer_type)
        return -1;
    Py_INCREF(reducer_type);
    return PyModule_AddObject(module, "Reducer", (PyObject *)reducer_type);
}
