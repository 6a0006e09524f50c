/* The loops of resize.c, which includes this file once for each variant. All arithmetic is modulo 2 ** 32, as in
   Pillow. The variant is given by these macros:

       FI_NAME(name)   the name of its function or type
       FI_WIDTH        bytes of a vector
       FI_VNNI         the intrinsic that multiplies four bytes by four and adds; only in variants that use it

   Along the rows. A strip has FI_WIDTH rows of pixels of one byte, or a quarter as many of four bytes. So each pixel x
   of the result has FI_WIDTH sums in a strip, which fill the 32-bit lanes of four vectors. With 64 bytes a vector,
   which has four segments of four lanes:

       pixels of one byte      vector v, segment s, lane i: row 16 v + 4 s + i
       pixels of four bytes    vector v, segment s, lane i: row 4 v + s, band i

   A quad is four neighbours of one sum, side by side in a lane. A ring holds, for every fourth pixel of the picture,
   the quads of the whole strip that begin there: four vectors, with the same lanes as the sums. Each place of the ring
   is filled once. Sixteen pixels of every row are read, which are four quads of each sum. Pixels of four bytes become
   quads by transposing the 4 x 4 bytes of each segment:

       R0 G0 B0 A0  R1 G1 B1 A1  R2 G2 B2 A2  R3 G3 B3 A3   ->   R0 R1 R2 R3  G0 G1 G2 G3  B0 B1 B2 B3  A0 A1 A2 A3

   Pixels of one byte are quads already. But the four quads of a row are in one segment, and must go to four places of
   the ring. So the 4 x 4 lanes in each segment of four vectors are transposed:

       row 0   quads 0 1 2 3          quad 0   rows 0 1 2 3
       row 1   quads 0 1 2 3    ->    quad 1   rows 0 1 2 3
       row 2   quads 0 1 2 3          quad 2   rows 0 1 2 3
       row 3   quads 0 1 2 3          quad 3   rows 0 1 2 3

   Then the sums of a pixel are: for each of its quads, one multiplication of each vector by digits that are the same in
   all lanes. A coefficient is loaded once for all rows of a strip, whatever the filter. The sums of sixteen bytes of
   each row are shifted, clipped and transposed back.

   Down the columns, the neighbours are in different rows. Two rows are interleaved, and multiplied as pairs. */

#define FI_SEGMENTS(vectors) ((vectors) * (FI_WIDTH / 16))
#define FI_STRIP_ROWS (FI_WIDTH / 4) /* of pixels of four bytes */

typedef UINT8 FI_NAME(u8) __attribute__((vector_size(FI_WIDTH)));
typedef UINT16 FI_NAME(u16) __attribute__((vector_size(FI_WIDTH)));
typedef UINT32 FI_NAME(u32) __attribute__((vector_size(FI_WIDTH)));
typedef long long FI_NAME(i64) __attribute__((vector_size(FI_WIDTH))); /* as in x86's intrinsics */

#if defined(__x86_64__)
/* In each lane a0 * b0 + a1 * b1, of signed numbers of 16 bits; `digits` is the same in all lanes. */
FI_INLINE FI_NAME(u32) FI_NAME(dot_pairs)(FI_NAME(u32) values, UINT32 digits) {
    return (FI_NAME(u32))FI_MM(madd_epi16)((FI_NAME(i64))values, FI_MM(set1_epi32)(digits));
}

/* In each lane of 16 bits the same, of two bytes and two signed bytes of `digits`. */
FI_INLINE FI_NAME(u16) FI_NAME(dot_bytes)(FI_NAME(u32) values, UINT32 digits) {
    return (FI_NAME(u16))FI_MM(maddubs_epi16)((FI_NAME(i64))values, FI_MM(set1_epi32)(digits));
}
#endif

