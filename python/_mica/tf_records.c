/* Files of records, for tf.io. */
#include "tf_extension.h"

#include <mica/records.h>

#define WRITER "mica.record_writer"
#define READER "mica.record_reader"

/* What was written goes to the file, when the writer was not closed. */
static void release_writer(PyObject *capsule) {
    mica_record_writer *writer = PyCapsule_GetPointer(capsule, WRITER);
    mica_status_release(mica_record_writer_finish(writer));
    mica_record_writer_release(writer);
}

/* tf_record_writer(path, compression, level, window_bits, memory_level, strategy) */
static PyObject *writer_create(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *path;
    mica_record_writer *writer = NULL;
    mica_record_options options = {.size = sizeof options};
    if (!PyArg_ParseTuple(args, "O&siiii:tf_record_writer", PyUnicode_FSConverter, &path,
                          &options.compression, &options.level, &options.window_bits,
                          &options.memory_level, &options.strategy))
        return NULL;
    mica_status status = mica_record_writer_create(PyBytes_AS_STRING(path), &options, &writer);
    Py_DECREF(path);
    if (status) return tf_raise(status);
    PyObject *capsule = PyCapsule_New(writer, WRITER, release_writer);
    if (!capsule) mica_record_writer_release(writer);
    return capsule;
}

/* tf_record_append(writer, bytes) */
static PyObject *writer_append(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *capsule;
    Py_buffer bytes;
    if (!PyArg_ParseTuple(args, "Oy*:tf_record_append", &capsule, &bytes)) return NULL;
    mica_record_writer *writer = PyCapsule_GetPointer(capsule, WRITER);
    mica_status status = NULL;
    if (writer) {
        Py_BEGIN_ALLOW_THREADS;
        status = mica_record_writer_append(writer, bytes.buf, (size_t)bytes.len);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&bytes);
    if (!writer) return NULL;
    if (status) return tf_raise(status);
    Py_RETURN_NONE;
}

static PyObject *end_or_flush(PyObject *capsule, mica_status (*call)(mica_record_writer *)) {
    mica_record_writer *writer = PyCapsule_GetPointer(capsule, WRITER);
    mica_status status;
    if (!writer) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = call(writer);
    Py_END_ALLOW_THREADS;
    if (status) return tf_raise(status);
    Py_RETURN_NONE;
}

static PyObject *writer_flush(PyObject *Py_UNUSED(module), PyObject *capsule) {
    return end_or_flush(capsule, mica_record_writer_flush);
}

static PyObject *writer_finish(PyObject *Py_UNUSED(module), PyObject *capsule) {
    return end_or_flush(capsule, mica_record_writer_finish);
}

static void release_reader(PyObject *capsule) {
    mica_record_reader_release(PyCapsule_GetPointer(capsule, READER));
}

/* tf_record_reader(path, compression) */
static PyObject *reader_open(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *path;
    const char *compression;
    mica_record_reader *reader = NULL;
    if (!PyArg_ParseTuple(args, "O&s:tf_record_reader", PyUnicode_FSConverter, &path, &compression))
        return NULL;
    mica_status status = mica_record_reader_open(PyBytes_AS_STRING(path), compression, 0, &reader);
    Py_DECREF(path);
    if (status) return tf_raise(status);
    PyObject *capsule = PyCapsule_New(reader, READER, release_reader);
    if (!capsule) mica_record_reader_release(reader);
    return capsule;
}

/* tf_record_next(reader): the next record as bytes, or None at the end. */
static PyObject *reader_next(PyObject *Py_UNUSED(module), PyObject *capsule) {
    mica_record_reader *reader = PyCapsule_GetPointer(capsule, READER);
    const uint8_t *bytes;
    size_t n;
    bool end;
    if (!reader) return NULL;
    mica_status status = mica_record_reader_next(reader, &bytes, &n, &end);
    if (status) return tf_raise(status);
    if (end) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)n);
}

PyMethodDef tf_records_functions[] = {
    {"tf_record_writer", writer_create, METH_VARARGS, NULL},
    {"tf_record_append", writer_append, METH_VARARGS, NULL},
    {"tf_record_flush", writer_flush, METH_O, NULL},
    {"tf_record_finish", writer_finish, METH_O, NULL},
    {"tf_record_reader", reader_open, METH_VARARGS, NULL},
    {"tf_record_next", reader_next, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
