/* Packing RGB or BGR, of four bytes a pixel into three: four pixels at a time, in a vector. */

#include "vectors.h"

/* A store writes sixteen bytes, the last four of which the next one overwrites: six pixels have room for them. */
#define PACK_FOURS(function, ...)                            \
    void function(UINT8 *out, const UINT8 *in, int pixels) { \
        for (; pixels >= 6; pixels -= 4) {                   \
            Bytes four;                                      \
            memcpy(&four, in, LANES);                        \
            four = SHUFFLE(Bytes, four, four, __VA_ARGS__);  \
            memcpy(out, &four, LANES);                       \
            in += 16;                                        \
            out += 12;                                       \
        }                                                    \
        function##__source(out, in, pixels);                 \
    }

PACK_FOURS(ImagingPackRGB, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15)
PACK_FOURS(ImagingPackBGR, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 3, 7, 11, 15)
