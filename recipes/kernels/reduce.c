/* Reduction of 8-bit bands by integer factors: rows are added first, then neighbours, then sums are divided, in loops that
   compilers vectorise. The same sums as Pillow's, of the same integers. */

#include "vectors.h"

#define MOST 256 /* pixels with a sum of at most 16 bits */
#define STEP 64  /* bytes of rows that are added together */

/* Sums of `width` bytes; up to STEP - 1 more are zeros. */
INLINE void add_some(UINT16 *sums, UINT8 *const *rows, int left, int count, int bytes) {
    Halves even[STEP / 32] = {0}, odd[STEP / 32] = {0};
    for (int i = 0; i < count; i++) {
        Halves row[STEP / 32] = {0};
        memcpy(row, rows[i] + left, bytes);
        for (int j = 0; j < STEP / 32; j++) {
            even[j] += row[j] & 255;
            odd[j] += row[j] >> 8;
        }
    }
    for (int j = 0; j < STEP / 32; j++) {
        STORE(sums + j * 32, (SHUFFLE(Halves, even[j], odd[j], MIX16(0, 16))));
        STORE(sums + j * 32 + 16, (SHUFFLE(Halves, even[j], odd[j], MIX16(8, 16))));
    }
}

static void add_rows(UINT16 *sums, UINT8 *const *rows, int left, int count, int width) {
    int bytes = smaller(width, STEP);
    SPECIALIZE(bytes, STEP, for (int x = 0; x < width; x += STEP) {
        int from = smaller(x, width - bytes); /* the last bytes together with some before */
        add_some(sums + from, rows, left + from, count, bytes);
    })
}

/* Squares of two by two pixels, eight at a time: bytes 0 and 2 of the pixels together, then 1 and 3. Returns how many. */
static int reduce_squares(UINT8 *restrict out, const UINT8 *above, const UINT8 *below, int count) {
    int x = 0;
    for (; x <= count - 8; x += 8) {
        Pairs rows[4], made = {0};
        memcpy(rows, above + 8 * x, 2 * sizeof(made));
        memcpy(rows + 2, below + 8 * x, 2 * sizeof(made));
        for (int shift = 0; shift <= 8; shift += 8) {
            Pairs a = (rows[0] >> shift & 0xff00ff) + (rows[2] >> shift & 0xff00ff);
            Pairs b = (rows[1] >> shift & 0xff00ff) + (rows[3] >> shift & 0xff00ff);
            Pairs sums =
                SHUFFLE(Pairs, a, b, 0, 2, 8, 10, 4, 6, 12, 14) + SHUFFLE(Pairs, a, b, 1, 3, 9, 11, 5, 7, 13, 15);
            made |= ((sums + 0x20002) >> 2 & 0xff00ff) << shift;
        }
        STORE(out + 4 * x, (SHUFFLE(Pairs, made, made, 0, 1, 4, 5, 2, 3, 6, 7)));
    }
    return x;
}

INLINE void add_neighbours(UINT16 *restrict out, const UINT16 *restrict sums, int count, int factor, int size) {
    typedef UINT16 Pixel __attribute__((vector_size(8)));
    for (int x = 0; x < count; x++, sums += factor * size) {
        if (size == 1) {
            UINT16 sum = sums[0];
            for (int i = 1; i < factor; i++) {
                sum += sums[i];
            }
            out[x] = sum;
        } else {
            Pixel sum = LOAD(Pixel, sums);
            for (int i = 1; i < factor; i++) {
                sum += LOAD(Pixel, sums + i * 4);
            }
            STORE(out + x * (size_t)4, sum);
        }
    }
}

/* As Pillow divides, by a product of at most 32 bits, of which the lowest 16 do not count. Reads some sums more. */
static void divide_sums(UINT8 *restrict out, const UINT16 *restrict sums, int count, int pixels) {
    UINT32 multiplier = division_UINT32(pixels, 8);
    Halves low = (Halves){0} + (UINT16)multiplier;
    for (int x = 0; x < count; x += LANES) {
        Halves sum = LOAD(Halves, sums + x) + (UINT16)(pixels / 2);
        Halves quotients = (sum * (UINT16)(multiplier >> 16) + multiply_high(sum, low)) >> 8;
        Bytes bytes = __builtin_convertvector(quotients, Bytes);
        copy_some(out + x, &bytes, count - x, LANES);
    }
}

/* The most common factors are constants, so that their loops are vectorised. */
INLINE void reduce_row(UINT8 *out, UINT16 *sums, UINT16 *made, int width, int factor, int rows, int size) {
    int count = width / factor, rest = width % factor;
    if (factor > 1) {
        SPECIALIZE(factor, 2, SPECIALIZE(factor, 3, SPECIALIZE(factor, 4, add_neighbours(made, sums, count, factor, size))));
    }
    divide_sums(out, factor == 1 ? sums : made, count * size, rows * factor);
    if (rest) {
        add_neighbours(made, sums + count * factor * size, 1, rest, size);
        divide_sums(out + count * size, made, size, rows * rest);
    }
}

Imaging ImagingReduce(Imaging imIn, int xscale, int yscale, int box[4]) {
    UINT16 *sums = NULL;
    UINT32 used = used_bytes(imIn);
    int pixel = imIn->pixelsize, width = box[2] * pixel, left = box[0] * pixel;
    int plain = imIn->mode != IMAGING_MODE_P && imIn->mode != IMAGING_MODE_1;
    if (imIn->type == IMAGING_TYPE_UINT8 && plain && xscale <= MOST && yscale <= MOST && xscale * yscale <= MOST) {
        sums = malloc(2 * ((size_t)width + STEP) * sizeof(*sums));
    }
    Imaging out = sums ? ImagingNewDirty(imIn->mode, (box[2] - 1) / xscale + 1, (box[3] - 1) / yscale + 1) : NULL;
    if (!out) {
        free(sums);
        return ImagingReduce__source(imIn, xscale, yscale, box);
    }
    BEGIN_SECTION(imIn)
    for (int y = 0; y < out->ysize; y++) {
        int rows = box[3] - y * yscale < yscale ? box[3] - y * yscale : yscale;
        UINT8 *to = (UINT8 *)out->image[y], **from = (UINT8 **)imIn->image + box[1] + y * yscale;
        int has_squares = pixel == 4 && xscale == 2 && rows <= 2; /* a row twice gives what it gives once */
        int squares = has_squares ? reduce_squares(to, from[0] + left, from[rows - 1] + left, box[2] / 2) : 0;
        add_rows(sums, from, left + squares * 8, rows, width - squares * 8);
        EITHER(pixel, 1, 4,
               reduce_row(to + squares * 4, sums, sums + width + STEP, box[2] - squares * 2, xscale, rows, pixel));
        /* Pillow computes all bytes of what is not a whole factor. */
        for (int x = 0, whole = pixel == 4 && rows == yscale ? box[2] / xscale : 0; x < whole; x++) {
            ((UINT32 *)to)[x] &= used;
        }
    }
    END_SECTION(imIn)
    free(sums);
    return out;
}
