/* 3x3 and 5x5 filters of several bands: the neighbours of a byte in its band are four bytes away. The same sums of the
   same floating-point numbers as Pillow's, in the same order. Each row is converted once, in blocks whose rows stay in
   the first cache. */

#include "vectors.h"

#define BLOCK 1024 /* bytes of a row */
#define LARGEST 5

typedef float Row[BLOCK + (LARGEST - 1) * 4];

INLINE void
convert_row(float *restrict to, const UINT8 *restrict from, int count) {
    for (int x = 0; x < count; x++) {
        to[x] = from[x];
    }
}

INLINE void
filter_row(UINT8 *restrict out, const float *const *rows, int count, const float *kernel, float offset, int size) {
    for (int x = 0; x < count; x++) {
        float sum = offset;
        for (int row = size - 1; row >= 0; row--) {
            const float *values = rows[row] + x, *weights = kernel + (size - 1 - row) * size;
            float part = values[0] * weights[0];
            for (int i = 1; i < size; i++) {
                part += values[i * 4] * weights[i];
            }
            sum += part;
        }
        out[x] = clip8(sum);
    }
}

/* Some columns of all rows, from top to bottom. `first` is the byte at which they begin. */
INLINE void
filter_columns(Imaging out, Imaging in, int first, int count, const float *kernel, float offset, int size) {
    Row window[LARGEST];
    UINT32 used = used_bytes(in);
    int margin = size / 2, behind = 0;
    for (int y = margin; y < in->ysize - margin; y++) {
        const float *rows[LARGEST];
        for (; behind <= y + margin; behind++) {
            convert_row(window[behind % size], (UINT8 *)in->image[behind] + first - margin * 4, count + margin * 8);
        }
        for (int i = 0; i < size; i++) {
            rows[i] = window[(y - margin + i) % size];
        }
        filter_row((UINT8 *)out->image[y] + first, rows, count, kernel, offset, size);
        for (int x = first / 4; used != ~0u && x < (first + count) / 4; x++) {
            out->image32[y][x] &= used;
        }
    }
}

INLINE void
filter_bands(Imaging out, Imaging in, const float *kernel, float offset, int size) {
    int margin = size / 2, width = in->xsize, behind = (width - margin) * 4;
    float weights[LARGEST * LARGEST];
    memcpy(weights, kernel, size * size * sizeof(*kernel));
    for (int first = margin * 4; first < behind; first += BLOCK) {
        int count = behind - first < BLOCK ? behind - first : BLOCK;
        filter_columns(out, in, first, count, weights, offset + 0.5, size);
    }
    for (int y = 0; y < in->ysize; y++) {
        INT32 *to = out->image32[y], *from = in->image32[y];
        if (y < margin || y >= in->ysize - margin) {
            memcpy(to, from, in->linesize);
            continue;
        }
        for (int x = 0; x < margin; x++) {
            to[x] = from[x];
            to[width - 1 - x] = from[width - 1 - x];
        }
    }
}

BEGIN_TARGET(AVX512)
static void
filter_bands_wide(Imaging out, Imaging in, const float *kernel, float offset, int size) {
    if (size == 3) {
        filter_bands(out, in, kernel, offset, 3);
    } else {
        filter_bands(out, in, kernel, offset, 5);
    }
}
END_TARGET

Imaging
ImagingFilter(Imaging im, int xsize, int ysize, const FLOAT32 *kernel, FLOAT32 offset) {
    ImagingSectionCookie cookie;
    Imaging out;
    if (im->type != IMAGING_TYPE_UINT8 || im->bands == 1 || (xsize != 3 && xsize != 5) || xsize != ysize ||
        im->xsize < xsize || im->ysize < ysize) {
        return ImagingFilter__source(im, xsize, ysize, kernel, offset);
    }
    out = ImagingNewDirty(im->mode, im->xsize, im->ysize);
    if (!out) {
        return NULL;
    }
    ImagingSectionEnter(&cookie);
    MUTEX_LOCK(&im->mutex);
    if (find_vnni() == 64) {
        filter_bands_wide(out, im, kernel, offset, xsize);
    } else if (xsize == 3) {
        filter_bands(out, im, kernel, offset, 3);
    } else {
        filter_bands(out, im, kernel, offset, 5);
    }
    MUTEX_UNLOCK(&im->mutex);
    ImagingSectionLeave(&cookie);
    return out;
}
