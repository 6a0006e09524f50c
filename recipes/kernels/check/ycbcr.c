/* Pillow's ConvertYCbCr.c beside the kernel. */

#define ImagingConvertRGB2YCbCr ImagingConvertRGB2YCbCr__source
#define ImagingConvertYCbCr2RGB ImagingConvertYCbCr2RGB__source
#include "ConvertYCbCr.c"
#undef ImagingConvertRGB2YCbCr
#undef ImagingConvertYCbCr2RGB
#include "../ycbcr.c"
#include "check.h"

void fi_check_case(void) {
    int width = fi_draw_length();
    UINT8 *in = malloc(4 * width), *ours = calloc(4, width), *theirs = calloc(4, width);
    fi_draw_bytes(in, 4 * width);
    fi_say("ImagingConvertRGB2YCbCr, %d pixels, first %d %d %d", width, in[0], in[1], in[2]);
    ImagingConvertRGB2YCbCr(ours, in, width);
    ImagingConvertRGB2YCbCr__source(theirs, in, width);
    fi_compare_bytes(ours, theirs, 4 * width);
    fi_say("ImagingConvertYCbCr2RGB, %d pixels, first %d %d %d", width, in[0], in[1], in[2]);
    ImagingConvertYCbCr2RGB(ours, in, width);
    ImagingConvertYCbCr2RGB__source(theirs, in, width);
    fi_compare_bytes(ours, theirs, 4 * width);
    free(in);
    free(ours);
    free(theirs);
}
