/* Box blur, also used by Gaussian blur (three passes) and unsharp mask.

   A line is a row or a column of bytes. A pass replaces each value of a line by a weighted sum of values around it.
   With r, the whole part of the radius:

       place      i-r-1   i-r ... i ... i+r   i+r+1
       weight       f      w  ... w ...  w      f        f is for the fraction of the radius

   Vectors hold one place of many lines: for columns 32 bytes of a row of the picture, for rows bytes of several rows,
   transposed. So the sum of a vector's lines moves from place to place by one addition and one subtraction.

   All passes go along a line together, a stretch at a time. Each reads its values from one ring and writes its results
   to the next, and is r + 1 places behind the pass before it. So what is needed of a line of any length stays in the
   first two caches, and a picture is read and written once for its rows and once for its columns, whole cache lines at
   a time:

       rows of the picture --> ring 0 --pass 1--> ring 1 --pass 2--> ring 2 --pass 3--> ring 3 --> rows of the picture
       places before               t            t-r-1            t-2r-2            t-3r-3

   Exactness. Pillow's pixel is (O + 2 ** 23) >> 24, with O = sum * w + edges * f in 32 bits. `sum` adds up the values
   with the weight w, which are n = 2 r + 1, and `edges` the two with the weight f. Pillow rounds both w and f, which is
   (2 ** 24 - n w) / 2, down. Three methods compute the pixel:

   FI_BLUR_WHOLE, for a whole radius up to 90. O / 2 ** 24 is the mean sum / n with an error below 255 n / 2 ** 24. As n
   is odd, a mean is at least 1 / (2 n) away from every point where rounding changes. That is more than the error as
   long as 510 n * n < 2 ** 24, which holds for n up to 181. So any exact division that rounds to the nearest serves.
   This one rounds x / n down, where x = sum + (n - 1) / 2, as x * reciprocal >> k. Here k is 16 plus the logarithm of
   n, rounded down, and the reciprocal is (2 ** k + e) / n with an e below n. So x / n grows by x e / 2 ** k times
   1 / n. The next integer is at least 1 / n away, and is not reached if x e < 2 ** k. As x is at most
   255 n + (n - 1) / 2 and e at most n - 1, that holds for every n up to 181. There it is closest, by 0.8 per cent.

   FI_BLUR_HALVES, for r up to 31. With the value of f, O = 2 ** 23 * edges + w / 2 * T, where T = 2 sum - n * edges is
   a number of 16 bits with a sign.
   - If w is even, O is exact with one product of T and an integer of 23 bits, w / 2. That is split into two digits of
     16 bits, so two multiplications give the upper 16 bits of the product.
   - If w is odd, f was rounded down by 1 / 2, and w / 2 is rounded too, down or up to v. So v T is taken for w / 2 * T,
     and O lacks (T - edges) / 2, or (-T - edges) / 2 if v was rounded up. Whether that ever changes a pixel is tried
     for all T there can be, once for a blur (fi_is_halved_exactly).

   FI_BLUR_ANY, for all else: as Pillow, in 32 bits. */

#include "threads.h"
#include "vectors.h"

_Static_assert(FI_WIDE == 32, "shuffles are listed for 32 bytes");

enum {
    FI_BLUR_STRETCH = 64,                          /* places of a line that go through all passes together */
    FI_BLUR_LINES = 4,                             /* vectors side by side in a strip of columns */
    FI_BLUR_STRIP_BYTES = FI_BLUR_LINES * FI_WIDE, /* of a row of the strip: two cache lines */
    FI_BLUR_MOST_PASSES = 8,                       /* Gaussian blur has three */
    FI_BLUR_MOST_WHOLE = 90,                       /* radius, see above */
    FI_BLUR_MOST_HALVES = 31,                      /* radius with which T has 16 bits */
    FI_BLUR_TRIAL_BYTES = 2048 /* for a picture with fewer bytes than this times n, trying all T does not pay */
};

typedef enum { FI_BLUR_WHOLE, FI_BLUR_HALVES, FI_BLUR_ANY } fi_blur_method;

typedef struct {
    fi_blur_method method;
    int radius;          /* its whole part, r */
    UINT32 weight, edge; /* w and f */
    UINT16 low, high;    /* WHOLE: the reciprocal and its shift; HALVES: digits of v, the lower one signed */
} fi_box;

