/* Image.getcolors: the colours of a picture, and how many pixels each has.

   Pillow counts in a hash with more slots than colours were asked for: half a gigabyte for getcolors(1 << 24), most of
   which is mapped and cleared only to be searched for colours in the end. This kernel counts in a hash that grows with
   the colours it meets.

   Exactness. Colours come in the order of their slots in Pillow's hash. A slot is found by probing: from a first slot
   on, by steps that depend on the colour, until a slot is free. Which are free depends on the colours that came before.
   So after the count, this kernel finds the slot of each colour in Pillow's hash, by the same probes and in the order
   in which the colours first appeared. For that, one bit a slot is enough: whether it is taken. A colour's rank in the
   result is the number of bits that are set before its own:

       bits        0 1 1 0 | 1 0 0 1 | ...      in sets of 64 (of 4 in this picture)
       before set  0         2         4        ranks of the first colour of each set
       rank          0 1     2     3            before the set, and by popcount within it */

#include "vectors.h"

#define FI_COLOURS_LIMIT (1 << 26) /* colours asked for; above it everything is left to Pillow */

/* The counted colours, in the order in which they first appeared, and a hash of their indexes. */
typedef struct {
    ImagingColorItem *items;
    struct fi_colours_slot {
        UINT32 pixel, number; /* of the item, from 1 on; 0 in a free slot */
    } *slots;
    int count, bits; /* there are 2 ** bits slots, and room for half as many items */
} fi_colours;

/* The slot of a colour, or the free one where it belongs. */
FI_INLINE struct fi_colours_slot *fi_colours_find(const fi_colours *colours, UINT32 pixel) {
    UINT32 mask = (1u << colours->bits) - 1, i = pixel * 0x9e3779b1u >> (32 - colours->bits);
    while (colours->slots[i].number && colours->slots[i].pixel != pixel) {
        i = (i + 1) & mask;
    }
    return colours->slots + i;
}

/* Make the hash four times as large; false if there is no memory. */
static int fi_colours_grow(fi_colours *colours) {
    int bits = colours->bits ? colours->bits + 2 : 10;
    ImagingColorItem *items = realloc(colours->items, sizeof(*items) << (bits - 1));
    if (!items) {
        return 0;
    }
    colours->items = items;
    struct fi_colours_slot *slots = calloc((size_t)1 << bits, sizeof(*slots));
    if (!slots) {
        return 0;
    }
    free(colours->slots);
    colours->slots = slots;
    colours->bits = bits;
    for (int i = 0; i < colours->count; i++) {
        *fi_colours_find(colours, items[i].pixel) = (struct fi_colours_slot){items[i].pixel, i + 1};
    }
    return 1;
}

/* Count, until there are more than `limit` colours; false if there is no memory. */
static int fi_colours_count(fi_colours *colours, Imaging im, int limit) {
    UINT32 used = im->bands == 3 ? fi_used_bytes(im) : ~0u, last = 0;
    ImagingColorItem *item = NULL; /* of the last pixel */
    for (int y = 0; y < im->ysize; y++) {
        for (int x = 0; x < im->xsize; x++) {
            UINT32 pixel = im->image32[y][x] & used;
            if (item && pixel == last) {
                item->count++;
                continue;
            }
            struct fi_colours_slot *slot = fi_colours_find(colours, pixel);
            if (!slot->number) {
                if (colours->count == limit) {
                    colours->count++;
                    return 1;
                }
                if (colours->count == 1 << (colours->bits - 1)) {
                    if (!fi_colours_grow(colours)) {
                        return 0;
                    }
                    slot = fi_colours_find(colours, pixel);
                }
                colours->items[colours->count] = (ImagingColorItem){.x = x, .y = y, .pixel = pixel};
                *slot = (struct fi_colours_slot){pixel, ++colours->count};
            }
            last = pixel;
            item = colours->items + slot->number - 1;
            item->count++;
        }
    }
    return 1;
}

/* The slot of a colour in Pillow's hash: the first free one of Pillow's probes. */
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

/* Put the items into Pillow's order; NULL if there is no memory. `size` is the number of slots of Pillow's hash. */
static ImagingColorItem *fi_colours_order(const fi_colours *colours, UINT32 size, UINT32 polynomial) {
    UINT32 sets = (size + 63) / 64, before = 0;
    uint64_t *taken = calloc(sets, sizeof(*taken));
    UINT32 *places = malloc(sizeof(*places) * (colours->count + 1)), *ranks = malloc(sizeof(*ranks) * sets);
    ImagingColorItem *ordered = calloc(colours->count + 1, sizeof(*ordered));
    for (int i = 0; taken && places && ranks && ordered && i < colours->count; i++) {
        places[i] = fi_colours_probe(taken, colours->items[i].pixel, size - 1, polynomial);
        taken[places[i] / 64] |= (uint64_t)1 << places[i] % 64;
    }
    for (UINT32 i = 0; taken && places && ranks && ordered && i < sets; i++) {
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
    /* Of Pillow's hashes of 4, 8, 16 and so on slots: the polynomials with which its probes reach all slots. */
    static const UINT8 polynomials[] = {3, 3,  3, 5,  3,  3, 29, 17, 9,  5,  83, 27, 43,
                                        3, 45, 9, 39, 39, 9, 5,  3,  33, 27, 9,  71};
    fi_colours colours = {NULL, NULL, 0, 0};
    ImagingColorItem *ordered = NULL;
    int i = 0;
    if (!im->image32 || maxcolors < 1 || maxcolors >= FI_COLOURS_LIMIT || !fi_colours_grow(&colours)) {
        free(colours.items);
        return ImagingGetColors__source(im, maxcolors, size);
    }
    while (4 << i <= maxcolors) {
        i++;
    }
    if (fi_colours_count(&colours, im, maxcolors)) {
        *size = colours.count;
        ordered = colours.count > maxcolors ? calloc(1, sizeof(*ordered)) /* as in Pillow: the caller returns None */
                                            : fi_colours_order(&colours, 4u << i, polynomials[i]);
    }
    free(colours.items);
    free(colours.slots);
    return ordered ? ordered : ImagingError_MemoryError();
}
