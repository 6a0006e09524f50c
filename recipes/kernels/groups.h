/* Exact sums of products, four at a time, for resize.c. Included once for each way to multiply, with

   NAME(name)                 the name of a function or type of this way
   WIDTH                      bytes of a vector
   SUMS                       vectors of sums that are added up apart
   ADD(sums, quads, digits)   add the products of four neighbours each and their coefficients, in DIGITS words
   ADD_SAME(sum, quads, mask) add neighbours that have one coefficient
   TOTAL(sums)                sums of 32 bits; TOTAL_SAME(sums): of what ADD_SAME added

   A quad is four neighbours of one sum. All arithmetic is modulo 2**32, as in Pillow. */

#define LANES_OF(vectors) ((vectors) * (WIDTH / 16))
#define ROWS (WIDTH / 4) /* of pixels that are resized together; of bytes, four times as many */

typedef UINT8 Part __attribute__((vector_size(WIDTH)));
typedef UINT16 Half __attribute__((vector_size(WIDTH)));
typedef UINT32 Word __attribute__((vector_size(WIDTH)));
typedef long long Vector __attribute__((vector_size(WIDTH))); /* as in x86's intrinsics */

/* Sums of a strip, from a window where all quads of a place are side by side. */
INLINE void NAME(weigh)(Word *out, const Weights *weights, const Span *span) {
    const Word half = (Word){0} + (1 << (PRECISION_BITS - 1));
    const UINT32 *digits = span->digits;
    Word sums[SIDE][SUMS] = {0};
#define QUADS(q) ((const Part *)weights->window + ((span->first + q) & weights->mask) * SIDE)
    if (span->same) {
        for (int q = 0; q < span->count; q++) {
            const Part *quads = QUADS(q);
            for (int i = 0; i < SIDE; i++) {
                ADD_SAME(sums[i], (Word)quads[i], digits[q]);
            }
        }
        for (int i = 0; i < SIDE; i++) {
            out[i] = half + TOTAL_SAME(sums[i]) * span->same;
        }
        return;
    }
    const Part *quads = QUADS(0);
    for (int i = 0; i < SIDE; i++) {
        sums[i][0] = half;
        ADD(sums[i], (Word)quads[i], digits);
    }
    for (int q = 1; q < span->count; q++) {
        digits += DIGITS;
        quads = QUADS(q);
        for (int i = 0; i < SIDE; i++) {
            ADD(sums[i], (Word)quads[i], digits);
        }
    }
    for (int i = 0; i < SIDE; i++) {
        out[i] = TOTAL(sums[i]);
    }
}

/* Four vectors of sums as bytes, each lane of 16 bytes by itself. */
INLINE Part NAME(narrow)(const Word *sums, int step) {
#if defined(__x86_64__)
    Vector shifted[4];
    for (int i = 0; i < 4; i++) {
        shifted[i] = MM(srai_epi32)((Vector)sums[i * step], PRECISION_BITS);
    }
    return (Part)MM(packus_epi16)(MM(packs_epi32)(shifted[0], shifted[1]), MM(packs_epi32)(shifted[2], shifted[3]));
#else
    Half halves[2];
    for (int i = 0; i < 2; i++) {
        Word low = clip_sums(sums[2 * i * step]), high = clip_sums(sums[(2 * i + 1) * step]);
        halves[i] = SHUFFLE(Half, (Half)low, (Half)high, 0, 2, 4, 6, 8, 10, 12, 14);
    }
    return SHUFFLE(Part, (Part)halves[0], (Part)halves[1], 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#endif
}

/* Transpose four rows of four words in every lane. */
INLINE void NAME(transpose_words)(Part *rows) {
    Part a = LOW(Word, rows[0], rows[1], 4), b = HIGH(Word, rows[0], rows[1], 4);
    Part c = LOW(Word, rows[2], rows[3], 4), d = HIGH(Word, rows[2], rows[3], 4);
    rows[0] = LOW(Vector, a, c, 2);
    rows[1] = HIGH(Vector, a, c, 2);
    rows[2] = LOW(Vector, b, d, 2);
    rows[3] = HIGH(Vector, b, d, 2);
}

/* Transpose four words of four bytes in every lane. */
INLINE void NAME(transpose_bytes)(Part *words) {
    for (int i = 0; i < 4; i++) {
        words[i] = SHUFFLE(Part, words[i], words[i], EACH(TRANSPOSED, 0, 16));
    }
}

/* Sixteen bytes of a row in each lane; the row of the next lane is `step` rows further. */
INLINE Part NAME(load_lanes)(const UINT8 *const *rows, int step, int from, int left) {
    Bytes lanes[WIDTH / LANES];
    for (int i = 0; i < LANES_OF(1); i++) {
        lanes[i] = load_bytes(rows[i * step] + from, left);
    }
    return LOAD(Part, lanes);
}

INLINE void NAME(store_lanes)(UINT8 *const *rows, int many, int step, const Part *from, int at, int left) {
    const Bytes *lanes = (const Bytes *)from;
    for (int i = 0; i < LANES_OF(1) && i * step < many; i++) {
        copy_some(rows[i * step] + at, &lanes[i], left, LANES);
    }
}

#if WIDTH == 64
/* Sixteen pixels of four rows: in each vector four of each row. */
INLINE void NAME(load_pixels)(Part *lanes, const UINT8 *const *rows, int from, int left) {
    Part mixed[4] = {0};
    for (int i = 0; i < 4; i++) {
        copy_some(&mixed[i], rows[i] + from, left, WIDTH);
        __builtin_prefetch(rows[i] + from + 512); /* CPUs foresee fewer rows than a strip has */
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            Vector a = (Vector)mixed[2 * i], b = (Vector)mixed[2 * i + 1];
            lanes[i] = (Part)SHUFFLE(Vector, a, b, 0, 1, 4, 5, 8, 9, 12, 13);
            lanes[i + 2] = (Part)SHUFFLE(Vector, a, b, 2, 3, 6, 7, 10, 11, 14, 15);
        }
        memcpy(mixed, lanes, sizeof(mixed));
    }
}
#endif

