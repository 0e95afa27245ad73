/* CallReader stands for the method of a function mode that torch calls in place of a function. */
#include "made.h"
#include "module.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    Made *made;
    PyObject *mode, *note, *next_number, *is_enabled;
    long long next; /* the number after those of the last call */
    char wants_names, is_handling, is_stopped;
} CallReader;

static PyTypeObject *call_reader_type;

/* Return the number that the next node will get; -1 and an exception. */
static long long number_of(CallReader *self)
{
    PyObject *number = PyObject_CallNoArgs(self->next_number);
    long long found = number ? PyLong_AsLongLong(number) : -1;
    Py_XDECREF(number);
    return found;
}

/* Look at what a call has returned; -1 and an exception, which is none of ours. */
static int look(CallReader *self, PyObject *func, PyObject *args, PyObject *result, long long first,
                long long made)
{
    int is_gap = first > self->next;
    self->next = first + made;
    PyObject *source = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL;
    if (!is_gap && !(made > 1 && self->wants_names) && see_result(self->made, result, source))
        return 0;
    PyObject *is_well = PyObject_CallFunction(self->note, "OLLOOO", func, first, made, args, result,
                                              is_gap ? Py_True : Py_False);
    Py_XDECREF(is_well);
    self->is_stopped = is_well == Py_False;
    return is_well ? 0 : -1;
}

/* Return whether results are looked at; -1 and an exception. */
static int is_looking(CallReader *self)
{
    if (self->is_stopped)
        return 0;
    PyObject *is_enabled = PyObject_CallNoArgs(self->is_enabled);
    Py_XDECREF(is_enabled);
    return is_enabled ? is_enabled == Py_True : -1;
}

static PyObject *call_reader_call(CallReader *self, PyObject *given, PyObject *keywords)
{
    static char *names[] = {"func", "types", "args", "kwargs", NULL};
    PyObject *func, *types, *args = NULL, *kwargs = Py_None;
    if (!PyArg_ParseTupleAndKeywords(given, keywords, "OO|OO", names, &func, &types, &args, &kwargs))
        return NULL;
    args = args ? PySequence_Tuple(args) : PyTuple_New(0);
    long long first = args ? number_of(self) : -1;
    PyObject *result = NULL;
    if (first >= 0) {
        self->is_handling = 1;
        result = PyObject_Call(func, args, kwargs == Py_None ? NULL : kwargs);
        self->is_handling = 0;
    }
    long long made = result ? number_of(self) - first : 0;
    int is_looked_at = made > 0 ? is_looking(self) : 0;
    if (is_looked_at > 0)
        is_looked_at = look(self, func, args, result, first, made);
    Py_XDECREF(args);
    if (is_looked_at < 0 || PyErr_Occurred())
        Py_CLEAR(result);
    return result;
}

static PyObject *module_call_reader(PyObject *module, PyObject *args)
{
    PyObject *made, *mode, *note, *next_number, *is_enabled;
    long long next;
    int wants_names;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OOOOLp", made_type, &made, &mode, &note, &next_number, &is_enabled,
                          &next, &wants_names))
        return NULL;
    CallReader *reader = PyObject_New(CallReader, call_reader_type);
    if (!reader)
        return NULL;
    Py_INCREF(made);
    Py_INCREF(mode);
    Py_INCREF(note);
    Py_INCREF(next_number);
    Py_INCREF(is_enabled);
    reader->made = (Made *)made;
    reader->mode = mode;
    reader->note = note;
    reader->next_number = next_number;
    reader->is_enabled = is_enabled;
    reader->next = next;
    reader->wants_names = (char)wants_names;
    reader->is_handling = reader->is_stopped = 0;
    return (PyObject *)reader;
}

static void call_reader_dealloc(CallReader *self)
{
    Py_XDECREF(self->made);
    Py_XDECREF(self->mode);
    Py_XDECREF(self->note);
    Py_XDECREF(self->next_number);
    Py_XDECREF(self->is_enabled);
    release((PyObject *)self);
}

static PyMemberDef call_reader_members[] = {
    {"__self__", T_OBJECT, offsetof(CallReader, mode), READONLY, NULL}, /* torch looks at it */
    {"next", T_LONGLONG, offsetof(CallReader, next), READONLY, NULL},
    {"is_handling", T_BOOL, offsetof(CallReader, is_handling), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot call_reader_slots[] = {
    {Py_tp_call, call_reader_call},
    {Py_tp_dealloc, call_reader_dealloc},
    {Py_tp_members, call_reader_members},
    {0, NULL},
};
static PyType_Spec call_reader_spec = {
    "tb_gradgraph.summarize._native.CallReader",
    sizeof(CallReader),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    call_reader_slots,
};

static PyMethodDef functions[] = {
    {"call_reader", module_call_reader, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int add_calls(PyObject *module)
{
    call_reader_type = (PyTypeObject *)PyType_FromSpec(&call_reader_spec);
    return call_reader_type ? PyModule_AddFunctions(module, functions) : -1;
}
