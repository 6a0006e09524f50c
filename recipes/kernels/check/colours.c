/* Pillow's GetBBox.c beside the kernel. */

#define ImagingGetColors ImagingGetColors__source
#include "GetBBox.c"
#undef ImagingGetColors
#include "../colours.c"
#include "check.h"

void fi_check_case(void) {
    ModeID mode =
        FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA, IMAGING_MODE_P});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), 1 + fi_draw(60));
    int most = FI_TAKE((int[]){1, 256, 100000}), one = 0, other = 0;
    ImagingColorItem *ours = ImagingGetColors(in, most, &one);
    ImagingColorItem *theirs = ImagingGetColors__source(in, most, &other);
    int found[2] = {ours != NULL, one}, expected[2] = {theirs != NULL, other};
    fi_say("colours, mode %d, %dx%d, at most %d", mode, in->xsize, in->ysize, most);
    fi_compare_bytes(found, expected, sizeof(found));
    if (ours && theirs && one <= most) {
        for (int i = 0; i < one; i++) {
            fi_compare_bytes(&ours[i].count, &theirs[i].count, sizeof(ours[i].count));
            fi_compare_bytes(&ours[i].pixel, &theirs[i].pixel, sizeof(ours[i].pixel));
        }
    }
    free(ours);
    free(theirs);
    ImagingDelete(in);
}
