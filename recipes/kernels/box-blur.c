/* Box blur, also used by Gaussian blur (three passes) and unsharp mask.

   A line is a row or a column. A pass replaces each value of a line by the weighed sum of its neighbours:

       place      i-r-1   i-r ... i ... i+r   i+r+1
       weight       f      w  ... w ...  w      f        (f is for the part of a radius behind the point)

   Vectors hold one place of many lines: 32 bytes of a picture's row for its columns, or bytes of several rows, transposed, for
   its rows. So the sum of a vector's lines moves from place to place by one addition and one subtraction.

   All passes go along a line together, a chunk at a time. Each has a ring of the values that the next one still needs, and
   lags r + 1 places behind it. So a line of any length stays in the first two caches, and a picture is read and written once
   for its rows and once for its columns, whole cache lines at a time:

       rows of the picture --> ring 0 --pass 1--> ring 1 --pass 2--> ring 2 --pass 3--> ring 3 --> rows of the picture
                               ........t          ...t-r-1          ..t-2r-2           .t-3r-3

   Exactness. Pillow's sum is O = sum * w + edges * f of 32 bits, of which (O + 2 ** 23) >> 24 is kept, where `sum` is of
   n = 2 r + 1 values and `edges` of the two at the ends. Three ways compute it:

   FI_WHOLE, for a whole radius up to 90: O / 2 ** 24 is the mean sum / n, but for an error below 255 n / 2 ** 24. n is odd, so
   a mean is at least 1 / 2n away from a rounding point, which is more as long as 510 n * n < 2 ** 24. So any exact rounded
   division serves: of 16 bits, by a reciprocal that is rounded up by so little that no quotient below 256 changes.

   FI_HALVES, for r up to 31: f is (2 ** 24 - n w) / 2, so O = 2 ** 23 * edges + w / 2 * T with T = 2 sum - n edges. If w is
   even, that is one product of a number of 16 bits, and two multiplications give its upper 16 bits. If w is odd, f was
   rounded down, and (T - edges) / 2 is missing when w / 2 is rounded down too. Whether that ever changes a result is tried
   for all T there can be, once for a blur.

   FI_ANY: as Pillow, in 32 bits. */

#include "threads.h"
#include "vectors.h"

enum {
    FI_CHUNK = 64,                 /* places of a line that go through all passes together */
    FI_LINES = 4,                  /* vectors side by side in a strip of columns */
    FI_STRIP = FI_LINES * FI_WIDE, /* its bytes: two cache lines */
    FI_MOST_PASSES = 8,            /* Gaussian blur has three */
    FI_MOST_WHOLE = 90,            /* radius, see above */
    FI_MOST_HALVES = 31,           /* radius with which T has 16 bits */
    FI_TRIED_BYTES = 2048          /* of a picture, times n, so that trying all T pays */
};

typedef enum { FI_WHOLE, FI_HALVES, FI_ANY } fi_blur_way;

typedef struct {
    fi_blur_way way;
    int radius;          /* its whole part */
    UINT32 weight, edge; /* w and f */
    UINT16 low, high;    /* FI_WHOLE: the reciprocal and its shift; FI_HALVES: digits of w / 2, the lower one signed */
} fi_box;

typedef struct {
    int done;             /* places */
    fi_wide_u8 added;     /* the value at the front end of the sum */
    fi_wide_u16 sums[2];  /* FI_WHOLE: sum + n / 2; FI_HALVES: 2 sum */
    fi_u32x16 weighed[2]; /* FI_ANY: sum * w + 2 ** 23 */
} fi_pass;

typedef struct {
    const fi_box *box;
    int passes, length;
    int mask, stride;  /* of a ring: its size - 1, and from one to the next */
    fi_wide_u8 *rings; /* passes + 1 for each vector */
} fi_line;

/* Is floor((v T + 2 ** 23 (edges + 1) + missing) / 2 ** 24) the same without what is missing, for all T and edges? It is
   ((up ? -T : T) - edges) / 2. T and edges are both odd or both even. */
