/* The loops of resize.c. They are included once for each way to multiply, with these macros:

   FI_NAME(name)                 the name of a function or type of this way
   FI_WIDTH                      bytes of a vector
   FI_SUMS                       vectors of sums that are added up apart
   FI_ADD(sums, quads, digits)   add the products of four neighbours each and their coefficients, in FI_DIGITS words
   FI_ADD_SAME(sum, quads, mask) add neighbours that have one coefficient
   FI_TOTAL(sums)                sums of 32 bits; FI_TOTAL_SAME(sums): of what FI_ADD_SAME added

   All arithmetic is modulo 2 ** 32, as in Pillow. The layout, for vectors of 64 bytes and pixels of four bytes:

       strip     64 rows of one band, or 16 rows of pixels: for each x as many sums as FI_SIDE vectors have lanes
       quad      four neighbours of one sum, in one lane of 32 bits
       window    a ring; at each place FI_SIDE vectors: the quads of all rows of a strip that begin at one x

   To resize rows, each place of the window is filled once: sixteen neighbours are read from every row (16 or 64 bytes),
   and transposed, so that the bytes of one band that are neighbours come side by side:

       row 0:  R0 G0 B0 A0 R1 G1 B1 A1 R2 G2 B2 A2 R3 G3 B3 A3   ->   lanes  R0 R1 R2 R3 | G0 G1 G2 G3 | B0 ... | A0 ...
       row 1, 2, 3 likewise, in the other segments of the vector

   A sum for (x, row, band) then is: for each quad of x, one multiplication of a vector by digits that are the same in
   all lanes. So a coefficient is loaded once for all rows of a strip, whatever the filter. The sums of sixteen bytes of
   each row are shifted, clipped and transposed back.

   To resize columns, the neighbours are in different rows: two rows are interleaved, and multiplied as pairs. */

#define FI_SEGMENTS(vectors) ((vectors) * (FI_WIDTH / 16))
#define FI_ROWS (FI_WIDTH / 4) /* of pixels that are resized together; of bytes, four times as many */

typedef UINT8 FI_NAME(u8) __attribute__((vector_size(FI_WIDTH)));
typedef UINT16 FI_NAME(u16) __attribute__((vector_size(FI_WIDTH)));
typedef UINT32 FI_NAME(u32) __attribute__((vector_size(FI_WIDTH)));
typedef long long FI_NAME(i64) __attribute__((vector_size(FI_WIDTH))); /* as in x86's intrinsics */

/* The sums of a strip for one x. */
FI_INLINE void FI_NAME(weigh)(FI_NAME(u32) * out, const fi_weights *weights, const fi_span *span) {
    const FI_NAME(u32) half = (FI_NAME(u32)){0} + (1 << (PRECISION_BITS - 1));
    const UINT32 *digits = span->digits;
    FI_NAME(u32) sums[FI_SIDE][FI_SUMS] = {0};
#define FI_QUADS(q) ((const FI_NAME(u8) *)weights->window + ((span->first + q) & weights->mask) * FI_SIDE)
    if (span->same) {
        for (int q = 0; q < span->count; q++) {
            const FI_NAME(u8) *quads = FI_QUADS(q);
            for (int i = 0; i < FI_SIDE; i++) {
                FI_ADD_SAME(sums[i], (FI_NAME(u32))quads[i], digits[q]);
            }
        }
        for (int i = 0; i < FI_SIDE; i++) {
            out[i] = half + FI_TOTAL_SAME(sums[i]) * span->same;
        }
        return;
    }
    const FI_NAME(u8) *quads = FI_QUADS(0);
    for (int i = 0; i < FI_SIDE; i++) {
        sums[i][0] = half;
        FI_ADD(sums[i], (FI_NAME(u32))quads[i], digits);
    }
    for (int q = 1; q < span->count; q++) {
        digits += FI_DIGITS;
        quads = FI_QUADS(q);
        for (int i = 0; i < FI_SIDE; i++) {
            FI_ADD(sums[i], (FI_NAME(u32))quads[i], digits);
        }
    }
    for (int i = 0; i < FI_SIDE; i++) {
        out[i] = FI_TOTAL(sums[i]);
    }
}

/* Shift four vectors of sums and clip them to bytes. As x86 packs, each segment of 16 bytes holds what its own segments
   held. */
