/* Resizing of 8-bit bands. The same sums as Pillow's, of the same integers: coefficients keep their 22 bits, split into
   digits that the CPU multiplies several at a time (groups.h). Rows are resized when the columns need them, a strip at a
   time, so that no picture is written between both. */

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "vectors.h"

#define ROWS 8             /* of pixels that are resized together; of bytes, four times as many */
#define BATCH 4            /* vectors that are added up together */
#define WINDOW (512 << 10) /* bytes for the quads of some columns, unless 512 bytes of a row take more */

/* The neighbours of one sum. */
typedef struct {
    int first, end;       /* quads of its neighbours */
    int count;            /* quads that are added, the last with zeros */
    UINT32 same;          /* the coefficient of all, or 0 */
    const UINT32 *digits; /* of each quad */
} Span;

typedef struct {
    Span *spans;
    UINT32 *digits;
    void *window; /* a ring of quads: */
    int mask;     /* a quad has its place by its last bits */
    int most;     /* quads of a sum */
} Weights;

/* What Pillow makes of a filter. */
typedef struct {
    int ksize, *bounds;
    double *coefficients;
} Pass;

typedef struct {
    Imaging out, in;
    Weights across, down;
    UINT8 **resized; /* a strip of rows, for the columns */
    int rows;        /* of `in` */
    int step;        /* rows of a strip */
    int block;       /* bytes of a row that go through the columns together */
    UINT32 used;
} Job;

static inline INT32
round_coefficient(double coefficient) {
    double value = coefficient * (1 << PRECISION_BITS);
    return (int)(value < 0 ? value - 0.5 : value + 0.5);
}

/* Indexes of two vectors of n elements, for the lane that begins at b. */
#define LOW2(b, n) b, b + n
#define HIGH2(b, n) LOW2(b + 1, n)
#define LOW4(b, n) LOW2(b, n), LOW2(b + 1, n)
#define HIGH4(b, n) LOW4(b + 2, n)
#define FOURTHS(b) b, b + 4, b + 8, b + 12
#define TRANSPOSED(b, n) FOURTHS(b), FOURTHS(b + 1), FOURTHS(b + 2), FOURTHS(b + 3)

#if defined(__x86_64__)
#define DIGITS 3
#define MOST_SAME 240 /* neighbours whose sums fit in 16 bits, by twos */
#define SET(d) MM(set1_epi32)(d)

/* Three digits of 8 bits: VNNI, in vectors of 64 bytes or 32. */
#define ADD_DIGITS(sums, quads, digits)                \
    sums[0] = DOT(sums[0], quads, SET((digits)[0])), \
    sums[1] = DOT(sums[1], quads, SET((digits)[1])), \
    sums[2] = DOT(sums[2], quads, SET((digits)[2]))
#define ADD_DOT(sums, quads, mask) sums[0] = DOT(sums[0], quads, SET(mask))

BEGIN_TARGET(AVX512 ",avx512vnni")
#define NAME(name) name##_quads
#define WIDTH 64
#define SUMS 3
#define DOT(sums, quads, digits) (Word)_mm512_dpbusd_epi32((__m512i)(sums), (__m512i)(quads), digits)
#define ADD ADD_DIGITS
#define ADD_SAME ADD_DOT
#define TOTAL(sums) (sums[0] + (sums[1] << 8) + (sums[2] << 16))
#define TOTAL_SAME(sums) sums[0]
#include "groups.h"
#undef DOT
END_TARGET

BEGIN_TARGET("avx2,avxvnni")
#define NAME(name) name##_half_quads
#define WIDTH 32
#define SUMS 3
#define DOT(sums, quads, digits) (Word)_mm256_dpbusd_avx_epi32((__m256i)(sums), (__m256i)(quads), digits)
#define ADD ADD_DIGITS
#define ADD_SAME ADD_DOT
#define TOTAL(sums) (sums[0] + (sums[1] << 8) + (sums[2] << 16))
#define TOTAL_SAME(sums) sums[0]
#include "groups.h"
#undef DOT
END_TARGET

/* A digit of 16 bits, and one of 8 whose sums are of 16 bits. */
#define NAME(name) name##_pairs
#if defined(__AVX2__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
#define SUMS 2
#define PAIRS(values, digits) (Word)MM(madd_epi16)((Vector)(values), digits)
#define ADD_SAME(sums, quads, mask) \
    sums[1] = (Word)((Half_pairs)sums[1] + (Half_pairs)MM(maddubs_epi16)((Vector)quads, SET(mask)))
#define ADD(sums, quads, digits)                                                                              \
    sums[0] += PAIRS(quads & 0xff00ff, SET((digits)[0])) + PAIRS((Half_pairs)quads >> 8, SET((digits)[1])), \
    ADD_SAME(sums, quads, (digits)[2])