/* Three forms of the products of a vector of quads and the digits of their coefficients. A sum is kept in FI_SUMS
   vectors, `sums`, one for each digit of its coefficients.

   FI_ADD(sums, quads, digits)     add the products of quads and coefficients, given as FI_DIGITS numbers
   FI_ADD_SAME(sums, quads, mask)  add the neighbours that `mask` selects, by a byte of 1 for each
   FI_TOTAL(sums)                  the sum, in lanes of 32 bits
   FI_TOTAL_SAME(sums)             the sum of what FI_ADD_SAME added */
#if defined(FI_VNNI)
#define FI_SUMS 3 /* of the products of each digit of 8 bits */

FI_INLINE FI_NAME(u32) FI_NAME(add_products)(FI_NAME(u32) sum, FI_NAME(u32) quads, UINT32 digits) {
    return (FI_NAME(u32))FI_VNNI((FI_NAME(i64))sum, (FI_NAME(i64))quads, FI_MM(set1_epi32)(digits));
}

#define FI_ADD(sums, quads, digits)                                                                                    \
    do {                                                                                                               \
        for (int d = 0; d < FI_SUMS; d++) {                                                                            \
            (sums)[d] = FI_NAME(add_products)((sums)[d], quads, (digits)[d]);                                          \
        }                                                                                                              \
    } while (0)
#define FI_ADD_SAME(sums, quads, mask) ((sums)[0] = FI_NAME(add_products)((sums)[0], quads, mask))
#define FI_TOTAL(sums) ((sums)[0] + ((sums)[1] << 8) + ((sums)[2] << 16))
#define FI_TOTAL_SAME(sums) ((sums)[0])
#elif defined(__x86_64__)
#define FI_SUMS 2 /* of the products of low digits, in 32 bits, and of high digits, in 16 bits (weights.h) */

/* Add the products of the bytes of quads and four signed bytes: high digits, or a mask. */
#define FI_ADD_BYTES(sums, quads, bytes)                                                                               \
    ((sums)[1] = (FI_NAME(u32))((FI_NAME(u16))(sums)[1] + FI_NAME(dot_bytes)(quads, bytes)))

/* The low digits are those of bytes 0 and 2 of a quad, then those of bytes 1 and 3. */
#define FI_ADD(sums, quads, digits)                                                                                    \
    do {                                                                                                               \
        (sums)[0] += FI_NAME(dot_pairs)((quads) & 0xff00ff, (digits)[0]) +                                             \
                     FI_NAME(dot_pairs)((FI_NAME(u32))((FI_NAME(u16))(quads) >> 8), (digits)[1]);                      \
        FI_ADD_BYTES(sums, quads, (digits)[2]);                                                                        \
    } while (0)
#define FI_ADD_SAME FI_ADD_BYTES
#define FI_TOTAL(sums) ((sums)[0] + (FI_TOTAL_SAME(sums) << 16))
#define FI_TOTAL_SAME(sums) FI_NAME(dot_pairs)((sums)[1], 0x10001) /* of two lanes of 16 bits */
#else
#define FI_SUMS 1

/* Compilers make multiplications that add of this. */
#define FI_ADD(sums, quads, digits)                                                                                    \
    do {                                                                                                               \
        (sums)[0] += ((quads) & 255) * (digits)[0];                                                                    \
        (sums)[0] += ((quads) >> 8 & 255) * (digits)[1];                                                               \
        (sums)[0] += ((quads) >> 16 & 255) * (digits)[2];                                                              \
        (sums)[0] += ((quads) >> 24) * (digits)[3];                                                                    \
    } while (0)
#define FI_ADD_SAME(sums, quads, mask) FI_ADD(sums, quads, &(mask)) /* never reached, as FI_MOST_SAME is 0 */
#define FI_TOTAL(sums) ((sums)[0])
#define FI_TOTAL_SAME(sums) FI_TOTAL(sums)
#endif

/* The quads of a strip that begin at pixel 4 * number: four vectors of the ring. */
FI_INLINE FI_NAME(u8) * FI_NAME(quads_of)(const fi_weights *weights, int number) {
    return (FI_NAME(u8) *)weights->ring + (number & weights->mask) * FI_STRIP_VECTORS;
}

