/* The same as MadeTensors of autograd/values/made_tensors.py, for the tensors that are most of all. */
#include "made.h"
#include "module.h"

static PyObject *is_view_name, *base_name, *numel_name, *node_name, *number_name, *output_name;
static PyObject *leaf_name, *version_name;

/* Call a method without arguments; NULL and an exception if it raises. */
static PyObject *call(PyObject *object, PyObject *name)
{
    return PyObject_CallMethodObjArgs(object, name, NULL);
}

/* Return whether a view has all elements of what it is a view of: 1, 0, or -1 and an exception. */
static int is_whole(PyObject *tensor)
{
    PyObject *base = PyObject_GetAttr(tensor, base_name);
    PyObject *all = base && base != Py_None ? call(base, numel_name) : NULL;
    PyObject *own = all ? call(tensor, numel_name) : NULL;
    int found = base == Py_None ? 1 : own ? PyObject_RichCompareBool(all, own, Py_EQ) : -1;
    Py_XDECREF(base);
    Py_XDECREF(all);
    Py_XDECREF(own);
    return found;
}

/* Return the number of a tensor's node and of its slot; NULL and an exception. */
static PyObject *key_of(PyObject *tensor, PyObject *node)
{
    PyObject *number = call(node, number_name);
    PyObject *output = number ? PyObject_GetAttr(tensor, output_name) : NULL;
    PyObject *key = output ? PyTuple_Pack(2, number, output) : NULL;
    Py_XDECREF(number);
    Py_XDECREF(output);
    return key;
}

/* Return the same for a tensor whose node has no further statistics; NULL, without an exception if
   there is no such node. `is_made`: whether it has a node at all. */
static PyObject *key_if_plain(Made *self, PyObject *tensor, int *is_made)
{
    PyObject *node = PyObject_GetAttr(tensor, node_name);
    *is_made = node != Py_None;
    int has_none = node && *is_made ? PySet_Contains(self->types, (PyObject *)Py_TYPE(node)) : 0;
    PyObject *key = has_none == 1 ? key_of(tensor, node) : NULL;
    Py_XDECREF(node);
    return key;
}

/* Return whether autograd makes no node when it is asked for that of a view: see made_by.py. */
static int is_safe(PyObject *tensor)
{
    PyObject *base = PyObject_GetAttr(tensor, base_name);
    PyObject *is_leaf = base && base != Py_None ? PyObject_GetAttr(base, leaf_name) : NULL;
    PyObject *version = is_leaf == Py_False ? PyObject_GetAttr(tensor, version_name) : NULL;
    int found = version ? PyLong_AsLong(version) == 0 : 0;
    Py_XDECREF(base);
    Py_XDECREF(is_leaf);
    Py_XDECREF(version);
    return found;
}

/* Give a view the numbers of what it is a view of, if it has the same elements: 1, 0, or -1 and an
   exception. Small tensors, whose shape is kept, are left out. */
static int share(Made *self, PyObject *key, PyObject *tensor, PyObject *source)
{
    Elements own, given;
    if (!is_plain(source) || describe(tensor, &own) < 1 || describe(source, &given) < 1
        || !are_same(&own, &given) || own.count * own.repeats <= self->keyed->most_whole)
        return 0;
    int is_made;
    PyObject *source_key = key_if_plain(self, source, &is_made);
    PyObject *place = source_key ? PyDict_GetItemWithError(self->keyed->places, source_key) : NULL;
    int found = place ? PyDict_SetItem(self->keyed->places, key, place) == 0 : 0;
    Py_XDECREF(source_key);
    return PyErr_Occurred() ? -1 : found;
}

/* 1, 0, or -1 and an exception. */
static int see_plain(Made *self, PyObject *tensor, int may_skip, PyObject *source)
{
    PyObject *is_view = call(tensor, is_view_name);
    Py_XDECREF(is_view);
    if (!is_view)
        return -1;
    if (is_view == Py_True) {
        int skips = may_skip ? is_whole(tensor) : 0;
        if (skips || !is_safe(tensor))
            return skips;
    }
    int is_made;
    PyObject *key = key_if_plain(self, tensor, &is_made);
    if (!key)
        return PyErr_Occurred() ? -1 : !is_made;
    int found = PyDict_Contains(self->keyed->places, key);
    if (found == 0 && is_view == Py_True && may_skip && source)
        found = share(self, key, tensor, source);
    if (found == 0)
        found = take_keyed(self->keyed, key, tensor);
    Py_DECREF(key);
    return found;
}

