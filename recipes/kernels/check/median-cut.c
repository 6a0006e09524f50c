/* Pillow's Quant.c beside the kernel. */

#define map_image_pixels_from_median_box map_image_pixels_from_median_box__source
#include "Quant.c"
#undef map_image_pixels_from_median_box
#include "QuantHash.c"
#include "../median-cut.c"
#include "check.h"

#define MOST 2000 /* pixels */

void fi_check_case(void) {
    static Pixel pixels[MOST], palette[256];
    static uint32_t distances[256 * 256], *sorted[256 * 256], ours[MOST], theirs[MOST];
    uint32_t count = 1 + fi_draw(MOST), entries = 1 + fi_draw(fi_draw(4) ? 32 : 256);
    fi_draw_bytes((UINT8 *)pixels, count * sizeof(Pixel));
    fi_draw_bytes((UINT8 *)palette, entries * sizeof(Pixel));
    for (uint32_t i = fi_draw(count); i < count; i++) { /* colours that were met before */
        pixels[i] = pixels[fi_draw(i + 1)];
    }
    HashTable *boxes = hashtable_new(unshifted_pixel_hash, unshifted_pixel_cmp);
    for (uint32_t i = fi_draw(200) == 0; i < count; i++) { /* one may be missing */
        hashtable_insert(boxes, pixels[i], fi_draw(entries));
    }
    build_distance_tables(distances, sorted, palette, entries);
    fi_say("median cut, %u pixels, %u entries", count, entries);
    memset(ours, 0, sizeof(ours));
    memset(theirs, 0, sizeof(theirs));
    int ok = map_image_pixels_from_median_box(pixels, count, palette, entries, boxes, distances, sorted, ours);
    int their_ok =
        map_image_pixels_from_median_box__source(pixels, count, palette, entries, boxes, distances, sorted, theirs);
    fi_compare_bytes(&ok, &their_ok, sizeof(ok));
    fi_compare_bytes(ours, theirs, sizeof(ours));
    hashtable_free(boxes);
}
