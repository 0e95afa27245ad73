#include "asked.h"

static PyObject *strided, *single, *half, *brain;

int use_kinds(PyObject *kinds)
{
    PyObject *layout, *types[3];
    if (!PyArg_ParseTuple(kinds, "OOOO", &layout, types, types + 1, types + 2))
        return -1;
    Py_INCREF(
        kinds); /* this keeps its contents alive too: they are torch's and live as long as the process */
    strided = layout;
    single = types[0];
    half = types[1];
    brain = types[2];
    return 1;
}

/* Whether an attribute is a given object of torch. */
static int is(PyObject *object, const char *name, PyObject *expected)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    Py_XDECREF(value);
    return value && value == expected;
}

static int read_type(PyObject *object, DLTensor *found)
{
    PyObject *type = PyObject_GetAttrString(object, "dtype");
    Py_XDECREF(type);
    if (!type || (type != single && type != half && type != brain))
        return 0;
    found->dtype.code = type == brain ? DL_BFLOAT : DL_FLOAT;
    found->dtype.bits = type == single ? 32 : 16;
    found->dtype.lanes = 1;
    return 1;
}

/* Copy a tuple of numbers; their count, or -1 if it is none or too long. Takes the reference. */
static int read_sizes(PyObject *sizes, int64_t *copy)
{
    Py_ssize_t count = sizes && PyTuple_Check(sizes) ? PyTuple_Size(sizes) : -1;
    if (count > MOST_DIMS)
        count = -1;
    for (Py_ssize_t place = 0; place < count; place++)
        copy[place] = PyLong_AsLongLong(PyTuple_GetItem(sizes, place));
    Py_XDECREF(sizes);
    return PyErr_Occurred() ? -1 : (int)count;
}

int ask(PyObject *object, DLTensor *found, Sizes *sizes)
{
    int is_told = 0;
    if (is(object, "is_cpu", Py_True) && is(object, "layout", strided) && read_type(object, found)) {
        found->ndim = read_sizes(PyObject_GetAttrString(object, "shape"), sizes->shape);
        int strides = read_sizes(PyObject_CallMethod(object, "stride", NULL), sizes->strides);
        PyObject *address = PyObject_CallMethod(object, "data_ptr", NULL);
        found->data = address ? PyLong_AsVoidPtr(address) : NULL;
        Py_XDECREF(address);
        is_told = found->ndim >= 0 && strides == found->ndim && !PyErr_Occurred();
    }
    PyErr_Clear(); /* sparse, within vmap, ... */
    found->device.type = DL_CPU;
    found->byte_offset = 0;
    found->shape = sizes->shape;
    found->strides = sizes->strides;
    return is_told;
}