/* The sums of a strip for one pixel of the result. */
FI_INLINE void FI_NAME(weigh)(FI_NAME(u32) * out, const fi_weights *weights, const fi_span *span) {
    const FI_NAME(u32) half = (FI_NAME(u32)){0} + (1 << (PRECISION_BITS - 1));
    const UINT32 *digits = span->digits;
    FI_NAME(u32) sums[FI_STRIP_VECTORS][FI_SUMS] = {0};
    if (span->same) {
        for (int q = 0; q < span->count; q++) {
            const FI_NAME(u8) *quads = FI_NAME(quads_of)(weights, span->first + q);
            for (int v = 0; v < FI_STRIP_VECTORS; v++) {
                FI_ADD_SAME(sums[v], (FI_NAME(u32))quads[v], digits[q]);
            }
        }
        for (int v = 0; v < FI_STRIP_VECTORS; v++) {
            out[v] = half + FI_TOTAL_SAME(sums[v]) * span->same;
        }
        return;
    }
    const FI_NAME(u8) *quads = FI_NAME(quads_of)(weights, span->first);
    for (int v = 0; v < FI_STRIP_VECTORS; v++) {
        sums[v][0] = half;
        FI_ADD(sums[v], (FI_NAME(u32))quads[v], digits);
    }
    for (int q = 1; q < span->count; q++) {
        digits += FI_DIGITS;
        quads = FI_NAME(quads_of)(weights, span->first + q);
        for (int v = 0; v < FI_STRIP_VECTORS; v++) {
            FI_ADD(sums[v], (FI_NAME(u32))quads[v], digits);
        }
    }
    for (int v = 0; v < FI_STRIP_VECTORS; v++) {
        out[v] = FI_TOTAL(sums[v]);
    }
}

#if !defined(__x86_64__)
FI_INLINE FI_NAME(u32) FI_NAME(clip_sums)(FI_NAME(u32) sums) {
    fi_i32x4 values = (fi_i32x4)sums >> PRECISION_BITS;
    return (FI_NAME(u32))FI_MIN(FI_MAX(values, (fi_i32x4){0}), (fi_i32x4){0} + 255);
}
#endif

/* Shift four vectors of sums, which are `stride` vectors apart, and clip them to bytes. In each segment of the result
   are the bytes of that segment of vector 0, then those of vector 1, 2 and 3, as x86 packs. */
FI_INLINE FI_NAME(u8) FI_NAME(sums_to_bytes)(const FI_NAME(u32) * sums, int stride) {
#if defined(__x86_64__)
    FI_NAME(i64) shifted[4];
    for (int i = 0; i < 4; i++) {
        shifted[i] = FI_MM(srai_epi32)((FI_NAME(i64))sums[i * stride], PRECISION_BITS);
    }
    return (FI_NAME(u8))FI_MM(packus_epi16)(FI_MM(packs_epi32)(shifted[0], shifted[1]),
                                            FI_MM(packs_epi32)(shifted[2], shifted[3]));
#else
    FI_NAME(u16) halves[2];
    for (int i = 0; i < 2; i++) {
        FI_NAME(u32) low = FI_NAME(clip_sums)(sums[2 * i * stride]);
        FI_NAME(u32) high = FI_NAME(clip_sums)(sums[(2 * i + 1) * stride]);
        halves[i] = FI_SHUFFLE(FI_NAME(u16), (FI_NAME(u16))low, (FI_NAME(u16))high, 0, 2, 4, 6, 8, 10, 12, 14);
    }
    return FI_SHUFFLE(FI_NAME(u8), (FI_NAME(u8))halves[0], (FI_NAME(u8))halves[1], 0, 2, 4, 6, 8, 10, 12, 14, 16, 18,
                      20, 22, 24, 26, 28, 30);
#endif
}

