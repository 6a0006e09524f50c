/* 3x3 and 5x5 filters. Pillow adds floating-point numbers: offset + 0.5, then row by row the sum of the row's products,
   and cuts the result off. There are two ways to the same pixel.

   Integers. Most filters have weights that are integers divided by a scale. If the integer sum provably rounds as
   Pillow's floating-point sum does (see fi_find_integer_taps), pairs of bytes are multiplied by pairs of weights in one
   instruction:

       from tap 0:      a0 a1 a2 a3 ...                       weights w0 w1 w0 w1 ...
       from tap 1:      b0 b1 b2 b3 ...   ->  a0 b0 a1 b1 ... ->  sums of 16 bits: a0 w0 + b0 w1, a1 w0 + b1 w1, ...

   The sums are divided by a reciprocal. 26 to 68 times as fast as Pillow's own code (AMD Zen 5, 2026-11-29).

   Floating-point numbers, the same in the same order. Rows are kept as the upper halves of their floating-point
   numbers: a byte has 8 bits, so its number's lower 16 bits are 0. One load brings the halves of twice as many numbers
   as a vector has; a shift makes numbers of the even ones, a mask of the odd ones. Products are added as Pillow adds
   them, and taps whose weight is 0 are left out, since adding 0 changes nothing. 13 to 47 times with AVX-512, 7 to 27
   without. */

#include <math.h>

#include "vectors.h"

#define FI_TAPS 26        /* of 5x5, and an even number */
#define FI_FILTER_STEP 64 /* bytes at a time, by integers */

#ifdef __clang__
#define FI_FILTER_WIDTH 64
#else
#define FI_FILTER_WIDTH 32 /* GCC makes single numbers of vectors that the CPU has not */
#endif
#define FI_FILTER_LEAST (FI_FILTER_WIDTH / 2) /* bytes at a time, by numbers */
#define FI_FILTER_MOST (5 * FI_FILTER_LEAST)  /* with as many registers as AVX-512 has */

typedef float fi_filter_f32 __attribute__((vector_size(FI_FILTER_WIDTH)));
typedef INT32 fi_filter_i32 __attribute__((vector_size(FI_FILTER_WIDTH)));
typedef UINT16 fi_filter_u16 __attribute__((vector_size(FI_FILTER_WIDTH)));
typedef UINT8 fi_filter_u8 __attribute__((vector_size(FI_FILTER_LEAST)));

/* The weights that are not 0, in Pillow's order. The last row of weights belongs to the first row of the picture. */
typedef struct {
    int size, count, row[FI_TAPS], column[FI_TAPS];
    float weight[FI_TAPS], offset;
} fi_taps;

/* The weights as integers, and how their sum is divided: ((sum - bias) * reciprocal >> 16) >> shift, at least 0. */
typedef struct {
    INT8 weights[FI_TAPS / 2][4]; /* each pair twice: to fill vectors with 32 bits is cheaper */
    UINT16 start, bias, reciprocal, shift;
} fi_integer_taps;

/* On aarch64 the official wheel's compiler fuses products and sums: a0 * w0 + a1 * w1 is fma(a0, w0, a1 * w1), so the
   second product of a row is rounded alone. So it comes first there. Without fusing, the order of the first two decides
   nothing. */
FI_INLINE int fi_tap_in_order(int tap, int size) {
#ifdef __aarch64__
    int column = tap % size;
    return column < 2 ? tap + 1 - 2 * column : tap;
#else
    (void)size;
    return tap;
#endif
}

static fi_taps fi_list_taps(const float *weights, float offset, int size) {
    fi_taps taps = {.size = size, .offset = offset};
    for (int tap = 0; tap < size * size; tap++) {
        int i = fi_tap_in_order(tap, size);
        if (weights[i] != 0) {
            taps.row[taps.count] = size - 1 - i / size;
            taps.column[taps.count] = i % size;
            taps.weight[taps.count++] = weights[i];
        }
    }
    return taps;
}

