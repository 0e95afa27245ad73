/* Snapshot holds samples of weights from before a step, and computes how far it moved them. It keeps
   its memory for the next step. */
#include "module.h"
#include "moments.h"

#include <math.h>
#include <string.h>

typedef struct {
    int64_t count, step, sampled; /* count -1: not supported here */
    uint64_t layout;
    double norm;
} Weight;

typedef struct {
    PyObject_HEAD
    PyObject *tensors; /* a list */
    Weight *weights;
    Grown samples;
} Snapshot;

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Of a tensor of more than `exact` elements at least `sample` are taken, spread over all of its
   rows and columns: a step that shares a divisor with a row would meet the same columns always. */
static int64_t step_of(const Elements *elements, int64_t exact, int64_t sample)
{
    if (elements->count <= exact || !elements->is_dense || elements->ndim < 1)
        return 1;
    int64_t step = elements->count / sample;
    while (greatest_divisor(step, elements->shape[elements->ndim - 1]) > 1)
        step--;
    return step;
}

static int take_weight(Snapshot *self, Weight *weight, PyObject *tensor, int64_t exact, int64_t sample,
                       int64_t most)
{
    Elements elements;
    int is_read = describe(tensor, &elements);
    weight->count = -1;
    if (is_read < 1 || elements.count > most)
        return is_read < 0 ? -1 : 0;
    int64_t step = step_of(&elements, exact, sample);
    int64_t sampled = (elements.count + step - 1) / step;
    float *copy = grow(&self->samples, (size_t)sampled * sizeof(float));
    double square;
    if (!copy)
        return -1;
    if (elements.count < WITHOUT_LOCK)
        square = square_and_sample(&elements, step, copy);
    else {
        Py_BEGIN_ALLOW_THREADS /* a snapshot is lent to one thread at a time */
        square = square_and_sample(&elements, step, copy);
        Py_END_ALLOW_THREADS
    }
    *weight = (Weight){elements.count, step, sampled, elements.layout, sqrt(square)};
    return 0;
}

/* Forget the tensors; their memory is kept for the next ones. */
static void let_go(Snapshot *self)
{
    Py_CLEAR(self->tensors);
    PyMem_Free(self->weights);
    self->weights = NULL;
    self->samples.size = 0;
}

/* The places of the tensors that were not read. */
static PyObject *left_of(Snapshot *self)
{
    PyObject *left = PyList_New(0);
    for (Py_ssize_t place = 0; left && place < PyList_Size(self->tensors); place++)
        if (self->weights[place].count < 0) {
            PyObject *number = PyLong_FromSsize_t(place);
            if (!number || PyList_Append(left, number) < 0)
                Py_CLEAR(left);
            Py_XDECREF(number);
        }
    return left;
}

static PyObject *snapshot_read(Snapshot *self, PyObject *args)
{
    PyObject *tensors;
    long long exact, sample, most, room;
    if (!PyArg_ParseTuple(args, "O!LLLL", &PyList_Type, &tensors, &exact, &sample, &most, &room))
        return NULL;
    if (sample < 1 || exact < sample || room < 0) {
        PyErr_SetString(PyExc_ValueError, "read(): expected 1 <= sample <= exact and 0 <= room");
        return NULL;
    }
    let_go(self);
    Py_ssize_t count = PyList_Size(tensors);
    if (!(self->tensors = PyList_GetSlice(tensors, 0, count)) || reserve(&self->samples, (size_t)room) < 0)
        goto failed;
    if (!(self->weights = PyMem_Calloc((size_t)count + 1, sizeof *self->weights))) {
        PyErr_NoMemory();
        goto failed;
    }
    for (Py_ssize_t place = 0; place < count; place++)
        if (take_weight(self, &self->weights[place], PyList_GetItem(self->tensors, place), exact, sample,
                        most)
            < 0)
            goto failed;
    return left_of(self);
failed:
    let_go(self);
    return NULL;
}

/* How far a weight has moved; NAN if its kind or its layout has changed. */
static double move_of(const Weight *weight, PyObject *tensor, const float *before)
{
    Elements elements;
    if (describe(tensor, &elements) < 1) {
        PyErr_Clear();
        return NAN;
    }
    if (elements.count != weight->count || elements.layout != weight->layout)
        return NAN;
    double square = square_of_move(&elements, weight->step, before);
    return sqrt(square * (weight->count ? (double)weight->count / (double)weight->sampled : 1));
}

static PyObject *snapshot_compare(Snapshot *self, PyObject *unused)
{
    (void)unused;
    Py_ssize_t count = self->tensors ? PyList_Size(self->tensors) : 0;
    PyObject *result = PyBytes_FromStringAndSize(NULL, count * 2 * (Py_ssize_t)sizeof(double));
    if (!result)
        return NULL;
    char *numbers = PyBytes_AsString(result);
    const float *before = (const float *)self->samples.content;
    for (Py_ssize_t place = 0; place < count; place++, numbers += 2 * sizeof(double)) {
        const Weight *weight = &self->weights[place];
        double pair[2] = {NAN, NAN};
        if (weight->count >= 0) {
            pair[0] = weight->norm;
            pair[1] = move_of(weight, PyList_GetItem(self->tensors, place), before);
            before += weight->sampled;
        }
        memcpy(numbers, pair, sizeof pair);
    }
    let_go(self);
    return result;
}

static void snapshot_dealloc(Snapshot *self)
{
    let_go(self);
    PyMem_Free(self->samples.content);
    release((PyObject *)self);
}

static PyMethodDef snapshot_methods[] = {
    {"read", (PyCFunction)snapshot_read, METH_VARARGS, NULL},
    {"compare", (PyCFunction)snapshot_compare, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot snapshot_slots[] = {
    {Py_tp_dealloc, snapshot_dealloc},
    {Py_tp_methods, snapshot_methods},
    {0, NULL},
};
static PyType_Spec snapshot_spec = {
    "tb_gradgraph.summarize._native.Snapshot", sizeof(Snapshot), 0, Py_TPFLAGS_DEFAULT, snapshot_slots,
};

int add_snapshot(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&snapshot_spec);
    return type ? PyModule_AddObject(module, "Snapshot", type) : -1;
}
