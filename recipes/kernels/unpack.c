/* Unpacking RGB or BGR, of three bytes a pixel into four: four pixels at a time, in a vector. */

#include "vectors.h"

/* A load reads sixteen bytes, the last four of which are the next pixels': six pixels have as many. */
#define UNPACK_FOURS(function, ...)                          \
    void function(UINT8 *out, const UINT8 *in, int pixels) { \
        const Bytes full = ~(Bytes){0};                      \
        for (; pixels >= 6; pixels -= 4) {                   \
            Bytes four;                                      \
            memcpy(&four, in, LANES);                        \
            four = SHUFFLE(Bytes, four, full, __VA_ARGS__);  \
            memcpy(out, &four, LANES);                       \
            in += 12;                                        \
            out += 16;                                       \
        }                                                    \
        function##__source(out, in, pixels);                 \
    }

UNPACK_FOURS(ImagingUnpackRGB, 0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11, 16)
UNPACK_FOURS(ImagingUnpackBGR, 2, 1, 0, 16, 5, 4, 3, 16, 8, 7, 6, 16, 11, 10, 9, 16)
