/* Unsharp masks of 8-bit bands: sixteen bytes and what a blur left of them, at a time. The same integers as Pillow's. */

#include "vectors.h"

/* Products have 16 bits up to 257 per cent. Pillow's n / 100 is 20972 * (n / 4) / 2 ** 19 for each of them. */
Imaging ImagingUnsharpMask(Imaging imOut, Imaging imIn, float radius, int percent, int threshold) {
    if (percent < 0 || percent > 257 || threshold < 0 || threshold > 255) {
        return ImagingUnsharpMask__source(imOut, imIn, radius, percent, threshold);
    }
    if (!ImagingGaussianBlur(imOut, imIn, radius, radius, 3)) {
        return NULL;
    }
    BEGIN_SECTION(imIn)
    for (int y = 0; y < imIn->ysize; y++) {
        for (int x = 0; x < imIn->linesize; x += LANES) {
            UINT8 *out = (UINT8 *)imOut->image[y] + x, *in = (UINT8 *)imIn->image[y] + x;
            int left = imIn->linesize - x;
            Halves bytes = __builtin_convertvector(load_bytes(in, left), Halves);
            Halves blurred = __builtin_convertvector(load_bytes(out, left), Halves);
            Halves upper = MAXIMUM(bytes, blurred), difference = upper - MINIMUM(bytes, blurred);
            Halves change = multiply_high(difference * (UINT16)percent >> 2, (Halves){0} + 20972) >> 3;
            change &= (Halves)(difference > (UINT16)threshold);
            Halves made = CHOOSE((Halves)(upper == bytes), MINIMUM(bytes + change, 255), bytes - MINIMUM(bytes, change));
            Bytes narrow = __builtin_convertvector(made, Bytes);
            copy_some(out, &narrow, left, LANES);
        }
    }
    END_SECTION(imIn)
    return imOut;
}
