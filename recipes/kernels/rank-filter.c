/* Rank filters of 3 x 3 and 5 x 5 on one channel: Batcher's network sorts the windows of many pixels at once. */

#include "vectors.h"

#define MOST 32 /* a power of two for the network; windows have 9 or 25 */

/* GCC computes what is wider than a register byte by byte. */
#if defined(__clang__) || defined(__AVX2__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

typedef UINT8 Lane __attribute__((vector_size(WIDTH)));

/* K. E. Batcher, "Sorting Networks and Their Applications", 1968: odd-even merges. Comparisons beyond the end are left out,
   as if the largest values were there. All loops have constant bounds, so that they are unrolled and lanes are registers.
   Of the smallest, the median and the largest, the compiler leaves out what they do not need. */
INLINE void sort_lanes(Lane *lanes, int count) {
#pragma GCC unroll 8
    for (int width = 1; width < count; width *= 2) {
#pragma GCC unroll 8
        for (int gap = width; gap >= 1; gap /= 2) {
#pragma GCC unroll 32
            for (int i = 0; i < MOST; i++) {
                int from = i - (gap & (width - 1));
                if (from >= 0 && !(from & gap) && i + gap < count && (i ^ (i + gap)) < 2 * width) {
                    Lane low = MINIMUM(lanes[i], lanes[i + gap]);
                    lanes[i + gap] = MAXIMUM(lanes[i], lanes[i + gap]);
                    lanes[i] = low;
                }
            }
        }
    }
}

INLINE void rank_rows(Imaging out, Imaging in, int size, int rank) {
    for (int y = 0; y < out->ysize; y++) {
        for (int x = 0; x < out->xsize; x += WIDTH) { /* the last bytes together with some before */
            int from = smaller(x, out->xsize - WIDTH);
            Lane window[MOST];
#pragma GCC unroll 32
            for (int i = 0; i < size * size; i++) {
                window[i] = LOAD(Lane, in->image8[y + i / size] + from + i % size);
            }
            sort_lanes(window, size * size);
            STORE(out->image8[y] + from, window[rank]);
        }
    }
}

Imaging ImagingRankFilter(Imaging im, int size, int rank) {
    int margin = size / 2;
    if (!im || im->bands != 1 || !im->image8 || im->type != IMAGING_TYPE_UINT8 || (size != 3 && size != 5) ||
        rank < 0 || rank >= size * size || im->xsize < WIDTH + 2 * margin) {
        return ImagingRankFilter__source(im, size, rank);
    }
    Imaging out = ImagingNewDirty(im->mode, im->xsize - 2 * margin, im->ysize - 2 * margin);
    if (out) {
        EITHER(size, 3, 5,
               SPECIALIZE(rank, 0, SPECIALIZE(rank, size * size / 2,
                                              SPECIALIZE(rank, size * size - 1, rank_rows(out, im, size, rank)))));
        ImagingCopyPalette(out, im);
    }
    return out;
}