/* Where a pass is on its lines. The sums of a vector's bytes take two vectors, its halves. With 16 bits these are the
   lower and the upper halves of both segments, with 32 bits the first and the second segment. */
typedef struct {
    int done;             /* places before this one have results */
    fi_wide_u8 added;     /* the value that the sum gains next */
    fi_wide_u16 sums[2];  /* WHOLE: sum + n / 2; HALVES: 2 sum */
    fi_u32x16 weighed[2]; /* ANY: sum * w + 2 ** 23 */
} fi_blur_pass;

/* The lines of one vector. */
typedef struct {
    const fi_box *box;
    int passes, length;
    int mask, stride;  /* of a ring: its size - 1, and the distance to the next; both in vectors */
    fi_wide_u8 *rings; /* passes + 1 of them */
} fi_blur_line;

/* Return whether the pixel, floor((v T + 2 ** 23 (edges + 1) + missing) / 2 ** 24), is the same without `missing`, for
   all T and edges that there can be. `missing` is ((up ? -T : T) - edges) / 2. T and edges are both odd or both even,
   because n is odd.

   The quotient's fraction, in units of 2 ** -24, depends on T and on whether edges are odd: two more in edges add one
   whole. The pixel changes if `missing` takes the fraction below 0 or up to 1. So the lowest value of `missing` is
   tried, which the largest edges give, and the highest, which the smallest edges give. */
static int fi_is_halved_exactly(UINT32 v, int up, int n) {
    const int one = 1 << 24;
    int is_wrong = 0;
    for (int odd = 0; odd < 2; odd++) {
        for (int t = -510 * n + odd; t <= 510 * n; t += 2) {
            int fraction = (v * (UINT32)t + (odd ? 0 : one / 2)) & (one - 1), signed_t = up ? -t : t;
            int lowest = (signed_t - (510 - odd)) / 2, highest = (signed_t - odd) / 2;
            is_wrong |= (fraction + lowest < 0) | (fraction + highest >= one);
        }
    }
    return !is_wrong;
}

/* Choose the method for a radius, and its numbers. `bytes` is the size of the picture. */
static fi_box fi_plan_box(float radius, int64_t bytes) {
    fi_box box = {.method = FI_BLUR_ANY, .radius = (int)radius};
    UINT32 n = 2 * (UINT32)box.radius + 1, one = 1 << 24;
    box.weight = (UINT32)(1 << 24) / (radius * 2 + 1);
    box.edge = (one - n * box.weight) / 2;
    if (box.radius == radius && box.radius <= FI_BLUR_MOST_WHOLE && one - n * box.weight < n) {
        box.method = FI_BLUR_WHOLE;
        for (box.high = 0; n >> box.high > 1; box.high++) { /* the logarithm of n, rounded down */
        }
        box.low = ((1u << (16 + box.high)) + n - 1) / n;
    } else if (box.radius <= FI_BLUR_MOST_HALVES && n * box.weight <= one) {
        UINT32 v = box.weight / 2;
        int up = 0, is_exact = box.weight % 2 == 0;
        for (; !is_exact && bytes / FI_BLUR_TRIAL_BYTES >= n && up < 2; up += !is_exact) {
            is_exact = fi_is_halved_exactly(v + up, up, n);
        }
        if (is_exact) {
            box.method = FI_BLUR_HALVES;
            box.low = v + up;
            box.high = (v + up - (UINT32)(INT16)box.low) >> 16;
        }
    }
    return box;
}

/* Interleave the bytes of two vectors: half 0 has the lower half of each segment, half 1 the upper one.

       a        a0 a1 ... a7  a8 ... a15 | a16 ...          half 0   a0 b0 a1 b1 ... a7 b7   | a16 b16 ... a23 b23
       b        b0 b1 ... b7  b8 ... b15 | b16 ...          half 1   a8 b8 a9 b9 ... a15 b15 | a24 b24 ... a31 b31 */
FI_INLINE fi_wide_u8 fi_pair_bytes(fi_wide_u8 a, fi_wide_u8 b, int half) {
    fi_wide_u8 low = FI_SHUFFLE(fi_wide_u8, a, b, FI_INTERLEAVE16(0, 32), FI_INTERLEAVE16(16, 32));
    fi_wide_u8 high = FI_SHUFFLE(fi_wide_u8, a, b, FI_INTERLEAVE16(8, 32), FI_INTERLEAVE16(24, 32));
    return half ? high : low;
}

