/* Pillow's ColorLUT.c beside the kernel. */

#define ImagingColorLUT3D_linear ImagingColorLUT3D_linear__source
#include "ColorLUT.c"
#undef ImagingColorLUT3D_linear
#include "../colour-table.c"
#include "check.h"

/* Of Pillow's Resample.c: bytes of -640 to 639, clipped. */
static UINT8 clipped[1280];
UINT8 *clip8_lookups = clipped + 640;

FI_AT_LOAD(clip_bytes) {
    for (int i = 0; i < 1280; i++) {
        clipped[i] = fi_max(0, fi_min(i - 640, 255));
    }
}

void fi_check_case(void) {
    int channels = 3 + fi_draw(2), sizes[3], count;
    for (int i = 0; i < 3; i++) {
        sizes[i] = 2 + fi_draw(FI_TAKE((int[]){2, 8, 32}));
    }
    count = sizes[0] * sizes[1] * sizes[2] * channels;
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_RGB, IMAGING_MODE_RGBA, IMAGING_MODE_CMYK, IMAGING_MODE_HSV});
    ModeID to = channels == 4 || fi_draw(2) ? IMAGING_MODE_RGBA : IMAGING_MODE_RGB;
    to = to == IMAGING_MODE_RGBA && channels == 3 ? mode : to;
    Imaging in = fi_draw_picture(mode, fi_draw_length(), 1 + fi_draw(9));
    Imaging ours = ImagingNew(to, in->xsize, in->ysize), theirs = ImagingNew(to, in->xsize, in->ysize);
    INT16 *table = malloc(count * sizeof(*table));
    int range = FI_TAKE((int[]){256, 32768, 65536});
    for (int i = 0; i < count; i++) {
        table[i] = (int)fi_draw(range) - (range == 256 ? 0 : range / 2);
    }
    fi_say("colour table of %d %d %d and %d channels, mode %d to %d, %d pixels", sizes[0], sizes[1], sizes[2], channels,
           mode, to, in->xsize);
    Imaging one = ImagingColorLUT3D_linear(ours, in, channels, sizes[0], sizes[1], sizes[2], table);
    Imaging other = ImagingColorLUT3D_linear__source(theirs, in, channels, sizes[0], sizes[1], sizes[2], table);
    if ((one == NULL) != (other == NULL)) {
        fi_compare(one, other);
    }
    fi_compare(ours, theirs);
    ImagingDelete(in);
    free(table);
}
