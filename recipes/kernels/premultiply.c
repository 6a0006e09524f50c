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

/* Values above alpha are alpha: their quotients are 255. The reciprocal, of 255 times 65536, is cut off, but by 254 / alpha
   too large: never too small, and too large for no value and alpha. */
static void rgba2rgbA(UINT8 *out, const UINT8 *in, int xsize) {
    int x = 0;
    for (; x <= xsize - PIXELS; x += PIXELS) {
        Wide pixels = LOAD(Wide, in + 4 * x);
        Wide alphas = SHUFFLE_EACH(pixels, 3, 3, 3, 32), values = MINIMUM(pixels, alphas);
        Floats quotients = ((255 << 16) + 254) / __builtin_convertvector((Numbers)((Pairs)pixels >> 24), Floats);
        Wide reciprocal = (Wide)__builtin_convertvector(quotients, Numbers);
        Halves whole = (Halves)SHUFFLE_EACH(reciprocal, 2, 3, 2, 3), fraction = (Halves)SHUFFLE_EACH(reciprocal, 0, 1, 0, 1);
        Halves even = (Halves)values & 255, odd = (Halves)values & 0xff00; /* times 256 */
        even = even * whole + multiply_high(even, fraction);
        odd = odd * whole + multiply_high(odd, fraction);
        Wide divided = (Wide)CHOOSE(EVEN, (Pairs)even, (Pairs)odd);
        STORE(out + 4 * x, CHOOSE((Wide)(alphas == 0), pixels, divided));
    }
    rgba2rgbA__source(out + 4 * x, in + 4 * x, xsize - x);
}
