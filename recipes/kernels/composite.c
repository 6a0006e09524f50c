/* Alpha compositing, eight pixels at a time. The same integers as Pillow's. */

#include "vectors.h"

typedef UINT32 Words __attribute__((vector_size(32)));
typedef float Numbers __attribute__((vector_size(32)));
typedef INT32 Signed __attribute__((vector_size(32)));

#define PIXELS 8 /* of such a vector */

/* Whole quotients of numbers with at most 24 significant bits. That of floats is rounded, so it may be one too much. */
static inline Words
divide_words(Words value, Words by) {
    Numbers quotient = __builtin_convertvector((Signed)value, Numbers) / __builtin_convertvector((Signed)by, Numbers);
    Signed whole = __builtin_convertvector(quotient, Signed), rest = (Signed)(value - (Words)whole * by);
    return (Words)(whole + (rest < 0));
}

static inline Words
multiply_low(Words a, Words b) {
    return (Words)((Halves)a * (Halves)b);
}

/* One band of both, by shares that have 15 bits. */
static inline Words
blend_band(Words from, Words onto, Words shares, int shift) {
    Words pairs = (from >> shift & 255) | (onto >> shift & 255) << 16;
    Words sum = dot_pairs(pairs, shares) + (0x80 << PRECISION_BITS);
    return (sum + (sum >> 8)) >> (8 + PRECISION_BITS) << shift;
}

/* Most pictures are opaque or transparent nearly everywhere. */
static inline Words
composite_pixels(Words from, Words onto) {
    Words alpha = from >> 24, beneath = onto >> 24;
    if (are_all(alpha, 0) || are_all(alpha, 255)) {
        return alpha[0] ? from : onto;
    }
    Words whole = (alpha << 8) - alpha + multiply_low(beneath, 255 - alpha);
    Words share = divide_words(alpha * (255 * 255 << PRECISION_BITS), whole | (alpha == 0));
    Words shares = share | ((255 << PRECISION_BITS) - share) << 16, sum = whole + 0x80;
    Words made = blend_band(from, onto, shares, 0) | blend_band(from, onto, shares, 8) |
                 blend_band(from, onto, shares, 16) | (sum + (sum >> 8)) >> 8 << 24;
    Words copied = (Words)(alpha == 0);
    return (onto & copied) | (made & ~copied);
}

static void
composite_row(UINT8 *out, const UINT8 *onto, const UINT8 *from, int width) {
    for (int x = 0; x < width; x += PIXELS) {
        Words above = {0}, below = {0};
        if (width - x >= PIXELS) {
            memcpy(&above, from + 4 * x, sizeof(Words));
            memcpy(&below, onto + 4 * x, sizeof(Words));
            above = composite_pixels(above, below);
            memcpy(out + 4 * x, &above, sizeof(Words));
        } else {
            memcpy(&above, from + 4 * x, 4 * (width - x));
            memcpy(&below, onto + 4 * x, 4 * (width - x));
            above = composite_pixels(above, below);
            memcpy(out + 4 * x, &above, 4 * (width - x));
        }
    }
}

Imaging
ImagingAlphaComposite(Imaging imDst, Imaging imSrc) {
    Imaging out;
    if (!imDst || !imSrc || (imDst->mode != IMAGING_MODE_RGBA && imDst->mode != IMAGING_MODE_LA) ||
        imDst->mode != imSrc->mode || imDst->xsize != imSrc->xsize || imDst->ysize != imSrc->ysize) {
        return ImagingAlphaComposite__source(imDst, imSrc);
    }
    out = ImagingNewDirty(imDst->mode, imDst->xsize, imDst->ysize);
    for (int y = 0; out && y < out->ysize; y++) {
        composite_row((UINT8 *)out->image[y], (UINT8 *)imDst->image[y], (UINT8 *)imSrc->image[y], out->xsize);
    }
    return out;
}