/* Whether all weights are integers divided by the scale, and every sum of products has 16 bits. */
static int fi_fits_scale(fi_integer_taps *made, const fi_taps *taps, int scale) {
    int least = scale / 2 + (int)taps->offset * scale, most = least;
    for (int i = 0; i < taps->count; i++) {
        float number = rintf(taps->weight[i] * scale);
        if (!(fabsf(number) < 128) || number / scale != taps->weight[i]) {
            return 0;
        }
        INT8 *pair = made->weights[i / 2];
        pair[i % 2] = pair[i % 2 + 2] = number;
        *(number < 0 ? &least : &most) += 255 * (int)number;
        if (i % 2 && abs(pair[0]) + abs(pair[1]) > 128) {
            return 0;
        }
    }
    made->bias = least < 0 ? -least : 0;
    made->start = scale / 2 + (int)taps->offset * scale + made->bias;
    return least > -65536 && most + made->bias < 65536;
}

/* Find a scale whose integers give Pillow's pixels. With a sum N of integer products, an offset o and a scale s, all of
   them integers, the exact result is v = (2 N + 2 o s + s) / 2 s, cut off.

   - If s is a power of two, Pillow's floating-point numbers are exact.
   - If s is odd, 2 N + 2 o s + s is odd, so v is 1 / 2 s or more away from every integer. Pillow rounds at most 12
     times on the way, so its error is less than 2 ** -20 of the sum of all terms. That sum is less than 2 ** 17 / s, so
     the error is less than 1 / 8 s, and cannot carry v across an integer.
   - If s is even and no power of two (DETAIL has 6, SMOOTH_MORE 100), v may be an integer, and Pillow's error decides:
     then Pillow's own numbers are needed.

   The quotient: reciprocal * s = 2 ** (16 + shift) + e, with 0 <= e < s. So n is divided exactly if (n + 1) * e < 2 **
   (16 + shift). For n below 256 s that holds, as s < 128 and s <= 2 ** (shift + 1). A larger n gives more than 255 and
   is clipped. */
static int fi_find_integer_taps(fi_integer_taps *made, const fi_taps *taps) {
    if (!(fabsf(taps->offset) < 65536) || taps->offset != (int)taps->offset) {
        return 0;
    }
    for (int scale = 2, shift = 0; scale <= 256; scale++) {
        shift += scale > 2 << shift;
        if ((scale == 2 << shift || (scale % 2 && scale < 128)) && fi_fits_scale(made, taps, scale)) {
            made->shift = shift;
            made->reciprocal = ((65536 << shift) + scale - 1) / scale;
            return 1;
        }
    }
    return 0;
}

/* Interleave a and b: of each segment of 16 bytes the eight from byte i on. */
#define FI_INTERLEAVE_BYTES(a, b, i) FI_SHUFFLE(fi_wide_u8, a, b, FI_INTERLEAVE16(i, 32), FI_INTERLEAVE16((i) + 16, 32))

#define FI_EVEN_LANES(i) i, (i) + 2, (i) + 4, (i) + 6, (i) + 8, (i) + 10, (i) + 12, (i) + 14

FI_INLINE fi_wide_u8 fi_divide_tap_sums(fi_wide_u16 sums, const fi_integer_taps *taps) {
    fi_wide_u16 above = FI_MAX(sums, (fi_wide_u16){0} + taps->bias) - taps->bias;
    return (fi_wide_u8)FI_MIN(fi_multiply_high(above, (fi_wide_u16){0} + taps->reciprocal) >> taps->shift,
                              (fi_wide_u16){0} + 255);
}

