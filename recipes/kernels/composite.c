/* Alpha compositing of RGBA and LA: first the weights of the upper and the lower pixel, then their bands.

   Pillow computes for each pixel, with PRECISION_BITS = 7 and integer divisions,

       whole   = 255 * alpha + alpha_below * (255 - alpha)                     255 times the alpha of the result
       weight  = 255 * 255 * 128 * alpha / whole                               of the upper pixel
       t       = above * weight + below * (255 * 128 - weight) + 128 * 128     for each band
       band    = (t + t / 256) / 32768

   Where alpha is 0, Pillow copies the lower pixel instead.

   Exactness. Vectors give the same integers:

   - The division of integers is one of floating-point numbers, cut off. Dividend and divisor are exact: the first is
     128 times an integer below 2 ** 24. Rounded towards zero, a quotient never falls below an integer that it reaches,
     so its integer part is Pillow's. The rounding mode is set while a picture is composited.
   - (t + t / 256) / 32768, each division rounded down, is 257 * t / 2 ** 23, rounded down once: the first division
     drops only what the second one would drop. The product is below 2 ** 31.
   - 257 * above is the byte written twice, which a shuffle makes:

         byte  0xab  ->  0xabab = 257 * 0xab

   - fi_dot_pairs multiplies signed numbers, so 32768 is subtracted from each doubled byte (by ^ 0x8000). The weights
     add up to 255 * 128, so the sum lacks 32768 * 255 * 128. This and 257 * 128 * 128, the half that rounds, are added
     as the constant 0x40004000.
   - Where alpha is 0, weight is 0 too. Then 257 * t / 2 ** 23 is below - below / 65536 + 0.502, so band is `below`, as
     Pillow copies it. The same holds for alpha_below, and for `above` where alpha is 255.

   8.5 times as fast as Pillow's own code where alpha is noise (AMD Zen 5, 2026-11-29).

   Pillow holds the GIL meanwhile. Here it is released while a large picture is composited. */

#include <fenv.h>

#include "vectors.h"

#define FI_COMPOSITE_STRETCH 64     /* pixels that are handled together */
#define FI_COMPOSITE_HELD (1 << 16) /* pixels of a picture; up to this many, the GIL is held, as in Pillow */
#define FI_COMPOSITE_FULL (255 << PRECISION_BITS) /* the sum of both weights */
#define FI_COMPOSITE_VECTORS (FI_COMPOSITE_STRETCH / FI_WIDE_PIXELS)

/* The weights of both pixels in one lane: that of the upper pixel in the lower half, and that of the lower pixel in the
   upper half. If both pixels are transparent, whole is 0: the divisor is 1 instead, and the upper pixel's weight 0. */
FI_INLINE fi_wide_u32 fi_composite_weights(fi_wide_u32 alpha, fi_wide_u32 whole) {
    fi_wide_f32 dividend = __builtin_convertvector((fi_wide_i32)alpha, fi_wide_f32) * (255 * FI_COMPOSITE_FULL);
    fi_wide_f32 divisor = __builtin_convertvector((fi_wide_i32)FI_MAX(whole, (fi_wide_u32){0} + 1), fi_wide_f32);
    fi_wide_u32 weight = (fi_wide_u32) __builtin_convertvector(dividend / divisor, fi_wide_i32);
    return (FI_COMPOSITE_FULL << 16) - (weight << 16) + weight;
}

/* Byte i of each half of a lane, twice: 257 times the byte. */
#define FI_COMPOSITE_DOUBLE(halves, i) FI_SHUFFLE_IN_PIXELS(halves, i, i, (i) + 2, (i) + 2)

/* One band of the result, from both pixels' doubled bytes and their weights. */
FI_INLINE fi_wide_u32 fi_composite_band(fi_wide_u8 doubled, fi_wide_u32 weights) {
    return (fi_dot_pairs((fi_wide_u32)doubled ^ 0x80008000, weights) + 0x40004000) >> 23;
}

/* A vector of pixels of the result. The bytes of both pixels are brought together, two bands a lane:

       from   r g b a        first    r g R G
       onto   R G B A        second   b a B A */
FI_INLINE fi_wide_u32 fi_composite_pixels(fi_wide_u32 from, fi_wide_u32 onto, fi_wide_u32 whole, fi_wide_u32 weights) {
    fi_wide_u32 first = (from & 0xffff) | onto << 16, second = from >> 16 | (onto & 0xffff0000);
    /* whole / 255, rounded as in Pillow: v = whole + 128, (v + (v >> 8)) >> 8 is 257 * v >> 16 */
    fi_wide_u32 alpha = (fi_wide_u32)fi_multiply_high((fi_wide_u16)(whole + 0x80), (fi_wide_u16){0} + 257);
    fi_wide_u32 r_g = fi_composite_band(FI_COMPOSITE_DOUBLE(first, 0), weights) |
                      fi_composite_band(FI_COMPOSITE_DOUBLE(first, 1), weights) << 8;
    return r_g | fi_composite_band(FI_COMPOSITE_DOUBLE(second, 0), weights) << 16 | alpha << 24;
}

