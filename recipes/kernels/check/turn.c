/* Pillow's Geometry.c beside the kernel. */

#define ImagingTranspose ImagingTranspose__source
#define ImagingTransverse ImagingTransverse__source
#define ImagingRotate90 ImagingRotate90__source
#define ImagingRotate270 ImagingRotate270__source
#include "Geometry.c"
#undef ImagingTranspose
#undef ImagingTransverse
#undef ImagingRotate90
#undef ImagingRotate270
#include "../turn.c"
#include "check.h"

void fi_check_case(void) {
    static Imaging (*const functions[4][2])(Imaging, Imaging) = {
        {ImagingTranspose, ImagingTranspose__source},
        {ImagingTransverse, ImagingTransverse__source},
        {ImagingRotate90, ImagingRotate90__source},
        {ImagingRotate270, ImagingRotate270__source},
    };
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_RGB, IMAGING_MODE_RGBA, IMAGING_MODE_I_16});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), fi_draw_length());
    Imaging ours = ImagingNew(mode, in->ysize, in->xsize), theirs = ImagingNew(mode, in->ysize, in->xsize);
    int way = fi_draw(4);
    fi_say("turn %d, mode %d, %dx%d", way, mode, in->xsize, in->ysize);
    functions[way][0](ours, in);
    functions[way][1](theirs, in);
    fi_compare(ours, theirs);
    ImagingDelete(in);
}