/* Transpose the 4 x 4 lanes of 32 bits in each segment of four vectors. */
FI_INLINE void FI_NAME(transpose_lanes)(FI_NAME(u8) * rows) {
    FI_NAME(u8) a = FI_INTERLEAVE_LOWER(FI_NAME(u32), rows[0], rows[1], 4);
    FI_NAME(u8) b = FI_INTERLEAVE_UPPER(FI_NAME(u32), rows[0], rows[1], 4);
    FI_NAME(u8) c = FI_INTERLEAVE_LOWER(FI_NAME(u32), rows[2], rows[3], 4);
    FI_NAME(u8) d = FI_INTERLEAVE_UPPER(FI_NAME(u32), rows[2], rows[3], 4);
    rows[0] = FI_INTERLEAVE_LOWER(FI_NAME(i64), a, c, 2);
    rows[1] = FI_INTERLEAVE_UPPER(FI_NAME(i64), a, c, 2);
    rows[2] = FI_INTERLEAVE_LOWER(FI_NAME(i64), b, d, 2);
    rows[3] = FI_INTERLEAVE_UPPER(FI_NAME(i64), b, d, 2);
}

/* Transpose the 4 x 4 bytes in each segment of four vectors: four pixels of a segment become four quads, or back. */
FI_INLINE void FI_NAME(transpose_bytes)(FI_NAME(u8) * vectors) {
    for (int i = 0; i < 4; i++) {
        vectors[i] = FI_SHUFFLE(FI_NAME(u8), vectors[i], vectors[i], FI_EACH_SEGMENT(FI_TRANSPOSED, 0, 16));
    }
}

/* Load a vector whose segments are of different rows, `stride` rows apart: up to `bytes` bytes from byte `from` on. */
FI_INLINE FI_NAME(u8) FI_NAME(load_segments)(const UINT8 *const *rows, int stride, int from, int bytes) {
    fi_u8x16 segments[FI_SEGMENTS(1)];
    for (int i = 0; i < FI_SEGMENTS(1); i++) {
        segments[i] = fi_load_bytes(rows[i * stride] + from, bytes);
    }
    return FI_LOAD(FI_NAME(u8), segments);
}

/* Store the segments of a vector into rows that are `stride` rows apart, as far as there are `height` rows. */
FI_INLINE void FI_NAME(store_segments)(UINT8 *const *rows, int height, int stride, const FI_NAME(u8) * vector, int to,
                                       int bytes) {
    const fi_u8x16 *segments = (const fi_u8x16 *)vector;
    for (int i = 0; i < FI_SEGMENTS(1) && i * stride < height; i++) {
        fi_copy_some(rows[i * stride] + to, &segments[i], bytes, FI_NARROW);
    }
}

#if FI_WIDTH == 64
/* Load sixteen pixels of four bytes of four rows, as load_segments would by sixteen loads: vector i gets pixels 4 i to
   4 i + 3 of each row. Each row is one load, and the 4 x 4 segments are transposed in two rounds. A round makes two
   vectors of vectors 0 and 1, and two of vectors 2 and 3:

       a  a0 | a1 | a2 | a3      a0 | a2 | b0 | b2   becomes vector 0, or 1 if a and b are vectors 2 and 3
       b  b0 | b1 | b2 | b3      a1 | a3 | b1 | b3   becomes vector 2, or 3 */
FI_INLINE void FI_NAME(load_pixels)(FI_NAME(u8) * vectors, const UINT8 *const *rows, int from, int bytes) {
    FI_NAME(u8) before[4] = {0};
    for (int i = 0; i < 4; i++) {
        fi_copy_some(&before[i], rows[i] + from, bytes, FI_WIDTH);
        __builtin_prefetch(rows[i] + from + 512); /* the CPU's own prefetchers follow fewer rows than a strip has */
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            FI_NAME(i64) a = (FI_NAME(i64))before[2 * i], b = (FI_NAME(i64))before[2 * i + 1];
            vectors[i] = (FI_NAME(u8))FI_SHUFFLE(FI_NAME(i64), a, b, 0, 1, 4, 5, 8, 9, 12, 13);
            vectors[i + 2] = (FI_NAME(u8))FI_SHUFFLE(FI_NAME(i64), a, b, 2, 3, 6, 7, 10, 11, 14, 15);
        }
        memcpy(before, vectors, sizeof(before));
    }
}
#endif

