/* Rotation by 90 degrees and mirroring at a diagonal, for pixels of one byte and of four.

   All four are a transposition whose result or source is read backwards:

       transpose    row x of the result is column x of the picture
       transverse   the right column becomes the top row, read from the bottom
       rotate 90    the right column becomes the top row
       rotate 270   the left column becomes the top row, read from the bottom

   A square of 16 x 16 bytes or 4 x 4 pixels fits into vectors and is transposed there (fi_transpose). Four squares that
   are below each other in the picture become neighbours in the result, and fill a cache line (64 bytes) of each of its
   rows. So these four are moved first, then the four to their right. A line is complete before it leaves the cache.
   The pixels at the right and at the lower edge that fill no square are moved one by one. Only bytes are moved; nothing
   is computed. 1.5 times as fast as Pillow by 90 degrees, 4.3 on one band (AMD EPYC, 2026-11-23). */

#include "vectors.h"

#define FI_CACHE_LINE 64 /* bytes */

typedef struct {
    Imaging out, in;
    int mirror_x, mirror_y; /* whether the right column becomes the top row, and whether columns are read upwards */
} fi_turn;

/* Turn a square of `size` rows and columns, or one pixel, whose upper left pixel is (x, y). */
FI_INLINE void fi_turn_square(const fi_turn *turn, int x, int y, int size, int pixelsize) {
    Imaging out = turn->out, in = turn->in;
    fi_u8x16 square[FI_NARROW];
    for (int i = 0; i < size; i++) {
        memcpy(&square[i], in->image[turn->mirror_y ? y + size - 1 - i : y + i] + x * pixelsize, size * pixelsize);
    }
    if (size > 1) {
        fi_transpose(square, pixelsize);
    }
    int column = (turn->mirror_y ? in->ysize - size - y : y) * pixelsize;
    for (int i = 0; i < size; i++) {
        memcpy(out->image[turn->mirror_x ? in->xsize - 1 - x - i : x + i] + column, &square[i], size * pixelsize);
    }
}

/* All squares of a picture, strip by strip of rows that become a cache line. Then the pixels that fill no square. */
FI_INLINE void fi_turn_squares(const fi_turn *turn, int size, int pixelsize) {
    int width = turn->in->xsize / size * size, height = turn->in->ysize / size * size;
    int strip = FI_CACHE_LINE / pixelsize;
    for (int top = 0; top < height; top += strip) {
        for (int x = 0; x < width; x += size) {
            for (int y = top; y < fi_min(top + strip, height); y += size) {
                fi_turn_square(turn, x, y, size, pixelsize);
            }
        }
    }
    for (int y = 0; y < turn->in->ysize; y++) {
        for (int x = y < height ? width : 0; x < turn->in->xsize; x++) {
            fi_turn_square(turn, x, y, 1, pixelsize);
        }
    }
}

/* Turn a picture. Returns 0 for what is left to Pillow's own code: what that refuses, small pictures, and pixels of two
   bytes. */
static int fi_turn_image(Imaging out, Imaging in, int mirror_x, int mirror_y) {
    fi_turn turn = {out, in, mirror_x, mirror_y};
    int pixelsize = in ? in->pixelsize : 0;
    if (!out || !in || in->mode != out->mode || in->xsize != out->ysize || in->ysize != out->xsize ||
        in->xsize < FI_LEAST_SIDE || in->ysize < FI_LEAST_SIDE || (pixelsize != 1 && pixelsize != 4)) {
        return 0;
    }
    ImagingCopyPalette(out, in);
    FI_BEGIN_SECTION(in)
    FI_EITHER(pixelsize, 1, 4, fi_turn_squares(&turn, pixelsize == 1 ? FI_NARROW : 4, pixelsize));
    FI_END_SECTION(in)
    return 1;
}

/* Define one of Pillow's functions, by mirror_x and mirror_y. */
#define FI_TURN(function, mirror_x, mirror_y)                                                                          \
    Imaging function(Imaging out, Imaging in) {                                                                        \
        return fi_turn_image(out, in, mirror_x, mirror_y) ? out : function##__source(out, in);                         \
    }

FI_TURN(ImagingTranspose, 0, 0)
FI_TURN(ImagingTransverse, 1, 1)
FI_TURN(ImagingRotate90, 1, 0)
FI_TURN(ImagingRotate270, 0, 1)

#undef FI_CACHE_LINE
#undef FI_TURN