static int fi_is_halved_exactly(UINT32 v, int up, int n) {
    const int one = 1 << 24;
    int wrong = 0;
    for (int odd = 0; odd < 2; odd++) {
        for (int t = -510 * n + odd; t <= 510 * n; t += 2) {
            int fraction = (v * (UINT32)t + (odd ? 0 : one / 2)) & (one - 1), sign = up ? -t : t;
            int least = (sign - (510 - odd)) / 2, most = (sign - odd) / 2;
            wrong |= (fraction + least < 0) | (fraction + most >= one);
        }
    }
    return !wrong;
}

static fi_box fi_plan_box(float radius, int64_t bytes) {
    fi_box box = {.way = FI_ANY, .radius = (int)radius};
    UINT32 n = 2 * (UINT32)box.radius + 1, one = 1 << 24;
    box.weight = (UINT32)(1 << 24) / (radius * 2 + 1);
    box.edge = (one - n * box.weight) / 2;
    if (box.radius == radius && box.radius <= FI_MOST_WHOLE && one - n * box.weight < n) {
        box.way = FI_WHOLE;
        for (box.high = 0; n >> box.high > 1; box.high++) {
        }
        box.low = ((1u << (16 + box.high)) + n - 1) / n;
    } else if (box.radius <= FI_MOST_HALVES && n * box.weight <= one) {
        UINT32 half = box.weight / 2;
        int up = 0, is_exact = box.weight % 2 == 0;
        for (; !is_exact && bytes / FI_TRIED_BYTES >= n && up < 2; up += !is_exact) {
            is_exact = fi_is_halved_exactly(half + up, up, n);
        }
        if (is_exact) {
            box.way = FI_HALVES;
            box.low = half + up;
            box.high = (half + up - (UINT32)(INT16)box.low) >> 16;
        }
    }
    return box;
}

/* Two vectors' bytes in pairs; `half` chooses pairs 0 to 7 of each 16, or 8 to 15. fi_narrow undoes that. */
FI_INLINE fi_wide_u8 fi_pair_bytes(fi_wide_u8 a, fi_wide_u8 b, int half) {
    fi_wide_u8 low = FI_SHUFFLE(fi_wide_u8, a, b, FI_INTERLEAVE16(0, 32), FI_INTERLEAVE16(16, 32));
    fi_wide_u8 high = FI_SHUFFLE(fi_wide_u8, a, b, FI_INTERLEAVE16(8, 32), FI_INTERLEAVE16(24, 32));
    return half ? high : low;
}

#define FI_EVEN8(from) from, from + 2, from + 4, from + 6, from + 8, from + 10, from + 12, from + 14

FI_INLINE fi_wide_u8 fi_narrow(fi_wide_u16 low, fi_wide_u16 high) {
    return FI_SHUFFLE(fi_wide_u8, (fi_wide_u8)low, (fi_wide_u8)high, FI_EVEN8(0), FI_EVEN8(32), FI_EVEN8(16),
                      FI_EVEN8(48));
}

/* a * x + b * y for bytes x and y, and small a and b. */
FI_INLINE fi_wide_u16 fi_weigh_pair(fi_wide_u8 x, fi_wide_u8 y, int half, int a, int b) {
    fi_wide_u16 weights = (fi_wide_u16){0} + (UINT16)((a & 255) | (b & 255) << 8);
    return fi_dot_bytes(fi_pair_bytes(x, y, half), (fi_wide_u8)weights);
}

FI_INLINE fi_u32x16 fi_widen_half(fi_wide_u8 bytes, int half) {
    fi_u8x16 halves[2];
    memcpy(halves, &bytes, sizeof(halves));
    return __builtin_convertvector(halves[half], fi_u32x16);
}

