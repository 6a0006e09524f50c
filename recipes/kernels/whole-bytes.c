/* Image.tobytes, and with it arrays and pickles: the raw encoder packs the whole picture in one call, without the GIL.

   Pillow packs pieces of 64 kB and holds the GIL; Python joins them, which copies all of it once more. Of one piece,
   b"".join returns that piece. */

#define HELD (1 << 18) /* bytes that are packed sooner than another thread hands the GIL back */

static PyObject *_encode(ImagingEncoderObject *encoder, PyObject *args) {
    struct ImagingCodecStateInstance state = encoder->state;
    Py_ssize_t bufsize = 16384;
    if (!PyArg_ParseTuple(args, "|n", &bufsize)) {
        return NULL;
    }
    /* Anything but a first call of the raw encoder that cannot fail. The count is the stride. */
    int row = state.count > 0 ? state.count : state.bytes;
    if (encoder->encode != ImagingRawEncode || !encoder->lock || state.state || row < state.bytes || row > bufsize ||
        row > INT_MAX / state.ysize) {
        return _encode__source(encoder, args);
    }
    int size = row * state.ysize;
    PyObject *packed = PyBytes_FromStringAndSize(NULL, size);
    if (!packed) {
        PyErr_Clear(); /* pieces may fit, into a file */
        return _encode__source(encoder, args);
    }
    /* The picture stays, whatever another thread does to the encoder. */
    PyObject *lock = Py_NewRef(encoder->lock);
    Imaging im = encoder->im;
    PyThreadState *thread = size > HELD ? PyEval_SaveThread() : NULL;
    ImagingRawEncode(im, &state, (UINT8 *)PyBytes_AS_STRING(packed), size);
    if (thread) {
        PyEval_RestoreThread(thread);
    }
    Py_DECREF(lock);
    encoder->state = state;
    return Py_BuildValue("iiN", size, state.errcode, packed);
}