/* Indexes of the lower bytes of eight lanes of 16 bits, from byte `from` on. */
#define FI_EVEN8(from) (from), (from) + 2, (from) + 4, (from) + 6, (from) + 8, (from) + 10, (from) + 12, (from) + 14

/* The bytes in the lanes of both halves, in order again. */
FI_INLINE fi_wide_u8 fi_join_halves(fi_wide_u16 low, fi_wide_u16 high) {
    return FI_SHUFFLE(fi_wide_u8, (fi_wide_u8)low, (fi_wide_u8)high, FI_EVEN8(0), FI_EVEN8(32), FI_EVEN8(16),
                      FI_EVEN8(48));
}

/* a * x + b * y for bytes x and y, and weights a and b of 8 bits, with a sign, as lanes of 16 bits. */
FI_INLINE fi_wide_u16 fi_weigh_pair(fi_wide_u8 x, fi_wide_u8 y, int half, int a, int b) {
    fi_wide_u16 weights = (fi_wide_u16){0} + (UINT16)((a & 255) | (b & 255) << 8);
    return fi_dot_bytes(fi_pair_bytes(x, y, half), (fi_wide_u8)weights);
}

/* The bytes of a segment in lanes of 32 bits. */
FI_INLINE fi_u32x16 fi_widen_segment(fi_wide_u8 bytes, int segment) {
    fi_u8x16 segments[2];
    memcpy(segments, &bytes, sizeof(segments));
    return __builtin_convertvector(segments[segment], fi_u32x16);
}

/* Set the sums of a pass before its first place: those around place -1. Places before the line have its first value,
   and places after it the last one. */
static void fi_begin_pass(fi_blur_pass *pass, const fi_wide_u8 *from, const fi_box *box, int length) {
    const fi_wide_u8 none = {0};
    int radius = box->radius, last = length - 1, n = 2 * radius + 1;
    int beyond = fi_max(radius - length, 0); /* places of the sum that are after the line */
    /* The value of these places. If there are none, any value serves, and the ring may not have the line's last one. */
    const fi_wide_u8 *end = &from[beyond ? last : 0];
    pass->added = from[fi_min(radius, last)];
    for (int half = 0; half < 2; half++) {
        if (box->method == FI_BLUR_ANY) {
            fi_u32x16 sum = fi_widen_segment(from[0], half) * (UINT32)(radius + 1);
            for (int i = 0; i < radius && i <= last; i++) {
                sum += fi_widen_segment(from[i], half);
            }
            sum += fi_widen_segment(*end, half) * (UINT32)beyond;
            pass->weighed[half] = sum * box->weight + (1 << 23);
        } else {
            fi_wide_u16 sum = fi_weigh_pair(from[0], none, half, 1, 0) * (UINT16)(radius + 1);
            for (int i = 0; i < radius && i <= last; i++) {
                sum += fi_weigh_pair(from[i], none, half, 1, 0);
            }
            sum += fi_weigh_pair(*end, none, half, 1, 0) * (UINT16)beyond;
            pass->sums[half] = box->method == FI_BLUR_WHOLE ? sum + (UINT16)(n / 2) : sum * 2;
        }
    }
}

/* The result of one place, by sums of 16 bits. `before` is the value that the sum loses, pass->added the one that it
   gains, and `after` the one after that; `before` and `after` are the edges of the new sum. */
FI_INLINE fi_wide_u8 fi_blur_place(fi_blur_pass *pass, fi_wide_u8 before, fi_wide_u8 after, const fi_box *box,
                                   fi_blur_method method) {
    fi_wide_u16 values[2];
    for (int half = 0; half < 2; half++) {
        if (method == FI_BLUR_WHOLE) {
            pass->sums[half] += fi_weigh_pair(pass->added, before, half, 1, -1);
            values[half] = fi_multiply_high(pass->sums[half], (fi_wide_u16){0} + box->low) >> box->high;
        } else if (method == FI_BLUR_HALVES) {
            int n = 2 * box->radius + 1;
            pass->sums[half] += fi_weigh_pair(pass->added, before, half, 2, -2);
            fi_wide_u16 t = pass->sums[half] - fi_weigh_pair(before, after, half, n, n);
            /* The upper 16 bits of 2 ** 23 * (edges + 1) + v T. */
            fi_wide_u16 upper = (fi_weigh_pair(before, after, half, 1, 1) << 7) + 128 + t * box->high;
            upper += (fi_wide_u16)fi_multiply_high_signed(t, (fi_wide_u16){0} + box->low);
            values[half] = upper >> 8;
        }
    }
    return fi_join_halves(values[0], values[1]);
}

