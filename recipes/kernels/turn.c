/* Rotation by 90 degrees and mirroring at a diagonal, for pixels of one and four bytes: by blocks, to write complete
   cache lines. */

#include "vectors.h"

#define LINE 64

typedef INT32 Quad __attribute__((vector_size(16)));

typedef struct {
    Imaging out, in;
    int mirror_x, mirror_y; /* whether right becomes top, and whether below becomes left */
} Turn;

static inline int
find_row(const Turn *turn, int x) {
    return turn->mirror_x ? turn->in->xsize - 1 - x : x;
}

/* The destination of rows y to y + size - 1. */
static inline int
find_column(const Turn *turn, int y, int size) {
    return turn->mirror_y ? turn->in->ysize - size - y : y;
}

static inline int
find_source(const Turn *turn, int y, int size, int i) {
    return turn->mirror_y ? y + size - 1 - i : y + i;
}

static inline void
turn_byte_block(const Turn *turn, int x, int y) {
    Bytes block[LANES];
    int column = find_column(turn, y, LANES);
    for (int i = 0; i < LANES; i++) {
        memcpy(&block[i], turn->in->image8[find_source(turn, y, LANES, i)] + x, sizeof(Bytes));
    }
    transpose_block(block);
    for (int i = 0; i < LANES; i++) {
        memcpy(turn->out->image8[find_row(turn, x + i)] + column, &block[i], sizeof(Bytes));
    }
}

static inline void
turn_pixel_block(const Turn *turn, int x, int y) {
    Quad rows[4], pairs[4], columns[4];
    int column = find_column(turn, y, 4);
    for (int i = 0; i < 4; i++) {
        memcpy(&rows[i], turn->in->image32[find_source(turn, y, 4, i)] + x, sizeof(Quad));
    }
    for (int i = 0; i < 2; i++) {
        pairs[2 * i] = SHUFFLE(Quad, rows[i], rows[i + 2], 0, 4, 1, 5);
        pairs[2 * i + 1] = SHUFFLE(Quad, rows[i], rows[i + 2], 2, 6, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        columns[2 * i] = SHUFFLE(Quad, pairs[i], pairs[i + 2], 0, 4, 1, 5);
        columns[2 * i + 1] = SHUFFLE(Quad, pairs[i], pairs[i + 2], 2, 6, 3, 7);
    }
    for (int i = 0; i < 4; i++) {
        memcpy(turn->out->image32[find_row(turn, x + i)] + column, &columns[i], sizeof(Quad));
    }
}

static inline void
turn_pixel(const Turn *turn, int x, int y) {
    int row = find_row(turn, x), column = find_column(turn, y, 1);
    if (turn->in->image8) {
        turn->out->image8[row][column] = turn->in->image8[y][x];
    } else {
        turn->out->image32[row][column] = turn->in->image32[y][x];
    }
}

static inline __attribute__((always_inline)) void
turn_blocks(const Turn *turn, int size, int line, void (*turn_block)(const Turn *, int, int)) {
    int width = turn->in->xsize / size * size, height = turn->in->ysize / size * size;
    for (int top = 0; top < height; top += line) {
        int bottom = top + line < height ? top + line : height;
        for (int x = 0; x < width; x += size) {
            for (int y = top; y < bottom; y += size) {
                turn_block(turn, x, y);
            }
        }
    }
    for (int y = 0; y < turn->in->ysize; y++) {
        for (int x = y < height ? width : 0; x < turn->in->xsize; x++) {
            turn_pixel(turn, x, y);
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
        turn_blocks(&turn, LANES, LINE, turn_byte_block);
    } else {
        turn_blocks(&turn, 4, LINE / 4, turn_pixel_block);
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
