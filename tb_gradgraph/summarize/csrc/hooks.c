/* Hooks of autograd nodes that reduce gradients without running Python. */
#include "module.h"
#include "reducer.h"

#include <string.h>

/* Of a whole node: its arguments are tuples with a gradient for each slot. */
typedef struct {
    PyObject_HEAD
    Reducer *reducer;
    PyObject *slot_rows, *otherwise;
} Hook;

/* Of one slot, which gets its gradient alone. */
typedef struct {
    PyObject_HEAD
    Reducer *reducer;
    PyObject *otherwise;
    Py_ssize_t row;
} SlotHook;

static PyTypeObject *hook_type, *slot_hook_type;
static PyObject *zero, *table_name, *register_name;

static PyObject *module_hook(PyObject *module, PyObject *args)
{
    PyObject *reducer, *slot_rows, *otherwise;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!O", reducer_type, &reducer, &PyTuple_Type, &slot_rows, &otherwise))
        return NULL;
    Hook *hook = PyObject_New(Hook, hook_type);
    if (!hook)
        return NULL;
    Py_INCREF(reducer);
    Py_INCREF(slot_rows);
    Py_INCREF(otherwise);
    hook->reducer = (Reducer *)reducer;
    hook->slot_rows = slot_rows;
    hook->otherwise = otherwise;
    return (PyObject *)hook;
}

static void hook_dealloc(Hook *self)
{
    Py_XDECREF(self->reducer);
    Py_XDECREF(self->slot_rows);
    Py_XDECREF(self->otherwise);
    release((PyObject *)self);
}

/* Reduce the gradient of each slot: 1; 0 if one is not supported; -1 and an exception. */
static int take_slots(Hook *self, PyObject *gradients)
{
    Py_ssize_t slots = PyTuple_Size(self->slot_rows);
    if (!PyTuple_Check(gradients))
        return 0;
    for (Py_ssize_t slot = 0; slot < slots && slot < PyTuple_Size(gradients); slot++) {
        PyObject *rows = PyTuple_GetItem(self->slot_rows, slot);
        PyObject *gradient = PyTuple_GetItem(gradients, slot);
        if (gradient == Py_None || PyTuple_Size(rows) < 1)
            continue;
        Py_ssize_t row = PyLong_AsSsize_t(PyTuple_GetItem(rows, 0));
        int taken = row == -1 && PyErr_Occurred() ? -1 : take(self->reducer, row, gradient, 1);
        if (taken < 1)
            return taken;
    }
    return 1;
}

/* A prehook gets the gradients of the node's slots; a hook gets what the node sends to its inputs,
   and, second, what flowed into it. */
static PyObject *hook_call(Hook *self, PyObject *args, PyObject *keywords)
{
    PyObject *gradients, *received = NULL;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O|O", &gradients, &received))
        return NULL;
    int taken = take_slots(self, gradients);
    if (taken == 1)
        Py_RETURN_NONE;
    if (taken < 0)
        PyErr_Clear(); /* the same error occurs there again and is caught */
    return PyObject_CallFunctionObjArgs(self->otherwise, self->slot_rows, gradients, NULL);
}

static void slot_hook_dealloc(SlotHook *self)
{
    Py_XDECREF(self->reducer);
    Py_XDECREF(self->otherwise);
    release((PyObject *)self);
}

static PyObject *slot_hook_call(SlotHook *self, PyObject *args, PyObject *keywords)
{
    (void)keywords;
    PyObject *gradient = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    if (!gradient) {
        PyErr_SetString(PyExc_TypeError, "expected one gradient");
        return NULL;
    }
    int taken = gradient == Py_None ? 1 : take(self->reducer, self->row, gradient, 1);
    if (taken == 1)
        Py_RETURN_NONE;
    if (taken < 0)
        PyErr_Clear(); /* as above */
    return PyObject_CallFunction(self->otherwise, "((n))(O)", self->row, gradient);
}