/* What a pass knows before its first place: the sum around place -1. Outside values count as the first or the last one. */
static void fi_begin_pass(fi_pass *pass, const fi_wide_u8 *from, const fi_box *box, int length) {
    const fi_wide_u8 none = {0};
    int radius = box->radius, last = length - 1, n = 2 * radius + 1;
    int beyond = fi_max(radius - length, 0); /* places behind a line that ends before them */
    const fi_wide_u8 *end = &from[beyond ? last : 0];
    pass->added = from[fi_min(radius, last)];
    for (int half = 0; half < 2; half++) {
        if (box->way == FI_ANY) {
            fi_u32x16 sum = fi_widen_half(from[0], half) * (UINT32)(radius + 1);
            for (int i = 0; i < radius && i <= last; i++) {
                sum += fi_widen_half(from[i], half);
            }
            sum += fi_widen_half(*end, half) * (UINT32)beyond;
            pass->weighed[half] = sum * box->weight + (1 << 23);
        } else {
            fi_wide_u16 sum = fi_weigh_pair(from[0], none, half, 1, 0) * (UINT16)(radius + 1);
            for (int i = 0; i < radius && i <= last; i++) {
                sum += fi_weigh_pair(from[i], none, half, 1, 0);
            }
            sum += fi_weigh_pair(*end, none, half, 1, 0) * (UINT16)beyond;
            pass->sums[half] = box->way == FI_WHOLE ? sum + (UINT16)(n / 2) : sum * 2;
        }
    }
}

/* One place, of 16 bits: `before` is the value that the sum loses, pass->added the one that it gains, `after` the one behind that. */
FI_INLINE fi_wide_u8 fi_blur_place(fi_pass *pass, fi_wide_u8 before, fi_wide_u8 after, const fi_box *box,
                                   fi_blur_way way) {
    fi_wide_u16 values[2];
    for (int half = 0; half < 2; half++) {
        if (way == FI_WHOLE) {
            pass->sums[half] += fi_weigh_pair(pass->added, before, half, 1, -1);
            values[half] = fi_multiply_high(pass->sums[half], (fi_wide_u16){0} + box->low) >> box->high;
        } else if (way == FI_HALVES) {
            int n = 2 * box->radius + 1;
            pass->sums[half] += fi_weigh_pair(pass->added, before, half, 2, -2);
            fi_wide_u16 t = pass->sums[half] - fi_weigh_pair(before, after, half, n, n);
            fi_wide_u16 middle = (fi_weigh_pair(before, after, half, 1, 1) << 7) + 128;
            values[half] =
                (middle + t * box->high + (fi_wide_u16)fi_multiply_high_signed(t, (fi_wide_u16){0} + box->low)) >> 8;
        }
    }
    return fi_narrow(values[0], values[1]);
}

typedef struct {
    fi_wide_u8 *to;
    const fi_wide_u8 *from;
    int last, radius; /* place of a line */
    UINT32 mask;
} fi_rings;

/* The values at the ends of a sum: inside of a line, or the first or the last one where there is none. */
FI_INLINE const fi_wide_u8 *fi_value_before(const fi_rings *rings, int i, int is_inside) {
    int place = i - rings->radius - 1;
    return &rings->from[(UINT32)(is_inside ? place : fi_max(place, 0)) & rings->mask];
}

FI_INLINE const fi_wide_u8 *fi_value_after(const fi_rings *rings, int i, int is_inside) {
    int is_near = is_inside || rings->radius + 1 < rings->last - i;
    return &rings->from[(UINT32)(is_near ? i + rings->radius + 1 : rings->last) & rings->mask];
}

FI_INLINE void fi_blur_some(fi_pass *pass, const fi_rings *rings, const fi_box *box, int end, fi_blur_way way,
                            int is_inside) {
    for (int i = pass->done; i < end; i++) {
        fi_wide_u8 before = *fi_value_before(rings, i, is_inside), after = *fi_value_after(rings, i, is_inside);
        rings->to[(UINT32)i & rings->mask] = fi_blur_place(pass, before, after, box, way);
        pass->added = after;
    }
    pass->done = fi_max(pass->done, end);
}

