/* Three-dimensional colour tables, the bands of a pixel at once. The same interpolation as Pillow's, of the same
   integers: (a * (32768 - shift) + b * shift) >> 15, by products of 16-bit pairs. 32768 has no 16 bits, so the factors'
   signs are changed, and with them those of every second result. */

#include "vectors.h"

#define BLOCK 64 /* pixels whose places in the table are found at once */

typedef INT16 Entries __attribute__((vector_size(32)));
typedef INT32 Sums __attribute__((vector_size(32)));

/* Where pixels lie in the table: the first entry, and what each dimension's next one counts, as a pair of factors. */
typedef struct {
    int cells[BLOCK];
    UINT32 factors[3][BLOCK];
} Places;

typedef struct {
    int steps[3]; /* between neighbours */
    UINT32 scale[3];
    INT16 *entries;
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

/* Negative sums of the pairs' products. */
INLINE Sums
mix_pairs(Sums pairs, Pairs factors) {
    return (Sums)dot_pairs((Pairs)pairs, factors);
}

/* Four entries of a cell and of its neighbour in the first dimension, here and one step of the third one away, as pairs. */
INLINE Sums
load_cells(const INT16 *here, int channels, int third) {
    Entries cells;
    memcpy(&cells, here, 16);
    memcpy((INT16 *)&cells + 8, here + third, 16);
    return channels == 4
               ? (Sums)SHUFFLE(Entries, cells, cells, 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15)
               : (Sums)SHUFFLE(Entries, cells, cells, 0, 3, 1, 4, 2, 5, 2, 5, 8, 11, 9, 12, 10, 13, 10, 13);
}

/* Pairs of negative sums divided by 32768: the lower and the upper half of a number. */
INLINE Sums
pair_sums(Sums near, Sums far) {
    return (Sums)SHUFFLE(Entries, (Entries)(near >> SHIFT_BITS), (Entries)(far << (16 - SHIFT_BITS)), 0, 17, 2, 19, 4, 21,
                         6, 23, 8, 25, 10, 27, 12, 29, 14, 31);
}

/* Mixed in two dimensions, here and one step of the third one away. */
INLINE Sums
mix_cells(const Table *table, const Places *places, int x, int channels) {
    const INT16 *cell = table->entries + places->cells[x];
    Sums near = mix_pairs(load_cells(cell, channels, table->steps[2]), (Pairs){0} + places->factors[0][x]);
    Sums far = mix_pairs(load_cells(cell + table->steps[1], channels, table->steps[2]), (Pairs){0} + places->factors[0][x]);
    return mix_pairs(pair_sums(near + 32767, far + 32767), (Pairs){0} + places->factors[1][x]);
}

/* Of two pixels. */
INLINE void
look_up(Sums *out, const Table *table, const Places *places, int x, int channels) {
    Sums a = mix_cells(table, places, x, channels), b = mix_cells(table, places, x + 1, channels);
    UINT32 f = places->factors[2][x], g = places->factors[2][x + 1];
    Sums near = SHUFFLE(Sums, a, b, 0, 1, 2, 3, 8, 9, 10, 11), far = SHUFFLE(Sums, a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    *out = mix_pairs(pair_sums(near, far), (Pairs){f, f, f, f, g, g, g, g});
}

INLINE void
look_up_rows(Imaging out, Imaging in, const Table *table, int channels) {
    const int shift = SHIFT_BITS + PRECISION_BITS;
    UINT32 keep = channels == 3 ? MAKE_UINT32(0, 0, 0, 255) : 0, made[BLOCK];
    Places places = {0};
    Sums sums[BLOCK / 2];
    for (int y = 0; y < out->ysize; y++) {
        for (int first = 0; first < out->xsize; first += BLOCK) {
            const UINT32 *from = (UINT32 *)in->image32[y] + first;
            UINT32 *to = (UINT32 *)out->image32[y] + first;
            int count = out->xsize - first < BLOCK ? out->xsize - first : BLOCK;
            find_places(&places, table, (UINT8 *)from, count);
            for (int x = 0; x < count; x += 2) {
                look_up(&sums[x / 2], table, &places, x, channels);
            }
            for (int i = 0; i < 4 * count; i++) {
                INT32 value = ((1 << (shift - 1)) - ((INT32 *)sums)[i]) >> shift;
                ((UINT8 *)made)[i] = value < 0 ? 0 : value > 255 ? 255 : value;
            }
            for (int x = 0; x < count; x++) {
                to[x] = (made[x] & ~keep) | (from[x] & keep);
            }
        }
    }
}

/* A copy behind whose end four entries may be read; NULL if one is -32768, whose negative has no 16 bits. */
static INT16 *
copy_table(const INT16 *table, int count) {
    INT16 *copy = calloc(count + 2, sizeof(*copy)), least = 0;
    for (int i = 0; copy && i < count; i++) {
        least = table[i] < least ? table[i] : least;
        copy[i] = table[i];
    }
    if (least == -32768) {
        free(copy);
        return NULL;
    }
    return copy;
}

Imaging
ImagingColorLUT3D_linear(Imaging imOut, Imaging imIn, int table_channels, int size1D, int size2D, int size3D, INT16 *table) {
    ImagingSectionCookie cookie;
    const int sizes[3] = {size1D, size2D, size3D};
    Table used = {{table_channels, table_channels * size1D, table_channels * size1D * size2D}, {0}, NULL};
    if (table_channels == 3 || table_channels == 4) {
        used.entries = copy_table(table, table_channels * size1D * size2D * size3D);
    }
    if (!used.entries || imIn->type != IMAGING_TYPE_UINT8 || imOut->type != IMAGING_TYPE_UINT8 || imIn->bands < 3 ||
        imOut->bands < table_channels || (imOut->bands > table_channels && imOut->bands > imIn->bands)) {
        free(used.entries);
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
    free(used.entries);
    return imOut;
}
