/* Resizing of 8-bit bands. The same sums as Pillow's, of the same integers: coefficients keep their 22 bits, split into
   digits that the CPU multiplies several at a time (groups.h). */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "vectors.h"

#define STRIPS 2           /* of four rows of pixels, or sixteen of bytes, side by side */
#define MOST 4             /* groups that are weighed together */
#define BLOCK 8            /* times 64 bytes of a row, in one pass from top to bottom */
#define WINDOW (512 << 10) /* bytes for the groups of such a pass, unless 64 bytes of a row take more */

/* The neighbours of one sum. */
typedef struct {
    int first, count; /* groups */
    const UINT32 *digits;
} Span;

typedef struct {
    Span *spans;
    UINT32 *digits;
    int room;  /* groups of four neighbours in a window */
    int block; /* columns of a window, in 64 bytes */
} Weights;

/* Rows that are resized together. */
typedef struct {
    UINT8 *const *to;
    const UINT8 *const *rows; /* the last is repeated */
    int many, out_width, width;
    UINT32 used;
} Strips;

static inline INT32
round_coefficient(double coefficient) {
    double value = coefficient * (1 << PRECISION_BITS);
    return (int)(value < 0 ? value - 0.5 : value + 0.5);
}

/* Split coefficients into digits, in groups that begin at multiples of `taps`. Returns whether the digits suffice, and
   there is memory. */
static int
split_coefficients(Weights *weights, int taps, const int *bounds, const double *coefficients, int count, int ksize) {
    int bits = 32 / taps, digits = taps == 4 ? 3 : 2, most = (ksize + taps - 1) / taps + 1;
    UINT32 mask = (UINT32)((1ULL << bits) - 1);
    weights->spans = malloc(sizeof(Span) * count);
    weights->digits = calloc((size_t)count * most * digits, sizeof(UINT32));
    if (!weights->spans || !weights->digits) {
        return 0;
    }
    for (int x = 0; x < count; x++) {
        int first = bounds[2 * x], many = bounds[2 * x + 1], shift = first % taps;
        UINT32 *to = weights->digits + (size_t)x * most * digits;
        weights->spans[x] = (Span){first / taps, (shift + many + taps - 1) / taps, to};
        for (int i = 0; i < many; i++) {
            int64_t left = round_coefficient(coefficients[(size_t)x * ksize + i]);
            int tap = shift + i;
            for (int d = 0; d < digits; d++) {
                int64_t digit = taps == 4 ? (int8_t)left : (int16_t)left;
                to[tap / taps * digits + d] |= ((UINT32)digit & mask) << tap % taps * bits;
                left = (left - digit) >> bits;
            }
            if (left != 0) {
                return 0;
            }
        }
    }
    return 1;
}

/* Indexes of two vectors of n elements, for the lane that begins at b. */
#define LOW2(b, n) b, b + n
#define HIGH2(b, n) LOW2(b + 1, n)
#define LOW4(b, n) LOW2(b, n), LOW2(b + 1, n)
#define HIGH4(b, n) LOW4(b + 2, n)
#define LOW8(b, n) LOW4(b, n), LOW4(b + 2, n)
#define HIGH8(b, n) LOW8(b + 4, n)
#define LOW16(b, n) LOW8(b, n), LOW8(b + 4, n)
#define HIGH16(b, n) LOW16(b + 8, n)
#define UP4(b) b, b + 1, b + 2, b + 3
#define UP(b) UP4(b), UP4(b + 4), UP4(b + 8), UP4(b + 12)
#define ACBD4(b) b, b + 2, b + 1, b + 3
#define ACBD(b, n) ACBD4(b), ACBD4(b + 4), ACBD4(b + 8), ACBD4(b + 12)
#define FOURTHS(b) b, b + 4, b + 8, b + 12
#define TRANSPOSED(b, n) FOURTHS(b), FOURTHS(b + 1), FOURTHS(b + 2), FOURTHS(b + 3)
#define PAIR(b, n) b, n, b + 4, n
#define FIRST_PAIRS(b, n) PAIR(b, n), PAIR(b + 1, n), PAIR(b + 2, n), PAIR(b + 3, n)
#define SECOND_PAIRS(b, n) FIRST_PAIRS(b + 8, n)

#if defined(__x86_64__)
/* Three digits of 8 bits: VNNI, in vectors of 64 bytes or 32. */
BEGIN_TARGET(AVX512 ",avx512vnni")
#define NAME(name) name##_quads
#define TAPS 4
#define WIDTH 64
#define DOT(sums, part, d) ((Word)MM(dpbusd_epi32)((Vector)(sums), (Vector)(part), MM(set1_epi32)(d)))
#include "groups.h"
END_TARGET

