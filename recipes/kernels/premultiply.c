/* Multiplying by alpha, and dividing by it again, eight pixels at a time: every second band at once. */

#include "vectors.h"

#define EVEN 0x00ff00ff

/* Divided by 255 and rounded, times 256; the low bytes are left over. */
INLINE Pairs multiply_bytes(Pairs values, Pairs by) {
    Halves product = (Halves)values * (Halves)by + 128;
    return (Pairs)(product + (product >> 8));
}

static void rgbA2rgba(UINT8 *out, const UINT8 *in, int xsize) {
    int x = 0;
    for (; x <= xsize - PIXELS; x += PIXELS) {
        Pairs pixels = LOAD(Pairs, in + 4 * x), alpha = pixels >> 24; /* itself is multiplied by 255 */
        Pairs even = multiply_bytes(pixels & EVEN, alpha | alpha << 16);
        Pairs odd = multiply_bytes(pixels >> 8 & EVEN, alpha | 255 << 16);
        STORE(out + 4 * x, CHOOSE(EVEN, even >> 8, odd));
    }
    rgbA2rgba__source(out + 4 * x, in + 4 * x, xsize - x);
}

/* Values above alpha are alpha: their quotients are 255. The reciprocal, of 255 times 65536, is cut off, but by 264 / alpha
   too large: never too small, and too large for no value and alpha, even with an error of 2 ** -21. Three bytes of alpha are
   65793 times itself, exactly. Of what the reciprocal has before the point, the product with a value is a byte, so two values
   are multiplied at once. No quotient is below its value, but where alpha is 0. */
static void rgba2rgbA(UINT8 *out, const UINT8 *in, int xsize) {
    int x = 0;
    for (; x <= xsize - PIXELS; x += PIXELS) {
        Wide pixels = LOAD(Wide, in + 4 * x);
        Wide alphas = SHUFFLE_EACH(pixels, 3, 3, 3, 32), values = MINIMUM(pixels, alphas);
        Floats quotients = ((255 << 16) + 264) * 65793.0f / __builtin_convertvector((Numbers)alphas, Floats);
        Wide reciprocal = (Wide)__builtin_convertvector(quotients, Numbers);
        Halves whole = (Halves)SHUFFLE_EACH(reciprocal, 2, 3, 2, 3), fraction = (Halves)SHUFFLE_EACH(reciprocal, 0, 1, 0, 1);
        Halves even = multiply_high((Halves)values & 255, fraction), odd = multiply_high((Halves)values & 0xff00, fraction);
        Wide divided = (Wide)((Halves)values * whole + (Halves)CHOOSE(EVEN, (Pairs)even, (Pairs)odd));
        STORE(out + 4 * x, MAXIMUM(divided, pixels));
    }
    rgba2rgbA__source(out + 4 * x, in + 4 * x, xsize - x);
}
