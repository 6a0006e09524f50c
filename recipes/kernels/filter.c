/* 3x3 and 5x5 filters. Pillow adds up floating-point numbers: to offset + 0.5 it adds, row by row, the sum of the row's
   products of pixels and weights. The result is clipped and rounded down. There are two methods to get the same pixel.

   Integers. Most filters have weights that are integers divided by a scale. If the integer sum provably rounds as
   Pillow's floating-point sum does (see fi_find_integer_taps), taps are taken two at a time. Their bytes are
   interleaved, and one instruction multiplies each pair of bytes by a pair of weights:

       bytes of tap 0   a0 a1 a2 ...        interleaved   a0 b0  a1 b1  a2 b2  ...
       bytes of tap 1   b0 b1 b2 ...        weights       w0 w1  w0 w1  w0 w1  ...
                                            sums          a0 w0 + b0 w1, a1 w0 + b1 w1, ... in 16 bits

   The sums are divided by a reciprocal. 26 to 68 times as fast as Pillow's own code (AMD Zen 5, 2026-11-29).

   Floating-point numbers: Pillow's numbers, added in Pillow's order. On x86-64 the recipe forbids the compiler to fuse
   a product with an addition (-ffp-contract=off), so the same order gives the same roundings. On Arm see
   fi_tap_in_order. A byte has 8 bits, so as a floating-point number of 32 bits it has zeros in the lower 16. Only the
   upper halves are kept of the rows. One vector loads the halves of twice as many numbers as it has lanes:

       loaded    h0 h1 | h2 h3 | ...        two halves in a lane
       even      0  h0 | 0  h2 | ...        shifted up by 16 bits: the numbers of bytes 0, 2, ...
       odd       0  h1 | 0  h3 | ...        masked: the numbers of bytes 1, 3, ...

   Taps whose weight is 0 are left out, since adding 0 changes nothing. 13 to 47 times as fast as Pillow's own code with
   AVX-512, 7 to 27 times without (AMD Zen 5, 2026-11-29). */

#include <math.h>

#include "vectors.h"

_Static_assert(FI_WIDE == 32, "shuffles are listed for 32 bytes");

#define FI_TAPS 26         /* of 5x5, and one more to take them by two */
#define FI_INTEGER_STEP 64 /* bytes of a row at a time, by integers */

/* Bytes of a vector of floating-point numbers. GCC splits comparisons of wider ones into single numbers. */
#ifdef __clang__
#define FI_FLOAT_WIDTH 64
#else
#define FI_FLOAT_WIDTH 32
#endif
#define FI_FLOAT_STEP (FI_FLOAT_WIDTH / 2) /* bytes of a row in two vectors of numbers, of the even and the odd ones */
#define FI_AVX512_STEP (5 * FI_FLOAT_STEP) /* bytes of a row for which AVX-512 has registers enough */

typedef float fi_filter_f32 __attribute__((vector_size(FI_FLOAT_WIDTH)));
typedef INT32 fi_filter_i32 __attribute__((vector_size(FI_FLOAT_WIDTH)));
typedef UINT16 fi_filter_u16 __attribute__((vector_size(FI_FLOAT_WIDTH)));
typedef UINT8 fi_filter_u8 __attribute__((vector_size(FI_FLOAT_STEP)));

/* The taps whose weight is not 0, in Pillow's order. The last row of weights belongs to the first row of the window. */
typedef struct {
    int size;                          /* 3 or 5 */
    int count;                         /* of taps */
    int row[FI_TAPS], column[FI_TAPS]; /* in the window */
    float weight[FI_TAPS], offset;
} fi_taps;

/* The weights as integers, and how a sum is divided. Sums begin at `start`, which includes the bias; the pixel is
   ((sum - bias) * reciprocal >> 16) >> shift, or 0 for a sum below the bias, or 255 if it is more. */
