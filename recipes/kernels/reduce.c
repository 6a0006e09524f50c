/* Reduction of 8-bit bands by whole factors: each pixel of the result is the rounded mean of a cell of xscale by yscale
   pixels. Cells at the right and at the lower edge may have fewer.

   The rows of a strip of cells are added first, then neighbours in the row of sums, then the sums are divided:

       row 0    a0 b0 c0 a1 b1 c1 ...      bytes of pixels
       row 1    a0 b0 c0 a1 b1 c1 ...
                 +  +  +  +  +  +          fi_add_rows: whole vectors, whatever the number of bands
       sums     A0 B0 C0 A1 B1 C1 ...      16 bits each
                A0+A1 B0+B1 C0+C1          fi_add_neighbours
                   divided                 one byte each

   Exactness. All numbers are Pillow's integers, and the order in which integers are added does not matter. A cell of up
   to 256 pixels has sums of 16 bits (256 * 255 = 65280). Of a larger cell at most 256 rows are added at a time, whose
   sums of columns have 16 bits, and the neighbours are added in 32 bits. Pillow divides by a multiplication modulo 2 **
   32, and so does this file.

   How many times as fast as the official wheel, in turn with it (1080p, x86-64-v3, AMD Zen 4, 2026-11-29):

       factor       RGB           one band
       2 to 16      4.9 to 9.9    2.6 to 6.6
       17 to 100    4.7 to 10     5.9 to 8.3

   Thumbnails of 16 to 48 pixels are made 3.5 to 7 times as fast. */

#include "threads.h"
#include "vectors.h"

_Static_assert(FI_WIDE == 32, "shuffles are listed for 32 bytes");

enum {
    FI_SMALL_CELL = 256, /* pixels whose sum has 16 bits: of a cell, or of one column */
    FI_ADDED_ROWS = 16,  /* rows that are added at once: as many as the CPU's prefetchers follow */
    FI_ADDED_BYTES = 64, /* bytes of each that are added at once */
    FI_ADDED_VECTORS = FI_ADDED_BYTES / FI_WIDE
};

/* The rows of the picture that become one row of the result, and the columns that are reduced. */
typedef struct {
    UINT8 *const *rows;
    int count;  /* of rows */
    int left;   /* bytes before the first column */
    int width;  /* pixels */
    int factor; /* pixels of a cell in a row */
} fi_reduce_strip;

/* Add at most FI_ADDED_BYTES bytes of up to FI_ADDED_ROWS rows. Bytes at even places are added apart from those at odd
   ones, as numbers of 16 bits, and the sums are interleaved at the end. */
FI_INLINE void fi_add_stretch(UINT16 *sums, UINT8 *const *rows, int count, int from, int bytes) {
    fi_wide_u16 even[FI_ADDED_VECTORS] = {0}, odd[FI_ADDED_VECTORS] = {0};
    for (int i = 0; i < count; i++) {
        fi_wide_u16 row[FI_ADDED_VECTORS] = {0};
        memcpy(row, rows[i] + from, bytes);
        for (int j = 0; j < FI_ADDED_VECTORS; j++) {
            even[j] += row[j] & 255;
            odd[j] += row[j] >> 8;
        }
    }
    for (int j = 0; j < FI_ADDED_VECTORS; j++) {
        FI_STORE(sums + j * FI_WIDE, (FI_SHUFFLE(fi_wide_u16, even[j], odd[j], FI_INTERLEAVE16(0, 16))));
        FI_STORE(sums + j * FI_WIDE + FI_WIDE / 2, (FI_SHUFFLE(fi_wide_u16, even[j], odd[j], FI_INTERLEAVE16(8, 16))));
    }
}

/* Set the sums to those of up to FI_ADDED_ROWS rows, `step` bytes at a time. The last stretch ends with the row, so
   that it has `step` bytes too: it repeats some sums. */
