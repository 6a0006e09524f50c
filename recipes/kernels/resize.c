/* Resizing of 8-bit bands. The same sums as Pillow's, of the same integers (weights.h, groups.h). Rows are resized when the
   columns need them, a strip at a time, so that no picture is written between both. */

#include "vectors.h"

#define SIDE 4             /* vectors that are added up together: a quad of each row of a strip */
#define WINDOW (512 << 10) /* bytes of rows from which columns are made, unless 512 of each row take more */

#if defined(__AVX2__)
#define LEAST 32 /* bytes of a vector */
#else
#define LEAST 16
#endif
#if defined(__x86_64__)
#define DIGITS 3
#define MOST_SAME 240 /* neighbours whose sums fit in 16 bits, by twos */
#else
#define DIGITS 4
#define MOST_SAME 0
#endif
#include "weights.h"

typedef struct {
    Imaging out, in;
    Weights across, down;
    const UINT8 **list; /* rows that are added up */
    UINT8 **resized;    /* a ring of strips of rows, for the columns */
    int ring;           /* rows of it */
    int rows;           /* of `in` */
    int step;           /* rows of a strip */
    int block;          /* bytes of a row that go through the columns together */
    UINT32 used;
} Job;

/* Names of types and of x86's intrinsics for vectors of WIDTH bytes, which groups.h is included for. */
#define JOIN(a, b) JOIN_NAMES(a, b)
#define JOIN_NAMES(a, b) a##b
#define Part NAME(Part)
#define Half NAME(Half)
#define Word NAME(Word)
#define Vector NAME(Vector)
#define MM(name) JOIN(MM, WIDTH)(name)
#define MM16(name) _mm_##name
#define MM32(name) _mm256_##name
#define MM64(name) _mm512_##name
#define SET(digits) MM(set1_epi32)(digits)

/* Shuffles in every lane of 16 bytes, which have `size` elements each: lists of indexes of two vectors of n elements. */
#define LOW(type, a, b, size) (Part) SHUFFLE(type, (type)(a), (type)(b), EACH(MIX##size, 0, size))
#define HIGH(type, a, b, size) (Part) SHUFFLE(type, (type)(a), (type)(b), EACH(MIX##size, size / 2, size))
#define EACH(list, from, size) JOIN(EACH, WIDTH)(list, from, size)
#define EACH16(list, from, size) list(from, size)
#define EACH32(list, from, size) list(from, 2 * size), list(from + size, 2 * size)
#define EACH64(list, from, size) TWO_OF_FOUR(list, from, size), TWO_OF_FOUR(list, from + 2 * size, size)
#define TWO_OF_FOUR(list, from, size) list(from, 4 * size), list(from + size, 4 * size)
#define FOURTHS(from) from, from + 4, from + 8, from + 12
#define TRANSPOSED(from, n) FOURTHS(from), FOURTHS(from + 1), FOURTHS(from + 2), FOURTHS(from + 3)

#if defined(__x86_64__)
#define PAIRS(values, digits) (Word)MM(madd_epi16)((Vector)(values), SET(digits))

/* Three digits of 8 bits: VNNI, in vectors of 64 bytes or 32. */
#define SUMS 3
#define DOT(sums, quads, digits) (Word)JOIN(DOT, WIDTH)((Vector)(sums), (Vector)(quads), SET(digits))
#define DOT64 _mm512_dpbusd_epi32
#define DOT32 _mm256_dpbusd_avx_epi32
#define ADD(sums, quads, digits)                                                           \
    for (int d = 0; d < SUMS; d++) sums[d] = DOT(sums[d], quads, (digits)[d])
#define ADD_SAME(sums, quads, mask) sums[0] = DOT(sums[0], quads, mask)
#define TOTAL(sums) (sums[0] + (sums[1] << 8) + (sums[2] << 16))
#define TOTAL_SAME(sums) sums[0]

BEGIN_TARGET(AVX512 ",avx512vnni")
#define NAME(name) name##_quads
#define WIDTH 64
#include "groups.h"
END_TARGET

BEGIN_TARGET("avx2,avxvnni")
#define NAME(name) name##_half_quads
#define WIDTH 32
#include "groups.h"
END_TARGET

#undef SUMS
#undef ADD
#undef ADD_SAME
#undef TOTAL
#undef TOTAL_SAME

/* A digit of 16 bits, and one of 8 whose sums are of 16 bits. */
#define NAME(name) name##_pairs
#define WIDTH LEAST
#define SUMS 2
#define ADD(sums, quads, digits)                                                           \
    sums[0] += PAIRS(quads & 0xff00ff, (digits)[0]) + PAIRS((Half)quads >> 8, (digits)[1]), \
    ADD_SAME(sums, quads, (digits)[2])
#define ADD_SAME(sums, quads, mask) \
    sums[1] = (Word)((Half)sums[1] + (Half)MM(maddubs_epi16)((Vector)quads, SET(mask)))
#define TOTAL(sums) (sums[0] + (TOTAL_SAME(sums) << 16))
#define TOTAL_SAME(sums) PAIRS(sums[1], 0x10001)
#else
/* Any CPU: compilers find multiplications that add. */
#define resize_quads resize_pairs
#define resize_half_quads resize_pairs
#define NAME(name) name##_pairs
#define WIDTH LEAST
#define SUMS 1
#define ADD(sums, quads, digits)                                                           \
    sums[0] += (quads & 255) * (digits)[0], sums[0] += (quads >> 8 & 255) * (digits)[1], \
    sums[0] += (quads >> 16 & 255) * (digits)[2], sums[0] += (quads >> 24) * (digits)[3]
