/* Exact sums of products, sixteen at a time, for resize.c. Included once for each way to multiply, with

   NAME(name)                 the name of a function or type of this way
   WIDTH                      bytes of a vector
   SUMS                       vectors of sums that are added up apart
   ADD(sums, quads, digits)   add the products of four neighbours each and their coefficients, in DIGITS words
   ADD_SAME(sum, quads, mask) add neighbours that have one coefficient
   TOTAL(sums)                sums of 32 bits; TOTAL_SAME(sums): of what ADD_SAME added

   A group has four neighbours for each of sixteen sums. All arithmetic is modulo 2**32, as in Pillow. */

#define PARTS (64 / WIDTH)
#define LANES_OF(part) ((part) * (WIDTH / 16))

#define Part NAME(Part)
#define Half NAME(Half)
#define Word NAME(Word)
#define Long NAME(Long)
#define Group NAME(Group)
typedef UINT8 Part __attribute__((vector_size(WIDTH)));
typedef UINT16 Half __attribute__((vector_size(WIDTH)));
typedef UINT32 Word __attribute__((vector_size(WIDTH)));
typedef uint64_t Long __attribute__((vector_size(WIDTH)));
typedef struct {
    Part part[PARTS];
} Group;

/* A list of indexes for every lane of 16 bytes, which have `size` elements each; names of x86's intrinsics. */
#if WIDTH == 16
#define EACH(list, size) list(0, size)
#define MM(name) _mm_##name
#define Vector __m128i
#elif WIDTH == 32
#define EACH(list, size) list(0, 2 * size), list(size, 2 * size)
#define MM(name) _mm256_##name
#define Vector __m256i
#else
#define EACH(list, size) list(0, 4 * size), list(size, 4 * size), list(2 * size, 4 * size), list(3 * size, 4 * size)
#define MM(name) _mm512_##name
#define Vector __m512i
#endif
#define LOW(type, a, b, size) (Part) SHUFFLE(type, (type)(a), (type)(b), EACH(LOW##size, size))
#define HIGH(type, a, b, size) (Part) SHUFFLE(type, (type)(a), (type)(b), EACH(HIGH##size, size))

/* Sums of `many` groups side by side. */
INLINE void
NAME(weigh)(Word *out, const Group *groups, int step, const Span *span, int many) {
    const Word half = (Word){0} + (1 << (PRECISION_BITS - 1));
    Word sums[MOST * PARTS][SUMS] = {0};
    if (span->same) {
        for (int g = 0; g < span->count; g++, groups += step) {
            for (int i = 0; i < many * PARTS; i++) {
                ADD_SAME(sums[i], (Word)groups[i / PARTS].part[i % PARTS], span->digits[g]);
            }
        }
        for (int i = 0; i < many * PARTS; i++) {
            out[i] = half + TOTAL_SAME(sums[i]) * span->same;
        }
    } else {
        const UINT32 *digits = span->digits;
        for (int g = 0; g < span->count; g++, groups += step, digits += DIGITS) {
            for (int i = 0; i < many * PARTS; i++) {
                ADD(sums[i], (Word)groups[i / PARTS].part[i % PARTS], digits);
            }
        }
        for (int i = 0; i < many * PARTS; i++) {
            out[i] = half + TOTAL(sums[i]);
        }
    }
}

/* Four vectors of sums as bytes, each lane of 16 bytes by itself. */
INLINE Part
NAME(narrow)(const Word *sums, int step) {
#if defined(__x86_64__)
    Vector shifted[4];
    for (int i = 0; i < 4; i++) {
        shifted[i] = MM(srai_epi32)((Vector)sums[i * step], PRECISION_BITS);
    }
    return (Part)MM(packus_epi16)(MM(packs_epi32)(shifted[0], shifted[1]), MM(packs_epi32)(shifted[2], shifted[3]));
#else
    Part bytes;
    for (int i = 0; i < LANES; i++) {
        INT32 value = (INT32)sums[i / 4 * step][i % 4] >> PRECISION_BITS;
        bytes[i] = value < 0 ? 0 : value > 255 ? 255 : value;
    }
    return bytes;
#endif
}