/* The same in 32 bits: half a vector after the other, so that sums stay in registers. */
FI_INLINE void fi_blur_some_widely(fi_pass *pass, const fi_rings *rings, const fi_box *box, int end, int is_inside) {
    if (end <= pass->done) {
        return;
    }
    for (int half = 0; half < 2; half++) {
        fi_u32x16 weighed = pass->weighed[half], added = fi_widen_half(pass->added, half);
        for (int i = pass->done; i < end; i++) {
            fi_u32x16 before = fi_widen_half(*fi_value_before(rings, i, is_inside), half);
            fi_u32x16 after = fi_widen_half(*fi_value_after(rings, i, is_inside), half);
            weighed += (added - before) * box->weight;
            fi_u32x16 values = (weighed + (before + after) * box->edge) >> 24;
            FI_STORE((fi_u8x16 *)&rings->to[(UINT32)i & rings->mask] + half, __builtin_convertvector(values, fi_u8x16));
            added = after;
        }
        pass->weighed[half] = weighed;
    }
    pass->added = *fi_value_after(rings, end - 1, is_inside);
    pass->done = end;
}

/* Places of a pass up to `end`, from one ring to the next: near the line's ends with a look at each place. */
FI_INLINE void fi_blur_places(fi_pass *state, const fi_rings *places, const fi_box *weights, int end, fi_blur_way way) {
    fi_pass pass = *state; /* copies that no store changes */
    const fi_rings rings = *places;
    const fi_box box = *weights;
    int inside = fi_min(box.radius + 1, end), outside = fi_min(fi_max(rings.last - box.radius, 0), end);
    for (int is_inside = 0; is_inside < 3; is_inside++) {
        int until = is_inside == 0 ? inside : is_inside == 1 ? outside : end;
        if (way == FI_ANY) {
            FI_EITHER(is_inside, 1, 0, fi_blur_some_widely(&pass, &rings, &box, until, is_inside));
        } else {
            FI_EITHER(is_inside, 1, 0, fi_blur_some(&pass, &rings, &box, until, way, is_inside));
        }
    }
    *state = pass;
}

/* All passes, as far as they come where the first ring has values up to `time`, which goes on behind the line's end. */
static void fi_advance(fi_pass *passes, fi_wide_u8 *ring, const fi_line *line, int time) {
    const fi_box *box = line->box;
    int lag = fi_min(box->radius + 1, line->length);
    for (int k = 0; k < line->passes; k++, ring += line->stride) {
        int end = fi_max(fi_min(time - (k + 1) * lag, line->length), 0);
        if (end > 0 && passes[k].done == 0) {
            fi_begin_pass(&passes[k], ring, box, line->length);
        }
        fi_rings rings = {ring + line->stride, ring, line->length - 1, box->radius, line->mask};
        switch (box->way) {
        case FI_WHOLE:
            fi_blur_places(&passes[k], &rings, box, end, FI_WHOLE);
            break;
        case FI_HALVES:
            fi_blur_places(&passes[k], &rings, box, end, FI_HALVES);
            break;
        default:
            fi_blur_places(&passes[k], &rings, box, end, FI_ANY);
        }
    }
}

/* A chunk of rows, transposed, into a ring or back: a vector has two blocks of 16 / pixel rows each. */
FI_INLINE void fi_load_rows(fi_wide_u8 *ring, UINT8 *const *rows, int left, int width, int pixel) {
    int step = FI_NARROW / pixel;
    for (int x = 0; x < width; x += step) {
        for (int part = 0; part < 2; part++) {
            fi_u8x16 block[FI_NARROW] = {{0}}, *to = (fi_u8x16 *)(ring + x) + part;
            for (int i = 0; i < step; i++) {
                memcpy(&block[i], rows[part * step + i] + (left + x) * pixel, fi_min(width - x, step) * pixel);
            }
            fi_transpose(block, pixel);
            for (int i = 0; i < step; i++) {
                to[2 * i] = block[i];
            }
        }
    }
}

