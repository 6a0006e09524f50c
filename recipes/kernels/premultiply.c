/* Multiplying by alpha, and dividing by it again, some pixels at a time: every second band at once. */

#if defined(__clang__) && defined(__AVX2__)
#define WIDE 64 /* one vector of AVX-512, or two */
#endif
#include "vectors.h"

#define EVEN 0x00ff00ff

/* Divided by 255 and rounded, times 256; the low bytes are left over. */
INLINE Pairs multiply_bytes(Pairs values, Pairs by) {
    Halves product = (Halves)values * (Halves)by + 128;
    return (Pairs)(product + (product >> 8));
}

/* From `from` on; the last pixels together with some before. */
#define EACH(from, xsize) int x = 0, from = 0; x < xsize; x += PIXELS, from = 4 * smaller(x, xsize - PIXELS)

INLINE void multiply(UINT8 *out, const UINT8 *in, int xsize) {
    for (EACH(from, xsize)) {
        Pairs pixels = LOAD(Pairs, in + from), alpha = pixels >> 24; /* itself is multiplied by 255 */
        Pairs even = multiply_bytes(pixels & EVEN, alpha | alpha << 16);
        Pairs odd = multiply_bytes(pixels >> 8 & EVEN, alpha | 255 << 16);
        STORE(out + from, CHOOSE(EVEN, even >> 8, odd));
    }
}

/* Values above alpha are alpha: their quotients are 255. The reciprocal, of 255 times 65536, is cut off, but by 264 / alpha
   too large: never too small, and too large for no value and alpha, even with an error of 2 ** -21. Three bytes of alpha are
   65793 times itself, exactly. Of what the reciprocal has before the point, the product with a value is a byte, so two values
   are multiplied at once. No quotient is below its value, but where alpha is 0. */
INLINE void divide(UINT8 *out, const UINT8 *in, int xsize) {
    for (EACH(from, xsize)) {
        Wide pixels = LOAD(Wide, in + from);
        Wide alphas = SHUFFLE_EACH(pixels, 3, 3, 3, WIDE), values = MINIMUM(pixels, alphas);
        Floats quotients = ((255 << 16) + 264) * 65793.0f / __builtin_convertvector((Numbers)alphas, Floats);
        Wide reciprocal = (Wide)__builtin_convertvector(quotients, Numbers);
        Halves whole = (Halves)SHUFFLE_EACH(reciprocal, 2, 3, 2, 3), fraction = (Halves)SHUFFLE_EACH(reciprocal, 0, 1, 0, 1);
        Halves even = multiply_high((Halves)values & 255, fraction), odd = multiply_high((Halves)values & 0xff00, fraction);
        Wide divided = (Wide)((Halves)values * whole + (Halves)CHOOSE(EVEN, (Pairs)even, (Pairs)odd));
        STORE(out + from, MAXIMUM(divided, pixels));
    }
}

WITH_AVX512(multiply, (UINT8 *out, const UINT8 *in, int xsize), out, in, xsize)
WITH_AVX512(divide, (UINT8 *out, const UINT8 *in, int xsize), out, in, xsize)

static void rgbA2rgba(UINT8 *out, const UINT8 *in, int xsize) {
    (xsize < PIXELS ? rgbA2rgba__source : find_vnni() == 64 ? multiply_avx512 : multiply)(out, in, xsize);
}

static void rgba2rgbA(UINT8 *out, const UINT8 *in, int xsize) {
    (xsize < PIXELS ? rgba2rgbA__source : find_vnni() == 64 ? divide_avx512 : divide)(out, in, xsize);
}