/* Transpose four rows of four words in every lane. */
INLINE void
NAME(transpose_words)(Part *rows) {
    Part a = LOW(Word, rows[0], rows[1], 4), b = HIGH(Word, rows[0], rows[1], 4);
    Part c = LOW(Word, rows[2], rows[3], 4), d = HIGH(Word, rows[2], rows[3], 4);
    rows[0] = LOW(Long, a, c, 2);
    rows[1] = HIGH(Long, a, c, 2);
    rows[2] = LOW(Long, b, d, 2);
    rows[3] = HIGH(Long, b, d, 2);
}

/* Sixteen bytes of a row in each lane; the row of the next lane is `step` rows further. */
INLINE void
NAME(load_lanes)(Part *to, const UINT8 *const *rows, int step, int from, int left) {
    Bytes lanes[4];
    if (left >= LANES) {
        for (int i = 0; i < LANES_OF(1); i++) {
            memcpy(&lanes[i], rows[i * step] + from, LANES);
        }
    } else {
        for (int i = 0; i < LANES_OF(1); i++) {
            lanes[i] = load_bytes(rows[i * step] + from, left < 0 ? 0 : left);
        }
    }
#if WIDTH == 16
    *to = lanes[0];
#elif defined(__GNUC__) && __GNUC__ < 12 && !defined(__clang__)
    memcpy(to, lanes, WIDTH);
#elif WIDTH == 32
    *to = __builtin_shufflevector(lanes[0], lanes[1], UP(0), UP(16));
#else
    *to = __builtin_shufflevector(__builtin_shufflevector(lanes[0], lanes[1], UP(0), UP(16)),
                                  __builtin_shufflevector(lanes[2], lanes[3], UP(0), UP(16)),
                                  UP(0), UP(16), UP(32), UP(48));
#endif
}

INLINE void
NAME(store_lanes)(UINT8 *const *rows, int many, int step, const Part *from, int at, int left) {
    const Bytes *lanes = (const Bytes *)from;
    if (left >= LANES && many >= LANES_OF(1) * step) {
        for (int i = 0; i < LANES_OF(1); i++) {
            memcpy(rows[i * step] + at, &lanes[i], LANES);
        }
    } else {
        for (int i = 0; i < LANES_OF(1) && i * step < many; i++) {
            store_bytes(rows[i * step] + at, lanes[i], left);
        }
    }
}

/* Sixteen pixels of four rows: a sum for each byte of a pixel of each row. */
INLINE void
NAME(group_pixels)(Group *to, const UINT8 *const *rows, int from, int left) {
    const UINT8 *row[4] = {rows[0], rows[1], rows[2], rows[3]}; /* in registers: a store might change `rows` */
    for (int i = 0; i < 4; i++) {
        for (int p = 0; p < PARTS; p++) {
            Part quads;
            NAME(load_lanes)(&quads, row + LANES_OF(p), 1, from + i * LANES, left - i * LANES);
            to[i * STRIPS].part[p] = SHUFFLE(Part, quads, quads, EACH(TRANSPOSED, 16));
        }
    }
}

/* Sixteen bytes of sixteen rows: a sum for each row. */
INLINE void
NAME(group_bytes)(Group *to, const UINT8 *const *rows, int from, int left) {
    for (int p = 0; p < PARTS; p++) {
        Part quads[4];
        for (int i = 0; i < 4; i++) {
            NAME(load_lanes)(&quads[i], rows + 4 * LANES_OF(p) + i, 4, from, left);
        }
        NAME(transpose_words)(quads);
        for (int i = 0; i < 4; i++) {
            to[i * STRIPS].part[p] = quads[i];
        }
    }
}

/* Four quads of all rows of a strip. */
INLINE void
NAME(group_strip)(Group *to, const Strip *strip, int from, int left, int size) {
    const int rows = size == 4 ? 4 : LANES;
    for (int s = 0; s < STRIPS; s++) {
        if (size == 4) {
            NAME(group_pixels)(to + s, strip->rows + s * rows, from, left);
        } else {
            NAME(group_bytes)(to + s, strip->rows + s * rows, from, left);
        }
    }
}