/* Quads of all rows of a strip, sixteen neighbours from `from` on: a sum for each byte of a pixel of each row. Unrolled, so
   that the CPU foresees what each load reads next. */
INLINE void NAME(group_strip)(Part *to, const UINT8 *const *rows, int from, int left, int size) {
#pragma GCC unroll 4
    for (int v = 0; v < SIDE; v++) {
        Part quads[4];
#if WIDTH == 64
        if (size == 4) {
            NAME(load_pixels)(quads, rows + 4 * v, from, left);
        } else
#endif
        for (int i = 0; i < 4; i++) {
            quads[i] = size == 4 ? NAME(load_lanes)(rows + LANES_OF(v), 1, from + i * 16, left - i * 16)
                                 : NAME(load_lanes)(rows + LANES_OF(4 * v) + i, 4, from, left);
        }
        (size == 4 ? NAME(transpose_bytes) : NAME(transpose_words))(quads);
        for (int i = 0; i < 4; i++) {
            to[i * SIDE + v] = quads[i];
        }
    }
}

/* What sixteen bytes of each row have as sums, back to rows. */
INLINE void NAME(store_strip)(UINT8 *const *to, const Word *sums, int x, int left, int many, int size, UINT32 used) {
    for (int v = 0; v < SIDE; v++) {
        Part rows[4];
        if (size == 4) {
            rows[0] = (Part)((Word)NAME(narrow)(sums + v, SIDE) & used);
            NAME(store_lanes)(to + LANES_OF(v), many - LANES_OF(v), 1, rows, x * 4, left * 4);
            continue;
        }
        for (int i = 0; i < 4; i++) {
            rows[i] = NAME(narrow)(sums + i * 4 * SIDE + v, SIDE);
        }
        NAME(transpose_bytes)(rows);
        NAME(transpose_words)(rows);
        for (int i = 0, row = LANES_OF(4 * v); i < 4; i++, row++) {
            NAME(store_lanes)(to + row, many - row, 4, &rows[i], x, left);
        }
    }
}

/* A strip of rows from `y` on, some columns of it, from left to right. What the next sums need is a window of quads. */
INLINE void NAME(resize_strip)(UINT8 *const *to, const Job *job, int y, int start, int end, int size) {
    const int step = ROWS * 4 / size, at_once = 16 / size, width = job->in->xsize;
    const int many = job->rows - y < step ? job->rows - y : step;
    const Weights across = job->across, *weights = &across; /* a copy that no store changes */
    const Span *spans = weights->spans;
    const UINT8 *rows[ROWS * 4];
    for (int i = 0; i < step; i++) {
        rows[i] = (const UINT8 *)job->in->image[y + (i < many ? i : many - 1)];
    }
    for (int x = start, behind = 0; x < end; x += at_once) {
        Word sums[16 * SIDE];
        int left = smaller(end - x, at_once), last = x + left - 1;
        for (behind = larger(behind, spans[x].first / 4 * 4); behind < spans[last].end; behind += 4) {
            Part *window = (Part *)weights->window + (behind & weights->mask) * SIDE;
            int from = behind * 4 * size, rest = smaller(width * size - from, 16 * size);
            SPECIALIZE(rest, 16 * size, NAME(group_strip)(window, rows, from, rest, size));
        }
        for (int i = 0; i < at_once; i++) {
            NAME(weigh)(sums + i * SIDE, weights, &spans[smaller(x + i, last)]);
        }
        SPECIALIZE(left, at_once, SPECIALIZE(many, step, NAME(store_strip)(to, sums, x, left, many, size, job->used)));
    }
}

