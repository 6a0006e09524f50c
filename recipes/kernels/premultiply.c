/* Multiplying by alpha (RGBA to RGBa), and dividing by it again: two bands of a pixel at once, in lanes of 16 bits.

   Both are compiled a second time for AVX-512, with vectors of 64 bytes. Multiplying is 12 times as fast as Pillow's
   own code with AVX-512 and 8 times without, dividing 46 and 24 times (AMD Zen 5, 2026-11-29). */

#if defined(__clang__) && defined(__AVX2__) && !defined(FI_WIDE)
#define FI_WIDE 64 /* one vector of AVX-512, or two */
#endif
#include "vectors.h"

#define FI_EVEN_BYTES 0x00ff00ff

/* Pillow's MULDIV255 for two bytes of each pixel: t = value * by + 128, then (t + t / 256) / 256. Both sums are below
   65,536, so lanes of 16 bits hold them. The result is the upper byte of each lane; the lower one is left over. */
FI_INLINE fi_wide_u32 fi_multiply_bytes(fi_wide_u32 values, fi_wide_u32 by) {
    fi_wide_u16 product = (fi_wide_u16)values * (fi_wide_u16)by + 128;
    return (fi_wide_u32)(product + (product >> 8));
}

/* A loop over vectors of a row, each from byte `from` on. The last vector ends with the row, so it repeats some pixels.
   */
#define FI_EACH_PIXELS(from, xsize)                                                                                    \
    int x = 0, from = 0;                                                                                               \
    x < xsize;                                                                                                         \
    x += FI_WIDE_PIXELS, from = 4 * fi_min(x, xsize - FI_WIDE_PIXELS)

FI_INLINE void fi_premultiply(UINT8 *out, const UINT8 *in, int xsize) {
    for (FI_EACH_PIXELS(from, xsize)) {
        fi_wide_u32 pixels = FI_LOAD(fi_wide_u32, in + from),
                    alpha = pixels >> 24; /* alpha itself is multiplied by 255, which leaves it as it is */
        fi_wide_u32 even = fi_multiply_bytes(pixels & FI_EVEN_BYTES, alpha | alpha << 16);
        fi_wide_u32 odd = fi_multiply_bytes(pixels >> 8 & FI_EVEN_BYTES, alpha | 255 << 16);
        FI_STORE(out + from, FI_SELECT(FI_EVEN_BYTES, even >> 8, odd));
    }
}

/* Pillow computes min(255 * value / alpha, 255), rounded down, and leaves a pixel with alpha 0 or 255 as it is.

   - A value above alpha counts as alpha: the quotient of both is 255.
   - The quotient is value * r / 65536, rounded down, with a reciprocal r = (255 * 65536 + 264) / alpha, rounded down.
     The 264 make r never too small, and they are too few to reach the next quotient. The check compares all 65,536
     pairs of value and alpha, and a division whose error is 2 ** -21 would still give the same r.
   - One shuffle copies alpha into three bytes, which is 65793 * alpha; so the dividend is multiplied by 65793 too.
   - r has 16 bits before the point (`whole`) and 16 behind (`fraction`). value * whole is at most 255, as value is at
     most alpha. So one multiplication of 16 bits serves the values of two bands, value0 + 256 * value1, without a
     carry. value * fraction / 65536 is the upper half of a product: of value0, and of 256 * value1, whose upper byte
     counts.
   - No quotient is below its value unless alpha is 0. So the larger of both is right for alpha 0 too. */
FI_INLINE void fi_unpremultiply(UINT8 *out, const UINT8 *in, int xsize) {
    for (FI_EACH_PIXELS(from, xsize)) {
        fi_wide_u8 pixels = FI_LOAD(fi_wide_u8, in + from);
        fi_wide_u8 alphas = FI_SHUFFLE_IN_PIXELS(pixels, 3, 3, 3, FI_WIDE), values = FI_MIN(pixels, alphas);
        fi_wide_f32 quotients =
            ((255 << 16) + 264) * 65793.0f / __builtin_convertvector((fi_wide_i32)alphas, fi_wide_f32);
        fi_wide_u8 reciprocal = (fi_wide_u8) __builtin_convertvector(quotients, fi_wide_i32);
        fi_wide_u16 whole = (fi_wide_u16)FI_SHUFFLE_IN_PIXELS(reciprocal, 2, 3, 2, 3),
                    fraction = (fi_wide_u16)FI_SHUFFLE_IN_PIXELS(reciprocal, 0, 1, 0, 1);
        fi_wide_u16 even = fi_multiply_high((fi_wide_u16)values & 255, fraction),
                    odd = fi_multiply_high((fi_wide_u16)values & 0xff00, fraction);
        fi_wide_u8 divided = (fi_wide_u8)((fi_wide_u16)values * whole +
                                          (fi_wide_u16)FI_SELECT(FI_EVEN_BYTES, (fi_wide_u32)even, (fi_wide_u32)odd));
        FI_STORE(out + from, FI_MAX(divided, pixels));
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
