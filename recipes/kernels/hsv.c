/* RGB to HSV and back, eight or sixteen pixels at a time. A shift of the hue uses both.

   Pillow follows colorsys.py: floating-point numbers of two precisions, branches, and calls of fmod, floor and round.
   This kernel has no branches and computes in single precision, so that a vector has twice as many numbers. It gives
   the same bytes for all 2**24 colours in both directions. The proof of that is the comparison of all of them
   (tests/support/build/every_colour.py). The arguments below say why they are the same.

   RGB to HSV. A pixel's hue depends on two things: which of its bands is the largest and which the smallest, and the
   quotient

       q = (largest - middle) / (largest - smallest).

   Pillow's three formulas become base + q or base - q, in sixths of the circle:

       largest    smallest   sixths
       r          b          1 - q
       r          g          5 + q      Pillow has q - 1 here
       g          b          1 + q
       g          r          3 - q
       b          r          3 + q
       b          g          5 - q

   - The sixths. Pillow adds 2 or 4 in double precision, where the sums are exact, and rounds to single precision once.
     A sum in single precision is rounded once too.
   - The hue is a sixth of this number. Pillow divides in double precision, adds a whole circle, takes the remainder by
     a whole circle, and rounds to single precision. Before that rounding the error is at most 2**-52. The exact sixth
     of a number of 24 bits is never that near to the middle between two numbers of 24 bits: it is at least a sixth of
     their distance away from the middle, and their distance is at least 2**-34 for the hues above 0. So Pillow's hue is
     the quotient of single precision.
   - The row with 5 + q is the exception: there Pillow has rounded q - 1 to single precision before it adds the circle.
     With q = n / d, a level is reached where 255 (5 d + n) / 6 d is an integer. Pillow reaches it in all 318 such cases
     of n and d. Here the base is 5 + 2**-20, so that no rounding below misses it. Elsewhere the nearest integer is at
     least 1/508 away, and the base and all roundings together add less than 1/10,000.
   - A level is the whole part of 255 x, where x is the hue or the saturation. Pillow multiplies in double precision,
     where the product is exact. In single precision it may have been rounded up to a level that it does not reach. It
     does not reach it if 255 x < level, which is 256 x - level < x. Both sides are exact: 256 x is x with another
     exponent, and the difference is a multiple of its last bit and not larger.

   HSV to RGB. A pixel's bands are three values, in an order that depends on the sixth of the hue: v itself, the
   smallest one, and one between them. The other two are quotients of integers,

       v (255 - s) / 255     and     v (65025 - s f) / 65025,

   where f is what remains of 6 h after division by 255, or in every other sixth 255 minus that. The divisors are odd,
   so no quotient is in the middle between two levels. Pillow's floating-point numbers are nearer to these quotients
   than any of them is to such a middle, so its rounding is that of the exact quotients. 65025 times 255 has 24 bits, so
   a division in single precision gives the right whole part. */

/* Vectors of 64 bytes, as in premultiply.c, which is in the same file of Pillow. clang makes two vectors of AVX2 of
   each, and one need not wait for the other. GCC would make single numbers of them, so it keeps 32 bytes. */
#if defined(__clang__) && defined(__AVX2__) && !defined(FI_WIDE)
#define FI_WIDE 64
#endif
#include "vectors.h"

#define FI_HSV_FLOATS(numbers) __builtin_convertvector(numbers, fi_wide_f32)
#define FI_HSV_NUMBERS(floats) __builtin_convertvector(floats, fi_wide_i32)

/* The whole part of 255 x, for x from 0 to 1. */
FI_INLINE fi_wide_i32 fi_hsv_level(fi_wide_f32 x) {
    fi_wide_i32 level = FI_HSV_NUMBERS(x * 255.0f);
    return level + (x * 256.0f - FI_HSV_FLOATS(level) < x); /* a comparison is -1 where it holds */
}

