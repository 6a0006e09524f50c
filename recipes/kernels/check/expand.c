/* Pillow's Filter.c beside the kernel. */

#define ImagingExpand ImagingExpand__source
#include "Filter.c"
#undef ImagingExpand
#include "../expand.c"
#include "check.h"

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_RGB, IMAGING_MODE_RGBA, IMAGING_MODE_F,
                                     IMAGING_MODE_I, IMAGING_MODE_P});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), fi_draw_length());
    int margin = fi_draw(FI_TAKE((int[]){4, 40}));
    fi_say("expand mode %d, %dx%d by %d", mode, in->xsize, in->ysize, margin);
    fi_compare(ImagingExpand(in, margin), ImagingExpand__source(in, margin));
    ImagingDelete(in);
}
