#if defined(__linux__) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE /* madvise */
#endif
#include "tensors.h"
#include "asked.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

/* Of the only torch in this process. */
static const DLExchange *exchange;
static PyObject *tensor_type, *parameter_type, *is_neg;

static const DLExchange *exchange_of(PyObject *tensor)
{
    PyObject *capsule = PyObject_GetAttrString(tensor, "__dlpack_c_exchange_api__");
    const DLExchange *found = capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
    Py_XDECREF(capsule);
    PyErr_Clear();
    int is_known = found && found->major == DL_MAJOR && found->minor >= DL_MINOR && found->describe;
    return is_known ? found : NULL;
}

int use_types(PyObject *tensor, PyObject *parameter, PyObject *kinds, int asks)
{
    if (use_kinds(kinds) < 0 || !(is_neg = PyObject_GetAttrString(tensor, "is_neg")))
        return -1;
    Py_INCREF(tensor); /* types of torch live as long as the process */
    Py_INCREF(parameter);
    exchange = asks ? NULL : exchange_of(tensor);
    tensor_type = tensor;
    parameter_type = parameter;
    return 1;
}

/* No freed memory lies at a higher address: it begins at 0, and a view of it at its offset. */
static const uintptr_t FREED = (uintptr_t)-1 >> 24;

/* Return whether elements at such a low address were freed: 1, 0, or -1 and an exception. */
static int is_freed(PyObject *object)
{
    PyObject *storage = PyObject_CallMethod(object, "untyped_storage", NULL);
    PyObject *size = storage ? PyObject_CallMethod(storage, "nbytes", NULL) : NULL;
    int64_t bytes = size ? PyLong_AsLongLong(size) : -1;
    Py_XDECREF(storage);
    Py_XDECREF(size);
    return bytes < 0 ? -1 : bytes == 0;
}

int is_tensor(PyObject *object)
{
    return tensor_type && PyObject_TypeCheck(object, (PyTypeObject *)tensor_type);
}

int is_plain(PyObject *object)
{
    PyObject *type = (PyObject *)Py_TYPE(object);
    return tensor_type && (type == tensor_type || type == parameter_type);
}

int describe(PyObject *object, Elements *found)
{
    DLTensor tensor;
    Sizes sizes;
    if (!is_plain(object))
        return 0;
    if (exchange ? exchange->describe(object, &tensor) : !ask(object, &tensor, &sizes)) {
        PyErr_Clear(); /* sparse, within vmap, ... */
        return 0;
    }
    if (!elements_of(&tensor, found))
        return 0;
    if (found->count && (uintptr_t)found->data <= FREED) {
        int freed = is_freed(object);
        if (freed)
            return freed < 0 ? -1 : 0;
    }
    PyObject *negated = PyObject_CallFunctionObjArgs(is_neg, object, NULL); /* DLPack does not report it */
    Py_XDECREF(negated);
    return negated ? negated == Py_False : -1;
}

/* Ask for large pages: the first touch of each small page of 100 MB takes 30 ms altogether, a third
   of that with large ones. */
static void prefer_large_pages(char *content, size_t room)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t large = 1 << 21;
    uintptr_t start = ((uintptr_t)content + large - 1) & ~(large - 1);
    uintptr_t end = ((uintptr_t)content + room) & ~(large - 1);
    if (end > start)
        madvise((void *)start, end - start, MADV_HUGEPAGE);
#else
    (void)content;
    (void)room;
#endif
}

int reserve(Grown *memory, size_t room)
{
    if (memory->content && room <= memory->room)
        return 0;
    char *content = PyMem_Realloc(memory->content, room);
    if (!content) {
        PyErr_NoMemory();
        return -1;
    }
    prefer_large_pages(content, room);
    memory->content = content;
    memory->room = room;
    return 0;
}

void *grow(Grown *memory, size_t more)
{
    if (!memory->content || memory->size + more > memory->room)
        if (reserve(memory, 2 * memory->room + more + 4096) < 0)
            return NULL;
    memory->size += more;
    return memory->content + memory->size - more;
}

void release(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free(self);
    Py_DECREF(type);
}