/* Make a table that torch reads when it calls the hooks of a slot. */
static PyObject *table_of(Reducer *self, Py_ssize_t row, PyObject *otherwise)
{
    PyObject *table = PyDict_New();
    SlotHook *hook = table ? PyObject_New(SlotHook, slot_hook_type) : NULL;
    if (!hook) {
        Py_XDECREF(table);
        return NULL;
    }
    Py_INCREF(self);
    Py_INCREF(otherwise);
    hook->reducer = self;
    hook->otherwise = otherwise;
    hook->row = row;
    if (PyDict_SetItem(table, zero, (PyObject *)hook) < 0)
        Py_CLEAR(table);
    Py_DECREF(hook);
    return table;
}

/* Give a node the table that a tensor carries to the slot of its own number. */
static int hand_over(PyObject *node, PyObject *carrier, PyObject *table)
{
    if (!table || PyObject_SetAttr(carrier, table_name, table) < 0)
        return -1;
    PyObject *done = PyObject_CallMethodObjArgs(node, register_name, carrier, NULL);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Where one hook goes; SLOTS of native.py has the same fields. */
typedef struct {
    int64_t place, slot, row;
} Slot;

/* Put hooks on slots of nodes. Return their tables, and the number of each slot that refused it. */
static PyObject *module_hook_slots(PyObject *module, PyObject *args)
{
    PyObject *reducer, *nodes, *slots, *carriers, *otherwise;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!SO!O", reducer_type, &reducer, &PyList_Type, &nodes, &slots,
                          &PyTuple_Type, &carriers, &otherwise))
        return NULL;
    Py_ssize_t count = PyBytes_Size(slots) / (Py_ssize_t)sizeof(Slot);
    const char *content = PyBytes_AsString(slots);
    PyObject *tables = PyList_New(0), *refused = PyList_New(0);
    int is_well = tables && refused;
    for (Py_ssize_t at = 0; is_well && at < count; at++) {
        Slot slot;
        memcpy(&slot, content + at * (Py_ssize_t)sizeof slot, sizeof slot);
        PyObject *node = PyList_GetItem(nodes, (Py_ssize_t)slot.place);
        PyObject *carrier = PyTuple_GetItem(carriers, (Py_ssize_t)slot.slot);
        PyObject *table =
            node && carrier ? table_of((Reducer *)reducer, (Py_ssize_t)slot.row, otherwise) : NULL;
        if (table && hand_over(node, carrier, table) == 0)
            is_well = PyList_Append(tables, table) == 0;
        else {
            PyErr_Clear();
            PyObject *number = PyLong_FromSsize_t(at);
            is_well = number && PyList_Append(refused, number) == 0;
            Py_XDECREF(number);
        }
        Py_XDECREF(table);
    }
    for (Py_ssize_t at = 0; is_well && at < PyTuple_Size(carriers); at++)
        is_well = PyObject_SetAttr(PyTuple_GetItem(carriers, at), table_name, Py_None) == 0;
    PyObject *found = is_well ? PyTuple_Pack(2, tables, refused) : NULL;
    Py_XDECREF(tables);
    Py_XDECREF(refused);
    return found;
}

static PyType_Slot hook_slots[] = {
    {Py_tp_call, hook_call},
    {Py_tp_dealloc, hook_dealloc},
    {0, NULL},
};
static PyType_Spec hook_spec = {
    "tb_gradgraph.summarize._native.Hook",
    sizeof(Hook),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    hook_slots,
};
static PyType_Slot slot_hook_slots[] = {
    {Py_tp_call, slot_hook_call},
    {Py_tp_dealloc, slot_hook_dealloc},
    {0, NULL},
};
static PyType_Spec slot_hook_spec = {
    "tb_gradgraph.summarize._native.SlotHook",
    sizeof(SlotHook),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    slot_hook_slots,
};

static PyMethodDef functions[] = {
    {"hook", module_hook, METH_VARARGS, NULL},
    {"hook_slots", module_hook_slots, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int add_hooks(PyObject *module)
{
    hook_type = (PyTypeObject *)PyType_FromSpec(&hook_spec);
    slot_hook_type = (PyTypeObject *)PyType_FromSpec(&slot_hook_spec);
    zero = PyLong_FromLong(0);
    table_name = PyUnicode_InternFromString("_backward_hooks");
    register_name = PyUnicode_InternFromString("_register_hook_dict");
    if (!hook_type || !slot_hook_type || !zero || !table_name || !register_name)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
