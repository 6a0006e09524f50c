/* The weights of a resize: for each sum its neighbours, and their coefficients as digits that a CPU multiplies several
   at a time. Pillow rounds a coefficient to an integer with 22 fractional bits; all bits of that integer are kept.

   Along the rows, four neighbours of a sum are a quad: their bytes are side by side in one lane of 32 bits. The digits
   of their coefficients c0 to c3 are arranged alike in numbers of 32 bits, which serve all sums of a vector:

       by bytes    c = d0 + 256 d1 + 65536 d2, in signed digits of 8 bits: three numbers for a quad
                       number 0   d0 of c0, c1, c2, c3, from the lowest byte up
                       number 1   d1 likewise
                       number 2   d2 likewise
       else        c = low + 65536 high, in signed digits of 16 and of 8 bits: three numbers for a quad
                       number 0   low of c0 and c2
                       number 1   low of c1 and c3
                       number 2   high of c0, c1, c2, c3
       not x86-64  four numbers for a quad: the coefficients

   Down the columns the neighbours of a sum are in different rows, so there are no quads. Two numbers serve a pair of
   neighbours: low of c0 and c1, and high of c0, c1, c0, c1. Elsewhere than on x86-64 it is one number for each.

   Digits are signed. The lowest digit of c is c as a signed number of 8 bits, and the rest, c minus that digit, is a
   multiple of 256; the next digit comes from the rest divided by 256. Digits of 16 bits are found in the same way.

   Two cases are left to Pillow. In the first, a coefficient is so large, about 2 or more, that its highest digit (d2 or
   high) needs more than 8 bits. In the second, where digits have 16 and 8 bits, the absolute values of the high digits
   of a sum add up to more than 128. Products of high digits and bytes are added up in 16 bits with a sign, which hold
   255 * 128 = 32,640. Coefficients that are all positive never need more: they add up to 1, which is 64 in high digits,
   and rounding at most doubles a high digit. A box of 128 rows needs all of it, as its coefficient is half a high digit
   and is rounded up.

   A box filter has one coefficient for all neighbours of a sum. Then the digits are 1, or 0 beyond the neighbours:
   bytes are added up, and their sum is multiplied by the coefficient once. */

#ifndef FI_WEIGHTS_H
#define FI_WEIGHTS_H

#include "vectors.h"

#if defined(__x86_64__)
#define FI_DIGITS 3      /* numbers of a quad */
#define FI_MOST_SAME 240 /* neighbours with one coefficient: added up in two lanes of 16 bits, they stay below 32,768 */
#else
#define FI_DIGITS 4
#define FI_MOST_SAME 0 /* one coefficient would take the same instructions as several */
#endif

/* The neighbours of one sum. Positions are in units (fi_weights). A quad begins at every fourth pixel, so the first
   quad of a sum may begin before the first neighbour. The coefficients of these pixels are 0. */
typedef struct {
    int first, end;       /* its neighbours: quads `first` to `end` - 1 of a row, or rows `first` to `end` - 1 */
    int count;            /* quads of a row that are added up: `first` to `end` - 1, and maybe more, weighed by 0 */
    UINT32 same;          /* the only coefficient besides 0, or 0 if there are several */
    const UINT32 *digits; /* of each quad or pair, in order */
} fi_span;

typedef struct {
    fi_span *spans;
    UINT32 *digits;
    void *ring; /* of quads, along the rows: quad number q is at place q & mask */
    int mask;
    int most_quads; /* of a sum */
    int by_bytes;   /* whether coefficients have three digits of 8 bits, else one of 16 and one of 8 */
    int unit;       /* neighbours from one position to the next: 4 along the rows, for quads; 1 down the columns */
} fi_weights;

/* Pillow's coefficients of a pass: `ksize` values for each sum; `bounds` has its first neighbour and their number. */
typedef struct {
    int ksize, *bounds;
    double *values;
} fi_coefficients;

/* As Pillow rounds. */
static inline INT32 fi_round_coefficient(double coefficient) {
    double value = coefficient * (1 << PRECISION_BITS);
    return (int)(value < 0 ? value - 0.5 : value + 0.5);
}

/* Put the coefficient of neighbour `tap` into the digits of its sum. Digits of 16 and 8 bits take the high one off
   `allowance`. Returns whether it fits. */
