/* Three-dimensional colour tables, four pixels at a time. The same interpolation as Pillow's, of the same integers:
   (a * (32768 - shift) + b * shift) >> 15, which is a + ((b - a) * shift >> 15). */

#include "vectors.h"

#define BLOCK 64 /* pixels whose places in the table are found at once */

/* Where pixels lie in the table: the first entry, and twice the shift in each dimension, as a pair of equal numbers. */
typedef struct {
    int cells[BLOCK];
    UINT32 shifts[3][BLOCK + 4];
} Places;

typedef struct {
    int steps[3]; /* between neighbours */
    UINT32 scale[3];
    INT16 *entries; /* four for each place */
} Table;

INLINE void find_places(Places *restrict places, const Table *table, const UINT32 *restrict pixels) {
    memset(places->cells, 0, sizeof(places->cells));
    for (int i = 0; i < 3; i++) {
        for (int x = 0; x < BLOCK; x++) {
            UINT32 index = (pixels[x] >> 8 * i & 255) * table->scale[i];
            UINT32 shift = (SCALE_MASK & index) >> (SCALE_BITS - SHIFT_BITS);
            places->cells[x] += (int)(index >> SCALE_BITS) * table->steps[i];
            places->shifts[i][x] = shift * 0x20002;
        }
    }
}

/* What lies between a and b. From 32768 on, twice a shift is negative: what lacks is b - a. */
INLINE Shorts mix(Shorts a, Shorts b, Pairs shifts) {
    Shorts twice = (Shorts)shifts, upper = twice >> 15;
    return CHOOSE(upper, b, a) + multiply_high_signed(b - a, twice);
}

#define LOAD_TWO(from, step) LOAD(Shorts, ((Bytes[]){LOAD(Bytes, from), LOAD(Bytes, (from) + (step))}))
#define PICK(a, b, ...) (Shorts) SHUFFLE(Quads, (Quads)(a), (Quads)(b), __VA_ARGS__)

/* The corners of a pixel's cell, mixed in the first dimension: the third one's neighbours are in the upper half. */
INLINE Shorts mix_corners(const Table *table, const Places *places, int x) {
    const INT16 *cell = table->entries + places->cells[x];
    Shorts near = LOAD_TWO(cell, table->steps[2]), far = LOAD_TWO(cell + table->steps[1], table->steps[2]);
    return mix(PICK(near, far, 0, 4, 2, 6), PICK(near, far, 1, 5, 3, 7), (Pairs){0} + places->shifts[0][x]);
}

/* Of four pixels. */
INLINE Shorts look_up(const Table *table, const Places *places, int x) {
    Shorts a = mix_corners(table, places, x), b = mix_corners(table, places, x + 1);
    Shorts c = mix_corners(table, places, x + 2), d = mix_corners(table, places, x + 3);
    Pairs second = LOAD(Pairs, places->shifts[1] + x), third = LOAD(Pairs, places->shifts[2] + x); /* half of them is used */
    a = mix(PICK(a, b, 0, 4, 2, 6), PICK(a, b, 1, 5, 3, 7), SHUFFLE(Pairs, second, second, 0, 0, 1, 1, 0, 0, 1, 1));
    c = mix(PICK(c, d, 0, 4, 2, 6), PICK(c, d, 1, 5, 3, 7), SHUFFLE(Pairs, second, second, 2, 2, 3, 3, 2, 2, 3, 3));
    return mix(PICK(a, c, 0, 1, 4, 5), PICK(a, c, 2, 3, 6, 7), SHUFFLE(Pairs, third, third, 0, 0, 1, 1, 2, 2, 3, 3));
}

INLINE Bytes clip_entries(Shorts entries) {
    const Shorts zero = {0}, half = zero + (1 << (PRECISION_BITS - 1));
    Shorts values = (MINIMUM(entries, 32767 - half) + half) >> PRECISION_BITS;
    return __builtin_convertvector(MINIMUM(MAXIMUM(values, zero), zero + 255), Bytes);
}

static void look_up_row(UINT32 *out, const UINT32 *in, int width, const Table *table, UINT32 keep) {
    Places places;
    UINT32 pixels[BLOCK] = {0};
    for (int first = 0; first < width; first += BLOCK) {
        int bytes = 4 * smaller(width - first, BLOCK);
        memcpy(pixels, in + first, bytes);
        find_places(&places, table, pixels);
        for (int x = 0; 4 * x < bytes; x += 4) {
            Four made = (Four)clip_entries(look_up(table, &places, x));
            STORE(pixels + x, CHOOSE(keep, LOAD(Four, pixels + x), made));
        }
        memcpy(out + first, pixels, bytes);
    }
}

/* A copy with four entries for each place, the last of three being the next place's first; NULL if differences have more
   than 16 bits. */
static INT16 *copy_table(const INT16 *table, int places, int channels) {
    INT16 least = 0, most = 0;
    for (int i = 0; i < places * channels; i++) {
        least = table[i] < least ? table[i] : least;
        most = table[i] > most ? table[i] : most;
    }
    int fits = most - least <= 32767 && (channels == 3 || channels == 4);
    INT16 *copy = fits ? calloc(places, 4 * sizeof(*copy)) : NULL;
    for (int i = 0; copy && i < places; i++) {
        copy_some(copy + 4 * i, table + channels * i, (places - i) * channels * sizeof(*copy), 4 * sizeof(*copy));
    }
    return copy;
}

Imaging
ImagingColorLUT3D_linear(Imaging imOut, Imaging imIn, int table_channels, int size1D, int size2D, int size3D, INT16 *table) {
    const int sizes[3] = {size1D, size2D, size3D};
    Table used = {{4, 4 * size1D, 4 * size1D * size2D}, {0}, copy_table(table, size1D * size2D * size3D, table_channels)};
    if (!used.entries || imIn->type != IMAGING_TYPE_UINT8 || imOut->type != IMAGING_TYPE_UINT8 || imIn->bands < 3 ||
        imOut->bands < table_channels || (imOut->bands > table_channels && imOut->bands > imIn->bands)) {
        free(used.entries);
        return ImagingColorLUT3D_linear__source(imOut, imIn, table_channels, size1D, size2D, size3D, table);
    }
    for (int i = 0; i < 3; i++) {
        used.scale[i] = (sizes[i] - 1) / 255.0 * (1 << SCALE_BITS);
    }
    BEGIN_SECTION(imIn)
    for (int y = 0; y < imOut->ysize; y++) {
        look_up_row((UINT32 *)imOut->image[y], (UINT32 *)imIn->image[y], imOut->xsize, &used,
                    table_channels == 3 ? MAKE_UINT32(0, 0, 0, 255) : 0);
    }
    END_SECTION(imIn)
    free(used.entries);
    return imOut;
}
