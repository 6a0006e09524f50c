/* Exact sums of products, sixteen at a time, for resize.c. Included once for each way to multiply, with

   NAME(name)          the name of a function or type of this way
   TAPS                neighbours that are multiplied and added at once: 4 of 8 bits, or 2 of 16
   WIDTH               bytes of a vector
   DOT(sums, part, d)  sums with the products of TAPS values each and the digits d

   Coefficients of 24 bits are split into digits of 32 / TAPS bits. A group has TAPS neighbours for each of sixteen sums.
   All arithmetic is modulo 2**32, as in Pillow. */

#define BITS (32 / TAPS)
#define DIGITS (TAPS == 4 ? 3 : 2)
#define GROUPS (4 / TAPS) /* of four neighbours */
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
NAME(weigh)(Word *sums, const Group *groups, int step, const Span *span, int many) {
    Word parts[MOST][DIGITS][PARTS];
    const UINT32 *digits = span->digits;
    for (int s = 0; s < many; s++) {
        for (int p = 0; p < PARTS; p++) {
            parts[s][0][p] = (Word){0} + (1 << (PRECISION_BITS - 1));
            for (int d = 1; d < DIGITS; d++) {
                parts[s][d][p] = (Word){0};
            }
        }
    }
    for (int g = 0; g < span->count; g++, groups += step, digits += DIGITS) {
        for (int s = 0; s < many; s++) {
            for (int p = 0; p < PARTS; p++) {
                for (int d = 0; d < DIGITS; d++) {
                    parts[s][d][p] = DOT(parts[s][d][p], groups[s].part[p], digits[d]);
                }
            }
        }
    }
    for (int s = 0; s < many; s++) {
        for (int p = 0; p < PARTS; p++) {
            Word sum = parts[s][0][p] + (parts[s][1][p] << BITS);
            sums[s * PARTS + p] = DIGITS == 3 ? sum + (parts[s][DIGITS - 1][p] << 2 * BITS) : sum;
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

/* Four neighbours for each sum, as groups: a, b, c, d if TAPS is 4, else a, c, b, d. */
INLINE void
NAME(put)(Group *to, const Part *quad, int p, int step) {
    if (TAPS == 4) {
        to->part[p] = *quad;
    } else {
        Word words = (Word)*quad;
        to->part[p] = (Part)(words & 0xff00ff);
        to[step].part[p] = (Part)(words >> 8 & 0xff00ff);
    }
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
            lanes[i] = load_bytes(rows[i * step] + from, left);
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

/* Four pixels of four rows: a sum for each byte of a pixel of each row. */
INLINE void
NAME(group_pixels)(Group *to, const UINT8 *const *rows, int from, int left, int step) {
    for (int p = 0; p < PARTS; p++) {
        Part pixels;
        NAME(load_lanes)(&pixels, rows + LANES_OF(p), 1, from, left);
        if (TAPS == 4) {
            to->part[p] = SHUFFLE(Part, pixels, pixels, EACH(TRANSPOSED, 16));
        } else {
            Part zero = {0};
            to->part[p] = SHUFFLE(Part, pixels, zero, EACH(FIRST_PAIRS, 16));
            to[step].part[p] = SHUFFLE(Part, pixels, zero, EACH(SECOND_PAIRS, 16));
        }
    }
}

/* Sixteen bytes of sixteen rows: a sum for each row. */
INLINE void
NAME(group_bytes)(Group *to, const UINT8 *const *rows, int from, int left, int step) {
    for (int p = 0; p < PARTS; p++) {
        Part quads[4];
        for (int i = 0; i < 4; i++) {
            NAME(load_lanes)(&quads[i], rows + 4 * LANES_OF(p) + i, 4, from, left);
        }
        NAME(transpose_words)(quads);
        for (int i = 0; i < 4; i++) {
            quads[i] = TAPS == 4 ? quads[i] : SHUFFLE(Part, quads[i], quads[i], EACH(ACBD, 16));
            NAME(put)(to + i * GROUPS * step, &quads[i], p, step);
        }
    }
}

INLINE void
NAME(store_pixels)(const Strips *strips, int s, const Word *sums, int x) {
    for (int p = 0; p < PARTS; p++) {
        Part pixels = (Part)((Word)NAME(narrow)(sums + s * PARTS + p, STRIPS * PARTS) & strips->used);
        int row = s * 4 + LANES_OF(p);
        NAME(store_lanes)(strips->to + row, strips->many - row, 1, &pixels, x * 4, (strips->out_width - x) * 4);
    }
}

INLINE void
NAME(store_values)(const Strips *strips, int s, const Word *sums, int x) {
    for (int p = 0; p < PARTS; p++) {
        Part rows[4]; /* four neighbours of each row in a word */
        for (int i = 0; i < 4; i++) {
            rows[i] = NAME(narrow)(sums + (i * 4 * STRIPS + s) * PARTS + p, STRIPS * PARTS);
            rows[i] = SHUFFLE(Part, rows[i], rows[i], EACH(TRANSPOSED, 16));
        }
        NAME(transpose_words)(rows);
        for (int i = 0; i < 4; i++) {
            int row = s * LANES + 4 * LANES_OF(p) + i;
            NAME(store_lanes)(strips->to + row, strips->many - row, 4, &rows[i], x, strips->out_width - x);
        }
    }
}

/* Rows from left to right. What the next sums need is a window of groups. */
INLINE void
NAME(resize_strips)(const Strips *strips, const Weights *weights, Group *window, int size) {
    const int rows = size == 4 ? 4 : LANES, at_once = 4 / size; /* quads */
    int first = 0, behind = 0;                                  /* quads of the window */
    for (int x = 0; x < strips->out_width; x += 16 / size) {
        Word sums[16 * STRIPS * PARTS];
        for (int i = 0; i < 16 / size; i++) {
            const Span *span = &weights->spans[x + i < strips->out_width ? x + i : strips->out_width - 1];
            int start = span->first / GROUPS, end = (span->first + span->count + GROUPS - 1) / GROUPS;
            if (behind <= start) {
                first = behind = start / at_once * at_once;
            } else if (end > behind && end - first + at_once > weights->room) {
                memmove(window, window + (start - first) * GROUPS * STRIPS,
                        (behind - start) * GROUPS * STRIPS * sizeof(Group));
                first = start;
            }
            for (; behind < end; behind += at_once) {
                int from = behind * 4 * size, left = strips->width * size - from;
                for (int s = 0; s < STRIPS; s++) {
                    Group *to = window + (behind - first) * GROUPS * STRIPS + s;
                    if (size == 4) {
                        NAME(group_pixels)(to, strips->rows + s * rows, from, left, STRIPS);
                    } else {
                        NAME(group_bytes)(to, strips->rows + s * rows, from, left, STRIPS);
                    }
                }
            }
            const Group *groups = window + (span->first - first * GROUPS) * STRIPS;
            NAME(weigh)(sums + i * STRIPS * PARTS, groups, STRIPS, span, STRIPS);
        }
        for (int s = 0; s < STRIPS && s * rows < strips->many; s++) {
            if (size == 4) {
                NAME(store_pixels)(strips, s, sums, x);
            } else {
                NAME(store_values)(strips, s, sums, x);
            }
        }
    }
}

static void
NAME(resize_rows)(Imaging out, Imaging in, int offset, const Weights *weights, void *window) {
    const UINT8 *rows[STRIPS * LANES];
    int step = STRIPS * (in->image8 ? LANES : 4);
    for (int y = 0; y < out->ysize; y += step) {
        int many = out->ysize - y < step ? out->ysize - y : step;
        for (int i = 0; i < step; i++) {
            rows[i] = (UINT8 *)in->image[offset + y + (i < many ? i : many - 1)];
        }
        Strips strips = {(UINT8 **)out->image + y, rows, many, out->xsize, in->xsize, used_bytes(in)};
        if (in->image8) {
            NAME(resize_strips)(&strips, weights, window, 1);
        } else {
            NAME(resize_strips)(&strips, weights, window, 4);
        }
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
NAME(group_rows)(Group *to, const UINT8 *const *rows, int from, int left, int step) {
    const int second = TAPS == 4 ? 1 : 2, third = 3 - second;
    for (int p = 0; p < PARTS; p++) {
        Part row[4];
        for (int i = 0; i < 4; i++) {
            NAME(load_part)(&row[i], rows[i] + from + p * WIDTH, left - p * WIDTH);
        }
        Part a = LOW(Part, row[0], row[second], 16), b = HIGH(Part, row[0], row[second], 16);
        Part c = LOW(Part, row[third], row[3], 16), d = HIGH(Part, row[third], row[3], 16);
        Part quads[4] = {LOW(Half, a, c, 8), HIGH(Half, a, c, 8), LOW(Half, b, d, 8), HIGH(Half, b, d, 8)};
        for (int i = 0; i < 4; i++) {
            NAME(put)(to + i, &quads[i], p, step);
        }
    }
}

/* Some columns of all rows, from top to bottom. What the next row needs is a window of groups. */
static void
NAME(resize_columns)(Imaging out, Imaging in, const Weights *weights, void *space, int from, int width) {
    Group *window = space;
    int step = weights->block * 4, first = 0, behind = 0; /* groups of a row; quads of the window */
    UINT32 used = used_bytes(in);
    for (int y = 0; y < out->ysize; y++) {
        const Span *span = &weights->spans[y];
        int start = span->first / GROUPS, end = (span->first + span->count + GROUPS - 1) / GROUPS;
        if (behind <= start) {
            first = behind = start;
        } else if (end > behind && end - first > weights->room) {
            memmove(window, window + (ptrdiff_t)(start - first) * GROUPS * step,
                    (size_t)(behind - start) * GROUPS * step * sizeof(Group));
            first = start;
        }
        for (; behind < end; behind++) {
            const UINT8 *rows[4];
            for (int i = 0; i < 4; i++) {
                rows[i] = (UINT8 *)in->image[behind * 4 + i < in->ysize ? behind * 4 + i : in->ysize - 1];
            }
            Group *to = window + (ptrdiff_t)(behind - first) * GROUPS * step;
            for (int x = 0; x < width; x += 64) {
                NAME(group_rows)(to + x / 16, rows, from + x, width - x, step);
            }
        }
        const Group *groups = window + (ptrdiff_t)(span->first - first * GROUPS) * step;
        for (int x = 0; x < width; x += 64) {
            Word sums[4 * PARTS];
            NAME(weigh)(sums, groups + x / 16, step, span, 4);
            for (int p = 0; p < PARTS; p++) {
                Part values = (Part)((Word)NAME(narrow)(sums + p, PARTS) & used);
                int left = width - x - p * WIDTH;
                if (left > 0) {
                    memcpy(out->image[y] + from + x + p * WIDTH, &values, left < WIDTH ? left : WIDTH);
                }
            }
        }
    }
}

#undef NAME
#undef TAPS
#undef WIDTH
#undef DOT
#undef MM
#undef Vector
#undef BITS
#undef DIGITS
#undef GROUPS
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