int see_tensor(Made *self, PyObject *tensor, int may_skip, PyObject *source)
{
    int found = is_plain(tensor) ? see_plain(self, tensor, may_skip, source) : 0;
    if (found < 0 || PyErr_Occurred())
        PyErr_Clear(); /* the same error occurs again in Python, where it is noted */
    return found == 1;
}

int see_result(Made *self, PyObject *result, PyObject *source)
{
    if (!PyTuple_Check(result) && !PyList_Check(result))
        return !is_tensor(result) || see_tensor(self, result, 1, source);
    for (Py_ssize_t at = 0; at < PySequence_Size(result); at++) {
        PyObject *one = PySequence_GetItem(result, at);
        int is_seen = one && (!is_tensor(one) || see_tensor(self, one, 0, NULL));
        Py_XDECREF(one);
        if (!is_seen) {
            PyErr_Clear();
            return 0;
        }
    }
    return 1;
}

/* Read a tensor where modes may be active; return whether Python need not look at it. */
static PyObject *made_see(Made *self, PyObject *args)
{
    PyObject *tensor;
    int may_skip = 0;
    if (!PyArg_ParseTuple(args, "O|p", &tensor, &may_skip))
        return NULL;
    PyObject *block = PyObject_CallNoArgs(self->guard);
    PyObject *entered = block ? PyObject_CallMethod(block, "__enter__", NULL) : NULL;
    int is_seen = entered && see_tensor(self, tensor, may_skip, NULL);
    PyObject *left =
        entered ? PyObject_CallMethod(block, "__exit__", "OOO", Py_None, Py_None, Py_None) : NULL;
    Py_XDECREF(block);
    Py_XDECREF(entered);
    Py_XDECREF(left);
    return left ? PyBool_FromLong(is_seen) : NULL;
}

static PyObject *made_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *keyed, *types, *guard;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O!O!O", keyed_type, &keyed, &PySet_Type, &types, &guard))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Made *self = (Made *)allocate(type, 0);
    if (self) {
        Py_INCREF(keyed);
        Py_INCREF(types);
        Py_INCREF(guard);
        self->keyed = (Keyed *)keyed;
        self->types = types;
        self->guard = guard;
    }
    return (PyObject *)self;
}

static void made_dealloc(Made *self)
{
    Py_XDECREF(self->keyed);
    Py_XDECREF(self->types);
    Py_XDECREF(self->guard);
    release((PyObject *)self);
}

static PyMethodDef made_methods[] = {
    {"see", (PyCFunction)made_see, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot made_slots[] = {
    {Py_tp_new, made_new},
    {Py_tp_dealloc, made_dealloc},
    {Py_tp_methods, made_methods},
    {0, NULL},
};
static PyType_Spec made_spec = {
    "tb_gradgraph.summarize._native.Made", sizeof(Made), 0, Py_TPFLAGS_DEFAULT, made_slots,
};
PyTypeObject *made_type;

int add_made(PyObject *module)
{
    is_view_name = PyUnicode_InternFromString("_is_view");
    base_name = PyUnicode_InternFromString("_base");
    numel_name = PyUnicode_InternFromString("numel");
    node_name = PyUnicode_InternFromString("grad_fn");
    number_name = PyUnicode_InternFromString("_sequence_nr");
    output_name = PyUnicode_InternFromString("output_nr");
    leaf_name = PyUnicode_InternFromString("is_leaf");
    version_name = PyUnicode_InternFromString("_version");
    if (!leaf_name || !version_name || !is_view_name || !base_name || !numel_name || !node_name
        || !number_name || !output_name)
        return -1;
    made_type = (PyTypeObject *)PyType_FromSpec(&made_spec);
    if (!made_type)
        return -1;
    Py_INCREF(made_type);
    return PyModule_AddObject(module, "Made", (PyObject *)made_type);
}