FI_INLINE FI_NAME(u8) FI_NAME(narrow)(const FI_NAME(u32) * sums, int step) {
#if defined(__x86_64__)
    FI_NAME(i64) shifted[4];
    for (int i = 0; i < 4; i++) {
        shifted[i] = FI_MM(srai_epi32)((FI_NAME(i64))sums[i * step], PRECISION_BITS);
    }
    return (FI_NAME(u8))FI_MM(packus_epi16)(FI_MM(packs_epi32)(shifted[0], shifted[1]),
                                            FI_MM(packs_epi32)(shifted[2], shifted[3]));
#else
    FI_NAME(u16) halves[2];
    for (int i = 0; i < 2; i++) {
        FI_NAME(u32) low = fi_clip_sums(sums[2 * i * step]), high = fi_clip_sums(sums[(2 * i + 1) * step]);
        halves[i] = FI_SHUFFLE(FI_NAME(u16), (FI_NAME(u16))low, (FI_NAME(u16))high, 0, 2, 4, 6, 8, 10, 12, 14);
    }
    return FI_SHUFFLE(FI_NAME(u8), (FI_NAME(u8))halves[0], (FI_NAME(u8))halves[1], 0, 2, 4, 6, 8, 10, 12, 14, 16, 18,
                      20, 22, 24, 26, 28, 30);
#endif
}

/* In every segment of four vectors: transpose 4 x 4 lanes of 32 bits. */
FI_INLINE void FI_NAME(transpose_words)(FI_NAME(u8) * rows) {
    FI_NAME(u8) a = FI_LOW(FI_NAME(u32), rows[0], rows[1], 4), b = FI_HIGH(FI_NAME(u32), rows[0], rows[1], 4);
    FI_NAME(u8) c = FI_LOW(FI_NAME(u32), rows[2], rows[3], 4), d = FI_HIGH(FI_NAME(u32), rows[2], rows[3], 4);
    rows[0] = FI_LOW(FI_NAME(i64), a, c, 2);
    rows[1] = FI_HIGH(FI_NAME(i64), a, c, 2);
    rows[2] = FI_LOW(FI_NAME(i64), b, d, 2);
    rows[3] = FI_HIGH(FI_NAME(i64), b, d, 2);
}

/* In every segment of each vector: transpose 4 x 4 bytes, so that four pixels become four quads, and back. */
FI_INLINE void FI_NAME(transpose_bytes)(FI_NAME(u8) * words) {
    for (int i = 0; i < 4; i++) {
        words[i] = FI_SHUFFLE(FI_NAME(u8), words[i], words[i], FI_EACH(FI_TRANSPOSED, 0, 16));
    }
}

/* Sixteen bytes of a row in each segment; the next segment's row is `step` rows further. */
FI_INLINE FI_NAME(u8) FI_NAME(load_lanes)(const UINT8 *const *rows, int step, int from, int left) {
    fi_u8x16 lanes[FI_WIDTH / FI_NARROW];
    for (int i = 0; i < FI_SEGMENTS(1); i++) {
        lanes[i] = fi_load_bytes(rows[i * step] + from, left);
    }
    return FI_LOAD(FI_NAME(u8), lanes);
}

FI_INLINE void FI_NAME(store_lanes)(UINT8 *const *rows, int many, int step, const FI_NAME(u8) * from, int at,
                                    int left) {
    const fi_u8x16 *lanes = (const fi_u8x16 *)from;
    for (int i = 0; i < FI_SEGMENTS(1) && i * step < many; i++) {
        fi_copy_some(rows[i * step] + at, &lanes[i], left, FI_NARROW);
    }
}

#if FI_WIDTH == 64
/* Sixteen pixels of four rows: each vector gets four pixels of each row. Four loads of 64 bytes and two rounds of
   shuffles, where load_lanes would take sixteen loads. */
FI_INLINE void FI_NAME(load_pixels)(FI_NAME(u8) * lanes, const UINT8 *const *rows, int from, int left) {
    FI_NAME(u8) mixed[4] = {0};
    for (int i = 0; i < 4; i++) {
        fi_copy_some(&mixed[i], rows[i] + from, left, FI_WIDTH);
        __builtin_prefetch(rows[i] + from + 512); /* the CPU's own prefetchers follow fewer rows than a strip has */
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            FI_NAME(i64) a = (FI_NAME(i64))mixed[2 * i], b = (FI_NAME(i64))mixed[2 * i + 1];
            lanes[i] = (FI_NAME(u8))FI_SHUFFLE(FI_NAME(i64), a, b, 0, 1, 4, 5, 8, 9, 12, 13);
            lanes[i + 2] = (FI_NAME(u8))FI_SHUFFLE(FI_NAME(i64), a, b, 2, 3, 6, 7, 10, 11, 14, 15);
        }
        memcpy(mixed, lanes, sizeof(mixed));
    }
}
#endif

/* Fill four places of the window: 16 bytes of each row of a strip, or 64 where pixels have four, from byte `from` on. Unrolled, so that each
   load has an address of its own in the code, by which the CPU's prefetchers tell the rows apart. */
