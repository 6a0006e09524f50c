/* Pillow's UnsharpMask.c beside the kernel. Both get the same from a stand-in for the blur. */

#define ImagingUnsharpMask ImagingUnsharpMask__source
#include "UnsharpMask.c"
#undef ImagingUnsharpMask
#include "../unsharp.c"
#include "check.h"

Imaging ImagingGaussianBlur(Imaging out, Imaging in, float xradius, float yradius, int passes) {
    for (int y = 0; y < in->ysize; y++) {
        for (int x = 0; x < in->linesize; x++) {
            out->image[y][x] = in->image[y][x] * 3 / 4 + (x * 37 + y * 11 + (int)(xradius * 8) + passes) % 64;
        }
    }
    return out;
}

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), 1 + fi_draw(40));
    Imaging ours = ImagingNew(mode, in->xsize, in->ysize), theirs = ImagingNew(mode, in->xsize, in->ysize);
    int percent = fi_draw(4) ? fi_draw(300) : (int)fi_draw(2000) - 1000, threshold = fi_draw(fi_draw(2) ? 5 : 300);
    float radius = fi_draw(40) / 8.0f;
    fi_say("unsharp mask mode %d, %dx%d, radius %g, %d %%, from %d on", mode, in->xsize, in->ysize, radius, percent,
           threshold);
    ImagingUnsharpMask(ours, in, radius, percent, threshold);
    ImagingUnsharpMask__source(theirs, in, radius, percent, threshold);
    fi_compare(ours, theirs);
    ImagingDelete(in);
}
