/* Exact sums of products, four at a time, for resize.c. Included once for each way to multiply, with

   NAME(name)                 the name of a function or type of this way
   WIDTH                      bytes of a vector
   SUMS                       vectors of sums that are added up apart
   ADD(sums, quads, digits)   add the products of four neighbours each and their coefficients, in DIGITS words
   ADD_SAME(sum, quads, mask) add neighbours that have one coefficient
   TOTAL(sums)                sums of 32 bits; TOTAL_SAME(sums): of what ADD_SAME added

   A quad is four neighbours of one sum. All arithmetic is modulo 2**32, as in Pillow. */

#define LANES_OF(vectors) ((vectors) * (WIDTH / 16))
#define SIDE (ROWS / LANES_OF(1)) /* vectors with a quad of each row of a strip */

typedef UINT8 Part __attribute__((vector_size(WIDTH)));
typedef UINT16 Half __attribute__((vector_size(WIDTH)));
typedef UINT32 Word __attribute__((vector_size(WIDTH)));
typedef uint64_t Long __attribute__((vector_size(WIDTH)));

/* Sums of `many` vectors side by side, from `at` on in a window where all quads of a place are `step` vectors. */
INLINE void NAME(weigh)(Word *out, const Weights *weights, const Span *span, int at, int step, int many) {
    const Word half = (Word){0} + (1 << (PRECISION_BITS - 1));
    const UINT32 *digits = span->digits;
    Word sums[BATCH][SUMS] = {0};
#define QUADS(q) ((const Part *)weights->window + (size_t)((span->first + q) & weights->mask) * step + at)
    if (span->same) {
        for (int q = 0; q < span->count; q++) {
            const Part *quads = QUADS(q);
            for (int i = 0; i < many; i++) {
                ADD_SAME(sums[i], (Word)quads[i], digits[q]);
            }
        }
        for (int i = 0; i < many; i++) {
            out[i] = half + TOTAL_SAME(sums[i]) * span->same;
        }
        return;
    }
    const Part *quads = QUADS(0);
    for (int i = 0; i < many; i++) {
        sums[i][0] = half;
        ADD(sums[i], (Word)quads[i], digits);
    }
    for (int q = 1; q < span->count; q++) {
        digits += DIGITS;
        quads = QUADS(q);
        for (int i = 0; i < many; i++) {
            ADD(sums[i], (Word)quads[i], digits);
        }
    }
    for (int i = 0; i < many; i++) {
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
    rows[0] = LOW(Long, a, c, 2);
    rows[1] = HIGH(Long, a, c, 2);
    rows[2] = LOW(Long, b, d, 2);
    rows[3] = HIGH(Long, b, d, 2);
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

/* Quads of all rows of a strip, sixteen neighbours from `from` on: a sum for each byte of a pixel of each row. */
INLINE void NAME(group_strip)(Part *to, const UINT8 *const *rows, int from, int left, int size) {
    for (int v = 0; v < SIDE; v++) {
        Part quads[4];
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
            for (int v = 0; v < SIDE; v += BATCH) {
                NAME(weigh)(sums + i * SIDE + v, weights, &spans[smaller(x + i, last)], v, SIDE, smaller(BATCH, SIDE));
            }
        }
        SPECIALIZE(left, at_once, SPECIALIZE(many, step, NAME(store_strip)(to, sums, x, left, many, size, job->used)));
    }
}

static void NAME(resize_rows)(UINT8 *const *to, const Job *job, int y, int start, int end) {
    int size = job->in->pixelsize;
    EITHER(size, 1, 4, NAME(resize_strip)(to, job, y, start, end, size));
}

/* WIDTH bytes of four rows: a sum for each column. Narrowed, they are in order. */
INLINE void NAME(group_rows)(Part *to, const UINT8 *const *rows, int from, int left) {
    Part four[4] = {0};
    for (int i = 0; i < 4; i++) {
        copy_some(&four[i], rows[i] + from, left, WIDTH);
    }
    Part a = LOW(Part, four[0], four[1], 16), b = LOW(Part, four[2], four[3], 16);
    Part c = HIGH(Part, four[0], four[1], 16), d = HIGH(Part, four[2], four[3], 16);
    to[0] = LOW(Half, a, b, 8);
    to[1] = HIGH(Half, a, b, 8);
    to[2] = LOW(Half, c, d, 8);
    to[3] = HIGH(Half, c, d, 8);
}

/* Resize the strips with the rows from `first` on, but for those that are `made`. Returns how many are. */
INLINE int NAME(make_rows)(const Job *job, int made, int first, int end, int from, int width) {
    int pixel = job->in->pixelsize;
    for (made = larger(made, first / job->step * job->step); job->resized && made < end; made += job->step) {
        NAME(resize_rows)(job->resized + made % job->ring, job, made, from / pixel, (from + width) / pixel);
    }
    return made;
}

/* Some columns, from top to bottom. What the next row needs is a window of quads, of rows that are resized before. */
static void NAME(resize_columns)(const Job *job, int from, int width) {
    const Weights down = job->down, *weights = &down; /* a copy that no store changes */
    const int step = job->block / WIDTH * 4;
    int behind = 0, made = 0; /* quads of the window; rows that are resized */
    for (int y = 0; y < job->out->ysize; y++) {
        const Span *span = &weights->spans[y];
        for (behind = larger(behind, span->first); behind < span->end; behind++) {
            Part *window = (Part *)weights->window + (size_t)(behind & weights->mask) * step;
            const UINT8 *rows[4];
            made = NAME(make_rows)(job, made, behind * 4, smaller(behind * 4 + 4, job->rows), from, width);
            list_rows(rows, job, behind * 4, 4, from);
            for (int x = 0; x < width; x += WIDTH, window += 4) {
                NAME(group_rows)(window, rows, x, width - x);
            }
        }
        UINT8 *out = (UINT8 *)job->out->image[y] + from;
        for (int x = 0; x < width; x += WIDTH) {
            Word sums[4];
            NAME(weigh)(sums, weights, span, x / WIDTH * 4, step, 4);
            Part values = (Part)((Word)NAME(narrow)(sums, 1) & job->used);
            copy_some(out + x, &values, width - x, WIDTH);
        }
    }
}

#if defined(PAIRS)
/* A vector of columns, of a few rows: two at a time, without a window. */
INLINE Part NAME(weigh_rows)(const UINT8 *const *rows, int x, const UINT32 *digits, int pairs) {
    const Part none = {0};
    Word half = (Word){0} + (1 << (PRECISION_BITS - 1)), sums[4] = {half, half, half, half};
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
    return NAME(narrow)(sums, 1);
}

INLINE void NAME(weigh_few)(UINT8 *out, const UINT8 *const *rows, int width, const UINT32 *digits, int pairs, UINT32 used) {
    for (int x = 0; x < width; x += WIDTH) { /* the last bytes together with some before */
        int from = smaller(x, width - WIDTH);
        STORE(out + from, (Word)NAME(weigh_rows)(rows, from, digits, pairs) & used);
    }
}

/* All columns where a sum has few neighbours. The most common numbers are constants, so that digits stay in registers. */
static void NAME(resize_few)(const Job *job) {
    int width = job->out->xsize * job->in->pixelsize, made = 0;
    for (int y = 0; y < job->out->ysize; y++) {
        const Span *span = &job->down.spans[y];
        const UINT8 *rows[FEW];
        UINT8 *out = (UINT8 *)job->out->image[y];
        int pairs = (span->end - span->first + 1) / 2;
        made = NAME(make_rows)(job, made, span->first, smaller(span->end, job->rows), 0, width);
        list_rows(rows, job, span->first, 2 * pairs, 0);
#define WEIGH_FEW NAME(weigh_few)(out, rows, width, span->digits, pairs, job->used)
        SPECIALIZE(pairs, 1, SPECIALIZE(pairs, 2, SPECIALIZE(pairs, 3, WEIGH_FEW)));
    }
}
#endif

static void NAME(resize)(const Job *job, int offset) {
    if (!job->down.window) {
        for (int y = 0; y < job->out->ysize; y += job->step) {
            NAME(resize_rows)((UINT8 **)job->out->image + y, job, offset + y, 0, job->out->xsize);
        }
        return;
    }
#if defined(PAIRS)
    if (job->down.stride == 1) {
        NAME(resize_few)(job);
        return;
    }
#endif
    for (int from = 0, bytes = job->out->xsize * job->in->pixelsize; from < bytes; from += job->block) {
        NAME(resize_columns)(job, from, smaller(bytes - from, job->block));
    }
}

#undef NAME
#undef WIDTH
