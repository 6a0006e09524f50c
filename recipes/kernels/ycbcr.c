/* RGB to YCbCr and back, sixteen pixels at a time.

   Pillow looks products up in tables of 256 entries: 64 times a coefficient times the level, rounded. Vectors cannot look
   up, but they can multiply, and every entry of these tables is

       whole * level + (((fraction * level >> 8) + half) >> 8)

   with numbers of 16 bits, where `fraction * level >> 8` is the upper half of a product with 256 * level. The numbers
   were found by trying all that give the whole table. For negative products, Pillow's tables were rounded towards zero,
   so that all entries but that of level 0 are one nearer to zero than rounding gives; subtraction that stops at zero does
   the same. In the tables for the way back this holds on one side of 128, which a bit of the level tells.

   Two vectors of eight pixels become vectors of 16-bit numbers without shuffling: one has the lower halves of the pixels
   of both, the other the upper halves.

       A     r g b x  r g b x ...        r g  r g  r g  r g ...    of A, B, A, B
       B     r g b x  r g b x ...        b x  b x  b x  b x ...                                     */

#include "vectors.h"

typedef UINT16 fi_ycbcr_words __attribute__((vector_size(32)));
typedef INT16 fi_ycbcr_signed __attribute__((vector_size(32)));
typedef UINT32 fi_ycbcr_pixels __attribute__((vector_size(32)));

#define FI_YCBCR_GROUP 16 /* pixels */

/* Levels in the lower bytes of words, and in the upper ones. */
typedef struct {
    fi_ycbcr_words low, high;
} fi_ycbcr_levels;

FI_INLINE fi_ycbcr_levels fi_ycbcr_lower(fi_ycbcr_words words) {
    return (fi_ycbcr_levels){words & 255, words << 8};
}

FI_INLINE fi_ycbcr_levels fi_ycbcr_upper(fi_ycbcr_words words) {
    return (fi_ycbcr_levels){words >> 8, words & 0xff00};
}

FI_INLINE fi_ycbcr_words fi_ycbcr_scale(fi_ycbcr_levels levels, int whole, int fraction, int half) {
    fi_ycbcr_words product = (fi_ycbcr_words)fi_multiply_high(levels.high, (fi_ycbcr_words){0} + (UINT16)fraction);
    return levels.low * (UINT16)whole + ((product + (UINT16)half) >> 8);
}

/* Less 1, but not below zero. */
FI_INLINE fi_ycbcr_words fi_ycbcr_nearer(fi_ycbcr_words words) {
    return words + (fi_ycbcr_words)(words > 0);
}

FI_INLINE fi_ycbcr_words fi_ycbcr_clip(fi_ycbcr_words words) {
    fi_ycbcr_signed value = (fi_ycbcr_signed)words, zero = {0};
    return (fi_ycbcr_words)FI_MIN(FI_MAX(value, zero), zero + 255);
}

/* 1 for levels above `most`, which is 127 or 128. */
FI_INLINE fi_ycbcr_words fi_ycbcr_above(fi_ycbcr_levels levels, int most) {
    return (levels.low + (UINT16)(255 - most)) >> 8;
}

/* `rg` and `bx` are replaced by what they become. */
FI_INLINE void fi_ycbcr_from_rgb(fi_ycbcr_words *rg, fi_ycbcr_words *bx) {
    fi_ycbcr_levels r = fi_ycbcr_lower(*rg), g = fi_ycbcr_upper(*rg), b = fi_ycbcr_lower(*bx);
    fi_ycbcr_words y = fi_ycbcr_scale(r, 19, 8913, 128) + fi_ycbcr_scale(g, 37, 37225, 128);
    y = (y + fi_ycbcr_scale(b, 7, 19398, 128)) >> 6;
    fi_ycbcr_words cb = fi_ycbcr_nearer(fi_ycbcr_scale(r, 10, 52386, 128));
    cb = (b.low << 5) - cb - fi_ycbcr_nearer(fi_ycbcr_scale(g, 21, 13149, 128));
    fi_ycbcr_words cr = fi_ycbcr_nearer(fi_ycbcr_scale(g, 26, 52178, 128));
    cr = (r.low << 5) - cr - fi_ycbcr_nearer(fi_ycbcr_scale(b, 5, 13358, 128));
    cb = (fi_ycbcr_words)((fi_ycbcr_signed)cb >> 6) + 128;
    cr = (fi_ycbcr_words)((fi_ycbcr_signed)cr >> 6) + 128;
    *rg = y | cb << 8;
    *bx = cr | (*bx & 0xff00);
}

