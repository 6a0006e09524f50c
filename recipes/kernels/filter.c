/* 3x3 and 5x5 filters: the same sums as Pillow's. Of integers where both provably round alike, else of the same
   floating-point numbers in the same order. */

#include <math.h>

#include "vectors.h"

#define TAPS 26 /* of 5x5, and an even number */
#define STEP 64 /* bytes at a time, by integers */

#ifdef __clang__
#define WIDTH 64
#else
#define WIDTH 32 /* GCC makes single numbers of vectors that the CPU has not */
#endif
#define LEAST (WIDTH / 2) /* bytes at a time, by numbers */
#define MOST (5 * LEAST)  /* with as many registers as AVX-512 has */

typedef float Values __attribute__((vector_size(WIDTH)));
typedef INT32 Levels __attribute__((vector_size(WIDTH)));
typedef UINT16 Narrow __attribute__((vector_size(WIDTH)));
typedef UINT8 Stored __attribute__((vector_size(LEAST)));

/* The weights that are not zero: the last row is the first one of the image. */
typedef struct {
    int size, count, row[TAPS], column[TAPS];
    float weight[TAPS], offset;
} Kernel;

/* The same as integers to be divided by `scale`, by means of a reciprocal. */
typedef struct {
    INT8 weights[TAPS / 2][4]; /* each pair twice: to fill vectors with 32 bits is cheaper */
    UINT16 start, bias, reciprocal, shift;
} Integers;

/* Where compilers fuse a product with a sum, they round the second product of a row alone: so it comes first. Without that,
   the order of the first two decides nothing. */
#ifdef __aarch64__
#define ORDERED(i, size) ((i) % (size) < 2 ? (i) + 1 - (i) % (size) * 2 : (i))
#else
#define ORDERED(i, size) (i)
#endif

static Kernel list_taps(const float *weights, float offset, int size) {
    Kernel kernel = {.size = size, .offset = offset};
    for (int tap = 0; tap < size * size; tap++) {
        int i = ORDERED(tap, size);
        if (weights[i] != 0) {
            kernel.row[kernel.count] = size - 1 - i / size;
            kernel.column[kernel.count] = i % size;
            kernel.weight[kernel.count++] = weights[i];
        }
    }
    return kernel;
}

/* Whether all weights are integers divided by the scale, the sums of whose products have 16 bits. */
static int fits_scale(Integers *made, const Kernel *kernel, int scale) {
    int least = scale / 2 + (int)kernel->offset * scale, most = least;
    for (int i = 0; i < kernel->count; i++) {
        float number = rintf(kernel->weight[i] * scale);
        if (!(fabsf(number) < 128) || number / scale != kernel->weight[i]) {
            return 0;
        }
        INT8 *pair = made->weights[i / 2];
        pair[i % 2] = pair[i % 2 + 2] = number;
        *(number < 0 ? &least : &most) += 255 * (int)number;
        if (i % 2 && abs(pair[0]) + abs(pair[1]) > 128) {
            return 0;
        }
    }
    made->bias = least < 0 ? -least : 0;
    made->start = scale / 2 + (int)kernel->offset * scale + made->bias;
    return least > -65536 && most + made->bias < 65536;
}

/* With a sum N, an offset o and a scale s, all of them integers, the result is v = (2 N + 2 o s + s) / 2 s, cut off.
   If s is a power of two, Pillow's floating-point numbers are exact. If it is odd, v is 1 / 2 s or more away from integers
   that it is not: Pillow rounds at most 12 times, so its error is less than 2 ** -20 of the sum of all terms, which is less
   than 2 ** 17 / s, that is 1 / 8 s. The quotient: reciprocal * s = 2 ** (16 + shift) + e, so n is divided exactly if
   (n + 1) * e < 2 ** (16 + shift). Below 256 s that holds, for e < s < 128 and s <= 2 ** (shift + 1); the rest is clipped. */