typedef struct {
    INT8 weights[FI_TAPS / 2][4]; /* each pair twice: it is cheaper to fill a vector with 32 bits than with 16 */
    UINT16 start, bias, reciprocal, shift;
} fi_integer_taps;

/* On aarch64 the official wheel's compiler fuses products and sums: it computes a0 * w0 + a1 * w1 as
   fma(a0, w0, a1 * w1), in which the second product of a row is rounded by itself. So the second tap comes first there.
   The recipe's level for Arm allows fusing within an expression (-ffp-contract=on), and the kernel relies on clang to
   fuse each `sum += number * weight`, and nothing else. GCC before 15 fuses nothing by that flag; then the proof of a
   build says what differs. Without fusing, the order of the first two has no effect. */
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

/* Set the integer weights, `start` and `bias` of a scale. Returns 0 unless all weights are integers divided by the
   scale, the products of a pair fit 16 bits with a sign, and every sum fits 16 bits with the bias. */
static int fi_fits_scale(fi_integer_taps *integers, const fi_taps *taps, int scale) {
    int lowest = scale / 2 + (int)taps->offset * scale, highest = lowest; /* of the sums that are possible */
    for (int i = 0; i < taps->count; i++) {
        float number = rintf(taps->weight[i] * scale);
        if (!(fabsf(number) < 128) || number / scale != taps->weight[i]) {
            return 0;
        }
        INT8 *pair = integers->weights[i / 2];
        pair[i % 2] = pair[i % 2 + 2] = number;
        *(number < 0 ? &lowest : &highest) += 255 * (int)number;
        if (i % 2 && abs(pair[0]) + abs(pair[1]) > 128) {
            return 0;
        }
    }
    integers->bias = lowest < 0 ? -lowest : 0;
    integers->start = scale / 2 + (int)taps->offset * scale + integers->bias;
    return lowest > -65536 && highest + integers->bias < 65536;
}

/* Find a scale whose integers give Pillow's pixels. Returns 0 if there is none.

   Let N be the sum of the integer products, s the scale, and o the offset, which has to be an integer too. The exact
   result is v = N / s + o + 1 / 2, rounded down. Pillow computes v with errors of rounding. These matter only if v is
   an integer, or nearer to one than the error. Let A be the sum of the absolute values of all terms of v: of the
   products, o and 1 / 2. fi_fits_scale accepts s only if highest - lowest and |o s + s / 2| are below 65,536. So the
   products make up less than 65536 / s of A, and o and 1 / 2 at most 65536 / s + 1. So A is less than 2 ** 18 / s.

   - If s is a power of two, Pillow's floating-point numbers have no errors: every sum of terms is a multiple of 1 / s
     and at most A, which takes 18 bits.
   - If s is odd, v is (2 N + 2 o s + s) / (2 s), an odd number divided by an even one. So it is at least 1 / (2 s) away
     from every integer. Pillow rounds each term at most 11 times: its weight, its product, four sums in its row, and
     five sums of rows; where products are fused, less often. A rounding changes a term by 2 ** -24 of it at most. So
     the error of v is less than 2 ** -20 of A, which is less than 1 / (4 s).
   - If s is even and no power of two (DETAIL has 6, SMOOTH_MORE 100), v may be an integer, and Pillow's error decides.
     Then Pillow's own numbers are needed.

   The quotient. `shift` is the least for which s <= 2 ** (shift + 1). With r, the reciprocal, r * s is
   2 ** (16 + shift) + e, where 0 <= e < s. To multiply n by r and shift by 16 + shift gives n / s, rounded down, if
   n * e < 2 ** (16 + shift). If s is a power of two, e is 0. If it is odd, it is below 128, and for n below 256 s the
   product n * e is below 256 * 2 ** (shift + 1) * 128. A larger n gives more than 255 and is clipped. */
