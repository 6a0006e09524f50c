/* ImageChops: two pictures combined byte by byte. Every byte of a row is one, whatever the mode.

   Most of Pillow's loops clip by comparisons of 32-bit integers or divide, and add and subtract go through floating-point
   numbers. Here 16-bit integers suffice, so the bytes of even and of odd places are computed in turn, in vectors of words:

       bytes     0 1 2 3 4 5 ...      & 255      0   2   4   ...      >> 8      1   3   5   ...

   Quotients are those of integers, cut off:

       x / 255 is (x + 1 + (x >> 8)) >> 8   for all products of two bytes,
       x / 127 is (x * 33027 >> 16) >> 6    for all x up to 127 * 255;

   both were compared with every such x. `add` and `subtract` with a scale other than 1 or a large offset are left to
   Pillow, with logical operations and whatever raises an error. With scale 1, Pillow's floating-point sums are exact. */

#include "combine.h"

#define FI_CHOPS_OFFSET 32000 /* the largest that leaves words room for sums and differences */

FI_INLINE fi_wide_u16 fi_chops_by_255(fi_wide_u16 product) {
    return (product + 1 + (product >> 8)) >> 8;
}

FI_INLINE fi_wide_u16 fi_chops_by_127(fi_wide_u16 product) {
    return fi_multiply_high(product, (fi_wide_u16){0} + 33027) >> 6;
}

FI_INLINE fi_wide_u16 fi_chops_clip(fi_wide_u16 words) {
    fi_wide_i16 value = (fi_wide_i16)words, zero = {0};
    return (fi_wide_u16)FI_MIN(FI_MAX(value, zero), zero + 255);
}

/* Each takes words of two bytes, and gives words of which the lower byte counts. Only two of them look at the offset. */
typedef fi_wide_u16 fi_chops_operation(fi_wide_u16 a, fi_wide_u16 b, int offset);
#define FI_UNUSED __attribute__((unused))

FI_INLINE fi_wide_u16 fi_chops_add(fi_wide_u16 a, fi_wide_u16 b, int offset) {
    return fi_chops_clip(a + b + (UINT16)offset);
}

FI_INLINE fi_wide_u16 fi_chops_subtract(fi_wide_u16 a, fi_wide_u16 b, int offset) {
    return fi_chops_clip(a - b + (UINT16)offset);
}

FI_INLINE fi_wide_u16 fi_chops_multiply(fi_wide_u16 a, fi_wide_u16 b, int offset FI_UNUSED) {
    return fi_chops_by_255(a * b);
}

FI_INLINE fi_wide_u16 fi_chops_screen(fi_wide_u16 a, fi_wide_u16 b, int offset FI_UNUSED) {
    return 255 - fi_chops_by_255((255 - a) * (255 - b));
}

/* Below 128 by the first product, otherwise by the second. */
FI_INLINE fi_wide_u16 fi_chops_overlay(fi_wide_u16 a, fi_wide_u16 b, int offset FI_UNUSED) {
    fi_wide_u16 below = (fi_wide_u16)(a < 128);
    fi_wide_u16 product = FI_SELECT(below, a * b, (255 - a) * (255 - b)), quotient = fi_chops_by_127(product);
    return FI_SELECT(below, quotient, 255 - quotient);
}

FI_INLINE fi_wide_u16 fi_chops_hard_light(fi_wide_u16 a, fi_wide_u16 b, int offset) {
    return fi_chops_overlay(b, a, offset);
}

FI_INLINE fi_wide_u16 fi_chops_soft_light(fi_wide_u16 a, fi_wide_u16 b, int offset) {
    return fi_multiply_high(a * b, 255 - a) + fi_chops_by_255(a * fi_chops_screen(a, b, offset));
}

FI_INLINE fi_wide_u8 fi_chops_bytes(fi_wide_u8 first, fi_wide_u8 second, fi_chops_operation *operation, int offset) {
    fi_wide_u16 a = (fi_wide_u16)first, b = (fi_wide_u16)second;
    fi_wide_u16 even = operation(a & 255, b & 255, offset), odd = operation(a >> 8, b >> 8, offset);
    return (fi_wide_u8)((even & 255) | odd << 8);
}

/* Whether two pictures can be combined without an error. */
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
