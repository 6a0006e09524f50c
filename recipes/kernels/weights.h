/* The weights of a resize: for each sum its neighbours, and their coefficients as digits that a CPU multiplies several
   at a time. Pillow rounds a coefficient to 22 bits behind the point; all bits of that integer are kept.

   A quad is four neighbours of one sum, which lie side by side in one word of 32 bits. Its digits are words of 32 bits:

       by bytes    three words: of each coefficient the signed digits d0, d1, d2 of 8 bits: d0 + 256 d1 + 65536 d2
                   word d has the digits d of neighbours 0, 1, 2 and 3
       else        three words: of each coefficient a signed digit of 16 bits and an upper one of 8: low + 65536 high
                   word 0: low of neighbours 0 and 2; word 1: low of 1 and 3; word 2: high of all four
       no x86      four words: the coefficients

   Columns have no quads, for their neighbours lie in different rows. There two words serve two neighbours: low of both,
   and high of both, twice.

   Digits are signed, so that a coefficient c splits into c - (int8_t)c, a multiple of 256, and (int8_t)c, and so on.
   The last digit must have 8 bits. If the upper digits of 8 bits add up to more than 128 in a sum (their products with
   bytes, two in a lane of 16 bits, could overflow), the resize is left to Pillow. Real filters stay far below: their
   coefficients add up to 1, which is 64 in upper digits.

   A box filter has one coefficient for all of its neighbours. Then digits are 1 or 0: neighbours are added, and the sum
   is multiplied once. */

/* The neighbours of one sum. The window's quads begin at multiples of four neighbours, so coefficients of 0 may come
   first. */
typedef struct {
    int first, end;       /* quads of its neighbours; neighbours where sums share no quads */
    int count;            /* quads that are added, the last with zeros */
    UINT32 same;          /* the coefficient of all that have any, or 0 */
    const UINT32 *digits; /* of each quad */
} fi_span;

typedef struct {
    fi_span *spans;
    UINT32 *digits;
    void *window; /* a ring of quads: */
    int mask;     /* the last bits of a quad's number are its place */
    int most;     /* quads of a sum */
    int by_bytes; /* whether quads have three digits of 8 bits, else one of 16 and one of 8 */
    int stride;   /* the first quad of a sum begins at a multiple of it: 4, or 1 where sums share no quads */
} fi_weights;

/* What Pillow makes of a filter. */
typedef struct {
    int ksize, *bounds;
    double *coefficients;
} fi_pass;

/* As Pillow rounds. */
static inline INT32 fi_round_coefficient(double coefficient) {
    double value = coefficient * (1 << PRECISION_BITS);
    return (int)(value < 0 ? value - 0.5 : value + 0.5);
}

/* Add a coefficient to the digits of its sum. Returns whether they suffice. */
static int fi_set_digits(const fi_weights *weights, UINT32 *digits, int tap, INT32 coefficient, int *room) {
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
    if (weights->stride == 4) {
        quad[tap % 2] |= (UINT32)(UINT16)coefficient << 8 * (tap & 2);
        quad[2] |= (UINT32)(UINT8)high << tap % 4 * 8;
    } else {
        digits[tap / 2 * 2] |= (UINT32)(UINT16)coefficient << tap % 2 * 16;
        digits[tap / 2 * 2 + 1] |= (UINT8)high * 0x10001u << tap % 2 * 8;
    }
    *room -= abs(high);
#endif
    return *room >= 0;
}

/* The coefficient that all neighbours of a sum have that have any, or 0. */
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

/* Split the coefficients of a sum into digits. Returns whether the digits suffice. */
static int fi_split_coefficients(const fi_weights *weights, fi_span *span, UINT32 *digits, const double *coefficients,
                                 int shift, int count) {
    int room = 128; /* sums of the high digits fit in 16 bits, by twos */
    span->digits = digits;
    span->same = weights->stride == 4 ? fi_find_same(coefficients, count) : 0;
    for (int tap = shift; tap < shift + count; tap++) {
        INT32 coefficient = fi_round_coefficient(coefficients[tap - shift]);
        if (span->same) {
            digits[tap / 4] |= (UINT32)(coefficient != 0) << tap % 4 * 8;
        } else if (!fi_set_digits(weights, digits, tap, coefficient, &room)) {
            return 0;
        }
    }
    return 1;
}

/* Where the neighbours of each sum are, and how many quads the window needs for `at_once` sums. */
static void fi_find_spans(fi_weights *weights, const fi_pass *pass, int count, int at_once) {
    int reach = 0, stride = weights->stride;
    for (int x = 0; x < count; x++) {
        int start = pass->bounds[2 * x], first = start / stride, end = start + pass->bounds[2 * x + 1];
        int quads = fi_max((start % stride + end - start + 3) / 4, 1);
        weights->spans[x] = (fi_span){.first = first, .end = stride == 4 ? first + quads : end, .count = quads};
        weights->most = fi_max(weights->most, quads);
        reach = fi_max(reach, weights->spans[x].end - weights->spans[fi_max(0, x - at_once + 1)].first);
    }
    for (int x = 0; x < count && at_once > 1 && weights->most > 2; x++) {
        weights->spans[x].count = weights->most; /* always as many, which CPUs foresee: the last have digits of zero */
    }
    for (weights->mask = 3; weights->mask < reach + 3;) {
        weights->mask += weights->mask + 1;
    }
}

/* Returns whether the digits suffice, and there is memory. */
static int fi_make_weights(fi_weights *weights, const fi_pass *pass, int count, int at_once) {
    weights->spans = malloc(sizeof(fi_span) * count);
    if (!weights->spans) {
        return 0;
    }
    fi_find_spans(weights, pass, count, at_once);
    size_t words = weights->most * (weights->stride == 4 ? FI_DIGITS : 4);
    weights->digits = calloc(count * words, sizeof(UINT32));
    int made = weights->digits != NULL;
    for (int x = 0; x < count && made; x++) {
        made = fi_split_coefficients(weights, &weights->spans[x], weights->digits + x * words,
                                     pass->coefficients + (size_t)x * pass->ksize,
                                     pass->bounds[2 * x] % weights->stride, pass->bounds[2 * x + 1]);
    }
    return made;
}