static int fi_find_integer_taps(fi_integer_taps *integers, const fi_taps *taps) {
    if (!(fabsf(taps->offset) < 65536) || taps->offset != (int)taps->offset) {
        return 0;
    }
    for (int scale = 2, shift = 0; scale <= 256; scale++) { /* 2 << shift is the least power of two from `scale` on */
        shift += scale > 2 << shift;
        if ((scale == 2 << shift || (scale % 2 && scale < 128)) && fi_fits_scale(integers, taps, scale)) {
            integers->shift = shift;
            integers->reciprocal = ((65536 << shift) + scale - 1) / scale;
            return 1;
        }
    }
    return 0;
}

/* Interleave the bytes of a and b: of each segment the eight from byte i on. */
#define FI_INTERLEAVE_BYTES(a, b, i) FI_SHUFFLE(fi_wide_u8, a, b, FI_INTERLEAVE16(i, 32), FI_INTERLEAVE16((i) + 16, 32))

/* Indexes of every second byte of a segment, from byte i on. */
#define FI_EVERY_SECOND(i) i, (i) + 2, (i) + 4, (i) + 6, (i) + 8, (i) + 10, (i) + 12, (i) + 14

/* Divide sums by the scale, and clip them to bytes, in lanes of 16 bits. */
FI_INLINE fi_wide_u8 fi_divide_tap_sums(fi_wide_u16 sums, const fi_integer_taps *taps) {
    fi_wide_u16 above = FI_MAX(sums, (fi_wide_u16){0} + taps->bias) - taps->bias;
    return (fi_wide_u8)FI_MIN(fi_multiply_high(above, (fi_wide_u16){0} + taps->reciprocal) >> taps->shift,
                              (fi_wide_u16){0} + 255);
}

/* FI_INTEGER_STEP bytes of a row, by integers. `from` has the address of column 0 for each tap, and `count` is the
   number of taps. Vectors 2 i and 2 i + 1 of the sums have 16-bit sums of the lower and the upper half of each segment
   of the i-th 32 bytes, as interleaving within segments leaves them. */
FI_INLINE void fi_filter_integers(UINT8 *out, const UINT8 *const *from, int x, const fi_integer_taps *taps, int count,
                                  fi_wide_u8 used) {
    fi_wide_u16 start = (fi_wide_u16){0} + taps->start, sums[4] = {start, start, start, start};
    for (int tap = 0; tap < count; tap += 2) {
        UINT32 pair = FI_LOAD(UINT32, taps->weights[tap / 2]);
        for (int i = 0; i < 2; i++) {
            fi_wide_u8 a = FI_LOAD(fi_wide_u8, from[tap] + x + 32 * i);
            fi_wide_u8 b = FI_LOAD(fi_wide_u8, from[tap + 1] + x + 32 * i);
            sums[2 * i] += fi_dot_bytes(FI_INTERLEAVE_BYTES(a, b, 0), (fi_wide_u8)((fi_wide_u32){0} + pair));
            sums[2 * i + 1] += fi_dot_bytes(FI_INTERLEAVE_BYTES(a, b, 8), (fi_wide_u8)((fi_wide_u32){0} + pair));
        }
    }
    for (int i = 0; i < 2; i++) {
        fi_wide_u8 low = fi_divide_tap_sums(sums[2 * i], taps), high = fi_divide_tap_sums(sums[2 * i + 1], taps);
        fi_wide_u8 bytes = FI_SHUFFLE(fi_wide_u8, low, high, FI_EVERY_SECOND(0), FI_EVERY_SECOND(32),
                                      FI_EVERY_SECOND(16), FI_EVERY_SECOND(48));
        FI_STORE(out + x + 32 * i, bytes & used);
    }
}

/* Clip to 0 to 255 and round down. Floating-point numbers above 0 have the same order as their bits taken for integers,
   so the smaller of a number and 255 is found by comparing integers. */
FI_INLINE fi_filter_i32 fi_clip_floats(fi_filter_f32 sums) {
    fi_filter_i32 positive = (fi_filter_i32)sums & (sums > (fi_filter_f32){0});
    return __builtin_convertvector((fi_filter_f32)FI_MIN(positive, (fi_filter_i32)((fi_filter_f32){0} + 255)),
                                   fi_filter_i32);
}

