/* A margin around a picture, for rank filters: its outermost pixels are repeated. */

#include "vectors.h"

Imaging ImagingExpand(Imaging imIn, int margin) {
    int pixel = imIn->pixelsize, width = imIn->xsize;
    if (margin < 0 || margin > 1 << 14 || width < 1 || imIn->ysize < 1 || (pixel != 1 && pixel != 4)) {
        return ImagingExpand__source(imIn, margin);
    }
    Imaging out = ImagingNewDirty(imIn->mode, width + 2 * margin, imIn->ysize + 2 * margin);
    if (!out) {
        return NULL;
    }
    BEGIN_SECTION(imIn)
    for (int y = 0; y < out->ysize; y++) {
        const char *row = imIn->image[larger(0, smaller(y - margin, imIn->ysize - 1))], *last = row + (width - 1) * pixel;
        char *to = memcpy(out->image[y] + margin * pixel, row, width * pixel);
        for (int x = 0; x < margin * pixel; x += pixel) {
            memcpy(out->image[y] + x, row, pixel);
            memcpy(to + width * pixel + x, last, pixel);
        }
    }
    END_SECTION(imIn)
    ImagingCopyPalette(out, imIn);
    return out;
}