INLINE void
NAME(store_pixels)(UINT8 *const *to, int s, const Word *sums, int x, int left, int many, UINT32 used) {
    for (int p = 0; p < PARTS; p++) {
        Part pixels = (Part)((Word)NAME(narrow)(sums + s * PARTS + p, STRIPS * PARTS) & used);
        int row = s * 4 + LANES_OF(p);
        NAME(store_lanes)(to + row, many - row, 1, &pixels, x * 4, left * 4);
    }
}

INLINE void
NAME(store_values)(UINT8 *const *to, int s, const Word *sums, int x, int left, int many) {
    for (int p = 0; p < PARTS; p++) {
        Part rows[4]; /* four neighbours of each row in a word */
        for (int i = 0; i < 4; i++) {
            rows[i] = NAME(narrow)(sums + (i * 4 * STRIPS + s) * PARTS + p, STRIPS * PARTS);
            rows[i] = SHUFFLE(Part, rows[i], rows[i], EACH(TRANSPOSED, 16));
        }
        NAME(transpose_words)(rows);
        for (int i = 0; i < 4; i++) {
            int row = s * LANES + 4 * LANES_OF(p) + i;
            NAME(store_lanes)(to + row, many - row, 4, &rows[i], x, left);
        }
    }
}

INLINE void
NAME(store_strip)(const Strip *strip, const Word *sums, int x, int left, int many, int size) {
    for (int s = 0; s < STRIPS; s++) {
        if (size == 4) {
            NAME(store_pixels)(strip->to, s, sums, x, left, many, strip->used);
        } else {
            NAME(store_values)(strip->to, s, sums, x, left, many);
        }
    }
}

/* A strip from left to right. What the next sums need is a window of groups. */
INLINE void
NAME(resize_strip)(const Strip *strip, const Weights *weights, int width, int size) {
    const int at_once = 16 / size, step = STRIPS * (size == 4 ? 4 : LANES);
    const Span *spans = weights->spans;
    Group *window = weights->window;
    int first = 0, behind = 0; /* quads of the window */
    for (int x = strip->start; x < strip->end; x += at_once) {
        Word sums[16 * STRIPS * PARTS];
        int left = strip->end - x, start = spans[x].first;
        int end = spans[left < at_once ? strip->end - 1 : x + at_once - 1].end;
        if (behind <= start) {
            first = behind = start / 4 * 4;
        } else if (end - first + 4 > weights->room) {
            memmove(window, window + (start - first) * STRIPS, (behind - start) * STRIPS * sizeof(Group));
            first = start;
        }
        for (; behind < end; behind += 4) {
            Group *to = window + (behind - first) * STRIPS;
            int from = behind * 4 * size, rest = width * size - from;
            if (rest >= 16 * size) {
                NAME(group_strip)(to, strip, from, 16 * size, size);
            } else {
                NAME(group_strip)(to, strip, from, rest, size);
            }
        }
        for (int i = 0; i < at_once; i++) {
            const Span *span = &spans[i < left ? x + i : strip->end - 1];
            NAME(weigh)(sums + i * STRIPS * PARTS, window + (span->first - first) * STRIPS, STRIPS, span, STRIPS);
        }
        if (left >= at_once && strip->many == step) {
            NAME(store_strip)(strip, sums, x, at_once, step, size);
        } else {
            NAME(store_strip)(strip, sums, x, left, strip->many, size);
        }
    }
}

/* Rows from `y` on, some columns of them. */
static void
NAME(resize_rows)(UINT8 *const *to, const Job *job, int y, int start, int end) {
    const UINT8 *rows[STRIPS * LANES];
    for (int i = 0; i < job->step; i++) {
        rows[i] = (UINT8 *)job->in->image[y + i < job->rows ? y + i : job->rows - 1];
    }
    int many = job->rows - y < job->step ? job->rows - y : job->step;
    Strip strip = {to, rows, many, start, end, job->used};
    if (job->in->image8) {
        NAME(resize_strip)(&strip, &job->across, job->in->xsize, 1);
    } else {
        NAME(resize_strip)(&strip, &job->across, job->in->xsize, 4);
    }
}

INLINE void
NAME(load_part)(Part *to, const UINT8 *from, int left) {
    if (left >= WIDTH) {
        memcpy(to, from, WIDTH);
    } else {
        *to = (Part){0};
        if (left > 0) {
            memcpy(to, from, left);
        }
    }
}

