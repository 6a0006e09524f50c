/* Image.paste and Image.composite through a mask: pixels of one picture mixed into another one. `masks.h` has the idea.

   A picture that is pasted into itself, or whose mask is itself, is left to Pillow: there later pixels depend on earlier
   ones. So are modes of 16 bits, and one band by the alpha of a mask with four. */

#include "masks.h"

#define FI_PASTE_DEFINE(function, mask_bytes, binary)                                                                  \
    static inline void function(Imaging imOut, Imaging imIn, Imaging imMask, int dx, int dy, int sx, int sy,           \
                                int xsize, int ysize, int pixelsize) {                                                 \
        fi_mask_area area = {dx, dy, sx, sy, xsize, ysize};                                                            \
        if (imOut == imIn || imOut == imMask || pixelsize == 2) {                                                      \
            function##__source(imOut, imIn, imMask, dx, dy, sx, sy, xsize, ysize, pixelsize);                          \
        } else if (pixelsize == 4) {                                                                                   \
            fi_mask_rows(imOut, imIn, NULL, imMask, &area, (fi_mask_way){4, mask_bytes, 0, binary, 0});                \
        } else if (mask_bytes == 1) {                                                                                  \
            fi_mask_rows(imOut, imIn, NULL, imMask, &area, (fi_mask_way){1, 1, 0, binary, 0});                         \
        } else {                                                                                                       \
            function##__source(imOut, imIn, imMask, dx, dy, sx, sy, xsize, ysize, pixelsize);                          \
        }                                                                                                              \
    }

FI_PASTE_DEFINE(paste_mask_1, 1, 1)
FI_PASTE_DEFINE(paste_mask_L, 1, 0)
FI_PASTE_DEFINE(paste_mask_RGBA, 4, 0)