FI_INLINE void fi_store_rows(UINT8 *const *rows, const fi_wide_u8 *ring, int count, int left, int width, int pixel) {
    int step = FI_NARROW / pixel;
    for (int x = 0; x < width; x += step) {
        for (int part = 0; part < 2 && part * step < count; part++) {
            fi_u8x16 block[FI_NARROW];
            const fi_u8x16 *values = (const fi_u8x16 *)(ring + x) + part;
            for (int i = 0; i < step; i++) {
                block[i] = values[2 * i];
            }
            fi_transpose(block, pixel);
            for (int i = 0; i < step && part * step + i < count; i++) {
                memcpy(rows[part * step + i] + (left + x) * pixel, &block[i], fi_min(width - x, step) * pixel);
            }
        }
    }
}

/* Rows `begin` to `end` - 1. */
FI_INLINE void fi_blur_rows(Imaging out, Imaging in, const fi_line *line, int begin, int end, int pixel) {
    int step = FI_WIDE / pixel, length = line->length;
    for (int y = begin; y < end; y += step) {
        int count = fi_min(end - y, step);
        UINT8 *const *to = (UINT8 **)out->image + y, *rows[FI_WIDE];
        for (int i = 0; i < step; i++) { /* the last row stands for those that are not there */
            rows[i] = (UINT8 *)in->image[y + fi_min(i, count - 1)];
        }
        fi_pass passes[FI_MOST_PASSES] = {{0}};
        const fi_wide_u8 *last = line->rings + line->passes * line->stride;
        for (int time = FI_CHUNK, stored = 0; stored < length; time += FI_CHUNK) {
            int x = time - FI_CHUNK, width = fi_min(time, length) - x;
            if (width > 0) {
                fi_wide_u8 *first = line->rings + (x & line->mask);
                FI_SPECIALIZE(width, FI_CHUNK, fi_load_rows(first, rows, x, width, pixel));
            }
            fi_advance(passes, line->rings, line, time);
            int done = passes[line->passes - 1].done;
            while (stored < done && (stored + FI_CHUNK <= done || done == length)) {
                const fi_wide_u8 *values = last + (stored & line->mask);
                width = fi_min(done - stored, FI_CHUNK);
                FI_SPECIALIZE(count, step,
                              FI_SPECIALIZE(width, FI_CHUNK, fi_store_rows(to, values, count, stored, width, pixel)));
                stored += width;
            }
        }
    }
}

/* Rows of a strip of `bytes`, into the first rings of its vectors and out of the last ones. */
FI_INLINE void fi_load_columns(fi_wide_u8 *rings, size_t stride, UINT8 *const *rows, int count, int left, int bytes) {
    for (int y = 0; y < count; y++) {
        for (int i = 0; i * FI_WIDE < bytes; i++) {
            fi_wide_u8 value = {0};
            memcpy(&value, rows[y] + left + i * FI_WIDE, fi_min(bytes - i * FI_WIDE, FI_WIDE));
            rings[i * stride + y] = value;
        }
    }
}

FI_INLINE void fi_store_columns(UINT8 *const *rows, const fi_wide_u8 *rings, size_t stride, int count, int left,
                                int bytes) {
    for (int y = 0; y < count; y++) {
        for (int i = 0; i * FI_WIDE < bytes; i++) {
            memcpy(rows[y] + left + i * FI_WIDE, rings + i * stride + y, fi_min(bytes - i * FI_WIDE, FI_WIDE));
        }
    }
}

/* Bytes `begin` to `end` - 1 of each row. */
static void fi_blur_columns(Imaging out, Imaging in, const fi_line *line, int begin, int end) {
    int size = line->mask + 1, length = line->length;
    size_t stride = (size_t)(line->passes + 1) * line->stride;
    UINT8 *const *to = (UINT8 **)out->image, *const *from = (UINT8 **)in->image;
    for (int left = begin; left < end; left += FI_STRIP) {
        int bytes = fi_min(end - left, FI_STRIP), lines = (bytes - 1) / FI_WIDE + 1;
        fi_pass passes[FI_LINES][FI_MOST_PASSES] = {{{0}}};
        for (int time = FI_CHUNK, stored = 0; stored < length; time += FI_CHUNK) {
            int y = time - FI_CHUNK, count = fi_min(time, length) - y;
            if (count > 0) {
                fi_wide_u8 *first = line->rings + (y & line->mask);
                FI_SPECIALIZE(bytes, FI_STRIP, fi_load_columns(first, stride, from + y, count, left, bytes));
            }
            for (int i = 0; i < lines; i++) {
                fi_advance(passes[i], line->rings + i * stride, line, time);
            }
            for (int done = passes[0][line->passes - 1].done; stored < done;) {
                const fi_wide_u8 *last = line->rings + line->passes * line->stride + (stored & line->mask);
                int some = fi_min(done - stored, size - (stored & line->mask)); /* to the end of the ring */
                FI_SPECIALIZE(bytes, FI_STRIP, fi_store_columns(to + stored, last, stride, some, left, bytes));
                stored += some;
            }
        }
    }
}