static int find_integers(Integers *made, const Kernel *kernel) {
    if (!(fabsf(kernel->offset) < 65536) || kernel->offset != (int)kernel->offset) {
        return 0;
    }
    for (int scale = 2, shift = 0; scale <= 256; scale++) {
        shift += scale > 2 << shift;
        if ((scale == 2 << shift || (scale % 2 && scale < 128)) && fits_scale(made, kernel, scale)) {
            made->shift = shift;
            made->reciprocal = ((65536 << shift) + scale - 1) / scale;
            return 1;
        }
    }
    return 0;
}

/* Of each eight bytes in sixteen, by turns of a and b. */
#define INTERLEAVE(a, b, i) SHUFFLE(Wide, a, b, MIX16(i, 32), MIX16((i) + 16, 32))

#define EVEN(i) i, (i) + 2, (i) + 4, (i) + 6, (i) + 8, (i) + 10, (i) + 12, (i) + 14

INLINE Wide divide_sums(Halves sums, const Integers *kernel) {
    Halves above = MAXIMUM(sums, (Halves){0} + kernel->bias) - kernel->bias;
    return (Wide)MINIMUM(multiply_high(above, (Halves){0} + kernel->reciprocal) >> kernel->shift, (Halves){0} + 255);
}

/* Of 64 bytes. */
INLINE void filter_integers(UINT8 *out, const UINT8 *const *from, int x, const Integers *kernel, int count, Wide used) {
    Halves start = (Halves){0} + kernel->start, sums[4] = {start, start, start, start};
    for (int tap = 0; tap < count; tap += 2) {
        UINT32 pair = LOAD(UINT32, kernel->weights[tap / 2]);
        for (int i = 0; i < 2; i++) {
            Wide a = LOAD(Wide, from[tap] + x + 32 * i), b = LOAD(Wide, from[tap + 1] + x + 32 * i);
            sums[2 * i] += dot_bytes(INTERLEAVE(a, b, 0), (Wide)((Pairs){0} + pair));
            sums[2 * i + 1] += dot_bytes(INTERLEAVE(a, b, 8), (Wide)((Pairs){0} + pair));
        }
    }
    for (int i = 0; i < 2; i++) {
        Wide low = divide_sums(sums[2 * i], kernel), high = divide_sums(sums[2 * i + 1], kernel);
        Wide bytes = SHUFFLE(Wide, low, high, EVEN(0), EVEN(32), EVEN(16), EVEN(48));
        STORE(out + x + 32 * i, bytes & used);
    }
}

/* Numbers above 0 are ordered as their bits. */
INLINE Levels clip_sums(Values sums) {
    Levels positive = (Levels)sums & (sums > (Values){0});
    return __builtin_convertvector((Values)MINIMUM(positive, (Levels)((Values){0} + 255)), Levels);
}

/* Of `many` times LEAST bytes: the products of each row are added up apart, as in Pillow; others would add zeros. */
INLINE void filter_numbers(UINT8 *out, const void *const *from, int x, const Kernel *kernel, int many, Wide used) {
#define HALVES(tap, i) LOAD(Levels, (const UINT16 *)from[tap] + x + LEAST * (i))
#define EVENS(tap, i) ((Values)(HALVES(tap, i) << 16) * kernel->weight[tap])
#define ODDS(tap, i) ((Values)(HALVES(tap, i) & ~0xffff) * kernel->weight[tap])
    const Values none = {0}, offset = none + (float)(kernel->offset + 0.5);
    Values evens[5], odds[5], even_sums[5], odd_sums[5];
    for (int i = 0; i < many; i++) {
        even_sums[i] = odd_sums[i] = offset;
    }
    for (int first = 0, end; first < kernel->count; first = end) {
        for (int i = 0; i < many; i++) {
            evens[i] = EVENS(first, i);
            odds[i] = ODDS(first, i);
        }
        for (end = first + 1; end < kernel->count && kernel->row[end] == kernel->row[first]; end++) {
            for (int i = 0; i < many; i++) {
                evens[i] += EVENS(end, i);
                odds[i] += ODDS(end, i);
            }
        }
        for (int i = 0; i < many; i++) {
            even_sums[i] += evens[i];
            odd_sums[i] += odds[i];
        }
    }
    for (int i = 0; i < many; i++) {
        Narrow levels = (Narrow)(clip_sums(even_sums[i]) | clip_sums(odd_sums[i]) << 16);
        STORE(out + x + LEAST * i, __builtin_convertvector(levels, Stored) & LOAD(Stored, &used));
    }
}

