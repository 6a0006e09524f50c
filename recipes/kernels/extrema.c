/* Image.getextrema of one band: smallest and largest value, a vector at a time. Pillow compares one pixel after the
   other.

   Integers have the same extremes in any order. Floating-point pictures are left to Pillow, since with zeros of both
   signs and with NaN the result depends on the order of comparisons. */

#include "vectors.h"

/* Define a function that lowers `minimum` and raises `maximum` to the extremes of a row's values. */
#define FI_EXTREMA_DEFINE(function, type, vector)                                                                      \
    static void function(const UINT8 *row, int bytes, type *minimum, type *maximum) {                                  \
        vector low = (vector){0} + *minimum, high = (vector){0} + *maximum;                                            \
        int i = 0;                                                                                                     \
        for (; i <= bytes - FI_WIDE; i += FI_WIDE) {                                                                   \
            vector values = FI_LOAD(vector, row + i);                                                                  \
            low = FI_MIN(low, values);                                                                                 \
            high = FI_MAX(high, values);                                                                               \
        }                                                                                                              \
        for (int lane = 0; lane < (int)(FI_WIDE / sizeof(type)); lane++) {                                             \
            *minimum = low[lane] < *minimum ? low[lane] : *minimum;                                                    \
            *maximum = high[lane] > *maximum ? high[lane] : *maximum;                                                  \
        }                                                                                                              \
        for (; i < bytes; i += sizeof(type)) {                                                                         \
            type value = FI_LOAD(type, row + i);                                                                       \
            *minimum = value < *minimum ? value : *minimum;                                                            \
            *maximum = value > *maximum ? value : *maximum;                                                            \
        }                                                                                                              \
    }

FI_EXTREMA_DEFINE(fi_extrema_row_u8, UINT8, fi_wide_u8)
FI_EXTREMA_DEFINE(fi_extrema_row_u16, UINT16, fi_wide_u16)
FI_EXTREMA_DEFINE(fi_extrema_row_i32, INT32, fi_wide_i32)

/* Return from ImagingGetExtrema, whose `im` and `extrema` this uses: write the extremes of all rows into `extrema`, by
   one of the functions above. The loop ends early if the extremes are `floor` and `ceiling`, the limits of the type,
   since no further row can change them. */
#define FI_EXTREMA_RETURN(function, type, floor, ceiling)                                                              \
    {                                                                                                                  \
        type values[2] = {FI_LOAD(type, im->image[0]), FI_LOAD(type, im->image[0])};                                   \
        for (int y = 0; y < im->ysize && (values[0] > (floor) || values[1] < (ceiling)); y++) {                        \
            function((const UINT8 *)im->image[y], im->linesize, values, values + 1);                                   \
        }                                                                                                              \
        memcpy(extrema, values, sizeof(values));                                                                       \
        return 1;                                                                                                      \
    }

int ImagingGetExtrema(Imaging im, void *extrema) {
    if (im->bands == 1 && im->xsize && im->ysize) {
        if (im->type == IMAGING_TYPE_UINT8) {
            FI_EXTREMA_RETURN(fi_extrema_row_u8, UINT8, 0, 255)
        }
        if (im->mode == IMAGING_MODE_I_16) {
            FI_EXTREMA_RETURN(fi_extrema_row_u16, UINT16, 0, 65535)
        }
        if (im->type == IMAGING_TYPE_INT32) {
            FI_EXTREMA_RETURN(fi_extrema_row_i32, INT32, INT32_MIN, INT32_MAX)
        }
    }
    return ImagingGetExtrema__source(im, extrema);
}
