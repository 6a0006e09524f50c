/* Image.blend, and with it ImageEnhance's brightness, contrast, colour and sharpness.

   A byte of the result is a + alpha * (b - a), cut off to an integer. There are two methods.

   By floats, in single precision, as Pillow computes it. The difference is an integer that a float holds exactly.
   Product and sum are each rounded once, in this order, in a vector as in single numbers. One instruction for both
   (FMA), which x86-64-v3 and AVX-512 have, would round only once. Compilers use it unless -ffp-contract=off forbids it,
   as the recipe does. On Arm the compiler of the official wheel used it, so the recipe passes -ffp-contract=on there. A
   wrong flag shows only in the proof, which compares with the official wheel.

   If alpha is not within 0 to 1, the result is clipped to 0 to 255. Pillow clips the floating-point sum, by branches
   and in double precision, and then cuts it off. Clipping the integer afterwards gives the same, since an int holds
   every sum below 2 ** 31; a larger alpha, or one that is not a number, is left to Pillow.

   The four bytes of a pixel are taken in turn, each as a vector of one number a pixel, so that nothing is shuffled:

       pixels    r g b x | r g b x | ...      >> 8 & 255      g       | g       | ...

   By words: 16-bit integers take less than half of the time of floats. For a difference d, floor(alpha * d) is computed
   as d * whole + (d * part >> 16), where alpha is nearly whole + part / 65536 and `part` has a sign. Why such a number
   exists for nearly every alpha:

   - floor(alpha * d) changes only where alpha is a fraction whose denominator is |d|, which is at most 255. So all
     alphas between two neighbouring fractions of such denominators give the same integers.
   - Two such fractions are at least 1 / (255 * 254) apart, so a multiple of 1 / 65536 lies between them.
   - If alpha is such a fraction itself, as 1.4 is, positive differences need the multiple above it, and negative ones
     the multiple below it.

   Pillow's rounding may still differ from floor(alpha * d). So both methods are compared for all combinations of two
   bytes, which takes about a hundredth of a millisecond. If no number gives the bytes of the floats, or the picture is
   small, floats are used. The floats are those of fi_blend_by_floats: Pillow's own function takes no part. */

/* Vectors of 64 bytes: one register with AVX-512. With AVX2, clang makes two of each, and one need not wait for the
   other. GCC would make single numbers of vectors that are wider than the registers, so it keeps 32 bytes. */
#if defined(__clang__) && defined(__AVX2__)
#define FI_WIDE 64
#endif
#include "combine.h"

#define FI_BLEND_LARGE (1 << 19)       /* bytes of a picture for which it pays to compare both methods */
#define FI_BLEND_ALPHA_LIMIT (1 << 22) /* 256 times as much is below 2 ** 31 */
#define FI_BLEND_WORDS_LIMIT 100       /* alpha by words: 256 times as much is below 2 ** 15 */

FI_INLINE fi_wide_u8 fi_blend_by_floats(fi_wide_u8 first, fi_wide_u8 second, float alpha, int clipped) {
    fi_wide_u32 blended = {0};
    for (int shift = 0; shift < 32; shift += 8) { /* one byte of every pixel */
        fi_wide_i32 a = (fi_wide_i32)((fi_wide_u32)first >> shift & 255);
        fi_wide_i32 b = (fi_wide_i32)((fi_wide_u32)second >> shift & 255);
        fi_wide_f32 start = __builtin_convertvector(a, fi_wide_f32);
        fi_wide_f32 change = __builtin_convertvector(b - a, fi_wide_f32);
        fi_wide_i32 sum = __builtin_convertvector(start + change * alpha, fi_wide_i32); /* see above: FMA */
        if (clipped) {
            fi_wide_i32 zero = {0};
            sum = FI_MIN(FI_MAX(sum, zero), zero + 255);
        }
        blended |= (fi_wide_u32)sum << shift;
    }
    return (fi_wide_u8)blended;
}

/* alpha as whole + part / 65536. For negative differences it is whole + (part - less) / 65536; `less` is 0 or 1. */
typedef struct {
    INT16 whole, part, less;
} fi_blend_factor;

FI_INLINE fi_wide_u16 fi_blend_words(fi_wide_u16 first, fi_wide_u16 second, fi_blend_factor factor) {
    fi_wide_i16 a = (fi_wide_i16)first, difference = (fi_wide_i16)second - a, zero = {0};
    fi_wide_i16 part = factor.part - (difference >> 15 & factor.less);
    fi_wide_i16 sum = a + difference * factor.whole + fi_multiply_high_signed(difference, part);
    return (fi_wide_u16)FI_MIN(FI_MAX(sum, zero), zero + 255);
}

FI_INLINE fi_wide_u8 fi_blend_by_words(fi_wide_u8 first, fi_wide_u8 second, fi_blend_factor factor) {
    fi_wide_u16 a = (fi_wide_u16)first, b = (fi_wide_u16)second;
    return (fi_wide_u8)(fi_blend_words(a & 255, b & 255, factor) | fi_blend_words(a >> 8, b >> 8, factor) << 8);
}