static int fi_set_digits(const fi_weights *weights, UINT32 *digits, int tap, INT32 coefficient, int *allowance) {
    UINT32 *quad = digits + tap / 4 * FI_DIGITS;
#if FI_DIGITS == 4
    quad[tap % 4] = coefficient;
#else
    if (weights->by_bytes) {
        for (int d = 0; d < 3; d++) {
            quad[d] |= (UINT32)(UINT8)coefficient << tap % 4 * 8;
            coefficient = (coefficient - (int8_t)coefficient) / 256;
        }
        return coefficient == 0;
    }
    int high = (coefficient - (int16_t)coefficient) / 65536;
    if (high != (int8_t)high) {
        return 0;
    }
    if (weights->unit == 4) {
        quad[tap % 2] |= (UINT32)(UINT16)coefficient << 8 * (tap & 2);
        quad[2] |= (UINT32)(UINT8)high << tap % 4 * 8;
    } else {
        digits[tap / 2 * 2] |= (UINT32)(UINT16)coefficient << tap % 2 * 16;
        digits[tap / 2 * 2 + 1] |= (UINT8)high * 0x10001u << tap % 2 * 8;
    }
    *allowance -= abs(high);
#endif
    return *allowance >= 0;
}

/* The coefficient of all neighbours of a sum whose coefficient is not 0. Returns 0 if there are several. */
static INT32 fi_find_same(const double *coefficients, int count) {
    INT32 same = 0;
    for (int i = 0; i < count; i++) {
        INT32 coefficient = fi_round_coefficient(coefficients[i]);
        if (coefficient && same && coefficient != same) {
            return 0;
        }
        same = coefficient ? coefficient : same;
    }
    return count <= FI_MOST_SAME ? same : 0;
}

/* Split the `count` coefficients of a sum into digits, after `shift` coefficients of 0. Returns whether they fit. */
static int fi_split_coefficients(const fi_weights *weights, fi_span *span, UINT32 *digits, const double *coefficients,
                                 int shift, int count) {
    int allowance = 128; /* of the absolute values of high digits */
    span->digits = digits;
    span->same = weights->unit == 4 ? fi_find_same(coefficients, count) : 0;
    for (int tap = shift; tap < shift + count; tap++) {
        INT32 coefficient = fi_round_coefficient(coefficients[tap - shift]);
        if (span->same) {
            digits[tap / 4] |= (UINT32)(coefficient != 0) << tap % 4 * 8;
        } else if (!fi_set_digits(weights, digits, tap, coefficient, &allowance)) {
            return 0;
        }
    }
    return 1;
}

/* Find the neighbours of each sum, and the size of a ring that has all quads of `at_once` sums in a row. */
static void fi_find_spans(fi_weights *weights, const fi_coefficients *coefficients, int count, int at_once) {
    int reach = 0, unit = weights->unit; /* reach: quads from the first of such sums to the last */
    for (int x = 0; x < count; x++) {
        int start = coefficients->bounds[2 * x], first = start / unit, end = start + coefficients->bounds[2 * x + 1];
        int quads = fi_max((start % unit + end - start + 3) / 4, 1);
        weights->spans[x] = (fi_span){.first = first, .end = unit == 4 ? first + quads : end, .count = quads};
        weights->most_quads = fi_max(weights->most_quads, quads);
        reach = fi_max(reach, weights->spans[x].end - weights->spans[fi_max(0, x - at_once + 1)].first);
    }
    for (int x = 0; x < count && at_once > 1 && weights->most_quads > 2; x++) {
        weights->spans[x].count = weights->most_quads; /* the same for all sums, so that the CPU foresees the branch */
    }
    /* Four places are filled at a time, so up to three come after the quads that are needed. */
    for (weights->mask = 3; weights->mask < reach + 3;) {
        weights->mask += weights->mask + 1;
    }
}

/* Returns whether the digits suffice, and there is memory. */
static int fi_make_weights(fi_weights *weights, const fi_coefficients *coefficients, int count, int at_once) {
    weights->spans = malloc(sizeof(fi_span) * count);
    if (!weights->spans) {
        return 0;
    }
    fi_find_spans(weights, coefficients, count, at_once);
    size_t numbers = weights->most_quads * (weights->unit == 4 ? FI_DIGITS : 4); /* of a sum */
    weights->digits = calloc(count * numbers, sizeof(UINT32));
    int is_complete = weights->digits != NULL;
    for (int x = 0; x < count && is_complete; x++) {
        is_complete =
            fi_split_coefficients(weights, &weights->spans[x], weights->digits + x * numbers,
                                  coefficients->values + (size_t)x * coefficients->ksize,
                                  coefficients->bounds[2 * x] % weights->unit, coefficients->bounds[2 * x + 1]);
    }
    return is_complete;
}

#endif
