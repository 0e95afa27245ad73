#include "keyed.h"
#include "module.h"

#include <structmember.h>

/* The piece and the row that a key was given. */
static PyObject *place_of(const Keyed *self)
{
    PyObject *piece = PyLong_FromLongLong(self->piece), *row = PyLong_FromLongLong(self->row);
    PyObject *place = piece && row ? PyTuple_Pack(2, piece, row) : NULL;
    Py_XDECREF(piece);
    Py_XDECREF(row);
    return place;
}

int take_keyed(Keyed *self, PyObject *key, PyObject *tensor)
{
    if (!self->reducer || self->reducer == Py_None || self->row < 0 || self->row >= self->most)
        return 0;
    int taken = take((Reducer *)self->reducer, (Py_ssize_t)self->row, tensor, 1);
    if (taken < 1)
        return taken;
    PyObject *place = place_of(self);
    int is_noted = place && PyDict_SetItem(self->places, key, place) == 0;
    Py_XDECREF(place);
    self->row++;
    return is_noted ? 1 : -1;
}

static PyObject *keyed_add(Keyed *self, PyObject *args)
{
    PyObject *key, *tensor;
    if (!PyArg_ParseTuple(args, "OO", &key, &tensor))
        return NULL;
    int taken = take_keyed(self, key, tensor);
    return taken < 0 ? NULL : PyBool_FromLong(taken);
}

/* Begin a piece, for which None takes nothing. */
static PyObject *keyed_begin(Keyed *self, PyObject *args)
{
    PyObject *reducer;
    long long piece;
    if (!PyArg_ParseTuple(args, "OL", &reducer, &piece))
        return NULL;
    int is_reducer = PyObject_TypeCheck(reducer, reducer_type);
    if (!is_reducer && reducer != Py_None) {
        PyErr_SetString(PyExc_TypeError, "begin(): expected a Reducer or None");
        return NULL;
    }
    PyObject *before = self->reducer;
    Py_INCREF(reducer);
    self->reducer = reducer;
    Py_XDECREF(before);
    self->piece = piece;
    self->most_whole = is_reducer ? ((Reducer *)reducer)->most_whole : 0;
    self->row = 0;
    Py_RETURN_NONE;
}

static PyObject *keyed_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *places;
    long long most;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O!L", &PyDict_Type, &places, &most))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Keyed *self = (Keyed *)allocate(type, 0);
    if (self) {
        Py_INCREF(places);
        self->places = places;
        self->most = most;
    }
    return (PyObject *)self;
}

static void keyed_dealloc(Keyed *self)
{
    Py_XDECREF(self->reducer);
    Py_XDECREF(self->places);
    release((PyObject *)self);
}

static PyMethodDef keyed_methods[] = {
    {"add", (PyCFunction)keyed_add, METH_VARARGS, NULL},
    {"begin", (PyCFunction)keyed_begin, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef keyed_members[] = {
    {"piece", T_LONGLONG, offsetof(Keyed, piece), READONLY, NULL},
    {"row", T_LONGLONG, offsetof(Keyed, row), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot keyed_slots[] = {
    {Py_tp_new, keyed_new},
    {Py_tp_dealloc, keyed_dealloc},
    {Py_tp_methods, keyed_methods},
    {Py_tp_members, keyed_members},
    {0, NULL},
};
static PyType_Spec keyed_spec = {
    "tb_gradgraph.summarize._native.Keyed", sizeof(Keyed), 0, Py_TPFLAGS_DEFAULT, keyed_slots,
};

PyTypeObject *keyed_type;

int add_keyed(PyObject *module)
{
    keyed_type = (PyTypeObject *)PyType_FromSpec(&keyed_spec);
    Py_XINCREF(keyed_type);
    return keyed_type ? PyModule_AddObject(module, "Keyed", (PyObject *)keyed_type) : -1;
}
