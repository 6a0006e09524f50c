/* ImageChops: two pictures combined byte by byte. All bytes of a row are treated alike, whatever the mode.

   Most of Pillow's loops compare 32-bit integers to clip them, or divide. `add` and `subtract` go through
   floating-point numbers. Here 16-bit integers suffice, so the bytes at even places are computed first and then those
   at odd places, in vectors of 16-bit lanes:

       bytes     0 1 2 3 4 5 ...      & 255      0   2   4   ...      >> 8      1   3   5   ...

   Exactness. Quotients are those of integers, cut off:

       x / 255 is (x + 1 + (x >> 8)) >> 8   for all products of two bytes,
       x / 127 is (x * 33027 >> 16) >> 6    for all x up to 127 * 255;

   both were compared with every such x. With a scale of 1, the floating-point sums of Pillow's `add` and `subtract` are
   integers, so they are exact. Any other scale and large offsets are left to Pillow, as are logical operations and
   whatever raises an error. */

#include "combine.h"

#define FI_CHOPS_OFFSET 32000 /* the largest offset with which sums and differences still fit into 16 bits */

FI_INLINE fi_wide_u16 fi_chops_by_255(fi_wide_u16 product) {
    return (product + 1 + (product >> 8)) >> 8;
}

FI_INLINE fi_wide_u16 fi_chops_by_127(fi_wide_u16 product) {
    return fi_multiply_high(product, (fi_wide_u16){0} + 33027) >> 6;
}

FI_INLINE fi_wide_u16 fi_chops_clip(fi_wide_u16 words) {
    fi_wide_i16 values = (fi_wide_i16)words, zero = {0};
    return (fi_wide_u16)FI_MIN(FI_MAX(values, zero), zero + 255);
}

/* An operation on two vectors of bytes, each in a 16-bit lane. Of a result only the lower byte counts. The offset is
   for `add` and `subtract` alone. */
typedef fi_wide_u16 fi_chops_operation(fi_wide_u16 a, fi_wide_u16 b, int offset);
#define FI_CHOPS_UNUSED __attribute__((unused))

FI_INLINE fi_wide_u16 fi_chops_add(fi_wide_u16 a, fi_wide_u16 b, int offset) {
    return fi_chops_clip(a + b + (UINT16)offset);
}

FI_INLINE fi_wide_u16 fi_chops_subtract(fi_wide_u16 a, fi_wide_u16 b, int offset) {
    return fi_chops_clip(a - b + (UINT16)offset);
}

FI_INLINE fi_wide_u16 fi_chops_multiply(fi_wide_u16 a, fi_wide_u16 b, int offset FI_CHOPS_UNUSED) {
    return fi_chops_by_255(a * b);
}

FI_INLINE fi_wide_u16 fi_chops_screen(fi_wide_u16 a, fi_wide_u16 b, int offset FI_CHOPS_UNUSED) {
    return 255 - fi_chops_by_255((255 - a) * (255 - b));
}

/* Where a < 128, a * b / 127; elsewhere 255 - (255 - a) * (255 - b) / 127. */
FI_INLINE fi_wide_u16 fi_chops_overlay(fi_wide_u16 a, fi_wide_u16 b, int offset FI_CHOPS_UNUSED) {
    fi_wide_u16 below = (fi_wide_u16)(a < 128);
    fi_wide_u16 product = FI_SELECT(below, a * b, (255 - a) * (255 - b)), quotient = fi_chops_by_127(product);
    return FI_SELECT(below, quotient, 255 - quotient);
}

FI_INLINE fi_wide_u16 fi_chops_hard_light(fi_wide_u16 a, fi_wide_u16 b, int offset) {
    return fi_chops_overlay(b, a, offset);
}

/* (255 - a) * a * b / 65536 + a * screen / 255, each cut off. The upper half of a product is the product / 65536. */
FI_INLINE fi_wide_u16 fi_chops_soft_light(fi_wide_u16 a, fi_wide_u16 b, int offset) {
    return fi_multiply_high(a * b, 255 - a) + fi_chops_by_255(a * fi_chops_screen(a, b, offset));
}

/* The results of an operation on vectors of bytes: those at even places, then those at odd places. */
FI_INLINE fi_wide_u8 fi_chops_bytes(fi_wide_u8 first, fi_wide_u8 second, fi_chops_operation *operation, int offset) {
    fi_wide_u16 a = (fi_wide_u16)first, b = (fi_wide_u16)second;
    fi_wide_u16 even = operation(a & 255, b & 255, offset), odd = operation(a >> 8, b >> 8, offset);
    return (fi_wide_u8)((even & 255) | odd << 8);
}

/* Whether two pictures can be combined: Pillow raises an error if not. */
static int fi_chops_fit(Imaging first, Imaging second) {
    return first && second && first->type == IMAGING_TYPE_UINT8 && second->type == IMAGING_TYPE_UINT8 &&
           first->bands == second->bands;
}

FI_INLINE Imaging fi_chops_combine(Imaging first, Imaging second, fi_chops_operation *operation, int offset) {
    int xsize = fi_min(first->xsize, second->xsize), ysize = fi_min(first->ysize, second->ysize);
    Imaging out = ImagingNewDirty(first->mode, xsize, ysize);
    if (!out) {
        return NULL;
    }
    FI_BEGIN_LARGE(out)
    for (int y = 0; y < ysize; y++) {
        FI_COMBINE_ROW(out->image[y], first->image[y], second->image[y], out->linesize,
                       fi_chops_bytes(a, b, operation, offset))
    }
    FI_END_LARGE
    return out;
}

#define FI_CHOPS_DEFINE(function, operation)                                                                           \
    Imaging function(Imaging imIn1, Imaging imIn2) {                                                                   \
        return fi_chops_fit(imIn1, imIn2) ? fi_chops_combine(imIn1, imIn2, operation, 0)                               \
                                          : function##__source(imIn1, imIn2);                                          \
    }

#define FI_CHOPS_DEFINE_SCALED(function, operation)                                                                    \
    Imaging function(Imaging imIn1, Imaging imIn2, float scale, int offset) {                                          \
        int is_simple = scale == 1 && offset >= -FI_CHOPS_OFFSET && offset <= FI_CHOPS_OFFSET;                         \
        return is_simple && fi_chops_fit(imIn1, imIn2) ? fi_chops_combine(imIn1, imIn2, operation, offset)             \
                                                       : function##__source(imIn1, imIn2, scale, offset);              \
    }

FI_CHOPS_DEFINE(ImagingChopMultiply, fi_chops_multiply)
FI_CHOPS_DEFINE(ImagingChopScreen, fi_chops_screen)
FI_CHOPS_DEFINE(ImagingChopSoftLight, fi_chops_soft_light)
FI_CHOPS_DEFINE(ImagingChopHardLight, fi_chops_hard_light)
FI_CHOPS_DEFINE(ImagingOverlay, fi_chops_overlay)
FI_CHOPS_DEFINE_SCALED(ImagingChopAdd, fi_chops_add)
FI_CHOPS_DEFINE_SCALED(ImagingChopSubtract, fi_chops_subtract)