/* By integers; without them by numbers, with a ring of rows as halves of numbers. `step` bytes at a time. */
INLINE void filter_rows(Imaging out, Imaging in, const Kernel *kernel, const Integers *integers, UINT16 *ring, int step) {
    int pixel = in->pixelsize, size = kernel->size, margin = size / 2, last = (in->xsize - margin) * pixel - step, made = 0;
    Wide used = (Wide)((Pairs){0} + (pixel == 1 ? ~0u : used_bytes(in)));
    for (int y = margin; y < in->ysize - margin; y++) {
        const void *from[TAPS];
        for (; ring && made <= y + margin; made++) {
            for (int x = 0; x < in->linesize; x++) {
                float number = ((UINT8 *)in->image[made])[x]; /* of 8 bits: its lower half is zero */
                ring[made % size * in->linesize + x] = LOAD(UINT32, &number) >> 16;
            }
        }
        for (int tap = 0; tap <= kernel->count; tap++) {
            int row = y - margin + kernel->row[tap], column = (kernel->column[tap] - margin) * pixel;
            from[tap] = ring ? (void *)(ring + row % size * in->linesize + column) : in->image[row] + column;
        }
        for (int x = margin * pixel; x < last + step; x += step) { /* the last bytes together with some before */
            UINT8 *to = (UINT8 *)out->image[y];
            if (ring) {
                filter_numbers(to, from, smaller(x, last), kernel, step / LEAST, used);
            } else {
                filter_integers(to, (const UINT8 **)from, smaller(x, last), integers, kernel->count, used);
            }
        }
    }
}

WITH_AVX512(filter_rows, (Imaging out, Imaging in, const Kernel *kernel, UINT16 *ring), out, in, kernel, NULL, ring, MOST)

static void copy_margin(Imaging out, Imaging in, int margin) {
    int count = margin * in->pixelsize, last = in->linesize - count;
    for (int y = 0; y < in->ysize; y++) {
        memcpy(out->image[y], in->image[y], y < margin || y >= in->ysize - margin ? in->linesize : count);
        memcpy(out->image[y] + last, in->image[y] + last, count);
    }
}

Imaging ImagingFilter(Imaging im, int xsize, int ysize, const FLOAT32 *kernel, FLOAT32 offset) {
    int bytes = (im->xsize - xsize + 1) * im->pixelsize;
    if (im->type != IMAGING_TYPE_UINT8 || (xsize != 3 && xsize != 5) || xsize != ysize || bytes < STEP || im->ysize < ysize) {
        return ImagingFilter__source(im, xsize, ysize, kernel, offset);
    }
    Kernel taps = list_taps(kernel, offset, xsize);
    Integers integers = {0};
    int whole = find_integers(&integers, &taps);
    UINT16 *ring = whole ? NULL : malloc(sizeof(*ring) * xsize * im->linesize);
    Imaging out = whole || ring ? ImagingNewDirty(im->mode, im->xsize, im->ysize) : NULL;
    if (!out) {
        free(ring);
        return ImagingFilter__source(im, xsize, ysize, kernel, offset);
    }
    BEGIN_SECTION(im)
    copy_margin(out, im, xsize / 2);
    if (whole) {
        filter_rows(out, im, &taps, &integers, NULL, STEP);
    } else if (find_vnni() == 64 && bytes >= MOST) {
        filter_rows_avx512(out, im, &taps, ring);
    } else {
        filter_rows(out, im, &taps, NULL, ring, LEAST);
    }
    END_SECTION(im)
    free(ring);
    return out;
}
