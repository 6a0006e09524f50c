/* Box blur, also used by Gaussian blur and unsharp mask: sixteen bytes of different rows, or columns, at a time, and
   all passes while they are in the cache. The same sums as Pillow's, of the same integers. */

#include "vectors.h"

typedef UINT32 Counts __attribute__((vector_size(LANES * sizeof(UINT32))));
#define COUNTS(bytes) __builtin_convertvector(bytes, Counts)

/* One pass along a column of vectors. Outside values count as the first or the last one. */
static inline void blur_pass(Bytes *to, const Bytes *from, int length, int radius, UINT32 weight, UINT32 edge_weight) {
    int last = length - 1;
    Counts sum = COUNTS(from[0]) * (UINT32)(radius + 1);
    for (int i = 0; i < radius && i <= last; i++) {
        sum += COUNTS(from[i]);
    }
    sum += COUNTS(from[last]) * (UINT32)larger(radius - length, 0);
    Counts weighed = sum * weight + (1 << 23), added = COUNTS(from[smaller(radius, last)]);
    for (int i = 0; i <= last; i++) {
        Counts before = COUNTS(from[i > radius ? i - radius - 1 : 0]);
        Counts after = COUNTS(from[radius + 1 < last - i ? i + radius + 1 : last]);
        weighed += (added - before) * weight;
        to[i] = __builtin_convertvector((weighed + (before + after) * edge_weight) >> 24, Bytes);
        added = after; /* to the next sum */
    }
}

/* All passes, alternating between the buffers. Returns the last one's output. */
static Bytes *blur_lanes(Bytes *lanes, Bytes *spare, int length, float radius, int passes) {
    int whole = (int)radius;
    UINT32 weight = (UINT32)(1 << 24) / (radius * 2 + 1);
    UINT32 edge_weight = ((1 << 24) - (whole * 2 + 1) * weight) / 2;
    for (int i = 0; i < passes; i++) {
        Bytes *to = spare;
        blur_pass(to, lanes, length, whole, weight, edge_weight);
        spare = lanes;
        lanes = to;
    }
    return lanes;
}

/* Sixteen rows of bytes, or four of pixels, as columns of sixteen bytes. */
INLINE void blur_rows(Imaging out, Imaging in, Bytes *lanes, float radius, int passes, int pixel) {
    int step = LANES / pixel, width = in->xsize;
    for (int y = 0; y < in->ysize; y += step) {
        int rows = smaller(in->ysize - y, step);
        rows_to_columns(lanes, (UINT8 **)in->image + y, rows, width, pixel);
        const Bytes *blurred = blur_lanes(lanes, lanes + width, width, radius, passes);
        columns_to_rows((UINT8 **)out->image + y, rows, blurred, width, pixel);
    }
}

static void blur_columns(Imaging out, Imaging in, Bytes *lanes, float radius, int passes) {
    for (int x = 0; x < in->linesize; x += LANES) {
        for (int y = 0; y < in->ysize; y++) {
            lanes[y] = load_bytes((UINT8 *)in->image[y] + x, in->linesize - x);
        }
        const Bytes *blurred = blur_lanes(lanes, lanes + in->ysize, in->ysize, radius, passes);
        for (int y = 0; y < in->ysize; y++) {
            copy_some((UINT8 *)out->image[y] + x, &blurred[y], in->linesize - x, LANES);
        }
    }
}

#define MODE(name) (uint64_t)1 << IMAGING_MODE_##name

/* Pillow's own code handles what it refuses. */
static int is_ours(Imaging out, Imaging in, float xradius, float yradius, int passes) {
    uint64_t modes = MODE(L) | MODE(LA) | MODE(La) | MODE(RGB) | MODE(RGBA) | MODE(RGBa) | MODE(RGBX) | MODE(CMYK);
    return (modes >> in->mode & 1) && out->mode == in->mode && out->xsize == in->xsize && out->ysize == in->ysize &&
           in->xsize >= FEWEST && in->ysize >= FEWEST && passes >= 1 && xradius >= 0 && yradius >= 0 &&
           xradius < 1e6f && yradius < 1e6f;
}

Imaging ImagingBoxBlur(Imaging imOut, Imaging imIn, float xradius, float yradius, int n) {
    int pixel = imIn->pixelsize, longer = larger(imIn->xsize, imIn->ysize);
    Bytes *lanes = is_ours(imOut, imIn, xradius, yradius, n) ? malloc(2 * sizeof(Bytes) * longer) : NULL;
    if (!lanes || (xradius == 0 && yradius == 0)) {
        free(lanes);
        return ImagingBoxBlur__source(imOut, imIn, xradius, yradius, n);
    }
    BEGIN_SECTION(imIn)
    if (xradius != 0) {
        EITHER(pixel, 1, 4, blur_rows(imOut, imIn, lanes, xradius, n, pixel));
    }
    if (yradius != 0) {
        blur_columns(imOut, xradius != 0 ? imOut : imIn, lanes, yradius, n);
    }
    END_SECTION(imIn)
    free(lanes);
    return imOut;
}