/* 64 bytes of four rows: a sum for each column. Narrowed, they are in order. */
INLINE void
NAME(group_rows)(Group *to, const UINT8 *const *rows, int from, int left) {
    for (int p = 0; p < PARTS; p++) {
        Part row[4];
        for (int i = 0; i < 4; i++) {
            NAME(load_part)(&row[i], rows[i] + from + p * WIDTH, left - p * WIDTH);
        }
        Part a = LOW(Part, row[0], row[1], 16), b = HIGH(Part, row[0], row[1], 16);
        Part c = LOW(Part, row[2], row[3], 16), d = HIGH(Part, row[2], row[3], 16);
        to[0].part[p] = LOW(Half, a, c, 8);
        to[1].part[p] = HIGH(Half, a, c, 8);
        to[2].part[p] = LOW(Half, b, d, 8);
        to[3].part[p] = HIGH(Half, b, d, 8);
    }
}

INLINE void
NAME(store_columns)(UINT8 *to, const Word *sums, int left, UINT32 used) {
    for (int p = 0; p < PARTS; p++, left -= WIDTH) {
        Part values = (Part)((Word)NAME(narrow)(sums + p, PARTS) & used);
        if (left >= WIDTH) {
            memcpy(to + p * WIDTH, &values, WIDTH);
        } else if (left > 0) {
            memcpy(to + p * WIDTH, &values, left);
        }
    }
}

/* Some columns, from top to bottom. What the next row needs is a window of groups, of rows that are resized before. */
static void
NAME(resize_columns)(const Job *job, int from, int width) {
    const Weights *weights = &job->down;
    Group *window = weights->window;
    int step = job->block / 16, pixel = job->in->pixelsize; /* groups of a row */
    int first = 0, behind = 0, made = -1;                   /* quads of the window; the strip that is resized */
    for (int y = 0; y < job->out->ysize; y++) {
        const Span *span = &weights->spans[y];
        int end = span->end;
        if (behind <= span->first) {
            first = behind = span->first;
        } else if (end > behind && end - first > weights->room) {
            memmove(window, window + (size_t)(span->first - first) * step,
                    (size_t)(behind - span->first) * step * sizeof(Group));
            first = span->first;
        }
        for (; behind < end; behind++) {
            const UINT8 *rows[4];
            int strip = behind * 4 / job->step;
            if (job->resized && strip != made) {
                NAME(resize_rows)(job->resized, job, strip * job->step, from / pixel, (from + width) / pixel);
                made = strip;
            }
            for (int i = 0; i < 4; i++) {
                int row = behind * 4 + i < job->rows ? behind * 4 + i : job->rows - 1;
                rows[i] = job->resized ? job->resized[row % job->step] : (UINT8 *)job->in->image[row];
            }
            for (int x = 0; x < width; x += 64) {
                Group *to = window + (size_t)(behind - first) * step + x / 16;
                NAME(group_rows)(to, rows, from + x, width - x);
            }
        }
        const Group *groups = window + (size_t)(span->first - first) * step;
        for (int x = 0; x < width; x += 64) {
            Word sums[4 * PARTS];
            NAME(weigh)(sums, groups + x / 16, step, span, 4);
            NAME(store_columns)((UINT8 *)job->out->image[y] + from + x, sums, width - x, job->used);
        }
    }
}

static void
NAME(resize)(const Job *job, int offset) {
    if (!job->down.window) {
        for (int y = 0; y < job->out->ysize; y += job->step) {
            NAME(resize_rows)((UINT8 **)job->out->image + y, job, offset + y, 0, job->out->xsize);
        }
        return;
    }
    for (int from = 0, bytes = job->out->xsize * job->in->pixelsize; from < bytes; from += job->block) {
        NAME(resize_columns)(job, from, bytes - from < job->block ? bytes - from : job->block);
    }
}

#undef NAME
#undef WIDTH
#undef SUMS
#undef ADD
#undef ADD_SAME
#undef TOTAL
#undef TOTAL_SAME
#undef MM
#undef Vector
#undef PARTS
#undef LANES_OF
#undef Part
#undef Half
#undef Word
#undef Long
#undef Group
#undef EACH
#undef LOW
#undef HIGH
