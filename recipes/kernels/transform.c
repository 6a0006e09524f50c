/* Transforms: the nearest pixel of an affine one, and those of several channels, some pixels at a time: first where all of
   them come from, then four bytes of a pixel at once, in doubles as in Pillow. */

#include "vectors.h"

/* Up to Pillow 12, transforms return the resulting image; later ones return 0. */
typedef __typeof__(affine_fixed__source(0, 0, 0, 0, 0, 0, 0, 0, 0)) Result;
#define DONE(image) __builtin_choose_expr(__builtin_types_compatible_p(Result, Imaging), (image), 0)

#define BLOCK 64 /* pixels of a row */

typedef UINT8 Channels __attribute__((vector_size(4)));
typedef INT32 Levels __attribute__((vector_size(16)));
typedef double Values __attribute__((vector_size(32)));

#define LOAD_VALUES(from) __builtin_convertvector(__builtin_convertvector(LOAD(Channels, from), Levels), Values)

/* What lies between the middle two of two or four values. */
INLINE Values mix(const Values *from, double fraction, int taps) {
    if (taps == 2) {
        return from[0] + (from[1] - from[0]) * fraction;
    }
    Values second = from[2] - from[0];
    Values third = 2 * (from[0] - from[1]) + from[2] - from[3];
    Values fourth = from[1] - from[0] - from[2] + from[3];
    return from[1] + fraction * (second + fraction * (third + fraction * fourth));
}

/* Where some pixels come from, across and down: points, and the pixels around them. In the end a point is told by how far it
   is beyond the first of the middle two. */
typedef struct {
    double points[2][BLOCK];
    int pixels[2][4][BLOCK], inside[BLOCK];
} Places;

/* What is no number is inside, as in Pillow. */
INLINE void find_pixels(Places *places, int axis, int size, int count, int taps) {
    for (int i = 0; i < count; i++) {
        double at = places->points[axis][i];
        places->inside[i] &= !(at < 0.0 || at >= size);
        at = places->inside[i] ? at - 0.5 : 0.0;
        int first = FLOOR(at);
        places->points[axis][i] = at - first;
        for (int j = 0; j < taps; j++) {
            places->pixels[axis][j][i] = larger(0, smaller(first + 1 - taps / 2 + j, size - 1));
        }
    }
}

INLINE UINT32 mix_pixels(const Places *places, int i, Imaging im, int taps) {
    Values rows[4], values[4];
    for (int j = 0; j < taps; j++) {
        const INT32 *row = im->image32[places->pixels[1][j][i]];
        for (int k = 0; k < taps; k++) {
            values[k] = LOAD_VALUES(row + places->pixels[0][k][i]);
        }
        rows[j] = mix(values, places->points[0][i], taps);
    }
    Levels levels = __builtin_convertvector(mix(rows, places->points[1][i], taps), Levels);
    if (taps == 4) {
        levels = MINIMUM(MAXIMUM(levels, (Levels){0}), (Levels){0} + 255);
    }
    return (UINT32)__builtin_convertvector(levels, Channels);
}

INLINE void set_pixels(UINT32 *out, Places *places, int count, Imaging im, int taps, int fill) {
    const UINT32 used = used_bytes(im);
    find_pixels(places, 0, im->xsize, count, taps);
    find_pixels(places, 1, im->ysize, count, taps);
    for (int i = 0; i < count; i++) {
        if (places->inside[i]) {
            out[i] = CHOOSE(used, mix_pixels(places, i, im, taps), out[i]);
        } else if (fill) {
            out[i] = 0;
        }
    }
}

