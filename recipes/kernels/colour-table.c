/* Three-dimensional colour tables, the bands of a pixel at once. The same interpolation as Pillow's, of the same
   integers: (a * (32768 - shift) + b * shift) >> 15, by products of 16-bit pairs. 32768 has no 16 bits, so all
   signs are changed. */

#include "vectors.h"

#define BLOCK 64 /* pixels whose places in the table are found at once */

typedef INT16 Entries __attribute__((vector_size(32)));
typedef INT32 Sums __attribute__((vector_size(32)));
typedef INT32 Sum __attribute__((vector_size(16)));

/* Where pixels lie in the table: the first entry, and what each dimension's next one counts, as a pair of factors. */
typedef struct {
    int cells[BLOCK];
    UINT32 factors[3][BLOCK];
} Places;

typedef struct {
    int channels, steps[3]; /* between neighbours */
    UINT32 scale[3];
    const INT16 *entries;
} Table;

static inline void
find_places(Places *restrict places, const Table *table, const UINT8 *pixels, int count) {
    for (int x = 0; x < count; x++) {
        places->cells[x] = 0;
    }
    for (int i = 0; i < 3; i++) {
        UINT32 scale = table->scale[i];
        int step = table->steps[i];
        for (int x = 0; x < count; x++) {
            UINT32 index = pixels[4 * x + i] * scale;
            UINT32 shift = (SCALE_MASK & index) >> (SCALE_BITS - SHIFT_BITS);
            places->cells[x] += (int)(index >> SCALE_BITS) * step;
            places->factors[i][x] = ((shift - 32768) & 0xffff) | -shift << 16;
        }
    }
}

static inline Sums
mix_pairs(Sums pairs, UINT32 factors) {
    return -(Sums)dot_pairs((Pairs)pairs, (Pairs){0} + factors) >> SHIFT_BITS;
}

static inline Sums
pair_sums(Sums near, Sums far) {
    return (near & 0xffff) | far << 16;
}

/* A cell and its neighbour in the first dimension, here and one step of the third dimension away, as pairs. */
INLINE Sums
load_cells(const INT16 *here, int channels, int third) {
    Entries cells;
    if (channels == 4) {
        memcpy(&cells, here, 16);
        memcpy((INT16 *)&cells + 8, here + third, 16);
        return (Sums)SHUFFLE(Entries, cells, cells, 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
    }
    memcpy(&cells, here, 12);
    memcpy((INT16 *)&cells + 8, here + third, 12);
    return (Sums)SHUFFLE(Entries, cells, cells, 0, 3, 1, 4, 2, 5, 2, 5, 8, 11, 9, 12, 10, 13, 10, 13);
}

INLINE UINT32
look_up(const Table *table, const Places *places, int x, int channels) {
    const INT16 *cell = table->entries + places->cells[x];
    Sums near = mix_pairs(load_cells(cell, channels, table->steps[2]), places->factors[0][x]);
    Sums far = mix_pairs(load_cells(cell + table->steps[1], channels, table->steps[2]), places->factors[0][x]);
    Sums both = mix_pairs(pair_sums(near, far), places->factors[1][x]);
    both = mix_pairs(pair_sums(both, SHUFFLE(Sums, both, both, 4, 5, 6, 7, 4, 5, 6, 7)), places->factors[2][x]);
    return clip_four((Pairs)((both + PRECISION_ROUNDING) >> PRECISION_BITS));
}

INLINE void
look_up_rows(Imaging out, Imaging in, const Table *table, int channels) {
    UINT32 keep = channels == 3 ? MAKE_UINT32(0, 0, 0, 255) : 0;
    for (int y = 0; y < out->ysize; y++) {
        for (int first = 0; first < out->xsize; first += BLOCK) {
            const UINT32 *from = (UINT32 *)in->image32[y] + first;
            UINT32 *to = (UINT32 *)out->image32[y] + first;
            int count = out->xsize - first < BLOCK ? out->xsize - first : BLOCK;
            Places places;
            find_places(&places, table, (UINT8 *)from, count);
            for (int x = 0; x < count; x++) {
                to[x] = (look_up(table, &places, x, channels) & ~keep) | (from[x] & keep);
            }
        }
    }
}

Imaging
ImagingColorLUT3D_linear(Imaging imOut, Imaging imIn, int table_channels, int size1D, int size2D, int size3D, INT16 *table) {
    ImagingSectionCookie cookie;
    const int sizes[3] = {size1D, size2D, size3D};
    Table used = {table_channels, {table_channels, table_channels * size1D, table_channels * size1D * size2D}, {0}, table};
    if (table_channels < 3 || table_channels > 4 || imIn->type != IMAGING_TYPE_UINT8 || imOut->type != IMAGING_TYPE_UINT8 ||
        imIn->bands < 3 || imOut->bands < table_channels ||
        (imOut->bands > table_channels && imOut->bands > imIn->bands)) {
        return ImagingColorLUT3D_linear__source(imOut, imIn, table_channels, size1D, size2D, size3D, table);
    }
    for (int i = 0; i < 3; i++) {
        used.scale[i] = (sizes[i] - 1) / 255.0 * (1 << SCALE_BITS);
    }
    ImagingSectionEnter(&cookie);
    if (table_channels == 3) {
        look_up_rows(imOut, imIn, &used, 3);
    } else {
        look_up_rows(imOut, imIn, &used, 4);
    }
    ImagingSectionLeave(&cookie);
    return imOut;
}