BEGIN_TARGET("avx2,avxvnni")
#define NAME(name) name##_half_quads
#define TAPS 4
#define WIDTH 32
#define DOT(sums, part, d) ((Word)MM(dpbusd_avx_epi32)((Vector)(sums), (Vector)(part), MM(set1_epi32)(d)))
#include "groups.h"
END_TARGET

/* Two digits of 16 bits. */
#if defined(__AVX2__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
#define DOT(sums, part, d) ((sums) + (Word)MM(madd_epi16)((Vector)(part), MM(set1_epi32)(d)))
#else
/* Any CPU: compilers find multiplications that add. */
INLINE Four
add_pairs(Four sums, Bytes part, UINT32 digits) {
    Four values = (Four)part;
    return sums + (values & 0xffff) * (UINT32)(int16_t)digits + (values >> 16) * (UINT32)((INT32)digits >> 16);
}
#define WIDTH 16
#define DOT(sums, part, d) add_pairs(sums, part, d)
#define resize_rows_quads resize_rows_pairs
#define resize_columns_quads resize_columns_pairs
#define resize_rows_half_quads resize_rows_pairs
#define resize_columns_half_quads resize_columns_pairs
#endif
#define NAME(name) name##_pairs
#define TAPS 2
#include "groups.h"

static int
resize_rows(Imaging out, Imaging in, int offset, int ksize, const int *bounds, const double *coefficients) {
    ImagingSectionCookie cookie;
    Weights weights;
    int vnni = find_vnni(), taps = vnni ? 4 : 2, most = ksize < in->xsize ? ksize : in->xsize;
    weights.room = most / 4 + 64;
    void *window = aligned_alloc(64, (size_t)weights.room * (4 / taps) * STRIPS * 64);
    int made = split_coefficients(&weights, taps, bounds, coefficients, out->xsize, ksize) && window;
    if (made) {
        MUTEX_LOCK(&in->mutex);
        ImagingSectionEnter(&cookie);
        (vnni == 64   ? resize_rows_quads
         : vnni == 32 ? resize_rows_half_quads
                      : resize_rows_pairs)(out, in, offset, &weights, window);
        MUTEX_UNLOCK(&in->mutex);
        ImagingSectionLeave(&cookie);
    }
    free(window);
    free(weights.spans);
    free(weights.digits);
    return made;
}

static void
ImagingResampleHorizontal_8bpc(Imaging imOut, Imaging imIn, int offset, int ksize, int *bounds, double *prekk) {
    if (imOut->ysize < (imIn->image8 ? FEWEST : 2) || !resize_rows(imOut, imIn, offset, ksize, bounds, prekk)) {
        ImagingResampleHorizontal_8bpc__source(imOut, imIn, offset, ksize, bounds, prekk);
    }
}

static int
resize_columns(Imaging out, Imaging in, int ksize, const int *bounds, const double *coefficients) {
    ImagingSectionCookie cookie;
    Weights weights;
    int vnni = find_vnni(), taps = vnni ? 4 : 2, most = ksize < in->ysize ? ksize : in->ysize;
    weights.room = 2 * (most / 4 + 3);
    size_t column = (size_t)weights.room * (4 / taps) * 4 * 64;
    weights.block = column * BLOCK <= WINDOW ? BLOCK : column < WINDOW ? WINDOW / column : 1;
    void *window = aligned_alloc(64, column * weights.block);
    int made = split_coefficients(&weights, taps, bounds, coefficients, out->ysize, ksize) && window;
    if (made) {
        int bytes = in->xsize * in->pixelsize, step = weights.block * 64;
        MUTEX_LOCK(&in->mutex);
        ImagingSectionEnter(&cookie);
        for (int x = 0; x < bytes; x += step) {
            int width = bytes - x < step ? bytes - x : step;
            (vnni == 64   ? resize_columns_quads
             : vnni == 32 ? resize_columns_half_quads
                          : resize_columns_pairs)(out, in, &weights, window, x, width);
        }
        MUTEX_UNLOCK(&in->mutex);
        ImagingSectionLeave(&cookie);
    }
    free(window);
    free(weights.spans);
    free(weights.digits);
    return made;
}

static void
ImagingResampleVertical_8bpc(Imaging imOut, Imaging imIn, int offset, int ksize, int *bounds, double *prekk) {
    if (imIn->xsize * imIn->pixelsize < LANES || !resize_columns(imOut, imIn, ksize, bounds, prekk)) {
        ImagingResampleVertical_8bpc__source(imOut, imIn, offset, ksize, bounds, prekk);
    }
}
