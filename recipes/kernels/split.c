/* Splitting into bands: sixteen pixels at a time, in vectors of four. */

#include "vectors.h"

/* Of two bands, the first and the last of four. */
INLINE void split_row(UINT8 *const *bands, const UINT8 *in, int count, int width) {
    int x = 0, step = count == 2 ? 3 : 1;
    for (; x <= width - LANES; x += LANES) {
        Bytes fours[4];
        for (int i = 0; i < 4; i++) {
            Bytes four = LOAD(Bytes, in + 4 * x + LANES * i);
            fours[i] = SHUFFLE(Bytes, four, four, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        }
        transpose(fours, 4);
        for (int band = 0; band < count; band++) {
            memcpy(bands[band] + x, &fours[step * band], LANES);
        }
    }
    for (; x < width; x++) {
        for (int band = 0; band < count; band++) {
            bands[band][x] = in[4 * x + step * band];
        }
    }
}

/* What Pillow before 13 tells is the number of bands, or 0 where it fails; later 0, or -1. */
#define TELLS_BANDS (PILLOW_VERSION[0] == '1' && PILLOW_VERSION[1] < '3')

int ImagingSplit(Imaging imIn, Imaging bands[4]) {
    if (!imIn || imIn->type != IMAGING_TYPE_UINT8 || imIn->bands == 1) {
        return ImagingSplit__source(imIn, bands);
    }
    for (int i = 0; i < imIn->bands; i++) {
        bands[i] = ImagingNewDirty(IMAGING_MODE_L, imIn->xsize, imIn->ysize);
        if (!bands[i]) {
            while (i-- > 0) {
                ImagingDelete(bands[i]);
            }
            return TELLS_BANDS ? 0 : -1;
        }
    }
    for (int y = 0; y < imIn->ysize; y++) {
        UINT8 *rows[4], *in = (UINT8 *)imIn->image[y];
        int count = imIn->bands, width = imIn->xsize;
        for (int i = 0; i < count; i++) {
            rows[i] = bands[i]->image8[y];
        }
        SPECIALIZE(count, 2, SPECIALIZE(count, 3, SPECIALIZE(count, 4, split_row(rows, in, count, width))));
    }
    return TELLS_BANDS ? imIn->bands : 0;
}
