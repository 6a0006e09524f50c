/* Unpacking RGB or BGR, of three bytes a pixel into four. */

#include "vectors.h"

SHUFFLE_PIXELS(ImagingUnpackRGB, 3, 4, 0, 1, 2, 16, 3, 4, 5, 16, 6, 7, 8, 16, 9, 10, 11, 16)
SHUFFLE_PIXELS(ImagingUnpackBGR, 3, 4, 2, 1, 0, 16, 5, 4, 3, 16, 8, 7, 6, 16, 11, 10, 9, 16)
