/* Image.quantize by median cut: the palette's nearest colour for every pixel.

   Pillow remembers the nearest entry of each colour that it has met, in a hash table with a linked list for each place. On a
   photograph, making, reading and freeing these lists took three quarters of the time. Here the memory is an array in which
   a colour has one place: a number with the 24 bits of the colour and 8 of the entry. Another colour of the same place
   replaces it, and what is not remembered is computed again, so nothing but the time depends on it. */

#include "vectors.h"

#define FI_MEDIAN_LARGEST 22 /* bits of the number of colours that are remembered: 16 megabytes */

/* The entry that is nearest to a colour. Entries are looked at by their distance from that of the colour's box, up to twice
   the colour's own distance: those farther away cannot be nearer. */
static uint32_t fi_median_nearest(const Pixel *pixel, const Pixel *palette, uint32_t entries, uint32_t box,
                                  const uint32_t *distances, uint32_t *const *sorted) {
    uint32_t best = box, least = _DISTSQR(palette + box, pixel), limit = least << 2;
    distances += (size_t)box * entries;
    sorted += (size_t)box * entries;
    for (uint32_t i = 0; i < entries && *sorted[i] <= limit; i++) {
        uint32_t entry = (uint32_t)(sorted[i] - distances), distance = _DISTSQR(palette + entry, pixel);
        if (distance < least) {
            least = distance;
            best = entry;
        }
    }
    return best;
}

static int map_image_pixels_from_median_box(Pixel *pixelData, uint32_t nPixels, Pixel *paletteData,
                                            uint32_t nPaletteEntries, HashTable *medianBoxHash, uint32_t *avgDist,
                                            uint32_t **avgDistSortKey, uint32_t *pixelArray) {
    int bits = 8;
    while (bits < FI_MEDIAN_LARGEST && 1u << bits < 2 * (uint64_t)nPixels) {
        bits++;
    }
    uint32_t *memory = calloc((size_t)1 << bits, sizeof(*memory)); /* of complements: 0 is nothing, or not remembered */
    if (!memory || nPaletteEntries > 256) {
        free(memory);
        return map_image_pixels_from_median_box__source(pixelData, nPixels, paletteData, nPaletteEntries, medianBoxHash,
                                                        avgDist, avgDistSortKey, pixelArray);
    }
    for (uint32_t i = 0; i < nPixels; i++) {
        uint32_t colour = pixelData[i].c.r | (uint32_t)pixelData[i].c.g << 8 | (uint32_t)pixelData[i].c.b << 16;
        uint32_t *place = memory + (colour * 0x9e3779b1u >> (32 - bits)), known = ~*place, box;
        if (*place && known >> 8 == colour) {
            pixelArray[i] = known & 255;
            continue;
        }
        if (!hashtable_lookup(medianBoxHash, pixelData[i], &box)) {
            free(memory);
            return 0;
        }
        pixelArray[i] = fi_median_nearest(pixelData + i, paletteData, nPaletteEntries, box, avgDist, avgDistSortKey);
        *place = ~(colour << 8 | pixelArray[i]);
    }
    free(memory);
    return 1;
}