#define TOTAL(sums) (sums[0] + (TOTAL_SAME(sums) << 16))
#define TOTAL_SAME(sums) PAIRS(sums[1], SET(0x10001))
#else
/* Any CPU: compilers find multiplications that add. */
#define DIGITS 4
#define MOST_SAME 0
#define resize_quads resize_pairs
#define resize_half_quads resize_pairs
#define NAME(name) name##_pairs
#define WIDTH 16
#define SUMS 1
#define ADD(sums, quads, digits)                                                          \
    sums[0] += (quads & 255) * (digits)[0] + (quads >> 8 & 255) * (digits)[1] + \
               (quads >> 16 & 255) * (digits)[2] + (quads >> 24) * (digits)[3]
#define ADD_SAME(sums, quads, digit) ADD(sums, quads, &(digit))
#define TOTAL(sums) sums[0]
#define TOTAL_SAME(sums) sums[0]
#endif
#include "groups.h"

#if defined(__x86_64__)
/* Add a coefficient to the digits of its group. Returns whether they suffice. */
static int
set_digits(UINT32 *digits, int tap, INT32 coefficient, int *room) {
    if (find_vnni()) {
        for (int d = 0; d < 3; d++) {
            digits[d] |= (UINT32)(UINT8)coefficient << 8 * tap;
            coefficient = (coefficient - (int8_t)coefficient) / 256;
        }
        return coefficient == 0;
    }
    int high = (coefficient - (int16_t)coefficient) / 65536;
    digits[tap % 2] |= (UINT32)(UINT16)coefficient << 8 * (tap & 2);
    digits[2] |= (UINT32)(UINT8)high << 8 * tap;
    *room -= abs(high);
    return *room >= 0;
}
#else
static int
set_digits(UINT32 *digits, int tap, INT32 coefficient, int *room) {
    digits[tap] = coefficient;
    return 1;
}
#endif

/* The coefficient that all neighbours of a sum have that have any, or 0. */
static INT32
find_same(const double *coefficients, int count) {
    INT32 same = 0;
    for (int i = 0; i < count; i++) {
        INT32 coefficient = round_coefficient(coefficients[i]);
        if (coefficient && same && coefficient != same) {
            return 0;
        }
        same = coefficient ? coefficient : same;
    }
    return same;
}

/* Split the coefficients of a sum into digits. Returns whether the digits suffice. */
static int
split_coefficients(Span *span, UINT32 *digits, const double *coefficients, int shift, int count) {
    int room = 128; /* sums of the high digits fit in 16 bits, by twos */
    for (int i = 0; i < count; i++) {
        INT32 coefficient = round_coefficient(coefficients[i]);
        int tap = shift + i;
        if (span->same) {
            digits[tap / 4] |= (UINT32)(coefficient != 0) << tap % 4 * 8;
        } else if (!set_digits(digits + tap / 4 * DIGITS, tap % 4, coefficient, &room)) {
            return 0;
        }
    }
    return 1;
}

/* Where the neighbours of each sum are, and how many quads a window needs for `at_once` sums. */
static void
find_spans(Weights *weights, const Pass *pass, int count, int at_once) {
    int reach = 0;
    weights->most = 1;
    for (int x = 0; x < count; x++) {
        int start = pass->bounds[2 * x], first = start / 4;
        int end = larger((start + pass->bounds[2 * x + 1] + 3) / 4, first + 1);
        weights->spans[x] = (Span){.first = first, .end = end, .count = end - first};
        weights->most = larger(weights->most, end - first);
        reach = larger(reach, end - weights->spans[larger(0, x - at_once + 1)].first);
    }
    for (int x = 0; x < count && at_once > 1 && weights->most > 2; x++) {
        weights->spans[x].count = weights->most; /* always as many, which CPUs foresee: the last have digits of zero */
    }
    for (weights->mask = 3; weights->mask < reach + 3;) {
        weights->mask += weights->mask + 1;
    }
}

/* Returns whether the digits suffice, and there is memory. */
static int
make_weights(Weights *weights, const Pass *pass, int count, int at_once) {
    int same = pass->ksize <= MOST_SAME;
    weights->spans = malloc(sizeof(Span) * count);
    if (!weights->spans) {
        return 0;
    }
    find_spans(weights, pass, count, at_once);
    weights->digits = calloc((size_t)count * weights->most * DIGITS, sizeof(UINT32));
    if (!weights->digits) {
        return 0;
    }
    for (int x = 0; x < count && same; x++) {
        weights->spans[x].same = find_same(pass->coefficients + (size_t)x * pass->ksize, pass->bounds[2 * x + 1]);
        same = weights->spans[x].same != 0;
    }
    for (int x = 0; x < count; x++) {
        UINT32 *digits = weights->digits + (size_t)x * weights->most * DIGITS;
        weights->spans[x].digits = digits;
        weights->spans[x].same = same ? weights->spans[x].same : 0;
        if (!split_coefficients(&weights->spans[x], digits, pass->coefficients + (size_t)x * pass->ksize,
                                pass->bounds[2 * x] % 4, pass->bounds[2 * x + 1])) {
            return 0;
        }
    }
    return 1;
}