/* The numbers of the even bytes, from upper halves of numbers: the lower half of each lane, moved up. */
FI_INLINE fi_filter_f32 fi_even_floats(const UINT16 *halves) {
    return (fi_filter_f32)(FI_LOAD(fi_filter_i32, halves) << 16);
}

/* The numbers of the odd bytes: the upper half of each lane. */
FI_INLINE fi_filter_f32 fi_odd_floats(const UINT16 *halves) {
    return (fi_filter_f32)(FI_LOAD(fi_filter_i32, halves) & ~0xffff);
}

/* `times` steps of FI_FLOAT_STEP bytes of a row, by floating-point numbers. The products of each row of the window are
   added up first, as in Pillow: those of taps `first` to `end` - 1. */
FI_INLINE void fi_filter_floats(UINT8 *out, const void *const *from, int x, const fi_taps *taps, int times,
                                fi_wide_u8 used) {
    const fi_filter_f32 none = {0}, offset = none + (float)(taps->offset + 0.5);
    fi_filter_f32 evens[5], odds[5], even_sums[5], odd_sums[5];
    for (int i = 0; i < times; i++) {
        even_sums[i] = odd_sums[i] = offset;
    }
    for (int first = 0, end; first < taps->count; first = end) {
        for (int i = 0; i < times; i++) {
            evens[i] = fi_even_floats((const UINT16 *)from[first] + x + FI_FLOAT_STEP * i) * taps->weight[first];
            odds[i] = fi_odd_floats((const UINT16 *)from[first] + x + FI_FLOAT_STEP * i) * taps->weight[first];
        }
        for (end = first + 1; end < taps->count && taps->row[end] == taps->row[first]; end++) {
            for (int i = 0; i < times; i++) {
                evens[i] += fi_even_floats((const UINT16 *)from[end] + x + FI_FLOAT_STEP * i) * taps->weight[end];
                odds[i] += fi_odd_floats((const UINT16 *)from[end] + x + FI_FLOAT_STEP * i) * taps->weight[end];
            }
        }
        for (int i = 0; i < times; i++) {
            even_sums[i] += evens[i];
            odd_sums[i] += odds[i];
        }
    }
    for (int i = 0; i < times; i++) {
        fi_filter_u16 levels = (fi_filter_u16)(fi_clip_floats(even_sums[i]) | fi_clip_floats(odd_sums[i]) << 16);
        FI_STORE(out + x + FI_FLOAT_STEP * i,
                 __builtin_convertvector(levels, fi_filter_u8) & FI_LOAD(fi_filter_u8, &used));
    }
}

/* All rows but the margins, `step` bytes at a time: by integers if there is no ring, else by floating-point numbers.
   The ring holds the 3 or 5 rows of the window as upper halves of numbers. */
FI_INLINE void fi_filter_rows(Imaging out, Imaging in, const fi_taps *taps, const fi_integer_taps *integers,
                              UINT16 *ring, int step) {
    int pixelsize = in->pixelsize, size = taps->size, margin = size / 2;
    int last = (in->xsize - margin) * pixelsize - step; /* the last byte at which a step may begin */
    int ready = 0;                                      /* rows before this one have been in the ring */
    fi_wide_u8 used = (fi_wide_u8)((fi_wide_u32){0} + (pixelsize == 1 ? ~0u : fi_used_bytes(in)));
    for (int y = margin; y < in->ysize - margin; y++) {
        const void *from[FI_TAPS];
        for (; ring && ready <= y + margin; ready++) {
            for (int x = 0; x < in->linesize; x++) {
                float number = ((UINT8 *)in->image[ready])[x]; /* of 8 bits: its lower half is zero */
                ring[ready % size * in->linesize + x] = FI_LOAD(UINT32, &number) >> 16;
            }
        }
        /* Up to `count`: an odd number of taps is taken with one more, whose integer weight is 0. */
        for (int tap = 0; tap <= taps->count; tap++) {
            int row = y - margin + taps->row[tap], column = (taps->column[tap] - margin) * pixelsize;
            from[tap] = ring ? (void *)(ring + row % size * in->linesize + column) : in->image[row] + column;
        }
        for (int x = margin * pixelsize; x < last + step; x += step) { /* the last step ends with the row */
            UINT8 *to = (UINT8 *)out->image[y];
            if (ring) {
                fi_filter_floats(to, from, fi_min(x, last), taps, step / FI_FLOAT_STEP, used);
            } else {
                fi_filter_integers(to, (const UINT8 **)from, fi_min(x, last), integers, taps->count, used);
            }
        }
    }
}

