/* Multiplying by alpha (RGBA to RGBa), and dividing by it again. The bytes of a vector are handled in two halves, as
   lanes of 16 bits: those at even places (0 and 2 of each pixel), and those at odd places (1 and 3).

   Both are compiled a second time for AVX-512, by clang with vectors of 64 bytes. Multiplying is 12 times as fast as
   Pillow's own code with AVX-512 and 8 times without, dividing 46 and 24 times (AMD Zen 5, 2026-11-29). */

/* 64 bytes are one register of AVX-512, or two of AVX2. GCC splits such a vector into single numbers without AVX-512.
   If another kernel comes first in Convert.c, it has chosen the width already (vectors.h). */
#if defined(__clang__) && defined(__AVX2__) && !defined(FI_WIDE)
#define FI_WIDE 64
#endif
#include "vectors.h"

#define FI_EVEN_BYTES 0x00ff00ff /* in each lane of 32 bits */

/* Pillow's MULDIV255 for two bytes of each pixel, which are the lower bytes of lanes of 16 bits: t = value * by + 128,
   then (t + t / 256) / 256. Both sums are below 65,536, so the lanes hold them. The result is the upper byte of each
   lane; the lower byte is not used. */
FI_INLINE fi_wide_u32 fi_multiply_bytes(fi_wide_u32 values, fi_wide_u32 by) {
    fi_wide_u16 product = (fi_wide_u16)values * (fi_wide_u16)by + 128;
    return (fi_wide_u32)(product + (product >> 8));
}

/* The head of a loop over the vectors of a row: each begins at byte `from`. The last vector ends with the row, so it
   computes some pixels once more, from the input. That is other memory than the result. */
#define FI_EACH_PIXELS(from, xsize)                                                                                    \
    int x = 0, from = 0;                                                                                               \
    x < xsize;                                                                                                         \
    x += FI_WIDE_PIXELS, from = 4 * fi_min(x, xsize - FI_WIDE_PIXELS)

FI_INLINE void fi_premultiply(UINT8 *out, const UINT8 *in, int xsize) {
    for (FI_EACH_PIXELS(from, xsize)) {
        fi_wide_u32 pixels = FI_LOAD(fi_wide_u32, in + from), alpha = pixels >> 24;
        /* Byte 3, which is alpha itself, is multiplied by 255, and so stays as it is. */
        fi_wide_u32 even = fi_multiply_bytes(pixels & FI_EVEN_BYTES, alpha | alpha << 16);
        fi_wide_u32 odd = fi_multiply_bytes(pixels >> 8 & FI_EVEN_BYTES, alpha | 255 << 16);
        FI_STORE(out + from, FI_SELECT(FI_EVEN_BYTES, even >> 8, odd));
    }
}

/* Pillow computes min(255 * value / alpha, 255), rounded down, and leaves a pixel with alpha 0 or 255 as it is.

   - Values above alpha. They count as alpha, with which the quotient is 255.
   - The reciprocal. The quotient is value * r / 65536, rounded down, with r = (255 * 65536 + 264) / alpha, rounded
     down. The 264 make r never too small, and they are too few to reach the next quotient. check/premultiply.c compares
     all 65,536 combinations of value and alpha. No quotient would change if the division for r had a relative error of
     2 ** -21, and its error in single precision is below 2 ** -22.
   - The divisor. One shuffle copies alpha into bytes 0, 1 and 2 of a lane, for values above alpha, and 0 into byte 3.
     As a number that is 65793 * alpha. So it is the divisor, and the dividend is multiplied by 65793 too.
   - The product. r has 16 integer bits (`whole`) and 16 fractional bits (`fraction`). A lane of 16 bits holds the
     values of two bands, value0 + 256 * value1. To multiply it by `whole` multiplies both, without a carry from one to
     the other: value * whole is at most 255, as value is at most alpha. What `fraction` adds, value * fraction / 65536,
     is the upper half of a product of 16 bits. It is computed for value0 and for 256 * value1, of which the upper byte
     counts.
   - Alpha 0, and alpha itself. No quotient of a value is below the value, unless alpha is 0: then all values count as
     0, and so do their quotients. Byte 3 counts as 0 too. So the larger of quotient and byte is always right. */
FI_INLINE void fi_unpremultiply(UINT8 *out, const UINT8 *in, int xsize) {
    for (FI_EACH_PIXELS(from, xsize)) {
        fi_wide_u8 pixels = FI_LOAD(fi_wide_u8, in + from);
        fi_wide_u8 alphas = FI_SHUFFLE_IN_PIXELS(pixels, 3, 3, 3, FI_WIDE), values = FI_MIN(pixels, alphas);
        fi_wide_f32 divisors = __builtin_convertvector((fi_wide_i32)alphas, fi_wide_f32);
        fi_wide_f32 quotients = ((255 << 16) + 264) * 65793.0f / divisors;
        fi_wide_u8 reciprocal = (fi_wide_u8) __builtin_convertvector(quotients, fi_wide_i32);
        fi_wide_u16 whole = (fi_wide_u16)FI_SHUFFLE_IN_PIXELS(reciprocal, 2, 3, 2, 3),
                    fraction = (fi_wide_u16)FI_SHUFFLE_IN_PIXELS(reciprocal, 0, 1, 0, 1);
        fi_wide_u16 even = fi_multiply_high((fi_wide_u16)values & 255, fraction),
                    odd = fi_multiply_high((fi_wide_u16)values & 0xff00, fraction);
        fi_wide_u16 products = (fi_wide_u16)values * whole;
        fi_wide_u16 fractions = (fi_wide_u16)FI_SELECT(FI_EVEN_BYTES, (fi_wide_u32)even, (fi_wide_u32)odd);
        FI_STORE(out + from, FI_MAX((fi_wide_u8)(products + fractions), pixels));
    }
}

FI_WITH_AVX512(fi_premultiply, (UINT8 * out, const UINT8 *in, int xsize), out, in, xsize)
FI_WITH_AVX512(fi_unpremultiply, (UINT8 * out, const UINT8 *in, int xsize), out, in, xsize)

static void (*fi_premultiply_chosen)(UINT8 *out, const UINT8 *in, int xsize);
static void (*fi_unpremultiply_chosen)(UINT8 *out, const UINT8 *in, int xsize);

FI_AT_LOAD(fi_choose_premultiply) {
    int wide = fi_cpu_has(FI_AVX512);
    fi_premultiply_chosen = wide ? fi_premultiply_avx512 : fi_premultiply;
    fi_unpremultiply_chosen = wide ? fi_unpremultiply_avx512 : fi_unpremultiply;
}

static void rgbA2rgba(UINT8 *out, const UINT8 *in, int xsize) {
    (xsize < FI_WIDE_PIXELS ? rgbA2rgba__source : fi_premultiply_chosen)(out, in, xsize);
}

static void rgba2rgbA(UINT8 *out, const UINT8 *in, int xsize) {
    (xsize < FI_WIDE_PIXELS ? rgba2rgbA__source : fi_unpremultiply_chosen)(out, in, xsize);
}

#undef FI_EVEN_BYTES
#undef FI_EACH_PIXELS
