/* Reduction of 8-bit bands by integer factors: rows are added first, then neighbours, then sums are divided, in loops that
   compilers vectorise. The same sums as Pillow's, of the same integers. */

#include <stdint.h>

#include "vectors.h"

#define MOST 256 /* pixels with a sum of at most 16 bits */

typedef UINT16 Pixel __attribute__((vector_size(8)));

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

/* Squares of two by two pixels, eight at a time: bytes 0 and 2 of the pixels together, then 1 and 3. Returns how many. */
static int
reduce_squares(UINT8 *restrict out, const UINT8 *above, const UINT8 *below, int count) {
    int x = 0;
    for (; x <= count - 8; x += 8) {
        Pairs rows[4], made = {0};
        memcpy(rows, above + 8 * x, 2 * sizeof(made));
        memcpy(rows + 2, below + 8 * x, 2 * sizeof(made));
        for (int shift = 0; shift <= 8; shift += 8) {
            Pairs a = (rows[0] >> shift & 0xff00ff) + (rows[2] >> shift & 0xff00ff);
            Pairs b = (rows[1] >> shift & 0xff00ff) + (rows[3] >> shift & 0xff00ff);
            Pairs sums =
                SHUFFLE(Pairs, a, b, 0, 2, 8, 10, 4, 6, 12, 14) + SHUFFLE(Pairs, a, b, 1, 3, 9, 11, 5, 7, 13, 15);
            made |= ((sums + 0x20002) >> 2 & 0xff00ff) << shift;
        }
        made = SHUFFLE(Pairs, made, made, 0, 1, 4, 5, 2, 3, 6, 7);
        memcpy(out + 4 * x, &made, sizeof(made));
    }
    return x;
}

INLINE void
add_neighbours(UINT16 *restrict out, const UINT16 *restrict sums, int count, int factor, int size) {
    for (int x = 0; x < count; x++) {
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
        UINT8 *to = (UINT8 *)out->image[y], **from = (UINT8 **)imIn->image + box[1] + y * yscale;
        if (imIn->pixelsize == 1) {
            add_rows(sums, from, box[0], rows, width);
            reduce_row(to, sums, sums + width, box[2], xscale, rows, 1);
        } else {
            int left = box[0] * 4, squares = 0;
            if (xscale == 2 && rows <= 2) { /* a row twice gives what it gives once */
                squares = reduce_squares(to, from[0] + left, from[rows - 1] + left, box[2] / 2);
            }
            add_rows(sums, from, left + squares * 8, rows, width - squares * 8);
            reduce_row(to + squares * 4, sums, sums + width, box[2] - squares * 2, xscale, rows, 4);
            for (int x = 0; x < out->xsize; x++) {
                out->image32[y][x] &= used;
            }
        }
    }
    ImagingSectionLeave(&cookie);
    free(sums);
    return out;
}
