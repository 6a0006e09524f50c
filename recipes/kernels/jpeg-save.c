/* The rows of a picture that is saved as JPEG: libjpeg reads them where they are, many at a time.

   libjpeg-turbo takes rows of four bytes a pixel, as Pillow's pictures have them, and Pillow asks it to. Yet Pillow
   copies each row into a buffer first, and gives libjpeg the buffer. So each row is written and read once more than
   needed, and libjpeg converts the colours of one row a call. Here, libjpeg gets rows of the picture itself if the copy
   would change no byte. The file is the same: libjpeg gets the same samples in the same order.

       Pillow       picture row -> buffer -> libjpeg            for each row
       here         picture rows ----------> libjpeg            16 rows a call; the last row as in Pillow

   Pillow's own function still does everything else. It calls state->shuffle for each row and then gives the buffer to
   libjpeg. That function pointer is replaced by fi_jpeg_write_rows, which gives libjpeg all rows but the last one. Then
   it leaves the next row in the buffer, as Pillow expects. This is the last row of the picture, or a row that libjpeg
   did not take because its output is full. In that case Pillow's function gives it the row once more, with the same
   result, and returns what is written so far. */

#include <stdlib.h>

#define FI_JPEG_ROWS 16 /* rows a call: libjpeg compresses as many at once if chroma has half the height */

/* What fi_jpeg_write_rows needs. It lies directly before the buffer. */
typedef struct {
    Imaging im;
    ImagingCodecState state;
    ImagingShuffler copy;
} fi_jpeg_rows;

static UINT8 *fi_jpeg_picture_row(const fi_jpeg_rows *rows, int y) {
    ImagingCodecState state = rows->state;
    return (UINT8 *)rows->im->image[y + state->yoff] + state->xoff * rows->im->pixelsize;
}

/* Pillow's encoder calls this in place of copying a row into the buffer. An error of libjpeg leaves this function by
   longjmp, into Pillow's encoder; nothing is allocated here. */
static void fi_jpeg_write_rows(UINT8 *buffer, const UINT8 *row, int pixels) {
    (void)row; /* state->y tells which one it is */
    const fi_jpeg_rows *rows = (const fi_jpeg_rows *)buffer - 1;
    ImagingCodecState state = rows->state;
    int written = FI_JPEG_ROWS;
    while (written == FI_JPEG_ROWS && state->y + 1 < state->ysize) {
        JSAMPROW next[FI_JPEG_ROWS];
        int count = state->ysize - 1 - state->y;
        count = count < FI_JPEG_ROWS ? count : FI_JPEG_ROWS;
        for (int i = 0; i < count; i++) {
            next[i] = fi_jpeg_picture_row(rows, state->y + i);
        }
        written = jpeg_write_scanlines(&((JPEGENCODERSTATE *)state->context)->cinfo, next, count);
        state->y += written;
    }
    rows->copy(buffer, fi_jpeg_picture_row(rows, state->y), pixels);
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
        state->shuffle = fi_jpeg_write_rows;
    }
    int count = ImagingJpegEncode__source(im, state, buf, bytes);
    state->buffer = buffer;
    state->shuffle = copy;
    free(rows);
    return count;
}
