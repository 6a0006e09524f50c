/* The rows of a picture that is saved as JPEG: libjpeg reads them where they are, many at a time.

   libjpeg-turbo takes rows of four bytes a pixel, as Pillow's pictures have them, and Pillow asks it to. Yet Pillow
   copies each row into a buffer first, and hands over that one. Reading the picture from memory is most of what the copy
   costs, and it costs no less in libjpeg; but the row is written and read once more, and libjpeg converts the colours of
   one row a call. Here, rows go to libjpeg from the picture itself where the copy would change no byte. The file is the
   same: libjpeg gets the same samples in the same order.

       Pillow       picture row -> buffer -> libjpeg            for each row
       here         picture rows ----------> libjpeg            16 rows a call; the last row as in Pillow

   Pillow's own function still does everything else. It calls state->shuffle for each row and then hands the buffer to
   libjpeg. So a function of ours stands in state->shuffle: it writes all rows but the last one, and leaves the next row
   that is to be written in the buffer. If libjpeg has no room, that is the row that waits. Pillow's function offers it
   once more, gets the same answer, and returns what there is. */

#include <stdlib.h>

#define FI_ROWS 16 /* as many as libjpeg compresses at once, if chroma has half the height */

/* What fi_write_rows needs stands before the buffer. */
typedef struct {
    Imaging im;
    ImagingCodecState state;
    ImagingShuffler copy;
} fi_jpeg_rows;

static UINT8 *fi_picture_row(const fi_jpeg_rows *rows, int y) {
    ImagingCodecState state = rows->state;
    return (UINT8 *)rows->im->image[y + state->yoff] + state->xoff * rows->im->pixelsize;
}

/* Errors of libjpeg jump into Pillow's function. */
static void fi_write_rows(UINT8 *buffer, const UINT8 *row, int pixels) {
    (void)row; /* state->y tells which one it is */
    const fi_jpeg_rows *rows = (const fi_jpeg_rows *)buffer - 1;
    ImagingCodecState state = rows->state;
    int written = FI_ROWS;
    while (written == FI_ROWS && state->y + 1 < state->ysize) {
        JSAMPROW next[FI_ROWS];
        int count = state->ysize - 1 - state->y;
        count = count < FI_ROWS ? count : FI_ROWS;
        for (int i = 0; i < count; i++) {
            next[i] = fi_picture_row(rows, state->y + i);
        }
        written = jpeg_write_scanlines(&((JPEGENCODERSTATE *)state->context)->cinfo, next, count);
        state->y += written;
    }
    rows->copy(buffer, fi_picture_row(rows, state->y), pixels);
}

int ImagingJpegEncode(Imaging im, ImagingCodecState state, UINT8 *buf, int bytes) {
    UINT8 *buffer = state->buffer;
    ImagingShuffler copy = state->shuffle;
    int is_copy = copy == ImagingFindPacker(IMAGING_MODE_L, IMAGING_RAWMODE_L, NULL) ||
                  copy == ImagingFindPacker(IMAGING_MODE_RGB, IMAGING_RAWMODE_RGBX, NULL);
    fi_jpeg_rows *rows = is_copy ? malloc(sizeof(*rows) + state->bytes) : NULL;
    if (rows) {
        *rows = (fi_jpeg_rows){im, state, copy};
        state->buffer = (UINT8 *)(rows + 1);
        state->shuffle = fi_write_rows;
    }
    int count = ImagingJpegEncode__source(im, state, buf, bytes);
    state->buffer = buffer;
    state->shuffle = copy;
    free(rows);
    return count;
}
