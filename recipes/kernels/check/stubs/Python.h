/* As much of Python's header as Pillow's C files need to compile where no Python is. Nothing of it is called. */

#ifndef FI_CHECK_PYTHON_H
#define FI_CHECK_PYTHON_H

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define HAVE_PROTOTYPES 1
#define STDC_HEADERS 1

typedef ssize_t Py_ssize_t;
typedef struct PyObject PyObject;
typedef struct PyThreadState PyThreadState;

extern PyObject *PyExc_ValueError, *PyExc_MemoryError, *PyExc_OSError;

void PyErr_SetString(PyObject *type, const char *text);
PyObject *PyErr_Format(PyObject *type, const char *text, ...);
PyThreadState *PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState *state);

#endif
