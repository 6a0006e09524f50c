/* Image.paste of a colour through a mask, as text and logos are drawn. `masks.h` has the idea.

   The colour of a pixel whose alpha is 0 cannot be seen, and would show as a dark edge if it were mixed in. So in modes
   with alpha and by a mask of mode L, Pillow gives such a pixel the whole colour where the mask is not 0, and mixes
   only its alpha. Left to Pillow: pixels of two bytes, one band by the alpha of a mask with four bytes a pixel, masks
   of mode RGBa, and a mask that is the picture itself. */

#include "masks.h"

/* Whether pixels whose alpha is 0 take the whole colour. */
static int fi_fill_covers(Imaging image) {
    return image->mode == IMAGING_MODE_RGBa || image->mode == IMAGING_MODE_RGBA || image->mode == IMAGING_MODE_La ||
           image->mode == IMAGING_MODE_LA || image->mode == IMAGING_MODE_PA;
}

/* A vector full of pixels of one colour. */
static void fi_fill_repeat(UINT8 *colours, const void *ink, int pixelsize) {
    for (int i = 0; i < FI_WIDE; i += pixelsize) {
        memcpy(colours + i, ink, pixelsize);
    }
}

#define FI_FILL_DEFINE(function, type, mask_bytes, binary, covering)                                                   \
    static inline void function(Imaging imOut, const type *ink, Imaging imMask, int dx, int dy, int sx, int sy,        \
                                int xsize, int ysize, int pixelsize) {                                                 \
        const fi_mask_area area = {dx, dy, sx, sy, xsize, ysize};                                                      \
        const fi_mask_kind of_band = {.pixel = 1, .mask_pixel = 1, .is_ink = 1, .is_binary = binary};                  \
        const fi_mask_kind of_pixels = {.pixel = 4, .mask_pixel = mask_bytes, .is_ink = 1, .is_binary = binary};       \
        fi_mask_kind with_cover = of_pixels;                                                                           \
        with_cover.covers = 1;                                                                                         \
        UINT8 colours[FI_WIDE];                                                                                        \
        if (imOut == imMask || pixelsize == 2 || (pixelsize == 1 && mask_bytes == 4)) {                                \
            function##__source(imOut, ink, imMask, dx, dy, sx, sy, xsize, ysize, pixelsize);                           \
            return;                                                                                                    \
        }                                                                                                              \
        fi_fill_repeat(colours, ink, pixelsize);                                                                       \
        if (pixelsize == 1) {                                                                                          \
            fi_mask_rows(imOut, NULL, colours, imMask, &area, of_band);                                                \
        } else if (covering && fi_fill_covers(imOut)) {                                                                \
            fi_mask_rows(imOut, NULL, colours, imMask, &area, with_cover);                                             \
        } else {                                                                                                       \
            fi_mask_rows(imOut, NULL, colours, imMask, &area, of_pixels);                                              \
        }                                                                                                              \
    }

FI_FILL_DEFINE(fill_mask_1, void, 1, 1, 0)
FI_FILL_DEFINE(fill_mask_L, UINT8, 1, 0, 1)
FI_FILL_DEFINE(fill_mask_RGBA, UINT8, 4, 0, 0)