FI_INLINE void FI_NAME(group_strip)(FI_NAME(u8) * to, const UINT8 *const *rows, int from, int left, int pixelsize) {
#pragma GCC unroll 4
    for (int v = 0; v < FI_SIDE; v++) {
        FI_NAME(u8) quads[4];
#if FI_WIDTH == 64
        if (pixelsize == 4) {
            FI_NAME(load_pixels)(quads, rows + 4 * v, from, left);
        } else
#endif
            for (int i = 0; i < 4; i++) {
                quads[i] = pixelsize == 4 ? FI_NAME(load_lanes)(rows + FI_SEGMENTS(v), 1, from + i * 16, left - i * 16)
                                          : FI_NAME(load_lanes)(rows + FI_SEGMENTS(4 * v) + i, 4, from, left);
            }
        (pixelsize == 4 ? FI_NAME(transpose_bytes) : FI_NAME(transpose_words))(quads);
        for (int i = 0; i < 4; i++) {
            to[i * FI_SIDE + v] = quads[i];
        }
    }
}

/* Store the sums of sixteen bytes of each row, as bytes. */
FI_INLINE void FI_NAME(store_strip)(UINT8 *const *to, const FI_NAME(u32) * sums, int x, int left, int many,
                                    int pixelsize, UINT32 used) {
    for (int v = 0; v < FI_SIDE; v++) {
        FI_NAME(u8) rows[4];
        if (pixelsize == 4) {
            rows[0] = (FI_NAME(u8))((FI_NAME(u32))FI_NAME(narrow)(sums + v, FI_SIDE) & used);
            FI_NAME(store_lanes)(to + FI_SEGMENTS(v), many - FI_SEGMENTS(v), 1, rows, x * 4, left * 4);
            continue;
        }
        for (int i = 0; i < 4; i++) {
            rows[i] = FI_NAME(narrow)(sums + i * 4 * FI_SIDE + v, FI_SIDE);
        }
        FI_NAME(transpose_bytes)(rows);
        FI_NAME(transpose_words)(rows);
        for (int i = 0, row = FI_SEGMENTS(4 * v); i < 4; i++, row++) {
            FI_NAME(store_lanes)(to + row, many - row, 4, &rows[i], x, left);
        }
    }
}

/* Resize some columns of a strip of rows from `y` on, from left to right. Places of the window are filled when a sum
   needs them, and the ring forgets those that none needs any more. */
FI_INLINE void FI_NAME(resize_strip)(UINT8 *const *to, const fi_resize_job *job, int y, int start, int end,
                                     int pixelsize) {
    const int strip = FI_ROWS * 4 / pixelsize, at_once = 16 / pixelsize, width = job->in->xsize;
    const int many = job->rows - y < strip ? job->rows - y : strip;
    /* A copy, which no store through `to` can change, so that it stays in registers. */
    const fi_weights across = job->across, *weights = &across;
    const fi_span *spans = weights->spans;
    const UINT8 *rows[FI_ROWS * 4];
    for (int i = 0; i < strip; i++) {
        rows[i] = (const UINT8 *)job->in->image[y + (i < many ? i : many - 1)];
    }
    for (int x = start, behind = 0; x < end; x += at_once) {
        FI_NAME(u32) sums[16 * FI_SIDE];
        int left = fi_min(end - x, at_once), last = x + left - 1;
        for (behind = fi_max(behind, spans[x].first / 4 * 4); behind < spans[last].end; behind += 4) {
            FI_NAME(u8) *window = (FI_NAME(u8) *)weights->window + (behind & weights->mask) * FI_SIDE;
            int from = behind * 4 * pixelsize, rest = fi_min(width * pixelsize - from, 16 * pixelsize);
            FI_SPECIALIZE(rest, 16 * pixelsize, FI_NAME(group_strip)(window, rows, from, rest, pixelsize));
        }
        for (int i = 0; i < at_once; i++) {
            FI_NAME(weigh)(sums + i * FI_SIDE, weights, &spans[fi_min(x + i, last)]);
        }
        FI_SPECIALIZE(left, at_once,
                      FI_SPECIALIZE(many, strip, FI_NAME(store_strip)(to, sums, x, left, many, pixelsize, job->used)));
    }
}

static void FI_NAME(resize_rows)(UINT8 *const *to, const fi_resize_job *job, int y, int start, int end) {
    int pixelsize = job->in->pixelsize;
    FI_EITHER(pixelsize, 1, 4, FI_NAME(resize_strip)(to, job, y, start, end, pixelsize));
}

/* A vector of a row of the result, from a pair of rows at a time: interleaved, the bytes of both are multiplied by low
   digits as numbers of 16 bits, and by high digits as bytes. The 16-bit sums of the high digits are 65536 times as
   much: interleaved with zeros below, they are added as words. */