/* The rings that a pass reads from and writes to. */
typedef struct {
    fi_wide_u8 *to;
    const fi_wide_u8 *from;
    int last;   /* place of the line */
    int radius; /* whole */
    UINT32 mask;
} fi_blur_rings;

/* The value before the sum of place i, and the one after it. Without `is_inside` they may be before or after the line.
   Then it is the line's first or last value. */
FI_INLINE const fi_wide_u8 *fi_value_before(const fi_blur_rings *rings, int i, int is_inside) {
    int place = i - rings->radius - 1;
    return &rings->from[(UINT32)(is_inside ? place : fi_max(place, 0)) & rings->mask];
}

FI_INLINE const fi_wide_u8 *fi_value_after(const fi_blur_rings *rings, int i, int is_inside) {
    int is_near = is_inside || rings->radius + 1 < rings->last - i;
    return &rings->from[(UINT32)(is_near ? i + rings->radius + 1 : rings->last) & rings->mask];
}

/* The results of a pass up to place `end` - 1, by sums of 16 bits. */
FI_INLINE void fi_blur_by_16_bits(fi_blur_pass *pass, const fi_blur_rings *rings, const fi_box *box, int end,
                                  fi_blur_method method, int is_inside) {
    for (int i = pass->done; i < end; i++) {
        fi_wide_u8 before = *fi_value_before(rings, i, is_inside), after = *fi_value_after(rings, i, is_inside);
        rings->to[(UINT32)i & rings->mask] = fi_blur_place(pass, before, after, box, method);
        pass->added = after;
    }
    pass->done = fi_max(pass->done, end);
}

/* The same by sums of 32 bits: all places of one segment, then of the other, so that sums stay in registers. */
FI_INLINE void fi_blur_by_32_bits(fi_blur_pass *pass, const fi_blur_rings *rings, const fi_box *box, int end,
                                  int is_inside) {
    if (end <= pass->done) {
        return;
    }
    for (int segment = 0; segment < 2; segment++) {
        fi_u32x16 weighed = pass->weighed[segment], added = fi_widen_segment(pass->added, segment);
        for (int i = pass->done; i < end; i++) {
            fi_u32x16 before = fi_widen_segment(*fi_value_before(rings, i, is_inside), segment);
            fi_u32x16 after = fi_widen_segment(*fi_value_after(rings, i, is_inside), segment);
            weighed += (added - before) * box->weight;
            fi_u32x16 values = (weighed + (before + after) * box->edge) >> 24;
            FI_STORE((fi_u8x16 *)&rings->to[(UINT32)i & rings->mask] + segment,
                     __builtin_convertvector(values, fi_u8x16));
            added = after;
        }
        pass->weighed[segment] = weighed;
    }
    pass->added = *fi_value_after(rings, end - 1, is_inside);
    pass->done = end;
}

/* The results of a pass up to place `end` - 1. Near the line's first and last place, each place is tested for values
   outside the line; those in the middle (third 1) are not. */
FI_INLINE void fi_blur_places(fi_blur_pass *state, const fi_blur_rings *places, const fi_box *weights, int end,
                              fi_blur_method method) {
    fi_blur_pass pass = *state; /* copies that no store changes */
    const fi_blur_rings rings = *places;
    const fi_box box = *weights;
    int inside = fi_min(box.radius + 1, end), outside = fi_min(fi_max(rings.last - box.radius, 0), end);
    for (int third = 0; third < 3; third++) {
        int until = third == 0 ? inside : third == 1 ? outside : end, is_inside = third == 1;
        if (method == FI_BLUR_ANY) {
            FI_EITHER(is_inside, 1, 0, fi_blur_by_32_bits(&pass, &rings, &box, until, is_inside));
        } else {
            FI_EITHER(is_inside, 1, 0, fi_blur_by_16_bits(&pass, &rings, &box, until, method, is_inside));
        }
    }
    *state = pass;
}

