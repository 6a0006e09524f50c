/* Pillow's Bands.c beside the kernel. */

#define PILLOW_VERSION "13.0.0"
#define ImagingSplit ImagingSplit__source
#define ImagingGetBand ImagingGetBand__source
#include "Bands.c"
#undef ImagingSplit
#undef ImagingGetBand
#include "../split.c"
#include "check.h"

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA, IMAGING_MODE_CMYK});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), fi_draw_length());
    Imaging ours[4] = {0}, theirs[4] = {0};
    int one = ImagingSplit(in, ours), other = ImagingSplit__source(in, theirs);
    fi_say("split mode %d, %dx%d", mode, in->xsize, in->ysize);
    fi_compare_bytes(&one, &other, sizeof(one));
    for (int i = 0; i < in->bands; i++) {
        fi_compare(ours[i], theirs[i]);
    }
    int band = fi_draw(in->bands);
    fi_say("band %d of mode %d, %dx%d", band, mode, in->xsize, in->ysize);
    fi_compare(ImagingGetBand(in, band), ImagingGetBand__source(in, band));
    ImagingDelete(in);
}