/* Fill four places of the ring: load sixteen pixels of each row of a strip from byte `from` on, at most `bytes` bytes,
   and make quads of them. The loop is unrolled, so that each load has an instruction of its own, by whose address the
   CPU's prefetchers tell the rows apart. */
FI_INLINE void FI_NAME(fill_ring)(FI_NAME(u8) * to, const UINT8 *const *rows, int from, int bytes, int pixelsize) {
#pragma GCC unroll 4
    for (int v = 0; v < FI_STRIP_VECTORS; v++) {
        FI_NAME(u8) quads[4];
#if FI_WIDTH == 64
        if (pixelsize == 4) {
            FI_NAME(load_pixels)(quads, rows + 4 * v, from, bytes);
        } else
#endif
            for (int i = 0; i < 4; i++) {
                quads[i] = pixelsize == 4
                               ? FI_NAME(load_segments)(rows + FI_SEGMENTS(v), 1, from + i * 16, bytes - i * 16)
                               : FI_NAME(load_segments)(rows + FI_SEGMENTS(4 * v) + i, 4, from, bytes);
            }
        (pixelsize == 4 ? FI_NAME(transpose_bytes) : FI_NAME(transpose_lanes))(quads);
        for (int i = 0; i < 4; i++) {
            to[i * FI_STRIP_VECTORS + v] = quads[i];
        }
    }
}

/* Store the sums of `count` pixels of a strip from x on as bytes, in the `height` rows that it has: sixteen bytes of
   each row, or fewer at the end. */
FI_INLINE void FI_NAME(store_strip)(UINT8 *const *to, const FI_NAME(u32) * sums, int x, int count, int height,
                                    int pixelsize, UINT32 used) {
    for (int v = 0; v < FI_STRIP_VECTORS; v++) {
        FI_NAME(u8) rows[4];
        if (pixelsize == 4) {
            rows[0] = (FI_NAME(u8))((FI_NAME(u32))FI_NAME(sums_to_bytes)(sums + v, FI_STRIP_VECTORS) & used);
            FI_NAME(store_segments)(to + FI_SEGMENTS(v), height - FI_SEGMENTS(v), 1, rows, x * 4, count * 4);
            continue;
        }
        for (int i = 0; i < 4; i++) {
            rows[i] = FI_NAME(sums_to_bytes)(sums + i * 4 * FI_STRIP_VECTORS + v, FI_STRIP_VECTORS);
        }
        FI_NAME(transpose_bytes)(rows);
        FI_NAME(transpose_lanes)(rows);
        for (int i = 0, row = FI_SEGMENTS(4 * v); i < 4; i++, row++) {
            FI_NAME(store_segments)(to + row, height - row, 4, &rows[i], x, count);
        }
    }
}

/* Resize columns `start` to `end` - 1 of the result in the strip of rows from `y` on, from left to right. Places of the
   ring are filled when a sum needs them. The ring is so large (fi_find_spans) that this overwrites only quads that no
   further sum needs. */