#define FI_MODE(name) (uint64_t)1 << IMAGING_MODE_##name

/* Pillow's own code handles what it refuses. */
static int fi_is_ours(Imaging out, Imaging in, float xradius, float yradius, int passes) {
    uint64_t modes = FI_MODE(L) | FI_MODE(LA) | FI_MODE(La) | FI_MODE(RGB) | FI_MODE(RGBA) | FI_MODE(RGBa) |
                     FI_MODE(RGBX) | FI_MODE(CMYK);
    return (modes >> in->mode & 1) && out->mode == in->mode && out->xsize == in->xsize && out->ysize == in->ysize &&
           in->xsize >= FI_LEAST_SIDE && in->ysize >= FI_LEAST_SIDE && passes >= 1 && passes <= FI_MOST_PASSES &&
           xradius >= 0 && yradius >= 0 && xradius < 1e6f && yradius < 1e6f && (xradius != 0 || yradius != 0);
}

/* A ring holds what one place needs, a chunk that comes in, and one that is not stored yet. Rings do not begin at a multiple of
   their size from each other, because CPUs compare the lower 12 bits of a load's address with those of recent stores. */
static fi_line fi_lay_line(const fi_box *box, int passes, int length) {
    int size = 2 * FI_CHUNK, needed = fi_min(2 * box->radius + 2, length) + 2 * FI_CHUNK;
    while (size < needed) {
        size *= 2;
    }
    return (fi_line){.box = box, .passes = passes, .length = length, .mask = size - 1, .stride = size + FI_CHUNK};
}

/* A blur along rows or columns. Each share has rings of its own. */
typedef struct {
    Imaging out, in;
    fi_line line;
    fi_wide_u8 *rings;
    size_t size; /* of the rings of a share */
} fi_blur_job;

static void fi_blur_share_of_rows(void *argument, const fi_share *share) {
    const fi_blur_job *job = argument;
    fi_line line = job->line;
    int pixel = job->in->pixelsize;
    line.rings = job->rings + share->number * job->size;
    FI_EITHER(pixel, 1, 4, fi_blur_rows(job->out, job->in, &line, share->first, share->end, pixel));
}

static void fi_blur_share_of_columns(void *argument, const fi_share *share) {
    const fi_blur_job *job = argument;
    fi_line line = job->line;
    line.rings = job->rings + share->number * job->size;
    fi_blur_columns(job->out, job->in, &line, share->first, share->end);
}

Imaging ImagingBoxBlur(Imaging imOut, Imaging imIn, float xradius, float yradius, int n) {
    if (!fi_is_ours(imOut, imIn, xradius, yradius, n)) {
        return ImagingBoxBlur__source(imOut, imIn, xradius, yradius, n);
    }
    int64_t bytes = (int64_t)imIn->linesize * imIn->ysize;
    fi_box across = fi_plan_box(xradius, bytes), down = fi_plan_box(yradius, bytes);
    fi_line row = fi_lay_line(&across, n, imIn->xsize), column = fi_lay_line(&down, n, imIn->ysize);
    size_t size = (size_t)fi_max(row.stride, FI_LINES * column.stride) * (n + 1);
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
        fi_for_rows(shares, imIn->linesize, FI_STRIP, fi_blur_share_of_columns, &job);
    }
    FI_END_SECTION(imIn)
    free(memory);
    return imOut;
}

#undef FI_EVEN8
#undef FI_MODE