/* Let all passes go on as far as they can when the first ring has the places before `time`. To finish the last pass,
   `time` grows beyond the line's end. A result needs the values up to r + 1 places after it, but never more than a line
   has, so a pass is `lag` places behind. */
static void fi_advance(fi_blur_pass *passes, fi_wide_u8 *ring, const fi_blur_line *line, int time) {
    const fi_box *box = line->box;
    int lag = fi_min(box->radius + 1, line->length);
    for (int k = 0; k < line->passes; k++, ring += line->stride) {
        int end = fi_max(fi_min(time - (k + 1) * lag, line->length), 0);
        if (end > 0 && passes[k].done == 0) {
            fi_begin_pass(&passes[k], ring, box, line->length);
        }
        fi_blur_rings rings = {ring + line->stride, ring, line->length - 1, box->radius, line->mask};
        switch (box->method) {
        case FI_BLUR_WHOLE:
            fi_blur_places(&passes[k], &rings, box, end, FI_BLUR_WHOLE);
            break;
        case FI_BLUR_HALVES:
            fi_blur_places(&passes[k], &rings, box, end, FI_BLUR_HALVES);
            break;
        default:
            fi_blur_places(&passes[k], &rings, box, end, FI_BLUR_ANY);
        }
    }
}

/* Load a stretch of a strip of rows into a ring, transposed: vector x of the ring has pixel x of all rows. Each segment
   of a vector has `side` rows, of which squares of `side` pixels are transposed. */
FI_INLINE void fi_blur_load_rows(fi_wide_u8 *ring, UINT8 *const *rows, int left, int width, int pixelsize) {
    int side = FI_NARROW / pixelsize;
    for (int x = 0; x < width; x += side) {
        for (int segment = 0; segment < 2; segment++) {
            fi_u8x16 square[FI_NARROW] = {{0}}, *to = (fi_u8x16 *)(ring + x) + segment;
            for (int i = 0; i < side; i++) {
                memcpy(&square[i], rows[segment * side + i] + (left + x) * pixelsize,
                       fi_min(width - x, side) * pixelsize);
            }
            fi_transpose(square, pixelsize);
            for (int i = 0; i < side; i++) {
                to[2 * i] = square[i];
            }
        }
    }
}

/* Store a stretch of a ring into the `count` rows of a strip, transposed back. */
FI_INLINE void fi_blur_store_rows(UINT8 *const *rows, const fi_wide_u8 *ring, int count, int left, int width,
                                  int pixelsize) {
    int side = FI_NARROW / pixelsize;
    for (int x = 0; x < width; x += side) {
        for (int segment = 0; segment < 2 && segment * side < count; segment++) {
            fi_u8x16 square[FI_NARROW];
            const fi_u8x16 *values = (const fi_u8x16 *)(ring + x) + segment;
            for (int i = 0; i < side; i++) {
                square[i] = values[2 * i];
            }
            fi_transpose(square, pixelsize);
            for (int i = 0; i < side && segment * side + i < count; i++) {
                memcpy(rows[segment * side + i] + (left + x) * pixelsize, &square[i],
                       fi_min(width - x, side) * pixelsize);
            }
        }
    }
}