#define ADD_SAME(sums, quads, digit) ADD(sums, quads, &(digit))
#define TOTAL(sums) sums[0]
#define TOTAL_SAME(sums) sums[0]

#define WIDEN_FOUR(from) __builtin_convertvector(LOAD(Quad, from), Four)
typedef UINT8 Quad __attribute__((vector_size(4)));

INLINE Four clip_sums(Four sums) {
    Signed values = (Signed)sums >> PRECISION_BITS;
    return (Four)MINIMUM(MAXIMUM(values, (Signed){0}), (Signed){0} + 255);
}
#endif
#include "groups.h"

/* Make what a resize needs besides its pictures. Returns whether there is memory, and it can be done. */
static int prepare(Job *job, const Pass *across, const Pass *down) {
    int pixel = job->in->pixelsize, bytes = (job->out->xsize * pixel + 63) / 64 * 64;
    job->step = larger(find_vnni(), LEAST) / 4 * (job->in->image8 ? 4 : 1);
    job->used = used_bytes(job->in);
    job->across.stride = 4;
    job->down.stride = 1;
    if ((across && !make_weights(&job->across, across, job->out->xsize, 16 / pixel)) ||
        (down && !make_weights(&job->down, down, job->out->ysize, 1))) {
        return 0;
    }
    if (across) {
        job->across.window = aligned_alloc(64, (size_t)(job->across.mask + 1) * job->step * pixel * 4);
    }
    if (down) {
        /* A filter wider than the picture reads its rows alone; a strip is whole at either end. */
        job->ring = (smaller(down->ksize, job->rows) / job->step + 2) * job->step;
        job->block = larger(512, WINDOW / job->ring / 64 * 64);
        job->list = malloc((down->ksize + 1) * sizeof(*job->list));
    }
    if (across && down) {
        job->resized = malloc(job->ring * (sizeof(UINT8 *) + bytes + 64));
        for (int i = 0; job->resized && i < job->ring; i++) {
            job->resized[i] = (UINT8 *)(job->resized + job->ring) + i * (bytes + (size_t)64);
        }
    }
    return (!across || job->across.window) && (!down || job->list) && (!across || !down || job->resized);
}

static int resize(Imaging out, Imaging in, int offset, const Pass *across, const Pass *down) {
    Job job = {.out = out, .in = in, .rows = down ? in->ysize : offset + out->ysize};
    int prepared = prepare(&job, across, down);
    if (prepared) {
        BEGIN_SECTION(in)
        (find_vnni() == 64 ? resize_quads : find_vnni() == 32 ? resize_half_quads : resize_pairs)(&job, offset);
        END_SECTION(in)
    }
    free(job.across.spans);
    free(job.across.digits);
    free(job.across.window);
    free(job.down.spans);
    free(job.down.digits);
    free(job.list);
    free(job.resized);
    return prepared;
}

/* Pillow's own, for what is too small, and if there is no memory. */
static _Atomic(ResampleFunction) source_rows, source_columns;

static void resize_rows(Imaging out, Imaging in, int offset, int ksize, int *bounds, double *coefficients) {
    Pass pass = {ksize, bounds, coefficients};
    if (out->ysize < (in->image8 ? FEWEST : 2) || !resize(out, in, offset, &pass, NULL)) {
        source_rows(out, in, offset, ksize, bounds, coefficients);
    }
}

static void resize_columns(Imaging out, Imaging in, int offset, int ksize, int *bounds, double *coefficients) {
    Pass pass = {ksize, bounds, coefficients};
    if (in->xsize * in->pixelsize < 64 || !resize(out, in, offset, NULL, &pass)) {
        source_columns(out, in, offset, ksize, bounds, coefficients);
    }
}

/* Whether rows are resized first, then columns, in every version of Pillow: some do it the other way round if that is
   less work. */
static int is_rows_first(Imaging in, int xsize, int ysize, const float *box) {
    int wide = xsize != in->xsize || box[0] || box[2] != xsize, high = ysize != in->ysize || box[1] || box[3] != ysize;
    return wide && high && in->ysize - ysize <= larger(0, (in->xsize - xsize) * 2);
}

/* Static where Pillow declares it so before, since 12.3. */
Imaging
ImagingResampleInner(Imaging in, int xsize, int ysize, struct filter *filterp, float box[4], ResampleFunction rows,
                     ResampleFunction columns) {
    if (in->type != IMAGING_TYPE_UINT8) {
        return ImagingResampleInner__source(in, xsize, ysize, filterp, box, rows, columns);
    }
    source_rows = rows;
    source_columns = columns;
    if (is_rows_first(in, xsize, ysize, box)) {
        Pass across = {0}, down = {0};
        across.ksize = precompute_coeffs(in->xsize, box[0], box[2], xsize, filterp, &across.bounds, &across.coefficients);
        down.ksize = precompute_coeffs(in->ysize, box[1], box[3], ysize, filterp, &down.bounds, &down.coefficients);
        Imaging out = across.ksize && down.ksize ? ImagingNewDirty(in->mode, xsize, ysize) : NULL;
        int made = out && resize(out, in, 0, &across, &down);
        free(across.bounds);
        free(across.coefficients);
        free(down.bounds);
        free(down.coefficients);
        if (made || !out) {
            return out;
        }
        ImagingDelete(out);
    }
    return ImagingResampleInner__source(in, xsize, ysize, filterp, box, resize_rows, resize_columns);
}
