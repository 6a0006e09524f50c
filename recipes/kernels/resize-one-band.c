/* Resizing of one channel: sixteen rows, or sixteen columns, at a time. The same sums as Pillow's, of the same integers. */

#include "vectors.h"

static void
round_coefficients(double *coefficients, int count) {
    INT32 *rounded = (INT32 *)coefficients; /* in place, as callers expect */
    for (int i = 0; i < count; i++) {
        double value = coefficients[i] * (1 << PRECISION_BITS);
        rounded[i] = (int)(value < 0 ? value - 0.5 : value + 0.5);
    }
}

static inline Bytes
clip_sums(Ints sums) {
    sums >>= PRECISION_BITS;
    sums &= sums > 0;
    Ints above = sums > 255;
    return __builtin_convertvector((sums & ~above) | (above & 255), Bytes);
}

static inline Bytes
weigh(const Bytes *values, const INT32 *weights, int count) {
    Ints sums = (Ints){0} + (1 << (PRECISION_BITS - 1));
    for (int i = 0; i < count; i++) {
        sums += __builtin_convertvector(values[i], Ints) * weights[i];
    }
    return clip_sums(sums);
}

static inline int
resize_rows(Imaging out, Imaging in, int offset, int ksize, int *bounds, double *coefficients) {
    ImagingSectionCookie cookie;
    Bytes *columns = malloc(sizeof(Bytes) * ((size_t)in->xsize + out->xsize));
    if (!columns) {
        return 0;
    }
    Bytes *resized = columns + in->xsize;
    INT32 *weights = (INT32 *)coefficients;
    MUTEX_LOCK(&in->mutex);
    round_coefficients(coefficients, out->xsize * ksize);
    ImagingSectionEnter(&cookie);
    for (int y = 0; y < out->ysize; y += LANES) {
        int rows = out->ysize - y < LANES ? out->ysize - y : LANES;
        rows_to_columns(columns, in->image8 + y + offset, rows, in->xsize);
        for (int x = 0; x < out->xsize; x++) {
            resized[x] = weigh(columns + bounds[2 * x], weights + (size_t)x * ksize, bounds[2 * x + 1]);
        }
        columns_to_rows(out->image8 + y, rows, resized, out->xsize);
    }
    MUTEX_UNLOCK(&in->mutex);
    ImagingSectionLeave(&cookie);
    free(columns);
    return 1;
}

static void
ImagingResampleHorizontal_8bpc(Imaging imOut, Imaging imIn, int offset, int ksize, int *bounds, double *prekk) {
    if (!imIn->image8 || imOut->ysize < FEWEST || !resize_rows(imOut, imIn, offset, ksize, bounds, prekk)) {
        ImagingResampleHorizontal_8bpc__source(imOut, imIn, offset, ksize, bounds, prekk);
    }
}

static void
resize_columns(Imaging out, Imaging in, int ksize, int *bounds, double *coefficients) {
    ImagingSectionCookie cookie;
    MUTEX_LOCK(&in->mutex);
    round_coefficients(coefficients, out->ysize * ksize);
    ImagingSectionEnter(&cookie);
    for (int y = 0; y < out->ysize; y++) {
        const INT32 *weights = (INT32 *)coefficients + (size_t)y * ksize;
        UINT8 **rows = in->image8 + bounds[2 * y];
        for (int x = 0; x < out->xsize; x += LANES) {
            Ints sums = (Ints){0} + (1 << (PRECISION_BITS - 1));
            for (int i = 0; i < bounds[2 * y + 1]; i++) {
                sums += __builtin_convertvector(load_bytes(rows[i] + x, out->xsize - x), Ints) * weights[i];
            }
            store_bytes(out->image8[y] + x, clip_sums(sums), out->xsize - x);
        }
    }
    MUTEX_UNLOCK(&in->mutex);
    ImagingSectionLeave(&cookie);
}

static void
ImagingResampleVertical_8bpc(Imaging imOut, Imaging imIn, int offset, int ksize, int *bounds, double *prekk) {
    if (imIn->image8 && imOut->xsize >= FEWEST) {
        resize_columns(imOut, imIn, ksize, bounds, prekk);
    } else {
        ImagingResampleVertical_8bpc__source(imOut, imIn, offset, ksize, bounds, prekk);
    }
}