/* Blur along rows `begin` to `end` - 1, a strip of rows at a time. A stretch is stored when it is complete. */
FI_INLINE void fi_blur_rows(Imaging out, Imaging in, const fi_blur_line *line, int begin, int end, int pixelsize) {
    int strip = FI_WIDE / pixelsize, length = line->length;
    for (int y = begin; y < end; y += strip) {
        int count = fi_min(end - y, strip);
        UINT8 *const *to = (UINT8 **)out->image + y, *rows[FI_WIDE];
        for (int i = 0; i < strip; i++) { /* the last row stands in for those that the strip lacks */
            rows[i] = (UINT8 *)in->image[y + fi_min(i, count - 1)];
        }
        fi_blur_pass passes[FI_BLUR_MOST_PASSES] = {{0}};
        const fi_wide_u8 *last = line->rings + line->passes * line->stride;
        for (int time = FI_BLUR_STRETCH, stored = 0; stored < length; time += FI_BLUR_STRETCH) {
            int x = time - FI_BLUR_STRETCH, width = fi_min(time, length) - x;
            if (width > 0) {
                fi_wide_u8 *first = line->rings + (x & line->mask);
                FI_SPECIALIZE(width, FI_BLUR_STRETCH, fi_blur_load_rows(first, rows, x, width, pixelsize));
            }
            fi_advance(passes, line->rings, line, time);
            int done = passes[line->passes - 1].done;
            while (stored < done && (stored + FI_BLUR_STRETCH <= done || done == length)) {
                const fi_wide_u8 *values = last + (stored & line->mask);
                width = fi_min(done - stored, FI_BLUR_STRETCH);
                FI_SPECIALIZE(count, strip,
                              FI_SPECIALIZE(width, FI_BLUR_STRETCH,
                                            fi_blur_store_rows(to, values, count, stored, width, pixelsize)));
                stored += width;
            }
        }
    }
}

/* Load `count` rows of a strip of columns, of `bytes` bytes each, into the rings of its vectors, `stride` apart. */
FI_INLINE void fi_blur_load_columns(fi_wide_u8 *rings, size_t stride, UINT8 *const *rows, int count, int left,
                                    int bytes) {
    for (int y = 0; y < count; y++) {
        for (int i = 0; i * FI_WIDE < bytes; i++) {
            fi_wide_u8 value = {0};
            memcpy(&value, rows[y] + left + i * FI_WIDE, fi_min(bytes - i * FI_WIDE, FI_WIDE));
            rings[i * stride + y] = value;
        }
    }
}

/* Store such rows from the rings of the last pass. */
FI_INLINE void fi_blur_store_columns(UINT8 *const *rows, const fi_wide_u8 *rings, size_t stride, int count, int left,
                                     int bytes) {
    for (int y = 0; y < count; y++) {
        for (int i = 0; i * FI_WIDE < bytes; i++) {
            memcpy(rows[y] + left + i * FI_WIDE, rings + i * stride + y, fi_min(bytes - i * FI_WIDE, FI_WIDE));
        }
    }
}

/* Blur down bytes `begin` to `end` - 1 of all rows, a strip of columns at a time. */
static void fi_blur_columns(Imaging out, Imaging in, const fi_blur_line *line, int begin, int end) {
    int size = line->mask + 1, length = line->length;
    size_t stride = (size_t)(line->passes + 1) * line->stride; /* from the rings of one vector to those of the next */
    UINT8 *const *to = (UINT8 **)out->image, *const *from = (UINT8 **)in->image;
    for (int left = begin; left < end; left += FI_BLUR_STRIP_BYTES) {
        int bytes = fi_min(end - left, FI_BLUR_STRIP_BYTES), lines = (bytes - 1) / FI_WIDE + 1;
        fi_blur_pass passes[FI_BLUR_LINES][FI_BLUR_MOST_PASSES] = {{{0}}};
        for (int time = FI_BLUR_STRETCH, stored = 0; stored < length; time += FI_BLUR_STRETCH) {
            int y = time - FI_BLUR_STRETCH, count = fi_min(time, length) - y;
            if (count > 0) {
                fi_wide_u8 *first = line->rings + (y & line->mask);
                FI_SPECIALIZE(bytes, FI_BLUR_STRIP_BYTES,
                              fi_blur_load_columns(first, stride, from + y, count, left, bytes));
            }
            for (int i = 0; i < lines; i++) {
                fi_advance(passes[i], line->rings + i * stride, line, time);
            }
            for (int done = passes[0][line->passes - 1].done; stored < done;) {
                const fi_wide_u8 *last = line->rings + line->passes * line->stride + (stored & line->mask);
                int count = fi_min(done - stored, size - (stored & line->mask)); /* to the end of the ring */
                FI_SPECIALIZE(bytes, FI_BLUR_STRIP_BYTES,
                              fi_blur_store_columns(to + stored, last, stride, count, left, bytes));
                stored += count;
            }
        }
    }
}

#define FI_MODE(name) ((uint64_t)1 << IMAGING_MODE_##name)