/* The sums of floating-point numbers, for any CPU and for AVX-512. */
static void fi_filter_rows_any(Imaging out, Imaging in, const fi_taps *taps, UINT16 *ring) {
    fi_filter_rows(out, in, taps, NULL, ring, FI_FLOAT_STEP);
}

FI_WITH_AVX512(fi_filter_rows, (Imaging out, Imaging in, const fi_taps *taps, UINT16 *ring), out, in, taps, NULL, ring,
               FI_AVX512_STEP)

static void (*fi_filter_chosen)(Imaging out, Imaging in, const fi_taps *taps, UINT16 *ring);

FI_AT_LOAD(fi_choose_filter) {
    fi_filter_chosen = fi_cpu_has(FI_AVX512) ? fi_filter_rows_avx512 : fi_filter_rows_any;
}

/* Copy the pixels at the edges, which filters leave as they are. */
static void fi_copy_margin(Imaging out, Imaging in, int margin) {
    int count = margin * in->pixelsize, last = in->linesize - count;
    for (int y = 0; y < in->ysize; y++) {
        memcpy(out->image[y], in->image[y], y < margin || y >= in->ysize - margin ? in->linesize : count);
        memcpy(out->image[y] + last, in->image[y] + last, count);
    }
}

Imaging ImagingFilter(Imaging im, int xsize, int ysize, const FLOAT32 *kernel, FLOAT32 offset) {
    int bytes = (im->xsize - xsize + 1) * im->pixelsize;
    if (im->type != IMAGING_TYPE_UINT8 || (xsize != 3 && xsize != 5) || xsize != ysize || bytes < FI_INTEGER_STEP ||
        im->ysize < ysize) {
        return ImagingFilter__source(im, xsize, ysize, kernel, offset);
    }
    fi_taps taps = fi_list_taps(kernel, offset, xsize);
    fi_integer_taps integers = {0};
    int has_integers = fi_find_integer_taps(&integers, &taps);
    UINT16 *ring = has_integers ? NULL : malloc(sizeof(*ring) * xsize * im->linesize);
    if (!has_integers && !ring) {
        return ImagingFilter__source(im, xsize, ysize, kernel, offset);
    }
    Imaging out = ImagingNewDirty(im->mode, im->xsize, im->ysize);
    if (!out) { /* Python's error is set, so no other result may be returned */
        free(ring);
        return NULL;
    }
    FI_BEGIN_SECTION(im)
    fi_copy_margin(out, im, xsize / 2);
    if (has_integers) {
        fi_filter_rows(out, im, &taps, &integers, NULL, FI_INTEGER_STEP);
    } else {
        (bytes < FI_AVX512_STEP ? fi_filter_rows_any : fi_filter_chosen)(out, im, &taps, ring);
    }
    FI_END_SECTION(im)
    free(ring);
    return out;
}

#undef FI_TAPS
#undef FI_INTEGER_STEP
#undef FI_FLOAT_WIDTH
#undef FI_FLOAT_STEP
#undef FI_AVX512_STEP
#undef FI_INTERLEAVE_BYTES
#undef FI_EVERY_SECOND
