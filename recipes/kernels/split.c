/* Splitting into bands: sixteen pixels at a time, in vectors of four. */

#include "vectors.h"

/* The bytes of four pixels band by band. */
static inline Four
gather_bands(const UINT8 *pixels) {
    Bytes value;
    memcpy(&value, pixels, sizeof(value));
    return (Four)SHUFFLE(Bytes, value, value, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}

INLINE void
split_row(UINT8 *const *bands, const UINT8 *in, int count, int width) {
    int x = 0;
    for (; x <= width - LANES; x += LANES) {
        Four a = gather_bands(in + 4 * x), b = gather_bands(in + 4 * x + 16);
        Four c = gather_bands(in + 4 * x + 32), d = gather_bands(in + 4 * x + 48);
        Four low = SHUFFLE(Four, a, b, 0, 4, 1, 5), high = SHUFFLE(Four, a, b, 2, 6, 3, 7);
        Four other_low = SHUFFLE(Four, c, d, 0, 4, 1, 5), other_high = SHUFFLE(Four, c, d, 2, 6, 3, 7);
        Four made[4] = {
            SHUFFLE(Four, low, other_low, 0, 1, 4, 5), SHUFFLE(Four, low, other_low, 2, 3, 6, 7),
            SHUFFLE(Four, high, other_high, 0, 1, 4, 5), SHUFFLE(Four, high, other_high, 2, 3, 6, 7),
        };
        for (int band = 0; band < count; band++) {
            memcpy(bands[band] + x, &made[count == 2 ? 3 * band : band], sizeof(Four));
        }
    }
    for (; x < width; x++) {
        for (int band = 0; band < count; band++) {
            bands[band][x] = in[4 * x + (count == 2 ? 3 * band : band)];
        }
    }
}

int
ImagingSplit(Imaging imIn, Imaging bands[4]) {
    if (!imIn || imIn->type != IMAGING_TYPE_UINT8 || imIn->bands == 1) {
        return ImagingSplit__source(imIn, bands);
    }
    for (int i = 0; i < imIn->bands; i++) {
        bands[i] = ImagingNewDirty(IMAGING_MODE_L, imIn->xsize, imIn->ysize);
        if (!bands[i]) {
            while (i-- > 0) {
                ImagingDelete(bands[i]);
            }
            return -1;
        }
    }
    for (int y = 0; y < imIn->ysize; y++) {
        UINT8 *rows[4];
        for (int i = 0; i < imIn->bands; i++) {
            rows[i] = bands[i]->image8[y];
        }
        if (imIn->bands == 2) {
            split_row(rows, (UINT8 *)imIn->image[y], 2, imIn->xsize);
        } else if (imIn->bands == 3) {
            split_row(rows, (UINT8 *)imIn->image[y], 3, imIn->xsize);
        } else {
            split_row(rows, (UINT8 *)imIn->image[y], 4, imIn->xsize);
        }
    }
    return 0;
}