/* Return 0 for what is left to Pillow's own code, arguments that it refuses among them. */
static int fi_is_ours(Imaging out, Imaging in, float xradius, float yradius, int passes) {
    uint64_t modes = FI_MODE(L) | FI_MODE(LA) | FI_MODE(La) | FI_MODE(RGB) | FI_MODE(RGBA) | FI_MODE(RGBa) |
                     FI_MODE(RGBX) | FI_MODE(CMYK);
    return (modes >> in->mode & 1) && out->mode == in->mode && out->xsize == in->xsize && out->ysize == in->ysize &&
           in->xsize >= FI_LEAST_SIDE && in->ysize >= FI_LEAST_SIDE && passes >= 1 && passes <= FI_BLUR_MOST_PASSES &&
           xradius >= 0 && yradius >= 0 && xradius < 1e6f && yradius < 1e6f && (xradius != 0 || yradius != 0);
}

/* The size and the distance of rings. A ring holds the values that one place needs, a stretch that comes in, and one
   that is not stored yet. The distance is no multiple of the size, because CPUs compare only the lower 12 bits of a
   load's address with those of recent stores, and a load from one ring would wait for a store to another. */
static fi_blur_line fi_plan_line(const fi_box *box, int passes, int length) {
    int size = 2 * FI_BLUR_STRETCH, needed = fi_min(2 * box->radius + 2, length) + 2 * FI_BLUR_STRETCH;
    while (size < needed) {
        size *= 2;
    }
    return (fi_blur_line){
        .box = box, .passes = passes, .length = length, .mask = size - 1, .stride = size + FI_BLUR_STRETCH};
}

/* A blur along rows or columns. Each share has rings of its own. */
typedef struct {
    Imaging out, in;
    fi_blur_line line;
    fi_wide_u8 *rings;
    size_t size; /* vectors in the rings of a share */
} fi_blur_job;

static void fi_blur_share_of_rows(void *argument, const fi_share *share) {
    const fi_blur_job *job = argument;
    fi_blur_line line = job->line;
    int pixelsize = job->in->pixelsize;
    line.rings = job->rings + share->number * job->size;
    FI_EITHER(pixelsize, 1, 4, fi_blur_rows(job->out, job->in, &line, share->first, share->end, pixelsize));
}

static void fi_blur_share_of_columns(void *argument, const fi_share *share) {
    const fi_blur_job *job = argument;
    fi_blur_line line = job->line;
    line.rings = job->rings + share->number * job->size;
    fi_blur_columns(job->out, job->in, &line, share->first, share->end);
}

Imaging ImagingBoxBlur(Imaging imOut, Imaging imIn, float xradius, float yradius, int n) {
    if (!fi_is_ours(imOut, imIn, xradius, yradius, n)) {
        return ImagingBoxBlur__source(imOut, imIn, xradius, yradius, n);
    }
    int64_t bytes = (int64_t)imIn->linesize * imIn->ysize;
    fi_box across = fi_plan_box(xradius, bytes), down = fi_plan_box(yradius, bytes);
    fi_blur_line row = fi_plan_line(&across, n, imIn->xsize), column = fi_plan_line(&down, n, imIn->ysize);
    size_t size = (size_t)fi_max(row.stride, FI_BLUR_LINES * column.stride) * (n + 1);
    int shares = fi_count_shares(fi_min(imIn->linesize, imIn->ysize), bytes);
    fi_wide_u8 *memory = malloc((size * shares + 1) * FI_WIDE);
    if (!memory) {
        return ImagingBoxBlur__source(imOut, imIn, xradius, yradius, n);
    }
    fi_blur_job job = {.out = imOut, .in = imIn, .line = row, .size = size};
    job.rings = (fi_wide_u8 *)(((uintptr_t)memory + FI_WIDE - 1) & -(uintptr_t)FI_WIDE);
    FI_BEGIN_SECTION(imIn)
    if (xradius != 0) {
        fi_for_rows(shares, imIn->ysize, FI_WIDE / imIn->pixelsize, fi_blur_share_of_rows, &job);
        job.in = imOut;
    }
    if (yradius != 0) {
        job.line = column;
        fi_for_rows(shares, imIn->linesize, FI_BLUR_STRIP_BYTES, fi_blur_share_of_columns, &job);
    }
    FI_END_SECTION(imIn)
    free(memory);
    return imOut;
}

#undef FI_EVEN8
#undef FI_MODE