FI_INLINE void fi_add_first_rows(UINT16 *sums, UINT8 *const *rows, int count, int left, int bytes, int step) {
    for (int x = 0; x < bytes; x += step) {
        int from = fi_min(x, bytes - step);
        fi_add_stretch(sums + from, rows, count, left + from, step);
    }
}

/* Add further rows to the sums. What the last stretch repeats is not added again. */
FI_INLINE void fi_add_further_rows(UINT16 *sums, UINT8 *const *rows, int count, int left, int bytes, int step) {
    for (int x = 0; x < bytes; x += step) {
        int from = fi_min(x, bytes - step);
        UINT16 further[FI_ADDED_BYTES];
        fi_add_stretch(further, rows, count, left + from, step);
        for (int i = x - from; i < step; i++) {
            sums[from + i] += further[i];
        }
    }
}

/* Add up each column of bytes, of at most 256 rows. */
static void fi_add_rows(UINT16 *sums, UINT8 *const *rows, int count, int left, int bytes) {
    int step = fi_min(bytes, FI_ADDED_BYTES), at_once = fi_min(count, FI_ADDED_ROWS);
    FI_SPECIALIZE(step, FI_ADDED_BYTES, fi_add_first_rows(sums, rows, at_once, left, bytes, step));
    for (int first = at_once; first < count; first += at_once) {
        at_once = fi_min(count - first, FI_ADDED_ROWS);
        FI_SPECIALIZE(step, FI_ADDED_BYTES, fi_add_further_rows(sums, rows + first, at_once, left, bytes, step));
    }
}

/* Reduce cells of two by two pixels of four bytes, eight at a time: first bytes 0 and 2 of all pixels, as numbers of 16
   bits, then bytes 1 and 3. The shuffles that bring neighbours together stay within segments, and leave the cells in
   the order 0 1 4 5, 2 3 6 7. Returns how many cells are done: a multiple of eight. */
static int fi_reduce_by_two(UINT8 *restrict out, const UINT8 *above, const UINT8 *below, int count) {
    int x = 0;
    for (; x <= count - 8; x += 8) {
        fi_wide_u32 rows[4], means = {0};
        memcpy(rows, above + 8 * x, 2 * sizeof(means));
        memcpy(rows + 2, below + 8 * x, 2 * sizeof(means));
        for (int shift = 0; shift <= 8; shift += 8) {
            fi_wide_u32 a = (rows[0] >> shift & 0xff00ff) + (rows[2] >> shift & 0xff00ff);
            fi_wide_u32 b = (rows[1] >> shift & 0xff00ff) + (rows[3] >> shift & 0xff00ff);
            fi_wide_u32 sums = FI_SHUFFLE(fi_wide_u32, a, b, 0, 2, 8, 10, 4, 6, 12, 14) +
                               FI_SHUFFLE(fi_wide_u32, a, b, 1, 3, 9, 11, 5, 7, 13, 15);
            means |= ((sums + 0x20002) >> 2 & 0xff00ff) << shift;
        }
        FI_STORE(out + 4 * x, (FI_SHUFFLE(fi_wide_u32, means, means, 0, 1, 4, 5, 2, 3, 6, 7)));
    }
    return x;
}

/* Add up the sums of columns in each of `count` cells of at most 256 pixels. The four sums of a pixel of four bytes are
   a vector. */
FI_INLINE void fi_add_neighbours(UINT16 *restrict out, const UINT16 *restrict sums, int count, int factor,
                                 int pixelsize) {
    for (int x = 0; x < count; x++, sums += factor * pixelsize) {
        if (pixelsize == 1) {
            UINT16 sum = sums[0];
            for (int i = 1; i < factor; i++) {
                sum += sums[i];
            }
            out[x] = sum;
        } else {
            fi_u16x4 sum = FI_LOAD(fi_u16x4, sums);
            for (int i = 1; i < factor; i++) {
                sum += FI_LOAD(fi_u16x4, sums + i * 4);
            }
            FI_STORE(out + x * (size_t)4, sum);
        }
    }
}