FI_INLINE fi_wide_i32 fi_hsv_from_rgb(fi_wide_i32 pixels) {
    fi_wide_i32 r = pixels & 255, g = pixels >> 8 & 255, b = pixels >> 16 & 255;
    fi_wide_i32 larger = FI_MAX(r, g), smaller = FI_MIN(r, g);
    fi_wide_i32 largest = FI_MAX(larger, b), smallest = FI_MIN(smaller, b);
    fi_wide_i32 span = largest - smallest, coloured = span > 0;
    fi_wide_i32 middle = (r ^ g ^ b) ^ (largest ^ smallest);

    /* A grey pixel has divisors that are not 0: ~coloured is -1 there, and 0 elsewhere. */
    fi_wide_f32 divisor = FI_HSV_FLOATS(span - ~coloured);
    fi_wide_f32 q = FI_HSV_FLOATS(largest - middle) / divisor;
    fi_wide_f32 saturation = divisor / FI_HSV_FLOATS(largest - ~coloured);

    fi_wide_i32 is_r = r == largest, is_g = (g == largest) & ~is_r, least_b = b == smallest, least_r = r == smallest;
    fi_wide_i32 minus = (least_b & is_r) | (~least_b & (is_g | ~(is_r | least_r))); /* the rows with - q */
    /* The base: 1 if b is smallest, else 5 and a little if r is largest, else 3 if g is largest or r smallest, or 5. */
    fi_wide_f32 one = (fi_wide_f32){0} + 1.0f, three = one + 2.0f, five = one + 4.0f, above_five = one + 4.000001f;
    fi_wide_i32 base = FI_SELECT(is_g | least_r, (fi_wide_i32)three, (fi_wide_i32)five);
    base = FI_SELECT(is_r, (fi_wide_i32)above_five, base);
    base = FI_SELECT(least_b, (fi_wide_i32)one, base);
    fi_wide_f32 sixths = (fi_wide_f32)base + (fi_wide_f32)((fi_wide_i32)q ^ (minus & INT32_MIN)); /* by q's sign bit */

    fi_wide_i32 colour = fi_hsv_level(sixths / 6.0f) | fi_hsv_level(saturation) << 8;
    return (colour & coloured) | largest << 16 | (pixels & (INT32)MASK_UINT32_CHANNEL_3);
}

FI_INLINE fi_wide_i32 fi_hsv_to_rgb(fi_wide_i32 pixels) {
    fi_wide_i32 h = pixels & 255, s = pixels >> 8 & 255, v = pixels >> 16 & 255;
    /* The quotient of 6 h by 255, and what remains. */
    fi_wide_i32 sixth = (h * 6 + 1) * 257 >> 16, rest = h * 6 - sixth * 255;
    fi_wide_i32 odd = (fi_wide_i32){0} - (sixth & 1);
    fi_wide_i32 factor = 65025 - s * FI_SELECT(odd, rest, 255 - rest), product = v * (255 - s) + 128;
    fi_wide_i32 least = (product + (product >> 8)) >> 8; /* the quotient by 255, rounded */
    fi_wide_i32 middle = FI_HSV_NUMBERS((FI_HSV_FLOATS(v) * FI_HSV_FLOATS(factor) + 32512.0f) / 65025.0f);

    /*  sixth  0       1       2       3       4       5       6
        r      v       middle  least   least   middle  v       v
        g      middle  v       v       middle  least   least   middle
        b      least   least   middle  v       v       middle  least  */
    fi_wide_i32 first = (sixth == 0) | (sixth == 6), second = sixth == 1, third = sixth == 2, fourth = sixth == 3;
    fi_wide_i32 fifth = sixth == 4;
    fi_wide_i32 r = FI_SELECT(second | fifth, middle, FI_SELECT(third | fourth, least, v));
    fi_wide_i32 g = FI_SELECT(first | fourth, middle, FI_SELECT(second | third, v, least));
    fi_wide_i32 b = FI_SELECT(fourth | fifth, v, FI_SELECT(first | second, least, middle));
    return r | g << 8 | b << 16 | (pixels & (INT32)MASK_UINT32_CHANNEL_3);
}

/* Convert a row of at least one vector. The last vector ends where the row ends, so it converts some pixels once more;
   they are read from the input, which is other memory than the result. */
FI_INLINE void fi_hsv_row(UINT8 *out, const UINT8 *in, int xsize, fi_wide_i32 (*convert)(fi_wide_i32)) {
    for (int x = 0; x < xsize; x += FI_WIDE_PIXELS) {
        int from = 4 * fi_min(x, xsize - FI_WIDE_PIXELS);
        FI_STORE(out + from, convert(FI_LOAD(fi_wide_i32, in + from)));
    }
}

static void rgb2hsv(UINT8 *out, const UINT8 *in, int xsize) {
    if (xsize < FI_WIDE_PIXELS) {
        rgb2hsv__source(out, in, xsize);
        return;
    }
    fi_hsv_row(out, in, xsize, fi_hsv_from_rgb);
}

static void hsv2rgb(UINT8 *out, const UINT8 *in, int xsize) {
    if (xsize < FI_WIDE_PIXELS) {
        hsv2rgb__source(out, in, xsize);
        return;
    }
    fi_hsv_row(out, in, xsize, fi_hsv_to_rgb);
}