/* Whether both methods give the same for all combinations of two bytes. A wrong factor shows where differences are
   large, so the smallest and the largest first bytes are tried first: 0, 255, 1, 254 and so on. */
FI_INLINE int fi_blend_is_exact(fi_blend_factor factor, float alpha, int clipped) {
    UINT8 seconds[256], floats[256], words[256];
    for (int i = 0; i < 256; i++) {
        seconds[i] = i;
    }
    for (int i = 0; i < 256; i++) {
        fi_wide_u8 first = (fi_wide_u8){0} + (UINT8)(i & 1 ? 255 - i / 2 : i / 2);
        for (int j = 0; j < 256; j += FI_WIDE) {
            fi_wide_u8 second = FI_LOAD(fi_wide_u8, seconds + j);
            FI_STORE(floats + j, fi_blend_by_floats(first, second, alpha, clipped));
            FI_STORE(words + j, fi_blend_by_words(first, second, factor));
        }
        if (memcmp(floats, words, 256) != 0) {
            return 0;
        }
    }
    return 1;
}

/* Find a factor that gives the bytes of the floats; false if there is none. A factor for alphas that are fractions is
   tried first, then one number for differences of both signs. */
FI_INLINE int fi_blend_find_factor(fi_blend_factor *factor, float alpha, int clipped) {
    if (!(alpha > -FI_BLEND_WORDS_LIMIT && alpha < FI_BLEND_WORDS_LIMIT)) {
        return 0;
    }
    double scaled = (double)alpha * 65536; /* exact */
    INT32 below = (INT32)scaled - (scaled < (INT32)scaled), above = below + (below < scaled);
    INT32 candidates[3][2] = {{above, above - below}, {above, 0}, {below, 0}}; /* numbers of 65536ths, and `less` */
    for (int i = 0; i < 3; i++) {
        factor->part = (INT16)candidates[i][0];
        factor->whole = (INT16)((candidates[i][0] - factor->part) >> 16);
        factor->less = candidates[i][1];
        if (fi_blend_is_exact(*factor, alpha, clipped)) {
            return 1;
        }
    }
    return 0;
}

FI_INLINE void fi_blend_rows(Imaging out, Imaging first, Imaging second, float alpha) {
    int clipped = !(alpha >= 0 && alpha <= 1), bytes = out->linesize;
    fi_blend_factor factor;
    int by_words = (int64_t)bytes * out->ysize > FI_BLEND_LARGE && fi_blend_find_factor(&factor, alpha, clipped);
    for (int y = 0; y < out->ysize; y++) {
        char *to = out->image[y], *from = first->image[y], *other = second->image[y];
        if (by_words) {
            FI_COMBINE_ROW(to, from, other, bytes, fi_blend_by_words(a, b, factor))
        } else {
            FI_EITHER(clipped, 0, 1, FI_COMBINE_ROW(to, from, other, bytes, fi_blend_by_floats(a, b, alpha, clipped)))
        }
    }
}

static void fi_blend_rows_any(Imaging out, Imaging first, Imaging second, float alpha) {
    fi_blend_rows(out, first, second, alpha);
}

FI_WITH_AVX512(fi_blend_rows, (Imaging out, Imaging first, Imaging second, float alpha), out, first, second, alpha)

static void (*fi_blend_chosen)(Imaging out, Imaging first, Imaging second, float alpha);

FI_AT_LOAD(fi_choose_blend) {
    fi_blend_chosen = fi_cpu_has(FI_AVX512) ? fi_blend_rows_avx512 : fi_blend_rows_any;
}

Imaging ImagingBlend(Imaging imIn1, Imaging imIn2, float alpha) {
    if (!imIn1 || !imIn2 || imIn1->type != IMAGING_TYPE_UINT8 || imIn2->type != IMAGING_TYPE_UINT8 || imIn1->palette ||
        imIn2->palette || imIn1->mode == IMAGING_MODE_1 || imIn2->mode == IMAGING_MODE_1 ||
        imIn1->bands != imIn2->bands || imIn1->xsize != imIn2->xsize || imIn1->ysize != imIn2->ysize ||
        imIn1 == imIn2 || alpha == 0 || alpha == 1 ||
        !(alpha > -FI_BLEND_ALPHA_LIMIT && alpha < FI_BLEND_ALPHA_LIMIT)) {
        return ImagingBlend__source(imIn1, imIn2, alpha);
    }
    Imaging out = ImagingNewDirty(imIn1->mode, imIn1->xsize, imIn1->ysize);
    if (!out) {
        return NULL;
    }
    FI_BEGIN_LARGE(out)
    fi_blend_chosen(out, imIn1, imIn2, alpha);
    FI_END_LARGE
    return out;
}
