/* Pillow's AlphaComposite.c beside the kernel. */

#define ImagingAlphaComposite ImagingAlphaComposite__source
#include "AlphaComposite.c"
#undef ImagingAlphaComposite
#include "../composite.c"
#include "check.h"

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_RGBA, IMAGING_MODE_RGBA, IMAGING_MODE_LA});
    int width = fi_draw_length(), height = 1 + fi_draw(9);
    Imaging below = fi_draw_picture(mode, width, height), above = fi_draw_picture(mode, width, height);
    int step = 1 + fi_draw(300);
    for (int x = 0; x < width * height; x += 1 + fi_draw(step)) {
        above->image[x / width][x % width * 4 + 3] = fi_draw(2) ? 255 : 0;
    }
    fi_say("composite mode %d, %dx%d", mode, width, height);
    fi_compare(ImagingAlphaComposite(below, above), ImagingAlphaComposite__source(below, above));
    ImagingDelete(below);
    ImagingDelete(above);
}