Result
ImagingGenericTransform(Imaging imOut, Imaging imIn, int x0, int y0, int x1, int y1, ImagingTransformMap transform,
                        void *transform_data, int filterid, int fill) {
    Places places;
    int taps = filterid == IMAGING_TRANSFORM_BILINEAR ? 2 : filterid == IMAGING_TRANSFORM_BICUBIC ? 4 : 0;
    if (!imOut || !imIn || imIn->mode != imOut->mode || imIn->type != IMAGING_TYPE_UINT8 || imIn->image8 ||
        imIn->bands < 3 || !taps) {
        return ImagingGenericTransform__source(imOut, imIn, x0, y0, x1, y1, transform, transform_data, filterid, fill);
    }
    ImagingCopyPalette(imOut, imIn);
    BEGIN_SECTION(imIn)
    x0 = larger(x0, 0);
    y0 = larger(y0, 0);
    x1 = smaller(x1, imOut->xsize);
#define FIND(transform) transform(&places.points[0][i], &places.points[1][i], x - x0 + i, y - y0, transform_data)
    for (int y = y0; y < smaller(y1, imOut->ysize); y++) {
        for (int x = x0; x < x1; x += BLOCK) {
            int count = smaller(x1 - x, BLOCK);
            for (int i = 0; i < count; i++) {
                places.inside[i] = transform == affine_transform        ? FIND(affine_transform) /* without a call */
                                   : transform == perspective_transform ? FIND(perspective_transform)
                                                                        : FIND(transform);
            }
            UINT32 *out = (UINT32 *)imOut->image32[y] + x;
            EITHER(taps, 2, 4, set_pixels(out, &places, count, imIn, taps, fill));
        }
    }
    END_SECTION(imIn)
    return DONE(imOut);
}

/* Limits a run to the pixels with a coordinate, start + pixel * step, from 0 to limit - 1. */
static inline void clip_run(int *first, int *end, int64_t start, int64_t step, int64_t limit) {
    if (step < 0) {
        start = limit - 1 - start;
        step = -step;
    }
    int64_t enters = step ? (step - 1 - start) / step : 0, leaves = step ? (limit - 1 - start) / step + 1 : *end;
    if (start >= limit || (start < 0 && !step)) {
        leaves = 0;
    }
    *first = start < 0 && enters > *first ? (int)(enters < *end ? enters : *end) : *first;
    *end = leaves < *end ? (int)(leaves > *first ? leaves : *first) : *end;
}

INLINE void copy_run(char *out, char **rows, int first, int end, int xx, int yy, int xstep, int ystep, int size) {
    for (int x = first; x < end; x++) {
        memcpy(out + (size_t)x * size, rows[(yy + x * ystep) >> 16] + (size_t)((xx + x * xstep) >> 16) * size, size);
    }
}

#define TO_FIXED(value) FLOOR((value) * 65536.0 + 0.5)

/* The nearest pixel, with 16 bits before and after the binary point; the inside range is computed once per row. */
static Result
affine_fixed(Imaging imOut, Imaging imIn, int x0, int y0, int x1, int y1, double a[6], int filterid, int fill) {
    int size = imIn->pixelsize, xstep = TO_FIXED(a[0]), ystep = TO_FIXED(a[3]);
    int xx = TO_FIXED(a[2] + a[0] * 0.5 + a[1] * 0.5), yy = TO_FIXED(a[5] + a[3] * 0.5 + a[4] * 0.5);
    if (size != 1 && size != 4) {
        return affine_fixed__source(imOut, imIn, x0, y0, x1, y1, a, filterid, fill);
    }
    ImagingCopyPalette(imOut, imIn);
    BEGIN_SECTION(imIn)
    for (int y = y0; y < y1; y++) {
        char *out = imOut->image[y] + (size_t)x0 * size;
        int first = 0, end = larger(x1 - x0, 0);
        clip_run(&first, &end, xx, xstep, (int64_t)imIn->xsize << 16);
        clip_run(&first, &end, yy, ystep, (int64_t)imIn->ysize << 16);
        if (fill && x1 > x0) {
            memset(out, 0, (size_t)first * size);
            memset(out + (size_t)end * size, 0, (size_t)(x1 - x0 - end) * size);
        }
        EITHER(size, 1, 4, copy_run(out, imIn->image, first, end, xx, yy, xstep, ystep, size));
        xx += TO_FIXED(a[1]);
        yy += TO_FIXED(a[4]);
    }
    END_SECTION(imIn)
    return DONE(imOut);
}
