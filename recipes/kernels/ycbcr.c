/* RGB to YCbCr and back, sixteen pixels at a time.

   Pillow looks products up in tables of 256 entries: 64 times a coefficient times the level of a band, rounded. Vectors
   would need many shuffles to look up a number of 16 bits. A product takes one multiplication. Exactness: every entry
   of these tables is

       whole * level + (((fraction * level >> 8) + half) >> 8)

   in 16 bits. `whole` and `fraction / 65536` are the two parts of 64 times the coefficient, and `fraction * level >> 8`
   is the upper half of the product of fraction and 256 * level. The numbers `fraction` and `half` were found by trying
   all, and taking some that give the whole table. check/ycbcr.c and the proof of a build compare the results.

   Negative products are special. Every entry of Pillow's tables is (int)(product + 0.5), which cuts the fraction off
   towards zero. That rounds positive products. A product of -p becomes -(p - 0.5), cut off: one nearer to zero than -p
   rounded, if p is above 0.5.

   - From RGB, the smallest p is 5.2, but for level 0, where it is 0. fi_ycbcr_nearer gives such entries: a subtraction
     of 1 from the rounded p that stops at 0.
   - To RGB, the products are of level - 128. They are negative on one side of 128, so the entries on the two sides
     differ by one. fi_ycbcr_above is 1 on one of them.

   Two vectors of eight pixels become vectors of 16-bit lanes without a shuffle: one has the lower halves of the pixels
   of both, the other the upper halves.

       A     r g b x  r g b x ...        r g  r g  r g  r g ...    of A, B, A, B
       B     r g b x  r g b x ...        b x  b x  b x  b x ...                                     */

#include "vectors.h"

#define FI_YCBCR_STRETCH (2 * FI_WIDE_PIXELS) /* pixels that are handled together */

/* The levels of one band, twice: `low` has a level, `high` 256 times the level in each 16-bit lane. */
typedef struct {
    fi_wide_u16 low, high;
} fi_ycbcr_levels;

/* The levels in the lower bytes of 16-bit lanes. */
FI_INLINE fi_ycbcr_levels fi_ycbcr_lower(fi_wide_u16 words) {
    return (fi_ycbcr_levels){words & 255, words << 8};
}

/* The levels in the upper bytes. */
FI_INLINE fi_ycbcr_levels fi_ycbcr_upper(fi_wide_u16 words) {
    return (fi_ycbcr_levels){words >> 8, words & 0xff00};
}

/* What Pillow looks up: 64 times a coefficient times the levels. */
FI_INLINE fi_wide_u16 fi_ycbcr_scale(fi_ycbcr_levels levels, int whole, int fraction, int half) {
    fi_wide_u16 product = (fi_wide_u16)fi_multiply_high(levels.high, (fi_wide_u16){0} + (UINT16)fraction);
    return levels.low * (UINT16)whole + ((product + (UINT16)half) >> 8);
}

/* Subtract 1 from all but 0: a comparison is -1 where it holds. */
FI_INLINE fi_wide_u16 fi_ycbcr_nearer(fi_wide_u16 words) {
    return words + (fi_wide_u16)(words > 0);
}

FI_INLINE fi_wide_u16 fi_ycbcr_clip(fi_wide_u16 words) {
    fi_wide_i16 value = (fi_wide_i16)words, zero = {0};
    return (fi_wide_u16)FI_MIN(FI_MAX(value, zero), zero + 255);
}

/* 1 for levels above `limit`, and 0 for the others. */
FI_INLINE fi_wide_u16 fi_ycbcr_above(fi_ycbcr_levels levels, int limit) {
    return (levels.low + (UINT16)(255 - limit)) >> 8;
}

/* The bands in 16-bit lanes: r g becomes y cb, and b x becomes cr x. Sums are shifted by 6, as tables have 64 times the
   value; those of cb and cr have a sign. */