/* 64 bytes of a row, by integers. */
FI_INLINE void fi_filter_integers(UINT8 *out, const UINT8 *const *from, int x, const fi_integer_taps *taps, int count,
                                  fi_wide_u8 used) {
    fi_wide_u16 start = (fi_wide_u16){0} + taps->start, sums[4] = {start, start, start, start};
    for (int tap = 0; tap < count; tap += 2) {
        UINT32 pair = FI_LOAD(UINT32, taps->weights[tap / 2]);
        for (int i = 0; i < 2; i++) {
            fi_wide_u8 a = FI_LOAD(fi_wide_u8, from[tap] + x + 32 * i),
                       b = FI_LOAD(fi_wide_u8, from[tap + 1] + x + 32 * i);
            sums[2 * i] += fi_dot_bytes(FI_INTERLEAVE_BYTES(a, b, 0), (fi_wide_u8)((fi_wide_u32){0} + pair));
            sums[2 * i + 1] += fi_dot_bytes(FI_INTERLEAVE_BYTES(a, b, 8), (fi_wide_u8)((fi_wide_u32){0} + pair));
        }
    }
    for (int i = 0; i < 2; i++) {
        fi_wide_u8 low = fi_divide_tap_sums(sums[2 * i], taps), high = fi_divide_tap_sums(sums[2 * i + 1], taps);
        fi_wide_u8 bytes = FI_SHUFFLE(fi_wide_u8, low, high, FI_EVEN_LANES(0), FI_EVEN_LANES(32), FI_EVEN_LANES(16),
                                      FI_EVEN_LANES(48));
        FI_STORE(out + x + 32 * i, bytes & used);
    }
}

/* Clip to 0 to 255 and cut off. Floating-point numbers above 0 are ordered as the integers that their bits are. */
FI_INLINE fi_filter_i32 fi_clip_floats(fi_filter_f32 sums) {
    fi_filter_i32 positive = (fi_filter_i32)sums & (sums > (fi_filter_f32){0});
    return __builtin_convertvector((fi_filter_f32)FI_MIN(positive, (fi_filter_i32)((fi_filter_f32){0} + 255)),
                                   fi_filter_i32);
}

/* The numbers of the even bytes of some upper halves: the lower half of each lane, moved up. */
FI_INLINE fi_filter_f32 fi_even_floats(const UINT16 *halves) {
    return (fi_filter_f32)(FI_LOAD(fi_filter_i32, halves) << 16);
}

/* The numbers of the odd bytes: the upper half of each lane. */
FI_INLINE fi_filter_f32 fi_odd_floats(const UINT16 *halves) {
    return (fi_filter_f32)(FI_LOAD(fi_filter_i32, halves) & ~0xffff);
}

/* `many` times FI_FILTER_LEAST bytes of a row, by floating-point numbers. The products of each row are added up apart
   first, as in Pillow. */
FI_INLINE void fi_filter_floats(UINT8 *out, const void *const *from, int x, const fi_taps *taps, int many,
                                fi_wide_u8 used) {
    const fi_filter_f32 none = {0}, offset = none + (float)(taps->offset + 0.5);
    fi_filter_f32 evens[5], odds[5], even_sums[5], odd_sums[5];
    for (int i = 0; i < many; i++) {
        even_sums[i] = odd_sums[i] = offset;
    }
    for (int first = 0, end; first < taps->count; first = end) {
        for (int i = 0; i < many; i++) {
            evens[i] = fi_even_floats((const UINT16 *)from[first] + x + FI_FILTER_LEAST * i) * taps->weight[first];
            odds[i] = fi_odd_floats((const UINT16 *)from[first] + x + FI_FILTER_LEAST * i) * taps->weight[first];
        }
        for (end = first + 1; end < taps->count && taps->row[end] == taps->row[first]; end++) {
            for (int i = 0; i < many; i++) {
                evens[i] += fi_even_floats((const UINT16 *)from[end] + x + FI_FILTER_LEAST * i) * taps->weight[end];
                odds[i] += fi_odd_floats((const UINT16 *)from[end] + x + FI_FILTER_LEAST * i) * taps->weight[end];
            }
        }
        for (int i = 0; i < many; i++) {
            even_sums[i] += evens[i];
            odd_sums[i] += odds[i];
        }
    }
    for (int i = 0; i < many; i++) {
        fi_filter_u16 levels = (fi_filter_u16)(fi_clip_floats(even_sums[i]) | fi_clip_floats(odd_sums[i]) << 16);
        FI_STORE(out + x + FI_FILTER_LEAST * i,
                 __builtin_convertvector(levels, fi_filter_u8) & FI_LOAD(fi_filter_u8, &used));
    }
}

/* All rows, `step` bytes at a time: by integers if there is no ring, else by floating-point numbers. The ring holds the
   last 3 or 5 rows as upper halves of numbers. */