/* Make what a resize needs besides its pictures. Returns whether there is memory, and it can be done. */
static int
prepare(Job *job, const Pass *across, const Pass *down) {
    int pixel = job->in->pixelsize, bytes = (job->out->xsize * pixel + 63) / 64 * 64;
    job->step = job->in->image8 ? 4 * ROWS : ROWS;
    job->block = bytes;
    job->used = used_bytes(job->in);
    if (across) {
        if (!make_weights(&job->across, across, job->out->xsize, 16 / pixel)) {
            return 0;
        }
        job->across.window = aligned_alloc(64, (job->across.mask + 1) * ROWS * 16);
    }
    if (down) {
        if (!make_weights(&job->down, down, job->out->ysize, 1)) {
            return 0;
        }
        size_t column = (size_t)(job->down.mask + 1) * 4 * 64;
        int fits = (int)(WINDOW / column) * 64, least = bytes < 512 ? bytes : 512;
        job->block = fits < least ? least : fits < bytes ? fits : bytes;
        job->down.window = aligned_alloc(64, column * (job->block / 64));
    }
    if (across && down) {
        size_t row = bytes + 64;
        job->resized = malloc(job->step * (sizeof(UINT8 *) + row));
        for (int i = 0; job->resized && i < job->step; i++) {
            job->resized[i] = (UINT8 *)(job->resized + job->step) + i * row;
        }
    }
    return (!across || job->across.window) && (!down || job->down.window) && (!across || !down || job->resized);
}

static int
resize(Imaging out, Imaging in, int offset, const Pass *across, const Pass *down) {
    ImagingSectionCookie cookie;
    Job job = {.out = out, .in = in, .rows = down ? in->ysize : offset + out->ysize};
    int prepared = prepare(&job, across, down);
    if (prepared) {
        MUTEX_LOCK(&in->mutex);
        ImagingSectionEnter(&cookie);
        (find_vnni() == 64   ? resize_quads
         : find_vnni() == 32 ? resize_half_quads
                             : resize_pairs)(&job, offset);
        MUTEX_UNLOCK(&in->mutex);
        ImagingSectionLeave(&cookie);
    }
    for (int i = 0; i < 2; i++) {
        Weights *weights = i ? &job.across : &job.down;
        free(weights->spans);
        free(weights->digits);
        free(weights->window);
    }
    free(job.resized);
    return prepared;
}

/* Pillow's own, for what is too small, and if there is no memory. */
static _Atomic(ResampleFunction) source_rows, source_columns;

static void
resize_rows(Imaging out, Imaging in, int offset, int ksize, int *bounds, double *coefficients) {
    Pass pass = {ksize, bounds, coefficients};
    if (out->ysize < (in->image8 ? FEWEST : 2) || !resize(out, in, offset, &pass, NULL)) {
        source_rows(out, in, offset, ksize, bounds, coefficients);
    }
}

static void
resize_columns(Imaging out, Imaging in, int offset, int ksize, int *bounds, double *coefficients) {
    Pass pass = {ksize, bounds, coefficients};
    if (in->xsize * in->pixelsize < LANES || !resize(out, in, offset, NULL, &pass)) {
        source_columns(out, in, offset, ksize, bounds, coefficients);
    }
}

/* Whether rows are resized first, then columns, in every version of Pillow: some do it the other way round if that is
   less work. */
static int
is_rows_first(Imaging in, int xsize, int ysize, const float *box) {
    int wide = xsize != in->xsize || box[0] || box[2] != xsize, high = ysize != in->ysize || box[1] || box[3] != ysize;
    int less = in->ysize - ysize;
    return wide && high && (less <= 0 || less <= (in->xsize - xsize) * 2);
}

static Imaging
ImagingResampleInner(Imaging in, int xsize, int ysize, struct filter *filterp, float box[4], ResampleFunction rows,
                     ResampleFunction columns) {
    Pass across = {0}, down = {0};
    if (in->type != IMAGING_TYPE_UINT8) {
        return ImagingResampleInner__source(in, xsize, ysize, filterp, box, rows, columns);
    }
    source_rows = rows;
    source_columns = columns;
    if (is_rows_first(in, xsize, ysize, box)) {
        Imaging out = NULL;
        int made = 0;
        down.ksize = precompute_coeffs(in->ysize, box[1], box[3], ysize, filterp, &down.bounds, &down.coefficients);
        if (down.ksize) {
            across.ksize =
                precompute_coeffs(in->xsize, box[0], box[2], xsize, filterp, &across.bounds, &across.coefficients);
        }
        if (across.ksize) {
            out = ImagingNewDirty(in->mode, xsize, ysize);
        }
        if (out) {
            made = resize(out, in, 0, &across, &down);
        }
        free(down.bounds);
        free(down.coefficients);
        free(across.bounds);
        free(across.coefficients);
        if (made || !out) {
            return out;
        }
        ImagingDelete(out);
    }
    return ImagingResampleInner__source(in, xsize, ysize, filterp, box, resize_rows, resize_columns);
}