/* Divide sums by a number of pixels, as Pillow does: the quotient is the upper byte of a product of 32 bits. The upper
   16 bits of that product are those of sum * low plus the lower 16 bits of sum * high, with the two halves of the
   multiplier. The last vector reads up to 15 sums beyond `count`. */
static void fi_divide_sums(UINT8 *restrict out, const UINT16 *restrict sums, int count, int pixels) {
    UINT32 multiplier = division_UINT32(pixels, 8);
    fi_wide_u16 low = (fi_wide_u16){0} + (UINT16)multiplier;
    for (int x = 0; x < count; x += FI_NARROW) {
        fi_wide_u16 sum = FI_LOAD(fi_wide_u16, sums + x) + (UINT16)(pixels / 2);
        fi_wide_u16 quotients = (sum * (UINT16)(multiplier >> 16) + fi_multiply_high(sum, low)) >> 8;
        fi_u8x16 bytes = __builtin_convertvector(quotients, fi_u8x16);
        fi_copy_some(out + x, &bytes, count - x, FI_NARROW);
    }
}

/* One row of small cells. `sums` has room for the sums of columns and, after them, of cells. The most common factors
   are constants, so that their loops are vectorised. */
FI_INLINE void fi_reduce_small(UINT8 *out, UINT16 *sums, const fi_reduce_strip *strip, int pixelsize) {
    int factor = strip->factor, count = strip->width / factor, rest = strip->width % factor;
    UINT16 *cells = sums + strip->width * pixelsize + FI_ADDED_BYTES;
    fi_add_rows(sums, strip->rows, strip->count, strip->left, strip->width * pixelsize);
    if (factor > 1) {
        FI_SPECIALIZE(
            factor, 2,
            FI_SPECIALIZE(factor, 3,
                          FI_SPECIALIZE(factor, 4, fi_add_neighbours(cells, sums, count, factor, pixelsize))));
    }
    fi_divide_sums(out, factor == 1 ? sums : cells, count * pixelsize, strip->count * factor);
    if (rest) {
        fi_add_neighbours(cells, sums + count * factor * pixelsize, 1, rest, pixelsize);
        fi_divide_sums(out + count * pixelsize, cells, pixelsize, strip->count * rest);
    }
}

/* One row of large cells, whose `totals` have 32 bits. */
FI_INLINE void fi_reduce_large(UINT8 *out, UINT16 *sums, UINT32 *totals, const fi_reduce_strip *strip, int pixelsize) {
    int factor = strip->factor, cells = (strip->width - 1) / factor + 1;
    memset(totals, 0, (size_t)cells * pixelsize * sizeof(*totals));
    for (int first = 0; first < strip->count; first += FI_SMALL_CELL) {
        int rows = fi_min(strip->count - first, FI_SMALL_CELL);
        fi_add_rows(sums, strip->rows + first, rows, strip->left, strip->width * pixelsize);
        for (int x = 0; x < cells; x++) {
            const UINT16 *from = sums + (size_t)x * factor * pixelsize;
            int pixels = fi_min(strip->width - x * factor, factor);
            UINT32 total[4] = {0};
            for (int i = 0; i < pixels; i++) {
                for (int band = 0; band < pixelsize; band++) {
                    total[band] += from[i * pixelsize + band];
                }
            }
            for (int band = 0; band < pixelsize; band++) {
                totals[x * pixelsize + band] += total[band];
            }
        }
    }
    for (int x = 0; x < cells; x++) {
        UINT32 pixels = strip->count * (UINT32)fi_min(strip->width - x * factor, factor);
        UINT32 multiplier = division_UINT32(pixels, 8);
        for (int band = 0; band < pixelsize; band++) {
            out[x * pixelsize + band] = (totals[x * pixelsize + band] + pixels / 2) * multiplier >> 24;
        }
    }
}

/* A reduction, with the memory of its shares. */
typedef struct {
    Imaging out, in;
    const int *box; /* left, upper, width and height of what is reduced */
    int xscale, yscale;
    UINT32 *totals; /* for each share `room` totals of cells; and after them `room` sums of 16 bits */
    size_t room;    /* for the numbers of a row */
} fi_reduction;