FI_INLINE void FI_NAME(resize_strip)(UINT8 *const *to, const fi_resize_job *job, int y, int start, int end,
                                     int pixelsize) {
    const int strip = FI_STRIP_ROWS * 4 / pixelsize, at_once = 16 / pixelsize, width = job->in->xsize;
    const int height = job->rows - y < strip ? job->rows - y : strip;
    /* A copy, which no store through `to` can change, so that it stays in registers. */
    const fi_weights across = job->across, *weights = &across;
    const fi_span *spans = weights->spans;
    const UINT8 *rows[FI_STRIP_ROWS * 4];
    for (int i = 0; i < strip; i++) { /* the last row stands in for those that the strip lacks */
        rows[i] = (const UINT8 *)job->in->image[y + (i < height ? i : height - 1)];
    }
    for (int x = start, filled = 0; x < end; x += at_once) {
        FI_NAME(u32) sums[16 * FI_STRIP_VECTORS];
        int count = fi_min(end - x, at_once), last = x + count - 1;
        for (filled = fi_max(filled, spans[x].first / 4 * 4); filled < spans[last].end; filled += 4) {
            FI_NAME(u8) *place = FI_NAME(quads_of)(weights, filled);
            int from = filled * 4 * pixelsize, bytes = fi_min(width * pixelsize - from, 16 * pixelsize);
            FI_SPECIALIZE(bytes, 16 * pixelsize, FI_NAME(fill_ring)(place, rows, from, bytes, pixelsize));
        }
        for (int i = 0; i < at_once; i++) {
            FI_NAME(weigh)(sums + i * FI_STRIP_VECTORS, weights, &spans[fi_min(x + i, last)]);
        }
        FI_SPECIALIZE(
            count, at_once,
            FI_SPECIALIZE(height, strip, FI_NAME(store_strip)(to, sums, x, count, height, pixelsize, job->used)));
    }
}

static void FI_NAME(resize_rows)(UINT8 *const *to, const fi_resize_job *job, int y, int start, int end) {
    int pixelsize = job->in->pixelsize;
    FI_EITHER(pixelsize, 1, 4, FI_NAME(resize_strip)(to, job, y, start, end, pixelsize));
}

/* A vector of a row of the result, from byte x on, of `pairs` pairs of rows a and b. On x86-64 the bytes of a pair are
   interleaved, and multiplied twice:

       a0 b0 a1 b1 ...         by high digits, as bytes: sums of 16 bits, which all pairs add up to
       a0 0 b0 0 a1 0 b1 0     by low digits, as numbers of 16 bits: sums of 32 bits

   A sum of high digits is worth 65536 times as much. So it is added as the upper half of a lane of 32 bits, whose lower
   half is 0; it is interleaved with zeros for that. */
FI_INLINE FI_NAME(u8) FI_NAME(weigh_rows)(const UINT8 *const *rows, int x, const UINT32 *digits, int pairs) {
    FI_NAME(u32) half = (FI_NAME(u32)){0} + (1 << (PRECISION_BITS - 1)), sums[4] = {half, half, half, half};
#if defined(__x86_64__)
    const FI_NAME(u8) none = {0};
    FI_NAME(u16) high[2] = {0};
    for (int t = 0; t < pairs; t++, digits += 2) {
        FI_NAME(u8) a = FI_LOAD(FI_NAME(u8), rows[2 * t] + x), b = FI_LOAD(FI_NAME(u8), rows[2 * t + 1] + x);
        FI_NAME(u8) both[2] = {FI_INTERLEAVE_LOWER(FI_NAME(u8), a, b, 16), FI_INTERLEAVE_UPPER(FI_NAME(u8), a, b, 16)};
        for (int i = 0; i < 2; i++) {
            sums[2 * i] +=
                FI_NAME(dot_pairs)((FI_NAME(u32))FI_INTERLEAVE_LOWER(FI_NAME(u8), both[i], none, 16), digits[0]);
            sums[2 * i + 1] +=
                FI_NAME(dot_pairs)((FI_NAME(u32))FI_INTERLEAVE_UPPER(FI_NAME(u8), both[i], none, 16), digits[0]);
            high[i] += FI_NAME(dot_bytes)((FI_NAME(u32))both[i], digits[1]);
        }
    }
    for (int i = 0; i < 2; i++) {
        sums[2 * i] += (FI_NAME(u32))FI_INTERLEAVE_LOWER(FI_NAME(u16), none, high[i], 8);
        sums[2 * i + 1] += (FI_NAME(u32))FI_INTERLEAVE_UPPER(FI_NAME(u16), none, high[i], 8);
    }
#else
    for (int t = 0; t < 2 * pairs; t++) {
        for (int i = 0; i < 4; i++) {
            fi_u8x4 bytes = FI_LOAD(fi_u8x4, rows[t] + x + 4 * i);
            sums[i] += __builtin_convertvector(bytes, fi_u32x4) * digits[t];
        }
    }
#endif
    return FI_NAME(sums_to_bytes)(sums, 1);
}

