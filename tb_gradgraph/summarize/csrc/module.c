/* The Python module. Only native.py imports it. */
#include "module.h"
#include "moments.h"
#include "units.h"

#include <string.h>

static PyObject *module_use(PyObject *module, PyObject *args)
{
    PyObject *tensor, *parameter, *kinds;
    int asks;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO!p", &tensor, &parameter, &PyTuple_Type, &kinds, &asks))
        return NULL;
    if (use_types(tensor, parameter, kinds, asks) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *module_histograms(PyObject *module, PyObject *args)
{
    PyObject *samples_given, *sizes_given;
    double divisor;
    (void)module;
    if (!PyArg_ParseTuple(args, "SSd", &samples_given, &sizes_given, &divisor))
        return NULL;
    const char *samples = PyBytes_AsString(samples_given), *sizes = PyBytes_AsString(sizes_given);
    Py_ssize_t samples_size = PyBytes_Size(samples_given), sizes_size = PyBytes_Size(sizes_given);
    Py_ssize_t count = sizes_size / (Py_ssize_t)sizeof(int64_t), rest = samples_size / 4;
    PyObject *result = PyBytes_FromStringAndSize(NULL, count * BINS * 2);
    if (!result)
        return NULL;
    uint16_t *bins = (uint16_t *)PyBytes_AsString(result);
    memset(bins, 0, (size_t)count * BINS * 2);
    Py_BEGIN_ALLOW_THREADS
    const float *sample = (const float *)samples;
    for (Py_ssize_t place = 0; place < count; place++) {
        int64_t size;
        memcpy(&size, sizes + place * (Py_ssize_t)sizeof size, sizeof size);
        if (size < 0 || size > rest)
            break; /* not a result of Reducer */
        count_magnitudes(sample, size, (float)divisor, bins + place * BINS);
        sample += size;
        rest -= size;
    }
    Py_END_ALLOW_THREADS
    return result;
}

/* Describe a tensor that has dimensions: 1; 0 if it is not supported; -1 and an exception. */
static int describe_value(PyObject *tensor, Elements *elements)
{
    int is_read = describe(tensor, elements);
    return is_read == 1 && (elements->whole_ndim < 1 || elements->count < 1) ? 0 : is_read;
}

/* How many units along a dimension are zero; None if the tensor is not supported. */
static PyObject *module_dead_units(PyObject *module, PyObject *args)
{
    PyObject *tensor;
    int units;
    Elements elements;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &tensor, &units))
        return NULL;
    int is_read = describe_value(tensor, &elements);
    if (is_read < 0)
        return NULL;
    if (!is_read || units < 0 || units >= elements.whole_ndim)
        Py_RETURN_NONE;
    int64_t dead;
    Py_BEGIN_ALLOW_THREADS
    dead = dead_units(&elements, units);
    Py_END_ALLOW_THREADS
    return PyLong_FromLongLong(dead);
}

/* How many elements are at most one number or at least another; None likewise. */
static PyObject *module_near_ends(PyObject *module, PyObject *args)
{
    PyObject *tensor;
    double low, high;
    Elements elements;
    (void)module;
    if (!PyArg_ParseTuple(args, "Odd", &tensor, &low, &high))
        return NULL;
    int is_read = describe_value(tensor, &elements);
    if (is_read < 0)
        return NULL;
    if (!is_read)
        Py_RETURN_NONE;
    int64_t near;
    Py_BEGIN_ALLOW_THREADS
    near = near_ends(&elements, low, high);
    Py_END_ALLOW_THREADS
    return PyLong_FromLongLong(near);
}

/* The mean entropy of every n-th row along the last dimension; None likewise. */
static PyObject *module_mean_entropy(PyObject *module, PyObject *args)
{
    PyObject *tensor;
    long long step;
    Elements elements;
    (void)module;
    if (!PyArg_ParseTuple(args, "OL", &tensor, &step))
        return NULL;
    int is_read = describe_value(tensor, &elements);
    if (is_read < 0)
        return NULL;
    if (!is_read || step < 1)
        Py_RETURN_NONE;
    double entropy;
    Py_BEGIN_ALLOW_THREADS
    entropy = mean_entropy(&elements, step);
    Py_END_ALLOW_THREADS
    return PyFloat_FromDouble(entropy);
}

static PyObject *grad_name, *version_name;

/* The identity and the version of a gradient; None if there is none. */
static PyObject *state_of(PyObject *tensor)
{
    PyObject *gradient = PyObject_GetAttr(tensor, grad_name);
    if (!gradient || gradient == Py_None)
        return gradient;
    PyObject *version = PyObject_GetAttr(gradient, version_name);
    PyObject *identity = version ? PyLong_FromVoidPtr(gradient) : NULL;
    PyObject *state = identity ? PyTuple_Pack(2, identity, version) : NULL;
    Py_DECREF(gradient);
    Py_XDECREF(version);
    Py_XDECREF(identity);
    return state;
}

/* The state of the .grad of each tensor of a list. */
static PyObject *module_grad_states(PyObject *module, PyObject *args)
{
    PyObject *tensors;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &tensors))
        return NULL;
    PyObject *states = PyList_New(0);
    for (Py_ssize_t at = 0; states && at < PyList_Size(tensors); at++) {
        PyObject *state = state_of(PyList_GetItem(tensors, at));
        if (!state || PyList_Append(states, state) < 0)
            Py_CLEAR(states);
        Py_XDECREF(state);
    }
    return states;
}

static PyMethodDef module_methods[] = {
    {"grad_states", module_grad_states, METH_VARARGS, NULL},
    {"dead_units", module_dead_units, METH_VARARGS, NULL},
    {"near_ends", module_near_ends, METH_VARARGS, NULL},
    {"mean_entropy", module_mean_entropy, METH_VARARGS, NULL},
    {"use", module_use, METH_VARARGS, NULL},
    {"histograms", module_histograms, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "_native", NULL, -1, module_methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *module = PyModule_Create(&module_def);
    choose_kernels();
    grad_name = PyUnicode_InternFromString("grad");
    version_name = PyUnicode_InternFromString("_version");
    if (!grad_name || !version_name)
        Py_CLEAR(module);
    if (module
        && (add_reducer(module) < 0 || add_snapshot(module) < 0 || add_keyed(module) < 0
            || add_made(module) < 0 || add_hooks(module) < 0 || add_calls(module) < 0))
        Py_CLEAR(module);
    return module;
}
