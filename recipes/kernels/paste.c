/* Image.paste and Image.composite through a mask: pixels of one picture mixed into another one. `masks.h` has the idea.

   Left to Pillow: a picture that is pasted into itself or is its own mask, since later pixels then depend on earlier
   ones; pixels of two bytes; one band pasted by the alpha of a mask with four bytes a pixel; and masks of mode RGBa. */

#include "masks.h"

#define FI_PASTE_DEFINE(function, mask_bytes, binary)                                                                  \
    static inline void function(Imaging imOut, Imaging imIn, Imaging imMask, int dx, int dy, int sx, int sy,           \
                                int xsize, int ysize, int pixelsize) {                                                 \
        const fi_mask_area area = {dx, dy, sx, sy, xsize, ysize};                                                      \
        const fi_mask_kind of_pixels = {.pixel = 4, .mask_pixel = mask_bytes, .is_binary = binary};                    \
        const fi_mask_kind of_band = {.pixel = 1, .mask_pixel = 1, .is_binary = binary};                               \
        if (imOut == imIn || imOut == imMask || pixelsize == 2) {                                                      \
            function##__source(imOut, imIn, imMask, dx, dy, sx, sy, xsize, ysize, pixelsize);                          \
        } else if (pixelsize == 4) {                                                                                   \
            fi_mask_rows(imOut, imIn, NULL, imMask, &area, of_pixels);                                                 \
        } else if (mask_bytes == 1) {                                                                                  \
            fi_mask_rows(imOut, imIn, NULL, imMask, &area, of_band);                                                   \
        } else {                                                                                                       \
            function##__source(imOut, imIn, imMask, dx, dy, sx, sy, xsize, ysize, pixelsize);                          \
        }                                                                                                              \
    }

FI_PASTE_DEFINE(paste_mask_1, 1, 1)
FI_PASTE_DEFINE(paste_mask_L, 1, 0)
FI_PASTE_DEFINE(paste_mask_RGBA, 4, 0)