/* Bytes `from` to `end` - 1 of a row of the result. The rows of the ring have room for a vector after them. Rows of the
   picture have not: there the last vector ends with the row, and repeats some bytes. */
FI_INLINE void FI_NAME(weigh_row)(UINT8 *out, const fi_resize_job *job, int from, int end, const UINT32 *digits,
                                  int pairs) {
    const UINT8 *const *rows = job->list;
    int bytes = job->out->xsize * job->in->pixelsize, last = job->resized ? bytes : bytes - FI_WIDTH;
    UINT32 used = job->used;
    for (int x = from; x < end; x += FI_WIDTH) {
        int begin = fi_min(x, last);
        FI_NAME(u8) values = (FI_NAME(u8))((FI_NAME(u32))FI_NAME(weigh_rows)(rows, begin, digits, pairs) & used);
        fi_copy_some(out + begin, &values, bytes - begin, FI_WIDTH);
    }
}

/* Bytes `from` to `end` - 1 of some rows of the result, from top to bottom. Strips of rows are resized when they are
   needed; those before row `ready` are. The most common numbers of neighbours are constants, so that their digits stay
   in registers. */
static void FI_NAME(resize_columns)(const fi_resize_job *job, int from, int end, int first_row, int end_row) {
    int pixelsize = job->in->pixelsize;
    for (int y = first_row, ready = 0; y < end_row; y++) {
        const fi_span *span = &job->down.spans[y];
        int pairs = (span->end - span->first + 1) / 2;
        for (ready = fi_max(ready, span->first / job->strip * job->strip); job->resized && ready < span->end;
             ready += job->strip) {
            FI_NAME(resize_rows)(job->resized + ready % job->ring, job, ready, from / pixelsize, end / pixelsize);
        }
        for (int i = 0; i < 2 * pairs; i++) { /* an odd number of rows ends with one twice, the second weighed by 0 */
            int row = fi_min(span->first + i, span->end - 1);
            job->list[i] = job->resized ? job->resized[row % job->ring] : (UINT8 *)job->in->image[row];
        }
        FI_SPECIALIZE(pairs, 1,
                      FI_SPECIALIZE(pairs, 2,
                                    FI_SPECIALIZE(pairs, 3,
                                                  FI_NAME(weigh_row)((UINT8 *)job->out->image[y], job, from, end,
                                                                     span->digits, pairs))));
    }
}

/* Rows `first` to `end` - 1 of the result. Without a list (fi_resize_job) only rows are resized, in strips of which
   `first` begins one. With it columns are resized, and rows too if there is a ring for them. */
static void FI_NAME(resize)(const fi_resize_job *job, int first, int end) {
    for (int y = first; !job->list && y < end; y += job->strip) {
        FI_NAME(resize_rows)((UINT8 **)job->out->image + y, job, job->offset + y, 0, job->out->xsize);
    }
    for (int from = 0, bytes = job->out->xsize * job->in->pixelsize; job->list && from < bytes; from += job->columns) {
        FI_NAME(resize_columns)(job, from, fi_min(from + job->columns, bytes), first, end);
    }
}

#undef FI_SEGMENTS
#undef FI_STRIP_ROWS
#undef FI_SUMS
#undef FI_ADD
#undef FI_ADD_BYTES
#undef FI_ADD_SAME
#undef FI_TOTAL
#undef FI_TOTAL_SAME
#undef FI_NAME
#undef FI_WIDTH
#undef FI_VNNI
