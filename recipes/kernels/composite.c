/* Alpha compositing, some pixels at a time: first their shares, then their bands. The same integers as Pillow's. */

#include <fenv.h>

#include "vectors.h"

#define BLOCK 64 /* pixels at a time */
#define FULL (255 << PRECISION_BITS)

/* What both pixels count, in halves; `whole` is 255 times the alpha that results. The quotient is cut off: that of
   floating-point numbers is exact or, while a block is composited, rounded towards zero. */
INLINE Pairs find_shares(Pairs alpha, Pairs whole) {
    Floats value = __builtin_convertvector((Numbers)alpha, Floats) * (255 * FULL);
    Floats by = __builtin_convertvector((Numbers)MAXIMUM(whole, (Pairs){0} + 1), Floats);
    Pairs share = (Pairs)__builtin_convertvector(value / by, Numbers);
    return (FULL << 16) - (share << 16) + share;
}

/* A byte of each half, twice: 257 times itself. */
#define DOUBLE(halves, i) SHUFFLE_EACH(halves, i, i, (i) + 2, (i) + 2)

/* One band of both. With a sum t of the products and a half, Pillow's (t + t / 256) / 2**15 is 257 t / 2**23. Doubled
   bytes less 32768 are signed. As shares add up to FULL, 32768 * FULL are missing then, and 257 times the half. */
INLINE Pairs blend_band(Wide doubled, Pairs shares) {
    return (dot_pairs((Pairs)doubled ^ 0x80008000, shares) + 0x40004000) >> 23;
}

INLINE Pairs blend_pixels(Pairs from, Pairs onto, Pairs whole, Pairs shares) {
    Pairs first = (from & 0xffff) | onto << 16, second = from >> 16 | (onto & 0xffff0000); /* two bands of both */
    Pairs alpha = (Pairs)multiply_high((Halves)(whole + 0x80), (Halves){0} + 257);
    return blend_band(DOUBLE(first, 0), shares) | blend_band(DOUBLE(first, 1), shares) << 8 |
           blend_band(DOUBLE(second, 0), shares) << 16 | alpha << 24;
}

/* Most pictures are opaque or transparent nearly everywhere. */
INLINE int is_translucent(const UINT32 *from) {
    Pairs other = {0};
    for (int x = 0; x < BLOCK; x += PIXELS) {
        other |= LOAD(Pairs, from + x) + (1 << 24);
    }
    Quads quads = (Quads)other;
    return ((quads[0] | quads[1] | quads[2] | quads[3]) & 0xfe000000fe000000) != 0;
}

INLINE void copy_block(UINT32 *restrict out, const UINT32 *restrict onto, const UINT32 *restrict from) {
    for (int x = 0; x < BLOCK; x += PIXELS) {
        Pairs above = LOAD(Pairs, from + x), opaque = (Pairs)((Numbers)above >> 31);
        STORE(out + x, CHOOSE(opaque, above, LOAD(Pairs, onto + x)));
    }
}

INLINE void blend_block(UINT32 *restrict out, const UINT32 *restrict onto, const UINT32 *restrict from) {
    Pairs wholes[BLOCK / PIXELS], shares[BLOCK / PIXELS];
    for (int i = 0; i < BLOCK / PIXELS; i++) {
        Pairs alpha = LOAD(Pairs, from + i * PIXELS) >> 24, beneath = LOAD(Pairs, onto + i * PIXELS) >> 24;
        wholes[i] = alpha * 255 + (Pairs)((Halves)beneath * (Halves)(255 - alpha));
        shares[i] = find_shares(alpha, wholes[i]);
    }
    for (int i = 0; i < BLOCK / PIXELS; i++) {
        Pairs above = LOAD(Pairs, from + i * PIXELS), below = LOAD(Pairs, onto + i * PIXELS);
        STORE(out + i * PIXELS, blend_pixels(above, below, wholes[i], shares[i]));
    }
}

/* Not inlined, so that nothing is computed before the rounding is set. The last block may begin in the one before. */
static __attribute__((noinline)) void
composite_row(UINT32 *restrict out, const UINT32 *restrict onto, const UINT32 *restrict from, int width) {
    for (int x = 0; x < width; x += BLOCK) {
        int first = x < width - BLOCK ? x : width - BLOCK;
        if (is_translucent(from + first)) {
            blend_block(out + first, onto + first, from + first);
        } else {
            copy_block(out + first, onto + first, from + first);
        }
    }
}

Imaging ImagingAlphaComposite(Imaging imDst, Imaging imSrc) {
    int rounding = fegetround();
    if (!imDst || !imSrc || (imDst->mode != IMAGING_MODE_RGBA && imDst->mode != IMAGING_MODE_LA) ||
        imDst->mode != imSrc->mode || imDst->xsize != imSrc->xsize || imDst->ysize != imSrc->ysize ||
        imDst->xsize < BLOCK || fesetround(FE_TOWARDZERO) != 0) {
        return ImagingAlphaComposite__source(imDst, imSrc);
    }
    Imaging out = ImagingNewDirty(imDst->mode, imDst->xsize, imDst->ysize);
    for (int y = 0; out && y < out->ysize; y++) {
        composite_row((UINT32 *)out->image[y], (UINT32 *)imDst->image[y], (UINT32 *)imSrc->image[y], out->xsize);
    }
    fesetround(rounding);
    return out;
}