/* Whether a stretch has a pixel that is neither opaque nor transparent. Most stretches have none: their pixels are
   copied, which the formula would do too (see above). An alpha of 255 plus 1 wraps around to 0, and one of 0 becomes 1:
   only other alphas set an upper bit. */
FI_INLINE int fi_composite_is_mixed(const UINT32 *from) {
    _Static_assert(FI_WIDE == 32, "four lanes are all of the vector");
    fi_wide_u32 alphas = {0};
    for (int x = 0; x < FI_COMPOSITE_STRETCH; x += FI_WIDE_PIXELS) {
        alphas |= FI_LOAD(fi_wide_u32, from + x) + (1 << 24);
    }
    fi_wide_u64 lanes = (fi_wide_u64)alphas;
    return ((lanes[0] | lanes[1] | lanes[2] | lanes[3]) & 0xfe000000fe000000) != 0;
}

/* The result of a stretch whose upper pixels are opaque or transparent: one pixel or the other. */
FI_INLINE void fi_composite_copy(UINT32 *restrict out, const UINT32 *restrict onto, const UINT32 *restrict from) {
    for (int x = 0; x < FI_COMPOSITE_STRETCH; x += FI_WIDE_PIXELS) {
        fi_wide_u32 above = FI_LOAD(fi_wide_u32, from + x), opaque = (fi_wide_u32)((fi_wide_i32)above >> 31);
        FI_STORE(out + x, FI_SELECT(opaque, above, FI_LOAD(fi_wide_u32, onto + x)));
    }
}

/* The result of any stretch. All divisions come first, so that they overlap. */
FI_INLINE void fi_composite_mix(UINT32 *restrict out, const UINT32 *restrict onto, const UINT32 *restrict from) {
    fi_wide_u32 wholes[FI_COMPOSITE_VECTORS], weights[FI_COMPOSITE_VECTORS];
    for (int i = 0; i < FI_COMPOSITE_VECTORS; i++) {
        fi_wide_u32 alpha = FI_LOAD(fi_wide_u32, from + i * FI_WIDE_PIXELS) >> 24,
                    alpha_below = FI_LOAD(fi_wide_u32, onto + i * FI_WIDE_PIXELS) >> 24;
        wholes[i] = alpha * 255 + (fi_wide_u32)((fi_wide_u16)alpha_below * (fi_wide_u16)(255 - alpha));
        weights[i] = fi_composite_weights(alpha, wholes[i]);
    }
    for (int i = 0; i < FI_COMPOSITE_VECTORS; i++) {
        fi_wide_u32 above = FI_LOAD(fi_wide_u32, from + i * FI_WIDE_PIXELS),
                    below = FI_LOAD(fi_wide_u32, onto + i * FI_WIDE_PIXELS);
        FI_STORE(out + i * FI_WIDE_PIXELS, fi_composite_pixels(above, below, wholes[i], weights[i]));
    }
}

/* Not inlined, so that no division moves before the rounding mode is set. The last stretch ends where the row ends, so
   it computes some pixels once more. */
static __attribute__((noinline)) void fi_composite_row(UINT32 *restrict out, const UINT32 *restrict onto,
                                                       const UINT32 *restrict from, int width) {
    for (int x = 0; x < width; x += FI_COMPOSITE_STRETCH) {
        int first = x < width - FI_COMPOSITE_STRETCH ? x : width - FI_COMPOSITE_STRETCH;
        if (fi_composite_is_mixed(from + first)) {
            fi_composite_mix(out + first, onto + first, from + first);
        } else {
            fi_composite_copy(out + first, onto + first, from + first);
        }
    }
}

Imaging ImagingAlphaComposite(Imaging imDst, Imaging imSrc) {
    int rounding = fegetround();
    if (!imDst || !imSrc || (imDst->mode != IMAGING_MODE_RGBA && imDst->mode != IMAGING_MODE_LA) ||
        imDst->mode != imSrc->mode || imDst->xsize != imSrc->xsize || imDst->ysize != imSrc->ysize ||
        imDst->xsize < FI_COMPOSITE_STRETCH || fesetround(FE_TOWARDZERO) != 0) {
        return ImagingAlphaComposite__source(imDst, imSrc);
    }
    Imaging out = ImagingNewDirty(imDst->mode, imDst->xsize, imDst->ysize);
#ifdef Py_GIL_DISABLED
    int without_gil = 0; /* the caller has locked both pictures, and releasing would unlock them */
#else
    int without_gil = out && (int64_t)out->xsize * out->ysize > FI_COMPOSITE_HELD;
#endif
    ImagingSectionCookie cookie;
    if (without_gil) {
        ImagingSectionEnter(&cookie);
    }
    for (int y = 0; out && y < out->ysize; y++) {
        fi_composite_row((UINT32 *)out->image[y], (UINT32 *)imDst->image[y], (UINT32 *)imSrc->image[y], out->xsize);
    }
    fesetround(rounding);
    if (without_gil) {
        ImagingSectionLeave(&cookie);
    }
    return out;
}