/* Allocate the memory of all shares. Returns 0 if there is none, or if such a reduction is left to Pillow. */
static int fi_allocate_sums(fi_reduction *job, int shares) {
    const int64_t largest_cell = 1 << 20; /* pixels; Pillow's own numbers overflow from 2 ** 23 on */
    Imaging im = job->in;
    int has_levels = im->type == IMAGING_TYPE_UINT8 && im->mode != IMAGING_MODE_P && im->mode != IMAGING_MODE_1;
    if (!has_levels || (int64_t)job->xscale * job->yscale > largest_cell) {
        return 0;
    }
    job->room = ((size_t)job->box[2] * im->pixelsize / FI_ADDED_BYTES + 2) * FI_ADDED_BYTES;
    job->totals = malloc(job->room * (sizeof(UINT16) + sizeof(UINT32)) * shares);
    return job->totals != NULL;
}

static void fi_reduce_share(void *argument, const fi_share *share) {
    const fi_reduction *job = argument;
    Imaging out = job->out, in = job->in;
    int xscale = job->xscale, yscale = job->yscale, width = job->box[2];
    int pixelsize = in->pixelsize, left = job->box[0] * pixelsize;
    int is_small = (int64_t)xscale * yscale <= FI_SMALL_CELL;
    UINT32 used = fi_used_bytes(in), *totals = (UINT32 *)((UINT16 *)job->totals + 3 * job->room * share->number);
    UINT16 *sums = (UINT16 *)(totals + job->room);
    for (int y = share->first; y < share->end; y++) {
        UINT8 *to = (UINT8 *)out->image[y], **rows = (UINT8 **)in->image + job->box[1] + y * yscale;
        int count = fi_min(job->box[3] - y * yscale, yscale);
        if (is_small) {
            /* A single row (yscale is 1, or the last row is alone) is added to itself. For the sum s of two pixels that
               gives (2 s + 2) >> 2, which is their rounded mean. */
            int is_by_two = pixelsize == 4 && xscale == 2 && count <= 2;
            int done = is_by_two ? fi_reduce_by_two(to, rows[0] + left, rows[count - 1] + left, width / 2) : 0;
            fi_reduce_strip strip = {rows, count, left + done * 8, width - done * 2, xscale};
            FI_EITHER(pixelsize, 1, 4, fi_reduce_small(to + done * 4, (UINT16 *)totals, &strip, pixelsize));
        } else {
            fi_reduce_strip strip = {rows, count, left, width, xscale};
            FI_EITHER(pixelsize, 1, 4, fi_reduce_large(to, sums, totals, &strip, pixelsize));
        }
        /* Pillow sets bytes that the mode does not use to 0 in whole cells. In the smaller cells at the edges it
           computes them like the others. */
        for (int x = 0, whole = pixelsize == 4 && count == yscale ? width / xscale : 0; x < whole; x++) {
            ((UINT32 *)to)[x] &= used;
        }
    }
}

Imaging ImagingReduce(Imaging imIn, int xscale, int yscale, int box[4]) {
    fi_reduction job = {.in = imIn, .box = box, .xscale = xscale, .yscale = yscale};
    int rows = (box[3] - 1) / yscale + 1, shares = fi_count_shares(rows, (int64_t)box[2] * box[3] * imIn->pixelsize);
    if (!fi_allocate_sums(&job, shares)) {
        return ImagingReduce__source(imIn, xscale, yscale, box);
    }
    job.out = ImagingNewDirty(imIn->mode, (box[2] - 1) / xscale + 1, rows);
    if (job.out) { /* otherwise Python's error is set, so no other result may be returned */
        FI_BEGIN_SECTION(imIn)
        fi_for_rows(shares, rows, 1, fi_reduce_share, &job);
        FI_END_SECTION(imIn)
    }
    free(job.totals);
    return job.out;
}