FI_INLINE void fi_filter_rows(Imaging out, Imaging in, const fi_taps *taps, const fi_integer_taps *integers,
                              UINT16 *ring, int step) {
    int pixelsize = in->pixelsize, size = taps->size, margin = size / 2, last = (in->xsize - margin) * pixelsize - step,
        made = 0;
    fi_wide_u8 used = (fi_wide_u8)((fi_wide_u32){0} + (pixelsize == 1 ? ~0u : fi_used_bytes(in)));
    for (int y = margin; y < in->ysize - margin; y++) {
        const void *from[FI_TAPS];
        for (; ring && made <= y + margin; made++) {
            for (int x = 0; x < in->linesize; x++) {
                float number = ((UINT8 *)in->image[made])[x]; /* of 8 bits: its lower half is zero */
                ring[made % size * in->linesize + x] = FI_LOAD(UINT32, &number) >> 16;
            }
        }
        for (int tap = 0; tap <= taps->count; tap++) {
            int row = y - margin + taps->row[tap], column = (taps->column[tap] - margin) * pixelsize;
            from[tap] = ring ? (void *)(ring + row % size * in->linesize + column) : in->image[row] + column;
        }
        for (int x = margin * pixelsize; x < last + step; x += step) { /* the last bytes together with some before */
            UINT8 *to = (UINT8 *)out->image[y];
            if (ring) {
                fi_filter_floats(to, from, fi_min(x, last), taps, step / FI_FILTER_LEAST, used);
            } else {
                fi_filter_integers(to, (const UINT8 **)from, fi_min(x, last), integers, taps->count, used);
            }
        }
    }
}

static void fi_filter_float_rows(Imaging out, Imaging in, const fi_taps *taps, UINT16 *ring) {
    fi_filter_rows(out, in, taps, NULL, ring, FI_FILTER_LEAST);
}

FI_WITH_AVX512(fi_filter_rows, (Imaging out, Imaging in, const fi_taps *taps, UINT16 *ring), out, in, taps, NULL, ring,
               FI_FILTER_MOST)

static void (*fi_filter_chosen)(Imaging out, Imaging in, const fi_taps *taps, UINT16 *ring);

FI_AT_LOAD(fi_choose_filter) {
    fi_filter_chosen = fi_cpu_has(FI_AVX512) ? fi_filter_rows_avx512 : fi_filter_float_rows;
}

static void fi_copy_margin(Imaging out, Imaging in, int margin) {
    int count = margin * in->pixelsize, last = in->linesize - count;
    for (int y = 0; y < in->ysize; y++) {
        memcpy(out->image[y], in->image[y], y < margin || y >= in->ysize - margin ? in->linesize : count);
        memcpy(out->image[y] + last, in->image[y] + last, count);
    }
}

Imaging ImagingFilter(Imaging im, int xsize, int ysize, const FLOAT32 *kernel, FLOAT32 offset) {
    int bytes = (im->xsize - xsize + 1) * im->pixelsize;
    if (im->type != IMAGING_TYPE_UINT8 || (xsize != 3 && xsize != 5) || xsize != ysize || bytes < FI_FILTER_STEP ||
        im->ysize < ysize) {
        return ImagingFilter__source(im, xsize, ysize, kernel, offset);
    }
    fi_taps taps = fi_list_taps(kernel, offset, xsize);
    fi_integer_taps integers = {0};
    int whole = fi_find_integer_taps(&integers, &taps);
    UINT16 *ring = whole ? NULL : malloc(sizeof(*ring) * xsize * im->linesize);
    if (!whole && !ring) {
        return ImagingFilter__source(im, xsize, ysize, kernel, offset);
    }
    Imaging out = ImagingNewDirty(im->mode, im->xsize, im->ysize);
    if (!out) { /* Python's error is set, so no other result may be returned */
        free(ring);
        return NULL;
    }
    FI_BEGIN_SECTION(im)
    fi_copy_margin(out, im, xsize / 2);
    if (whole) {
        fi_filter_rows(out, im, &taps, &integers, NULL, FI_FILTER_STEP);
    } else {
        (bytes < FI_FILTER_MOST ? fi_filter_float_rows : fi_filter_chosen)(out, im, &taps, ring);
    }
    FI_END_SECTION(im)
    free(ring);
    return out;
}
