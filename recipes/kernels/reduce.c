/* Reduction of 8-bit bands by integer factors: rows are added first, then neighbours, then sums are divided, in loops that
   compilers vectorise. The same sums as Pillow's, of the same integers. */

#include <stdint.h>

#include "vectors.h"

#define MOST 256 /* pixels with a sum of at most 16 bits */

typedef UINT16 Pixel __attribute__((vector_size(8)));
typedef uint64_t Pixels __attribute__((vector_size(32)));

static void
add_rows(UINT16 *restrict sums, UINT8 *const *rows, int left, int count, int width) {
    const UINT8 *restrict first = rows[0] + left;
    for (int x = 0; x < width; x++) {
        sums[x] = first[x];
    }
    for (int i = 1; i < count; i++) {
        const UINT8 *restrict row = rows[i] + left;
        for (int x = 0; x < width; x++) {
            sums[x] += row[x];
        }
    }
}

/* Pairs of pixels, in vectors. */
INLINE int
add_pairs(UINT16 *restrict out, const UINT16 *restrict sums, int count) {
    int x = 0;
    for (; x <= count - 4; x += 4) {
        Pixels a, b;
        memcpy(&a, sums + 8 * x, sizeof(a));
        memcpy(&b, sums + 8 * x + 16, sizeof(b));
        Halves sum = (Halves)SHUFFLE(Pixels, a, b, 0, 4, 2, 6) + (Halves)SHUFFLE(Pixels, a, b, 1, 5, 3, 7);
        a = SHUFFLE(Pixels, (Pixels)sum, (Pixels)sum, 0, 2, 1, 3);
        memcpy(out + 4 * x, &a, sizeof(a));
    }
    return x;
}

INLINE void
add_neighbours(UINT16 *restrict out, const UINT16 *restrict sums, int count, int factor, int size) {
    for (int x = size == 4 && factor == 2 ? add_pairs(out, sums, count) : 0; x < count; x++) {
        if (size == 1) {
            UINT16 sum = sums[x * factor];
            for (int i = 1; i < factor; i++) {
                sum += sums[x * factor + i];
            }
            out[x] = sum;
        } else {
            Pixel sum, next;
            memcpy(&sum, sums + x * factor * 4, sizeof(sum));
            for (int i = 1; i < factor; i++) {
                memcpy(&next, sums + (x * factor + i) * 4, sizeof(next));
                sum += next;
            }
            memcpy(out + x * 4, &sum, sizeof(sum));
        }
    }
}

static void
divide_sums(UINT8 *restrict out, const UINT16 *restrict sums, int count, int pixels) {
    UINT32 multiplier = division_UINT32(pixels, 8);
    UINT16 half = pixels / 2;
    if (pixels & (pixels - 1)) {
        for (int x = 0; x < count; x++) {
            out[x] = ((UINT32)(sums[x] + half) * multiplier) >> 24;
        }
    } else {
        for (int x = 0, bits = __builtin_ctz(pixels); x < count; x++) {
            out[x] = (UINT16)(sums[x] + half) >> bits;
        }
    }
}

/* The most common factors are constants, so that their loops are vectorised. */
INLINE void
reduce_row(UINT8 *out, UINT16 *sums, UINT16 *made, int width, int factor, int rows, int size) {
    int count = width / factor, rest = width % factor;
    switch (factor) {
        case 1:
            break;
        case 2:
            add_neighbours(made, sums, count, 2, size);
            break;
        case 3:
            add_neighbours(made, sums, count, 3, size);
            break;
        case 4:
            add_neighbours(made, sums, count, 4, size);
            break;
        default:
            add_neighbours(made, sums, count, factor, size);
    }
    divide_sums(out, factor == 1 ? sums : made, count * size, rows * factor);
    if (rest) {
        add_neighbours(made, sums + count * factor * size, 1, rest, size);
        divide_sums(out + count * size, made, size, rows * rest);
    }
}

Imaging
ImagingReduce(Imaging imIn, int xscale, int yscale, int box[4]) {
    ImagingSectionCookie cookie;
    Imaging out = NULL;
    UINT16 *sums = NULL;
    int width = box[2] * imIn->pixelsize, plain = imIn->mode != IMAGING_MODE_P && imIn->mode != IMAGING_MODE_1;
    if (imIn->type == IMAGING_TYPE_UINT8 && plain && xscale <= MOST && yscale <= MOST && xscale * yscale <= MOST) {
        sums = malloc((size_t)width * 2 * sizeof(*sums));
    }
    if (sums) {
        out = ImagingNewDirty(imIn->mode, (box[2] - 1) / xscale + 1, (box[3] - 1) / yscale + 1);
    }
    if (!out) {
        free(sums);
        return ImagingReduce__source(imIn, xscale, yscale, box);
    }
    UINT32 used = used_bytes(out);
    ImagingSectionEnter(&cookie);
    for (int y = 0; y < out->ysize; y++) {
        int rows = box[3] - y * yscale < yscale ? box[3] - y * yscale : yscale;
        UINT8 *to = (UINT8 *)out->image[y];
        add_rows(sums, (UINT8 **)imIn->image + box[1] + y * yscale, box[0] * imIn->pixelsize, rows, width);
        if (imIn->pixelsize == 1) {
            reduce_row(to, sums, sums + width, box[2], xscale, rows, 1);
        } else {
            reduce_row(to, sums, sums + width, box[2], xscale, rows, 4);
            for (int x = 0; x < out->xsize; x++) {
                out->image32[y][x] &= used;
            }
        }
    }
    ImagingSectionLeave(&cookie);
    free(sums);
    return out;
}
