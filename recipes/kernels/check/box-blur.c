/* Pillow's BoxBlur.c beside the kernel. */

#define ImagingBoxBlur ImagingBoxBlur__source
#include "BoxBlur.c"
#undef ImagingBoxBlur
#include "../box-blur.c"
#include "check.h"

/* For Pillow's own blur. */
Imaging ImagingTranspose(Imaging out, Imaging in) {
    for (int y = 0; y < in->ysize; y++) {
        for (int x = 0; x < in->xsize; x++) {
            int pixelsize = in->pixelsize;
            memcpy(out->image[x] + y * pixelsize, in->image[y] + x * pixelsize, pixelsize);
        }
    }
    return out;
}

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), fi_draw_length());
    Imaging ours = ImagingNew(mode, in->xsize, in->ysize), theirs = ImagingNew(mode, in->xsize, in->ysize);
    int range = FI_TAKE((int[]){4, 30, 700}), passes = 1 + fi_draw(4);
    float xradius = fi_draw(8) ? fi_draw(1024) / 1024.0f * range : 0, yradius = xradius;
    if (fi_draw(4) == 0) {
        yradius = fi_draw(8) ? fi_draw(1024) / 1024.0f * range : 0;
    }
    fi_say("box blur mode %d, %dx%d, %g and %g, %d times", mode, in->xsize, in->ysize, xradius, yradius, passes);
    ImagingBoxBlur(ours, in, xradius, yradius, passes);
    ImagingBoxBlur__source(theirs, in, xradius, yradius, passes);
    fi_compare(ours, theirs);
    ImagingDelete(in);
}
