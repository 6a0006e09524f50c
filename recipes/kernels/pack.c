/* Packing RGB or BGR, of four bytes a pixel into three. */

#include "vectors.h"

SHUFFLE_PIXELS(ImagingPackRGB, 4, 3, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15)
SHUFFLE_PIXELS(ImagingPackBGR, 4, 3, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 3, 7, 11, 15)
