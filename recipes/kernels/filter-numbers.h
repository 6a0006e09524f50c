/* 3x3 and 5x5 filters of several bands, by the floating-point numbers that Pillow computes, in the same order. */

#include "vectors.h"

#define LARGEST 5

INLINE void
sum_row(UINT8 *restrict out, const UINT8 *const *rows, int count, const float *kernel, float offset, int size) {
    for (int x = 0; x < count; x++) {
        float sum = offset;
        for (int row = 0; row < size; row++) {
            const UINT8 *values = rows[row] + x;
            const float *weights = kernel + row * size;
            float part = values[0] * weights[0];
            for (int i = 1; i < size; i++) {
                part += values[i * 4] * weights[i];
            }
            sum += part;
        }
        out[x] = clip8(sum);
    }
}

INLINE void
filter_rows(Imaging out, Imaging in, const float *kernel, float offset, int size) {
    int margin = size / 2;
    UINT32 used = used_bytes(in);
    float weights[LARGEST * LARGEST];
    memcpy(weights, kernel, size * size * sizeof(*kernel));
    for (int y = margin; y < in->ysize - margin; y++) {
        const UINT8 *rows[LARGEST];
        for (int i = 0; i < size; i++) {
            rows[i] = (UINT8 *)in->image[y + margin - i];
        }
        sum_row((UINT8 *)out->image[y] + margin * 4, rows, (in->xsize - 2 * margin) * 4, weights, offset + 0.5, size);
        for (int x = margin; used != ~0u && x < in->xsize - margin; x++) {
            out->image32[y][x] &= used;
        }
    }
}

INLINE void
filter_by_numbers(Imaging out, Imaging in, const float *kernel, float offset, int size) {
    if (size == 3) {
        filter_rows(out, in, kernel, offset, 3);
    } else {
        filter_rows(out, in, kernel, offset, 5);
    }
}

BEGIN_TARGET(AVX512)
static void
filter_by_numbers_wide(Imaging out, Imaging in, const float *kernel, float offset, int size) {
    filter_by_numbers(out, in, kernel, offset, size);
}
END_TARGET
