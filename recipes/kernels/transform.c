/* Bilinear and bicubic transforms of several channels: four bytes of a pixel at once, in doubles as in Pillow. */

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Up to Pillow 12, transforms return the resulting image; later ones return 0. */
typedef __typeof__(affine_fixed__source(0, 0, 0, 0, 0, 0, 0, 0, 0)) Result;
#define DONE(image) __builtin_choose_expr(__builtin_types_compatible_p(Result, Imaging), (image), 0)

typedef UINT8 Pixel __attribute__((vector_size(4)));
typedef INT32 Levels __attribute__((vector_size(16)));
typedef double Values __attribute__((vector_size(32)));

static inline Levels
load_levels(const INT32 *row, int x) {
    Pixel pixel;
    memcpy(&pixel, row + x, sizeof(pixel));
    return __builtin_convertvector(pixel, Levels);
}

static inline Values
load_values(const INT32 *row, int x) {
    return __builtin_convertvector(load_levels(row, x), Values);
}

static inline int
limit(int value, int size) {
    return value < 0 ? 0 : value < size ? value : size - 1;
}

/* The position of a point between the centres of pixels. */
static inline int
split_coordinate(double *fraction, double value) {
    value -= 0.5;
    int whole = value < 0.0 ? (int)floor(value) : (int)value;
    *fraction = value - whole;
    return whole;
}

static inline int
is_outside(Imaging im, double x, double y) {
    return x < 0.0 || x >= im->xsize || y < 0.0 || y >= im->ysize;
}

static inline void
store_levels(UINT8 *out, Levels levels, int bands) {
    Pixel pixel = __builtin_convertvector(levels, Pixel);
    if (bands == 4) {
        memcpy(out, &pixel, 4);
    } else {
        memcpy(out, &pixel, bands);
    }
}

static inline Values
mix_two(Values a, Values b, double fraction) {
    return a + (b - a) * fraction;
}

static inline int
set_by_two(UINT8 *out, Imaging im, double xin, double yin) {
    double dx, dy;
    if (is_outside(im, xin, yin)) {
        return 0;
    }
    int x = split_coordinate(&dx, xin), y = split_coordinate(&dy, yin);
    int left = limit(x, im->xsize), right = limit(x + 1, im->xsize);
    const INT32 *row = im->image32[limit(y, im->ysize)], *next = im->image32[limit(y + 1, im->ysize)];
    Values above = mix_two(load_values(row, left), load_values(row, right), dx);
    Values below = mix_two(load_values(next, left), load_values(next, right), dx);
    store_levels(out, __builtin_convertvector(mix_two(above, below, dy), Levels), im->bands);
    return 1;
}

static inline Values
mix_four(Values a, Values b, Values c, Values d, double fraction) {
    Values second = c - a;
    Values third = 2 * (a - b) + c - d;
    Values fourth = b - a - c + d;
    return b + fraction * (second + fraction * (third + fraction * fourth));
}

static inline Values
mix_row(const INT32 *row, const int columns[4], double fraction) {
    return mix_four(
        load_values(row, columns[0]),
        load_values(row, columns[1]),
        load_values(row, columns[2]),
        load_values(row, columns[3]),
        fraction
    );
}

static inline int
set_by_four(UINT8 *out, Imaging im, double xin, double yin) {
    double dx, dy;
    int columns[4];
    Values rows[4];
    if (is_outside(im, xin, yin)) {
        return 0;
    }
    int x = split_coordinate(&dx, xin), y = split_coordinate(&dy, yin);
    for (int i = 0; i < 4; i++) {
        columns[i] = limit(x - 1 + i, im->xsize);
    }
    for (int i = 0; i < 4; i++) {
        rows[i] = mix_row(im->image32[limit(y - 1 + i, im->ysize)], columns, dx);
    }
    Levels levels = __builtin_convertvector(mix_four(rows[0], rows[1], rows[2], rows[3], dy), Levels);
    levels &= levels > 0;
    Levels above = levels > 255;
    store_levels(out, (levels & ~above) | (above & 255), im->bands);
    return 1;
}

