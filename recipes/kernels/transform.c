/* Transforms: the nearest pixel of an affine one, and four bytes of a pixel at once, in doubles as in Pillow, for bilinear
   and bicubic transforms of several channels. */

#include <math.h>

#include "vectors.h"

/* Up to Pillow 12, transforms return the resulting image; later ones return 0. */
typedef __typeof__(affine_fixed__source(0, 0, 0, 0, 0, 0, 0, 0, 0)) Result;
#define DONE(image) __builtin_choose_expr(__builtin_types_compatible_p(Result, Imaging), (image), 0)

typedef UINT8 Channels __attribute__((vector_size(4)));
typedef INT32 Levels __attribute__((vector_size(16)));
typedef double Values __attribute__((vector_size(32)));

INLINE Values load_values(const INT32 *row, int x) {
    return __builtin_convertvector(__builtin_convertvector(LOAD(Channels, row + x), Levels), Values);
}

INLINE int limit(int value, int size) {
    return larger(0, smaller(value, size - 1));
}

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

/* Returns whether the point is inside. */
INLINE int set_pixel(void *out, Imaging im, double xin, double yin, int taps) {
    Values rows[4], values[4];
    if (xin < 0.0 || xin >= im->xsize || yin < 0.0 || yin >= im->ysize) {
        return 0;
    }
    int x = FLOOR(xin - 0.5), y = FLOOR(yin - 0.5), before = taps / 2 - 1;
    for (int i = 0; i < taps; i++) {
        const INT32 *row = im->image32[limit(y - before + i, im->ysize)];
        for (int j = 0; j < taps; j++) {
            values[j] = load_values(row, limit(x - before + j, im->xsize));
        }
        rows[i] = mix(values, xin - 0.5 - x, taps);
    }
    Levels levels = __builtin_convertvector(mix(rows, yin - 0.5 - y, taps), Levels);
    if (taps == 4) {
        levels = MINIMUM(MAXIMUM(levels, (Levels){0}), (Levels){0} + 255);
    }
    Channels pixel = __builtin_convertvector(levels, Channels);
    copy_some(out, &pixel, im->bands, sizeof(pixel));
    return 1;
}

Result
ImagingGenericTransform(Imaging imOut, Imaging imIn, int x0, int y0, int x1, int y1, ImagingTransformMap transform,
                        void *transform_data, int filterid, int fill) {
    ImagingSectionCookie cookie;
    double xin, yin;
    int taps = filterid == IMAGING_TRANSFORM_BILINEAR ? 2 : filterid == IMAGING_TRANSFORM_BICUBIC ? 4 : 0;
    if (!imOut || !imIn || imIn->mode != imOut->mode || imIn->type != IMAGING_TYPE_UINT8 || imIn->image8 ||
        imIn->bands < 3 || !taps) {
        return ImagingGenericTransform__source(imOut, imIn, x0, y0, x1, y1, transform, transform_data, filterid, fill);
    }
    ImagingCopyPalette(imOut, imIn);
    ImagingSectionEnter(&cookie);
    MUTEX_LOCK(&imIn->mutex);
    x0 = larger(x0, 0);
    y0 = larger(y0, 0);
    for (int y = y0; y < smaller(y1, imOut->ysize); y++) {
        for (int x = x0; x < smaller(x1, imOut->xsize); x++) {
            INT32 *out = imOut->image32[y] + x;
            int set = transform == affine_transform /* the most common, without a call */
                          ? affine_transform(&xin, &yin, x - x0, y - y0, transform_data)
                          : transform(&xin, &yin, x - x0, y - y0, transform_data);
            set = set && (taps == 4 ? set_pixel(out, imIn, xin, yin, 4) : set_pixel(out, imIn, xin, yin, 2));
            if (!set && fill) {
                *out = 0;
            }
        }
    }
    MUTEX_UNLOCK(&imIn->mutex);
    ImagingSectionLeave(&cookie);
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
    ImagingSectionCookie cookie;
    int size = imIn->pixelsize, xstep = TO_FIXED(a[0]), ystep = TO_FIXED(a[3]);
    int xx = TO_FIXED(a[2] + a[0] * 0.5 + a[1] * 0.5), yy = TO_FIXED(a[5] + a[3] * 0.5 + a[4] * 0.5);
    if (size != 1 && size != 4) {
        return affine_fixed__source(imOut, imIn, x0, y0, x1, y1, a, filterid, fill);
    }
    ImagingCopyPalette(imOut, imIn);
    ImagingSectionEnter(&cookie);
    MUTEX_LOCK(&imIn->mutex);
    for (int y = y0; y < y1; y++) {
        char *out = imOut->image[y] + (size_t)x0 * size;
        int first = 0, end = x1 > x0 ? x1 - x0 : 0;
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
    MUTEX_UNLOCK(&imIn->mutex);
    ImagingSectionLeave(&cookie);
    return DONE(imOut);
}