FI_INLINE void fi_ycbcr_from_rgb(fi_wide_u16 *rg, fi_wide_u16 *bx) {
    fi_ycbcr_levels r = fi_ycbcr_lower(*rg), g = fi_ycbcr_upper(*rg), b = fi_ycbcr_lower(*bx);
    fi_wide_u16 y = fi_ycbcr_scale(r, 19, 8913, 128) + fi_ycbcr_scale(g, 37, 37225, 128);
    y = (y + fi_ycbcr_scale(b, 7, 19398, 128)) >> 6;
    fi_wide_u16 cb = fi_ycbcr_nearer(fi_ycbcr_scale(r, 10, 52386, 128));
    cb = (b.low << 5) - cb - fi_ycbcr_nearer(fi_ycbcr_scale(g, 21, 13149, 128));
    fi_wide_u16 cr = fi_ycbcr_nearer(fi_ycbcr_scale(g, 26, 52178, 128));
    cr = (r.low << 5) - cr - fi_ycbcr_nearer(fi_ycbcr_scale(b, 5, 13358, 128));
    cb = (fi_wide_u16)((fi_wide_i16)cb >> 6) + 128;
    cr = (fi_wide_u16)((fi_wide_i16)cr >> 6) + 128;
    *rg = y | cb << 8;
    *bx = cr | (*bx & 0xff00);
}

/* The way back: y cb becomes r g, and cr x becomes b x. The constants are 64 * 128 times the coefficients, since
   Pillow's products are of level - 128. Those of r and b are smaller by 1, which brings negative entries nearer to
   zero; fi_ycbcr_above subtracts the 1 from the others. For g, it brings the negative entries nearer. */
FI_INLINE void fi_ycbcr_to_rgb(fi_wide_u16 *y_cb, fi_wide_u16 *cr_x) {
    fi_wide_u16 y = *y_cb & 255;
    fi_ycbcr_levels cb = fi_ycbcr_upper(*y_cb), cr = fi_ycbcr_lower(*cr_x);
    fi_wide_u16 r = fi_ycbcr_scale(cr, 89, 47711, 80) - 11484 - fi_ycbcr_above(cr, 127);
    fi_wide_u16 b = fi_ycbcr_scale(cb, 113, 26738, 71) - 14515 - fi_ycbcr_above(cb, 127);
    fi_wide_u16 g = fi_ycbcr_above(cb, 128) + fi_ycbcr_above(cr, 128) + (2819 + 5850);
    g -= fi_ycbcr_scale(cb, 22, 1628, 82) + fi_ycbcr_scale(cr, 45, 46199, 69);
    r = fi_ycbcr_clip(y + (fi_wide_u16)((fi_wide_i16)r >> 6));
    g = fi_ycbcr_clip(y + (fi_wide_u16)((fi_wide_i16)g >> 6));
    b = fi_ycbcr_clip(y + (fi_wide_u16)((fi_wide_i16)b >> 6));
    *y_cb = r | g << 8;
    *cr_x = b | (*cr_x & 0xff00);
}

/* `out` may be `in`. */
FI_INLINE void fi_ycbcr_stretch(UINT8 *out, const UINT8 *in, void (*convert)(fi_wide_u16 *, fi_wide_u16 *)) {
    fi_wide_u32 a = FI_LOAD(fi_wide_u32, in), b = FI_LOAD(fi_wide_u32, in + sizeof(a));
    fi_wide_u16 lower = (fi_wide_u16)((a & 0xffff) | b << 16), upper = (fi_wide_u16)(a >> 16 | (b & 0xffff0000));
    convert(&lower, &upper);
    a = (fi_wide_u32)lower, b = (fi_wide_u32)upper;
    FI_STORE(out, (a & 0xffff) | b << 16);
    FI_STORE(out + sizeof(a), a >> 16 | (b & 0xffff0000));
}

FI_INLINE void fi_ycbcr_row(UINT8 *out, const UINT8 *in, int pixels, void (*convert)(fi_wide_u16 *, fi_wide_u16 *)) {
    for (; pixels >= FI_YCBCR_STRETCH; pixels -= FI_YCBCR_STRETCH) {
        fi_ycbcr_stretch(out, in, convert);
        in += 4 * FI_YCBCR_STRETCH;
        out += 4 * FI_YCBCR_STRETCH;
    }
    if (pixels > 0) {
        UINT8 rest[4 * FI_YCBCR_STRETCH] = {0};
        memcpy(rest, in, 4 * pixels);
        fi_ycbcr_stretch(rest, rest, convert);
        memcpy(out, rest, 4 * pixels);
    }
}

void ImagingConvertRGB2YCbCr(UINT8 *out, const UINT8 *in, int pixels) {
    fi_ycbcr_row(out, in, pixels, fi_ycbcr_from_rgb);
}

void ImagingConvertYCbCr2RGB(UINT8 *out, const UINT8 *in, int pixels) {
    fi_ycbcr_row(out, in, pixels, fi_ycbcr_to_rgb);
}