/* Like the function pointer, but without a call in the most common cases. */
static inline int
find_point(double *xin, double *yin, int x, int y, ImagingTransformMap transform, void *data) {
    return transform == affine_transform ? affine_transform(xin, yin, x, y, data) : transform(xin, yin, x, y, data);
}

Result
ImagingGenericTransform(
    Imaging imOut,
    Imaging imIn,
    int x0,
    int y0,
    int x1,
    int y1,
    ImagingTransformMap transform,
    void *transform_data,
    int filterid,
    int fill
) {
    ImagingSectionCookie cookie;
    double xin, yin;
    int cubic = filterid == IMAGING_TRANSFORM_BICUBIC;
    if (!imOut || !imIn || imIn->mode != imOut->mode || imIn->type != IMAGING_TYPE_UINT8 || imIn->image8 ||
        imIn->bands < 3 || (filterid != IMAGING_TRANSFORM_BILINEAR && !cubic)) {
        return ImagingGenericTransform__source(imOut, imIn, x0, y0, x1, y1, transform, transform_data, filterid, fill);
    }
    ImagingCopyPalette(imOut, imIn);
    ImagingSectionEnter(&cookie);
    MUTEX_LOCK(&imIn->mutex);
    x0 = x0 < 0 ? 0 : x0;
    y0 = y0 < 0 ? 0 : y0;
    x1 = x1 > imOut->xsize ? imOut->xsize : x1;
    y1 = y1 > imOut->ysize ? imOut->ysize : y1;
    for (int y = y0; y < y1; y++) {
        for (int x = x0; x < x1; x++) {
            UINT8 *out = (UINT8 *)(imOut->image32[y] + x);
            int set = find_point(&xin, &yin, x - x0, y - y0, transform, transform_data) &&
                      (cubic ? set_by_four(out, imIn, xin, yin) : set_by_two(out, imIn, xin, yin));
            if (!set && fill) {
                memset(out, 0, sizeof(Pixel));
            }
        }
    }
    MUTEX_UNLOCK(&imIn->mutex);
    ImagingSectionLeave(&cookie);
    return DONE(imOut);
}

/* Limits a run to the pixels with a coordinate, start + pixel * step, from 0 to limit - 1. */
static inline void
clip_run(int *first, int *end, int64_t start, int64_t step, int64_t limit) {
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

static inline __attribute__((always_inline)) void
copy_run(char *out, char **rows, int first, int end, int xx, int yy, int xstep, int ystep, int size) {
    for (int x = first; x < end; x++) {
        memcpy(out + (size_t)x * size, rows[(yy + x * ystep) >> 16] + (size_t)((xx + x * xstep) >> 16) * size, size);
    }
}

static inline int
to_fixed(double value) {
    value = value * 65536.0 + 0.5;
    return value < 0.0 ? (int)floor(value) : (int)value;
}

/* The nearest pixel, with 16 bits before and after the binary point; the inside range is computed once per row. */
static Result
affine_fixed(Imaging imOut, Imaging imIn, int x0, int y0, int x1, int y1, double a[6], int filterid, int fill) {
    ImagingSectionCookie cookie;
    int size = imIn->pixelsize, xstep = to_fixed(a[0]), ystep = to_fixed(a[3]);
    int xx = to_fixed(a[2] + a[0] * 0.5 + a[1] * 0.5), yy = to_fixed(a[5] + a[3] * 0.5 + a[4] * 0.5);
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
        if (size == 1) {
            copy_run(out, imIn->image, first, end, xx, yy, xstep, ystep, 1);
        } else {
            copy_run(out, imIn->image, first, end, xx, yy, xstep, ystep, 4);
        }
        xx += to_fixed(a[1]);
        yy += to_fixed(a[4]);
    }
    MUTEX_UNLOCK(&imIn->mutex);
    ImagingSectionLeave(&cookie);
    return DONE(imOut);
}