static void NAME(resize_rows)(UINT8 *const *to, const Job *job, int y, int start, int end) {
    int size = job->in->pixelsize;
    EITHER(size, 1, 4, NAME(resize_strip)(to, job, y, start, end, size));
}

/* A vector of columns: the neighbours of a sum are in rows. */
INLINE Part NAME(weigh_rows)(const UINT8 *const *rows, int x, const UINT32 *digits, int pairs) {
    Word half = (Word){0} + (1 << (PRECISION_BITS - 1)), sums[4] = {half, half, half, half};
#if defined(PAIRS)
    const Part none = {0};
    Half high[2] = {0};
    for (int t = 0; t < pairs; t++, digits += 2) {
        Part a = LOAD(Part, rows[2 * t] + x), b = LOAD(Part, rows[2 * t + 1] + x);
        Part mixed[2] = {LOW(Part, a, b, 16), HIGH(Part, a, b, 16)};
        for (int i = 0; i < 2; i++) {
            sums[2 * i] += PAIRS(LOW(Part, mixed[i], none, 16), digits[0]);
            sums[2 * i + 1] += PAIRS(HIGH(Part, mixed[i], none, 16), digits[0]);
            high[i] += (Half)MM(maddubs_epi16)((Vector)mixed[i], SET(digits[1]));
        }
    }
    for (int i = 0; i < 2; i++) {
        sums[2 * i] += (Word)LOW(Half, none, high[i], 8);
        sums[2 * i + 1] += (Word)HIGH(Half, none, high[i], 8);
    }
#else
    for (int t = 0; t < 2 * pairs; t++) {
        for (int i = 0; i < 4; i++) {
            sums[i] += WIDEN_FOUR(rows[t] + x + 4 * i) * digits[t];
        }
    }
#endif
    return NAME(narrow)(sums, 1);
}

/* A row of sums. Behind a resized row there is room for a vector; elsewhere the last vector begins before. */
INLINE void NAME(weigh_row)(UINT8 *out, const Job *job, int from, int end, const UINT32 *digits, int pairs) {
    const UINT8 *const *rows = job->list;
    int bytes = job->out->xsize * job->in->pixelsize, last = job->resized ? bytes : bytes - WIDTH;
    UINT32 used = job->used;
    for (int x = from; x < end; x += WIDTH) {
        int at = smaller(x, last);
        Part values = (Part)((Word)NAME(weigh_rows)(rows, at, digits, pairs) & used);
        copy_some(out + at, &values, bytes - at, WIDTH);
    }
}

/* Some columns, from top to bottom, and the strips of rows that they need. The most common numbers of neighbours are
   constants, so that digits stay in registers. */
static void NAME(resize_columns)(const Job *job, int from, int end) {
    int pixel = job->in->pixelsize;
    for (int y = 0, made = 0; y < job->out->ysize; y++) {
        const Span *span = &job->down.spans[y];
        int pairs = (span->end - span->first + 1) / 2;
        for (made = larger(made, span->first / job->step * job->step); job->resized && made < span->end; made += job->step) {
            NAME(resize_rows)(job->resized + made % job->ring, job, made, from / pixel, end / pixel);
        }
        for (int i = 0; i < 2 * pairs; i++) {
            int row = smaller(span->first + i, span->end - 1);
            job->list[i] = job->resized ? job->resized[row % job->ring] : (UINT8 *)job->in->image[row];
        }
#define WEIGH_ROW NAME(weigh_row)((UINT8 *)job->out->image[y], job, from, end, span->digits, pairs)
        SPECIALIZE(pairs, 1, SPECIALIZE(pairs, 2, SPECIALIZE(pairs, 3, WEIGH_ROW)));
    }
}

static void NAME(resize)(const Job *job, int offset) {
    for (int y = 0; !job->list && y < job->out->ysize; y += job->step) {
        NAME(resize_rows)((UINT8 **)job->out->image + y, job, offset + y, 0, job->out->xsize);
    }
    for (int from = 0, bytes = job->out->xsize * job->in->pixelsize; job->list && from < bytes; from += job->block) {
        NAME(resize_columns)(job, from, smaller(from + job->block, bytes));
    }
}

#undef NAME
#undef WIDTH
