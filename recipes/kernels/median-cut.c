/* Image.quantize by median cut: the palette's nearest colour for every pixel.

   Pillow keeps the nearest palette entry of each colour that it has met, in a hash with a linked list for each slot. On
   a photograph, building, reading and freeing these lists took three quarters of the time. Here the hash is an array in
   which a colour has one slot, a number of 32 bits:

       bits 31 ... 8   the colour
       bits  7 ... 0   the palette's entry

   Another colour with the same slot replaces it. A colour that is not in its slot is computed again, so the result does
   not depend on what the slots hold. */

#include "vectors.h"

#define FI_MEDIAN_BITS 22 /* 2 ** 22 slots at most: 16 megabytes */

/* The palette's entry that is nearest to a colour. The search begins with `box`, the entry of the colour's box; let d
   be its distance from the colour. `sorted` lists the entries by their distance from `box`. One that is more than 2 d
   away from `box` is more than d away from the colour, so it is not nearer, and the search ends there. Distances are
   squared, so the limit is four times that of `box`. Order and limit are Pillow's, and so is the rule that of equally
   near entries the first one is taken. */
static uint32_t fi_median_nearest(const Pixel *pixel, const Pixel *palette, uint32_t entries, uint32_t box,
                                  const uint32_t *distances, uint32_t *const *sorted) {
    uint32_t best = box, minimum = _DISTSQR(palette + box, pixel), limit = minimum << 2;
    distances += (size_t)box * entries;
    sorted += (size_t)box * entries;
    for (uint32_t i = 0; i < entries && *sorted[i] <= limit; i++) {
        uint32_t entry = (uint32_t)(sorted[i] - distances), distance = _DISTSQR(palette + entry, pixel);
        if (distance < minimum) {
            minimum = distance;
            best = entry;
        }
    }
    return best;
}

static int map_image_pixels_from_median_box(Pixel *pixelData, uint32_t nPixels, Pixel *paletteData,
                                            uint32_t nPaletteEntries, HashTable *medianBoxHash, uint32_t *avgDist,
                                            uint32_t **avgDistSortKey, uint32_t *pixelArray) {
    int bits = 8;
    while (bits < FI_MEDIAN_BITS && 1u << bits < 2 * (uint64_t)nPixels) {
        bits++;
    }
    /* Slots hold complements, so that 0 is a free slot. One number has 0 as its complement: it is never found. */
    uint32_t *slots = calloc((size_t)1 << bits, sizeof(*slots));
    if (!slots || nPaletteEntries > 256) {
        free(slots);
        return map_image_pixels_from_median_box__source(pixelData, nPixels, paletteData, nPaletteEntries, medianBoxHash,
                                                        avgDist, avgDistSortKey, pixelArray);
    }
    for (uint32_t i = 0; i < nPixels; i++) {
        uint32_t colour = pixelData[i].c.r | (uint32_t)pixelData[i].c.g << 8 | (uint32_t)pixelData[i].c.b << 16;
        uint32_t *slot = slots + (colour * 0x9e3779b1u >> (32 - bits)), known = ~*slot, box;
        if (*slot && known >> 8 == colour) {
            pixelArray[i] = known & 255;
            continue;
        }
        if (!hashtable_lookup(medianBoxHash, pixelData[i], &box)) {
            free(slots);
            return 0;
        }
        pixelArray[i] = fi_median_nearest(pixelData + i, paletteData, nPaletteEntries, box, avgDist, avgDistSortKey);
        *slot = ~(colour << 8 | pixelArray[i]);
    }
    free(slots);
    return 1;
}
