/* Multiplying by alpha, and dividing by it again: red and blue at once, then green, in vectors of eight pixels. */

#include "vectors.h"

#define PIXELS 8 /* at a time */
#define EVEN 0x00ff00ff

typedef UINT32 Words __attribute__((vector_size(4 * PIXELS)));
typedef INT32 Signed __attribute__((vector_size(4 * PIXELS)));
typedef float Numbers __attribute__((vector_size(4 * PIXELS)));

/* Divided by 255 and rounded, times 256; the low bytes are left over. */
static inline Words
multiply_bytes(Words values, Words by) {
    Halves product = (Halves)values * (Halves)by + 128;
    return (Words)(product + (product >> 8));
}

static void
rgbA2rgba(UINT8 *out, const UINT8 *in, int xsize) {
    int x = 0;
    for (; x <= xsize - PIXELS; x += PIXELS) {
        Words pixels;
        memcpy(&pixels, in + 4 * x, sizeof(pixels));
        Words alpha = pixels >> 24; /* itself is multiplied by 255 */
        Words even = multiply_bytes(pixels & EVEN, alpha | alpha << 16);
        Words odd = multiply_bytes(pixels >> 8 & EVEN, alpha | 255 << 16);
        pixels = (even >> 8 & EVEN) | (odd & ~EVEN);
        memcpy(out + 4 * x, &pixels, sizeof(pixels));
    }
    rgbA2rgba__source(out + 4 * x, in + 4 * x, xsize - x);
}

/* Whole quotients of 255 times a value and alpha, at most 255. The reciprocal has 16 bits after the point, rounded up: too
   much by less than a 255th. */
static inline Words
divide_bytes(Words values, Words whole, Words fraction) {
    Halves quotients = (Halves)values * (Halves)whole + multiply_high((Halves)values, (Halves)fraction);
    return (Words)MINIMUM(quotients, (Halves){0} + 255);
}

static void
rgba2rgbA(UINT8 *out, const UINT8 *in, int xsize) {
    int x = 0;
    for (; x <= xsize - PIXELS; x += PIXELS) {
        Words pixels;
        memcpy(&pixels, in + 4 * x, sizeof(pixels));
        Words alpha = pixels >> 24, copied = (Words)(alpha == 0) | MAKE_UINT32(0, 0, 0, 255);
        Numbers quotients = (255 << 16) / __builtin_convertvector((Signed)(alpha | (Words)(alpha == 0)), Numbers);
        Words reciprocal = (Words)__builtin_convertvector(quotients, Signed) + 1;
        Words whole = reciprocal >> 16, fraction = reciprocal & 0xffff;
        whole |= whole << 16;
        fraction |= fraction << 16;
        Words even = divide_bytes(pixels & EVEN, whole, fraction);
        Words odd = divide_bytes(pixels >> 8 & EVEN, whole, fraction);
        pixels = ((even | odd << 8) & ~copied) | (pixels & copied);
        memcpy(out + 4 * x, &pixels, sizeof(pixels));
    }
    rgba2rgbA__source(out + 4 * x, in + 4 * x, xsize - x);
}
