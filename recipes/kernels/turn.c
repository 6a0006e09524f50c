/* Rotation by 90 degrees and mirroring at a diagonal, for pixels of one and four bytes: by blocks, to write complete
   cache lines. */

#include "vectors.h"

#define LINE 64

typedef struct {
    Imaging out, in;
    int mirror_x, mirror_y; /* whether right becomes top, and whether below becomes left */
} Turn;

/* Turn `size` rows of as many pixels. */
INLINE void turn_block(const Turn *turn, int x, int y, int size, int pixel) {
    Imaging out = turn->out, in = turn->in;
    Bytes block[LANES];
    for (int i = 0; i < size; i++) {
        memcpy(&block[i], in->image[turn->mirror_y ? y + size - 1 - i : y + i] + x * pixel, size * pixel);
    }
    if (size > 1) {
        transpose(block, pixel);
    }
    int column = (turn->mirror_y ? in->ysize - size - y : y) * pixel;
    for (int i = 0; i < size; i++) {
        memcpy(out->image[turn->mirror_x ? in->xsize - 1 - x - i : x + i] + column, &block[i], size * pixel);
    }
}

/* Blocks below each other fill lines of the cache; then what is beside the blocks. */
INLINE void turn_blocks(const Turn *turn, int size, int pixel) {
    int width = turn->in->xsize / size * size, height = turn->in->ysize / size * size, line = LINE / pixel;
    for (int top = 0; top < height; top += line) {
        for (int x = 0; x < width; x += size) {
            for (int y = top; y < smaller(top + line, height); y += size) {
                turn_block(turn, x, y, size, pixel);
            }
        }
    }
    for (int y = 0; y < turn->in->ysize; y++) {
        for (int x = y < height ? width : 0; x < turn->in->xsize; x++) {
            turn_block(turn, x, y, 1, pixel);
        }
    }
}

/* Returns 0 to leave it to Pillow's own code: what it refuses, and pixels of two bytes. */
static int turn_image(Imaging out, Imaging in, int mirror_x, int mirror_y) {
    Turn turn = {out, in, mirror_x, mirror_y};
    int pixel = in ? in->pixelsize : 0;
    if (!out || !in || in->mode != out->mode || in->xsize != out->ysize || in->ysize != out->xsize ||
        in->xsize < FEWEST || in->ysize < FEWEST || (pixel != 1 && pixel != 4)) {
        return 0;
    }
    ImagingCopyPalette(out, in);
    BEGIN_SECTION(in)
    EITHER(pixel, 1, 4, turn_blocks(&turn, pixel == 1 ? LANES : 4, pixel));
    END_SECTION(in)
    return 1;
}

#define TURN(function, ...) \
    Imaging function(Imaging out, Imaging in) { return turn_image(out, in, __VA_ARGS__) ? out : function##__source(out, in); }

TURN(ImagingTranspose, 0, 0)
TURN(ImagingTransverse, 1, 1)
TURN(ImagingRotate90, 1, 0)
TURN(ImagingRotate270, 0, 1)
