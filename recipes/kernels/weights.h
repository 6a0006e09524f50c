/* What a filter weighs: for each sum its neighbours, and their coefficients as digits that the CPU multiplies several at
   a time. The same integers as Pillow's: coefficients keep their 22 bits. */

/* The neighbours of one sum. */
typedef struct {
    int first, end;       /* quads of its neighbours; neighbours where sums share no quads */
    int count;            /* quads that are added, the last with zeros */
    UINT32 same;          /* the coefficient of all that have any, or 0 */
    const UINT32 *digits; /* of each quad */
} Span;

typedef struct {
    Span *spans;
    UINT32 *digits;
    void *window; /* a ring of quads: */
    int mask;     /* the last bits of a quad's number are its place */
    int most;     /* quads of a sum */
    int stride;   /* the first quad of a sum begins at a multiple of it: 4, or 1 where sums share no quads */
} Weights;

/* What Pillow makes of a filter. */
typedef struct {
    int ksize, *bounds;
    double *coefficients;
} Pass;

/* As Pillow rounds. */
static inline INT32 round_coefficient(double coefficient) {
    double value = coefficient * (1 << PRECISION_BITS);
    return (int)(value < 0 ? value - 0.5 : value + 0.5);
}

/* Add a coefficient to the digits of its sum; `stride` as in Weights. Returns whether they suffice. */
static int set_digits(UINT32 *digits, int tap, INT32 coefficient, int stride, int *room) {
    UINT32 *quad = digits + tap / 4 * DIGITS;
#if DIGITS == 4
    quad[tap % 4] = coefficient;
#else
    if (find_vnni() && stride == 4) { /* three of 8 bits */
        for (int d = 0; d < 3; d++) {
            quad[d] |= (UINT32)(UINT8)coefficient << tap % 4 * 8;
            coefficient = (coefficient - (int8_t)coefficient) / 256;
        }
        return coefficient == 0;
    }
    int high = (coefficient - (int16_t)coefficient) / 65536; /* one of 16 bits, and one of 8 */
    if (stride == 4) {
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
static INT32 find_same(const double *coefficients, int count) {
    INT32 same = 0;
    for (int i = 0; i < count; i++) {
        INT32 coefficient = round_coefficient(coefficients[i]);
        if (coefficient && same && coefficient != same) {
            return 0;
        }
        same = coefficient ? coefficient : same;
    }
    return count <= MOST_SAME ? same : 0;
}

/* Split the coefficients of a sum into digits. Returns whether the digits suffice. */
static int
split_coefficients(const Weights *weights, Span *span, UINT32 *digits, const double *coefficients, int shift, int count) {
    int room = 128; /* sums of the high digits fit in 16 bits, by twos */
    span->digits = digits;
    span->same = weights->stride == 4 ? find_same(coefficients, count) : 0;
    for (int tap = shift; tap < shift + count; tap++) {
        INT32 coefficient = round_coefficient(coefficients[tap - shift]);
        if (span->same) {
            digits[tap / 4] |= (UINT32)(coefficient != 0) << tap % 4 * 8;
        } else if (!set_digits(digits, tap, coefficient, weights->stride, &room)) {
            return 0;
        }
    }
    return 1;
}

/* Where the neighbours of each sum are, and how many quads the window needs for `at_once` sums. */
static void find_spans(Weights *weights, const Pass *pass, int count, int at_once) {
    int reach = 0, stride = weights->stride;
    for (int x = 0; x < count; x++) {
        int start = pass->bounds[2 * x], first = start / stride, end = start + pass->bounds[2 * x + 1];
        int quads = larger((start % stride + end - start + 3) / 4, 1);
        weights->spans[x] = (Span){.first = first, .end = stride == 4 ? first + quads : end, .count = quads};
        weights->most = larger(weights->most, quads);
        reach = larger(reach, weights->spans[x].end - weights->spans[larger(0, x - at_once + 1)].first);
    }
    for (int x = 0; x < count && at_once > 1 && weights->most > 2; x++) {
        weights->spans[x].count = weights->most; /* always as many, which CPUs foresee: the last have digits of zero */
    }
    for (weights->mask = 3; weights->mask < reach + 3;) {
        weights->mask += weights->mask + 1;
    }
}

/* Returns whether the digits suffice, and there is memory. */
static int make_weights(Weights *weights, const Pass *pass, int count, int at_once) {
    weights->spans = malloc(sizeof(Span) * count);
    if (!weights->spans) {
        return 0;
    }
    find_spans(weights, pass, count, at_once);
    size_t words = weights->most * (weights->stride == 4 ? DIGITS : 4);
    weights->digits = calloc(count * words, sizeof(UINT32));
    int made = weights->digits != NULL;
    for (int x = 0; x < count && made; x++) {
        made = split_coefficients(weights, &weights->spans[x], weights->digits + x * words,
                                  pass->coefficients + (size_t)x * pass->ksize, pass->bounds[2 * x] % weights->stride,
                                  pass->bounds[2 * x + 1]);
    }
    return made;
}
