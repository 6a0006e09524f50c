/* Pillow's Histo.c beside the kernel. */

#define ImagingGetHistogram ImagingGetHistogram__source
#include "Histo.c"
#undef ImagingGetHistogram
#include "../histogram.c"
#include "check.h"

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA});
    int width = 250 + fi_draw_length(),
        height = FI_HISTOGRAM_SMALL / width / (mode == IMAGING_MODE_L ? 1 : 4) + fi_draw(4);
    Imaging in = fi_draw_picture(mode, width, height);
    fi_say("histogram, mode %d, %dx%d", mode, in->xsize, in->ysize);
    ImagingHistogram ours = ImagingGetHistogram(in, NULL, NULL), theirs = ImagingGetHistogram__source(in, NULL, NULL);
    fi_compare_bytes(ours->histogram, theirs->histogram, 256 * in->bands * sizeof(long));
    ImagingHistogramDelete(ours);
    ImagingHistogramDelete(theirs);
    ImagingDelete(in);
}