FI_INLINE FI_NAME(u8) FI_NAME(weigh_rows)(const UINT8 *const *rows, int x, const UINT32 *digits, int pairs) {
    FI_NAME(u32) half = (FI_NAME(u32)){0} + (1 << (PRECISION_BITS - 1)), sums[4] = {half, half, half, half};
#if defined(FI_PAIRS)
    const FI_NAME(u8) none = {0};
    FI_NAME(u16) high[2] = {0};
    for (int t = 0; t < pairs; t++, digits += 2) {
        FI_NAME(u8) a = FI_LOAD(FI_NAME(u8), rows[2 * t] + x), b = FI_LOAD(FI_NAME(u8), rows[2 * t + 1] + x);
        FI_NAME(u8) mixed[2] = {FI_LOW(FI_NAME(u8), a, b, 16), FI_HIGH(FI_NAME(u8), a, b, 16)};
        for (int i = 0; i < 2; i++) {
            sums[2 * i] += FI_PAIRS(FI_LOW(FI_NAME(u8), mixed[i], none, 16), digits[0]);
            sums[2 * i + 1] += FI_PAIRS(FI_HIGH(FI_NAME(u8), mixed[i], none, 16), digits[0]);
            high[i] += (FI_NAME(u16))FI_MM(maddubs_epi16)((FI_NAME(i64))mixed[i], FI_SET(digits[1]));
        }
    }
    for (int i = 0; i < 2; i++) {
        sums[2 * i] += (FI_NAME(u32))FI_LOW(FI_NAME(u16), none, high[i], 8);
        sums[2 * i + 1] += (FI_NAME(u32))FI_HIGH(FI_NAME(u16), none, high[i], 8);
    }
#else
    for (int t = 0; t < 2 * pairs; t++) {
        for (int i = 0; i < 4; i++) {
            sums[i] += FI_WIDEN_FOUR(rows[t] + x + 4 * i) * digits[t];
        }
    }
#endif
    return FI_NAME(narrow)(sums, 1);
}

/* A row of the result. Behind a row of the ring there is room for a vector. Rows of a picture end: there the last
   vector ends with the row, and repeats some bytes. */
FI_INLINE void FI_NAME(weigh_row)(UINT8 *out, const fi_resize_job *job, int from, int end, const UINT32 *digits,
                                  int pairs) {
    const UINT8 *const *rows = job->list;
    int bytes = job->out->xsize * job->in->pixelsize, last = job->resized ? bytes : bytes - FI_WIDTH;
    UINT32 used = job->used;
    for (int x = from; x < end; x += FI_WIDTH) {
        int at = fi_min(x, last);
        FI_NAME(u8) values = (FI_NAME(u8))((FI_NAME(u32))FI_NAME(weigh_rows)(rows, at, digits, pairs) & used);
        fi_copy_some(out + at, &values, bytes - at, FI_WIDTH);
    }
}

/* Make some columns of rows of the result, from top to bottom, and resize the strips of rows that they need. The most
   common numbers of neighbours are constants, so that their digits stay in registers. */
static void FI_NAME(resize_columns)(const fi_resize_job *job, int from, int end, int first_row, int end_row) {
    int pixelsize = job->in->pixelsize;
    for (int y = first_row, made = 0; y < end_row; y++) {
        const fi_span *span = &job->down.spans[y];
        int pairs = (span->end - span->first + 1) / 2;
        for (made = fi_max(made, span->first / job->strip * job->strip); job->resized && made < span->end;
             made += job->strip) {
            FI_NAME(resize_rows)(job->resized + made % job->ring, job, made, from / pixelsize, end / pixelsize);
        }
        for (int i = 0; i < 2 * pairs; i++) {
            int row = fi_min(span->first + i, span->end - 1);
            job->list[i] = job->resized ? job->resized[row % job->ring] : (UINT8 *)job->in->image[row];
        }
#define FI_WEIGH_ROW FI_NAME(weigh_row)((UINT8 *)job->out->image[y], job, from, end, span->digits, pairs)
        FI_SPECIALIZE(pairs, 1, FI_SPECIALIZE(pairs, 2, FI_SPECIALIZE(pairs, 3, FI_WEIGH_ROW)));
    }
}

/* Rows of the result. Without columns, the first is the first of a strip. */
static void FI_NAME(resize)(const fi_resize_job *job, int first, int end) {
    for (int y = first; !job->list && y < end; y += job->strip) {
        FI_NAME(resize_rows)((UINT8 **)job->out->image + y, job, job->offset + y, 0, job->out->xsize);
    }
    for (int from = 0, bytes = job->out->xsize * job->in->pixelsize; job->list && from < bytes; from += job->block) {
        FI_NAME(resize_columns)(job, from, fi_min(from + job->block, bytes), first, end);
    }
}

#undef FI_NAME
#undef FI_WIDTH
