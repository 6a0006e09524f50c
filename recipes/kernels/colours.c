/* Image.getcolors: every colour of a picture, and how often it is there.

   Pillow counts in a hash table with more places than colours were asked for: half a gigabyte for getcolors(1 << 24), most of
   which is mapped and cleared only to be searched for colours in the end. This kernel counts in a table that grows with the
   colours that are there.

   Colours come in the order of their places in Pillow's table. A place is found by probing from a first one on, by steps that
   the colour decides, until a place is free; what is taken depends on the colours that came before. So the colours that were
   counted are put into places once more, in the order in which they first appeared, with one bit for each place. How many
   bits are set before its own is where a colour is put in the result. */

#include "vectors.h"

#define FI_COLOURS_LARGEST (1 << 26) /* places; more are left to Pillow */

/* The counted colours, in the order in which they appeared, and a hash table of their indexes. */
typedef struct {
    ImagingColorItem *items;
    struct fi_colours_entry {
        UINT32 pixel, number; /* of the item, from 1 on */
    } *table;
    int count, bits; /* of the table's size, which is twice the room for items */
} fi_colours;

FI_INLINE struct fi_colours_entry *fi_colours_find(const fi_colours *colours, UINT32 pixel) {
    UINT32 mask = (1u << colours->bits) - 1, i = pixel * 0x9e3779b1u >> (32 - colours->bits);
    while (colours->table[i].number && colours->table[i].pixel != pixel) {
        i = (i + 1) & mask;
    }
    return colours->table + i;
}

/* Make the table four times as large; false if there is no memory. */
static int fi_colours_grow(fi_colours *colours) {
    int bits = colours->bits ? colours->bits + 2 : 10;
    ImagingColorItem *items = realloc(colours->items, sizeof(*items) << (bits - 1));
    if (!items) {
        return 0;
    }
    colours->items = items;
    struct fi_colours_entry *table = calloc((size_t)1 << bits, sizeof(*table));
    if (!table) {
        return 0;
    }
    free(colours->table);
    colours->table = table;
    colours->bits = bits;
    for (int i = 0; i < colours->count; i++) {
        *fi_colours_find(colours, items[i].pixel) = (struct fi_colours_entry){items[i].pixel, i + 1};
    }
    return 1;
}

/* Count, until there are more than `most`; false if there is no memory. */
static int fi_colours_count(fi_colours *colours, Imaging im, int most) {
    UINT32 used = im->bands == 3 ? fi_used_bytes(im) : ~0u, last = 0;
    ImagingColorItem *item = NULL;
    for (int y = 0; y < im->ysize; y++) {
        for (int x = 0; x < im->xsize; x++) {
            UINT32 pixel = im->image32[y][x] & used;
            if (item && pixel == last) {
                item->count++;
                continue;
            }
            struct fi_colours_entry *entry = fi_colours_find(colours, pixel);
            if (!entry->number) {
                if (colours->count == most) {
                    colours->count++;
                    return 1;
                }
                if (colours->count == 1 << (colours->bits - 1)) {
                    if (!fi_colours_grow(colours)) {
                        return 0;
                    }
                    entry = fi_colours_find(colours, pixel);
                }
                colours->items[colours->count] = (ImagingColorItem){.x = x, .y = y, .pixel = pixel};
                *entry = (struct fi_colours_entry){pixel, ++colours->count};
            }
            last = pixel;
            item = colours->items + entry->number - 1;
            item->count++;
        }
    }
    return 1;
}

/* The place of a colour in Pillow's table: the first free one. */
static UINT32 fi_colours_probe(const uint64_t *taken, UINT32 pixel, UINT32 mask, UINT32 polynomial) {
    UINT32 place = ~pixel & mask, step = (pixel ^ pixel >> 3) & mask;
    step = step ? step : mask;
    while (taken[place / 64] >> place % 64 & 1) {
        place = (place + step) & mask;
        step <<= 1;
        step ^= step > mask ? polynomial : 0;
    }
    return place;
}

/* Put the items into Pillow's order; NULL if there is no memory. */
static ImagingColorItem *fi_colours_order(const fi_colours *colours, UINT32 size, UINT32 polynomial) {
    UINT32 words = (size + 63) / 64, before = 0;
    uint64_t *taken = calloc(words, sizeof(*taken));
    UINT32 *places = malloc(sizeof(*places) * (colours->count + 1)), *ranks = malloc(sizeof(*ranks) * words);
    ImagingColorItem *ordered = calloc(colours->count + 1, sizeof(*ordered));
    for (int i = 0; taken && places && ranks && ordered && i < colours->count; i++) {
        places[i] = fi_colours_probe(taken, colours->items[i].pixel, size - 1, polynomial);
        taken[places[i] / 64] |= (uint64_t)1 << places[i] % 64;
    }
    for (UINT32 i = 0; taken && places && ranks && ordered && i < words; i++) {
        ranks[i] = before;
        before += __builtin_popcountll(taken[i]);
    }
    if (taken && places && ranks && ordered) {
        for (int i = 0; i < colours->count; i++) {
            uint64_t lower = taken[places[i] / 64] & (((uint64_t)1 << places[i] % 64) - 1);
            ordered[ranks[places[i] / 64] + __builtin_popcountll(lower)] = colours->items[i];
        }
    } else {
        free(ordered);
        ordered = NULL;
    }
    free(taken);
    free(places);
    free(ranks);
    return ordered;
}

ImagingColorItem *ImagingGetColors(Imaging im, int maxcolors, int *size) {
    /* Of a power of two, from 4 on: the polynomial whose powers step through all places of the table. */
    static const UINT8 polynomials[] = {3, 3, 3, 5, 3, 3, 29, 17, 9, 5, 83, 27, 43, 3, 45, 9, 39, 39, 9, 5, 3, 33, 27, 9, 71};
    fi_colours colours = {NULL, NULL, 0, 0};
    ImagingColorItem *ordered = NULL;
    int i = 0;
    if (!im->image32 || maxcolors < 1 || maxcolors >= FI_COLOURS_LARGEST || !fi_colours_grow(&colours)) {
        free(colours.items);
        return ImagingGetColors__source(im, maxcolors, size);
    }
    while (4 << i <= maxcolors) {
        i++;
    }
    if (fi_colours_count(&colours, im, maxcolors)) {
        *size = colours.count;
        ordered = colours.count > maxcolors ? calloc(1, sizeof(*ordered))
                                            : fi_colours_order(&colours, 4u << i, polynomials[i]);
    }
    free(colours.items);
    free(colours.table);
    return ordered ? ordered : ImagingError_MemoryError();
}