FI_INLINE void fi_ycbcr_to_rgb(fi_ycbcr_words *y_cb, fi_ycbcr_words *cr_x) {
    fi_ycbcr_words y = *y_cb & 255;
    fi_ycbcr_levels cb = fi_ycbcr_upper(*y_cb), cr = fi_ycbcr_lower(*cr_x);
    fi_ycbcr_words r = fi_ycbcr_scale(cr, 89, 47711, 80) - 11484 - fi_ycbcr_above(cr, 127);
    fi_ycbcr_words b = fi_ycbcr_scale(cb, 113, 26738, 71) - 14515 - fi_ycbcr_above(cb, 127);
    fi_ycbcr_words g = fi_ycbcr_above(cb, 128) + fi_ycbcr_above(cr, 128) + (2819 + 5850);
    g -= fi_ycbcr_scale(cb, 22, 1628, 82) + fi_ycbcr_scale(cr, 45, 46199, 69);
    r = fi_ycbcr_clip(y + (fi_ycbcr_words)((fi_ycbcr_signed)r >> 6));
    g = fi_ycbcr_clip(y + (fi_ycbcr_words)((fi_ycbcr_signed)g >> 6));
    b = fi_ycbcr_clip(y + (fi_ycbcr_words)((fi_ycbcr_signed)b >> 6));
    *y_cb = r | g << 8;
    *cr_x = b | (*cr_x & 0xff00);
}

FI_INLINE void fi_ycbcr_group(UINT8 *out, const UINT8 *in, void (*convert)(fi_ycbcr_words *, fi_ycbcr_words *)) {
    fi_ycbcr_pixels a = FI_LOAD(fi_ycbcr_pixels, in), b = FI_LOAD(fi_ycbcr_pixels, in + sizeof(a));
    fi_ycbcr_words lower = (fi_ycbcr_words)((a & 0xffff) | b << 16), upper = (fi_ycbcr_words)(a >> 16 | (b & 0xffff0000));
    convert(&lower, &upper);
    a = (fi_ycbcr_pixels)lower, b = (fi_ycbcr_pixels)upper;
    FI_STORE(out, (a & 0xffff) | b << 16);
    FI_STORE(out + sizeof(a), a >> 16 | (b & 0xffff0000));
}

FI_INLINE void fi_ycbcr_row(UINT8 *out, const UINT8 *in, int pixels, void (*convert)(fi_ycbcr_words *, fi_ycbcr_words *)) {
    for (; pixels >= FI_YCBCR_GROUP; pixels -= FI_YCBCR_GROUP) {
        fi_ycbcr_group(out, in, convert);
        in += 4 * FI_YCBCR_GROUP;
        out += 4 * FI_YCBCR_GROUP;
    }
    if (pixels > 0) {
        UINT8 rest[4 * FI_YCBCR_GROUP] = {0};
        memcpy(rest, in, 4 * pixels);
        fi_ycbcr_group(rest, rest, convert);
        memcpy(out, rest, 4 * pixels);
    }
}

void ImagingConvertRGB2YCbCr(UINT8 *out, const UINT8 *in, int pixels) {
    fi_ycbcr_row(out, in, pixels, fi_ycbcr_from_rgb);
}

void ImagingConvertYCbCr2RGB(UINT8 *out, const UINT8 *in, int pixels) {
    fi_ycbcr_row(out, in, pixels, fi_ycbcr_to_rgb);
}
