/* Rotation by 90 degrees and mirroring at a diagonal, for pixels of one and four bytes: by blocks, to write complete
   cache lines. */

#include "vectors.h"

#define LINE 64

typedef struct {
    Imaging out, in;
    int mirror_x, mirror_y; /* whether right becomes top, and whether below becomes left */
} Turn;

/* Two perfect shuffles transpose four rows of four pixels. */
INLINE void
transpose_pixels(Bytes *block) {
    Four mixed[4];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            Four a = (Four)block[i], b = (Four)block[i + 2];
            mixed[2 * i] = SHUFFLE(Four, a, b, 0, 4, 1, 5);
            mixed[2 * i + 1] = SHUFFLE(Four, a, b, 2, 6, 3, 7);
        }
        memcpy(block, mixed, sizeof(mixed));
    }
}

/* Turn `size` rows of as many pixels. */
INLINE void
turn_block(const Turn *turn, int x, int y, int size, int pixel) {
    Imaging out = turn->out, in = turn->in;
    Bytes block[LANES];
    for (int i = 0; i < size; i++) {
        memcpy(&block[i], in->image[turn->mirror_y ? y + size - 1 - i : y + i] + x * pixel, size * pixel);
    }
    if (size > 1) {
        (pixel == 1 ? transpose_block : transpose_pixels)(block);
    }
    int column = (turn->mirror_y ? in->ysize - size - y : y) * pixel;
    for (int i = 0; i < size; i++) {
        memcpy(out->image[turn->mirror_x ? in->xsize - 1 - x - i : x + i] + column, &block[i], size * pixel);
    }
}

/* Blocks below each other fill lines of the cache; then what is beside the blocks. */
INLINE void
turn_blocks(const Turn *turn, int size, int pixel) {
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
static int
turn_image(Imaging out, Imaging in, int mirror_x, int mirror_y) {
    ImagingSectionCookie cookie;
    Turn turn = {out, in, mirror_x, mirror_y};
    if (!out || !in || in->mode != out->mode || in->xsize != out->ysize || in->ysize != out->xsize ||
        in->xsize < FEWEST || in->ysize < FEWEST || in->pixelsize != (in->image8 ? 1 : 4)) {
        return 0;
    }
    ImagingCopyPalette(out, in);
    ImagingSectionEnter(&cookie);
    MUTEX_LOCK(&in->mutex);
    if (in->image8) {
        turn_blocks(&turn, LANES, 1);
    } else {
        turn_blocks(&turn, 4, 4);
    }
    MUTEX_UNLOCK(&in->mutex);
    ImagingSectionLeave(&cookie);
    return 1;
}

Imaging
ImagingTranspose(Imaging imOut, Imaging imIn) {
    return turn_image(imOut, imIn, 0, 0) ? imOut : ImagingTranspose__source(imOut, imIn);
}

Imaging
ImagingTransverse(Imaging imOut, Imaging imIn) {
    return turn_image(imOut, imIn, 1, 1) ? imOut : ImagingTransverse__source(imOut, imIn);
}

Imaging
ImagingRotate90(Imaging imOut, Imaging imIn) {
    return turn_image(imOut, imIn, 1, 0) ? imOut : ImagingRotate90__source(imOut, imIn);
}

Imaging
ImagingRotate270(Imaging imOut, Imaging imIn) {
    return turn_image(imOut, imIn, 0, 1) ? imOut : ImagingRotate270__source(imOut, imIn);
}
