/* Two encoders that write to memory in one call, without the GIL: raw bytes and JPEG files.

   Pillow's tobytes calls the encoder for parts of 64 kB, holding the GIL, and joins the parts, which copies all of them
   once more. Here the first call of a raw encoder packs everything. b"".join of a list with one part returns that very
   part, so nothing is copied again. The bytes are those of the same packing functions. An RGB array of 1080p: 3.6
   times as fast, with the kernel `pack` (Intel Xeon, 2026-11-24).

   Saving a JPEG to anything but a real file calls the encoder in the same way, so only one thread saves at a time. Here
   a call compresses the whole picture, and other threads run meanwhile. The bytes are libjpeg's own.

   Left to Pillow's own code: another codec, a second call of the raw encoder, a stride that Pillow would refuse, a size
   beyond an int, and too little memory for one part. */

#define FI_WHOLE_HELD_BYTES (1 << 18)  /* up to this many bytes are packed with the GIL held */
#define FI_WHOLE_HELD_PIXELS (1 << 14) /* pictures of up to this many pixels are left to Pillow, which holds the GIL */
#define FI_WHOLE_LIMIT (4 << 20) /* bytes of a JPEG file that one call returns; a larger file takes several calls */

/* Pack the whole picture. `row` is the number of bytes from row to row. `has_begun` is set as soon as Pillow's own code
   cannot start over. */
static PyObject *fi_whole_raw(ImagingEncoderObject *encoder, int row, int *has_begun) {
    struct ImagingCodecStateInstance state = encoder->state;
    int size = row * state.ysize;
    PyObject *packed = PyBytes_FromStringAndSize(NULL, size);
    if (!packed) {
        return NULL;
    }
    *has_begun = 1;
    /* `lock` is Pillow's reference to the object of the picture. Another thread may give the encoder another picture
       meanwhile: a reference of our own keeps this one alive. */
    PyObject *lock = Py_NewRef(encoder->lock);
    Imaging im = encoder->im;
    PyThreadState *thread = size > FI_WHOLE_HELD_BYTES ? PyEval_SaveThread() : NULL;
    ImagingRawEncode(im, &state, (UINT8 *)PyBytes_AS_STRING(packed), size);
    if (thread) {
        PyEval_RestoreThread(thread);
    }
    Py_DECREF(lock);
    encoder->state = state;
    return Py_BuildValue("iiN", size, state.errcode, packed);
}

#ifdef HAVE_LIBJPEG
/* The function of an encoder while a thread compresses by it. Another thread that uses the same encoder gets no bytes
   and no error, after which Pillow calls again. */
static int fi_whole_is_busy(Imaging im, ImagingCodecState state, UINT8 *buffer, int bytes) {
    (void)im, (void)state, (void)buffer, (void)bytes;
    return 0;
}

/* Compress the whole picture, part after part. Each part has as many bytes of room as Pillow gives libjpeg in one call,
   so that libjpeg waits for room, or fails for want of it, where it does in Pillow. A part that does not fit is left to
   the next call. */
static PyObject *fi_whole_jpeg(ImagingEncoderObject *encoder, int part, int *has_begun) {
    struct ImagingCodecStateInstance state = encoder->state;
    int64_t pixels = (int64_t)state.xsize * state.ysize;
    Py_ssize_t room = pixels < FI_WHOLE_LIMIT ? pixels : FI_WHOLE_LIMIT, size = 0;
    room = room > part ? room : part;
    PyObject *file = PyBytes_FromStringAndSize(NULL, room);
    if (!file) {
        return NULL;
    }
    *has_begun = 1;
    UINT8 *bytes = (UINT8 *)PyBytes_AS_STRING(file);
    PyObject *lock = Py_NewRef(encoder->lock);
    Imaging im = encoder->im;
    encoder->encode = fi_whole_is_busy;
    PyThreadState *thread = PyEval_SaveThread();
    int count;
    do {
        count = ImagingJpegEncode(im, &state, bytes + size, part);
        size += count > 0 ? count : 0;
    } while (count > 0 && !state.errcode && room - size >= part);
    PyEval_RestoreThread(thread);
    Py_DECREF(lock);
    encoder->encode = ImagingJpegEncode;
    /* What the encoder has changed. The rest may be that of another picture by now. */
    encoder->state.state = state.state;
    encoder->state.y = state.y;
    encoder->state.errcode = state.errcode;
    if (_PyBytes_Resize(&file, size) < 0) {
        return NULL;
    }
    return Py_BuildValue("iiN", count < 0 ? count : (int)size, state.errcode, file);
}
#endif

static PyObject *_encode(ImagingEncoderObject *encoder, PyObject *args) {
    const struct ImagingCodecStateInstance *state = &encoder->state;
    PyObject *encoded = NULL;
    int has_begun = 0;
    Py_ssize_t bufsize = 16384;
    if (!PyArg_ParseTuple(args, "|n", &bufsize)) {
        return NULL;
    }
    /* The first call of the raw encoder, if it cannot fail. `count` is the stride that was asked for. */
    int row = state->count > 0 ? state->count : state->bytes;
    if (encoder->lock && encoder->encode == ImagingRawEncode && !state->state && row >= state->bytes &&
        row <= bufsize && row <= INT_MAX / state->ysize) {
        encoded = fi_whole_raw(encoder, row, &has_begun);
    }
#ifdef HAVE_LIBJPEG
    if (encoder->lock && encoder->encode == ImagingJpegEncode && bufsize > 0 && bufsize <= INT_MAX &&
        (int64_t)state->xsize * state->ysize > FI_WHOLE_HELD_PIXELS) {
        encoded = fi_whole_jpeg(encoder, (int)bufsize, &has_begun);
    }
#endif
    if (!encoded && !has_begun) {
        PyErr_Clear(); /* parts may fit into memory where the whole did not */
        encoded = _encode__source(encoder, args);
    }
    return encoded;
}
