/* Reduction of one channel by integer factors: rows are added first, then neighbours, in loops that compilers
   vectorise. The same sums as Pillow's, of the same integers. */

#include <string.h>

#define MOST 256 /* rows with a sum of at most 16 bits */

static void
add_rows(UINT16 *restrict sums, UINT8 *const *rows, int left, int count, int width) {
    memset(sums, 0, width * sizeof(*sums));
    for (int i = 0; i < count; i++) {
        const UINT8 *restrict row = rows[i] + left;
        for (int x = 0; x < width; x++) {
            sums[x] += row[x];
        }
    }
}

static inline __attribute__((always_inline)) void
divide_sums(UINT8 *restrict out, const UINT16 *restrict sums, int count, int factor, int rows) {
    UINT32 multiplier = division_UINT32(rows * factor, 8);
    for (int x = 0; x < count; x++) {
        UINT32 sum = rows * factor / 2;
        for (int i = 0; i < factor; i++) {
            sum += sums[x * factor + i];
        }
        out[x] = (sum * multiplier) >> 24;
    }
}

/* The most common factors are constants, so that their loops are vectorised. */
static void
divide_row(UINT8 *out, const UINT16 *sums, int width, int factor, int rows) {
    int count = width / factor;
    switch (factor) {
        case 2:
            divide_sums(out, sums, count, 2, rows);
            break;
        case 3:
            divide_sums(out, sums, count, 3, rows);
            break;
        case 4:
            divide_sums(out, sums, count, 4, rows);
            break;
        default:
            divide_sums(out, sums, count, factor, rows);
    }
    if (width % factor) {
        divide_sums(out + count, sums + count * factor, 1, width % factor, rows);
    }
}

Imaging
ImagingReduce(Imaging imIn, int xscale, int yscale, int box[4]) {
    ImagingSectionCookie cookie;
    Imaging out = NULL;
    UINT16 *sums = NULL;
    if (imIn->mode == IMAGING_MODE_L && xscale <= MOST && yscale <= MOST) {
        sums = malloc(box[2] * sizeof(*sums));
    }
    if (sums) {
        out = ImagingNewDirty(imIn->mode, (box[2] - 1) / xscale + 1, (box[3] - 1) / yscale + 1);
    }
    if (!out) {
        free(sums);
        return ImagingReduce__source(imIn, xscale, yscale, box);
    }
    ImagingSectionEnter(&cookie);
    for (int y = 0; y < out->ysize; y++) {
        int rows = box[3] - y * yscale < yscale ? box[3] - y * yscale : yscale;
        add_rows(sums, imIn->image8 + box[1] + y * yscale, box[0], rows, box[2]);
        divide_row(out->image8[y], sums, box[2], xscale, rows);
    }
    ImagingSectionLeave(&cookie);
    free(sums);
    return out;
}
