/* The rows of a JPEG: those of a large picture straight into it, those of a small one through the caches.

   libjpeg-turbo's AVX2 colour conversion writes a row aligned to 32 bytes past the caches (non-temporal stores). Into a
   large picture, which the caches do not hold, that is right, and a row is not copied. A small picture's next reader, and
   Pillow, which copies the row at once, would wait for the memory; so its rows are never so aligned. */

#include <stdint.h>
#include <stdlib.h>

#define ALIGNED 32
#define LARGE (1 << 21) /* bytes of a picture */

/* What take_row needs stands before the row. */
typedef struct {
    Imaging im;
    ImagingCodecState state;
    ImagingShuffler shuffle;
} Row;

static int belongs_into_picture(const Row *row) {
    const struct jpeg_decompress_struct *info = &((JPEGSTATE *)row->state->context)->cinfo;
    int is_copy = row->shuffle == ImagingFindUnpacker(IMAGING_MODE_L, IMAGING_RAWMODE_L, NULL) ||
                  row->shuffle == ImagingFindUnpacker(IMAGING_MODE_RGB, IMAGING_RAWMODE_RGBX, NULL);
    return (int64_t)row->im->linesize * row->im->ysize >= LARGE && is_copy &&
           info->output_components == row->im->pixelsize && info->output_width == (JDIMENSION)row->state->xsize;
}

/* The source calls this with a row that it read; the rows behind it are read here. Errors jump into the source. */
static void take_row(UINT8 *out, const UINT8 *in, int pixels) {
    const Row *row = (const Row *)in - 1;
    Imaging im = row->im;
    ImagingCodecState state = row->state;
    row->shuffle(out, in, pixels);
    if (!belongs_into_picture(row)) {
        return;
    }
    for (; state->y + 1 < state->ysize; state->y++) {
        UINT8 *next = (UINT8 *)im->image[state->y + 1 + state->yoff] + state->xoff * im->pixelsize;
        if (!jpeg_read_scanlines(&((JPEGSTATE *)state->context)->cinfo, &next, 1)) {
            return; /* the source tries once more, and asks for data */
        }
    }
}

int ImagingJpegDecode(Imaging im, ImagingCodecState state, UINT8 *buf, Py_ssize_t bytes) {
    UINT8 *buffer = state->buffer, *memory = calloc(1, sizeof(Row) + state->bytes + ALIGNED);
    ImagingShuffler shuffle = state->shuffle;
    if (memory) {
        UINT8 *start = memory + sizeof(Row) + ((ALIGNED / 2 - (uintptr_t)(memory + sizeof(Row))) & (ALIGNED - 1));
        ((Row *)start)[-1] = (Row){im, state, shuffle};
        state->buffer = start;
        state->shuffle = take_row;
    }
    int consumed = ImagingJpegDecode__source(im, state, buf, bytes);
    state->buffer = buffer;
    state->shuffle = shuffle;
    free(memory);
    return consumed;
}
