/* Pillow's GetBBox.c beside the kernel. */

#define ImagingGetExtrema ImagingGetExtrema__source
#include "GetBBox.c"
#undef ImagingGetExtrema
#include "../extrema.c"
#include "check.h"

void fi_check_case(void) {
    ModeID mode =
        FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_L, IMAGING_MODE_I, IMAGING_MODE_F, IMAGING_MODE_I_16});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), 1 + fi_draw(40));
    UINT8 ours[16] = {0}, theirs[16] = {0};
    ours[15] = ImagingGetExtrema(in, ours);
    theirs[15] = ImagingGetExtrema__source(in, theirs);
    fi_say("extrema, mode %d, %dx%d", mode, in->xsize, in->ysize);
    fi_compare_bytes(ours, theirs, 16);
    ImagingDelete(in);
}
