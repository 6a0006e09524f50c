/* Pillow's Reduce.c beside the kernel. */

#define ImagingReduce ImagingReduce__source
#include "Reduce.c"
#undef ImagingReduce
#include "../reduce.c"
#include "check.h"

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA,
                                     IMAGING_MODE_CMYK, IMAGING_MODE_F, IMAGING_MODE_I, IMAGING_MODE_1});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), fi_draw_length());
    int most = FI_TAKE((int[]){2, 4, 9, 40});
    int xscale = 1 + fi_draw(most), yscale = fi_draw(2) ? xscale : 1 + (int)fi_draw(most);
    int box[4] = {0, 0, in->xsize, in->ysize};
    if (fi_draw(2)) {
        box[0] = fi_draw(in->xsize);
        box[1] = fi_draw(in->ysize);
        box[2] = 1 + fi_draw(in->xsize - box[0]);
        box[3] = 1 + fi_draw(in->ysize - box[1]);
    }
    fi_say("reduce mode %d, %dx%d by %d and %d, box %d %d %d %d", mode, in->xsize, in->ysize, xscale, yscale, box[0],
           box[1], box[2], box[3]);
    fi_compare(ImagingReduce(in, xscale, yscale, box), ImagingReduce__source(in, xscale, yscale, box));
    ImagingDelete(in);
}
