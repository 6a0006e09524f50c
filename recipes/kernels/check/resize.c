/* Pillow's Resample.c beside the kernel. */

#define ImagingResampleInner ImagingResampleInner__source
#include "Resample.c"
#undef ImagingResampleInner
#include "../resize.c"
#include "check.h"

static Imaging resize(Imaging in, int xsize, int ysize, struct filter *filter, float *box) {
    return ImagingResampleInner(in, xsize, ysize, filter, box, _ImagingResampleHorizontal_8bpc,
                                _ImagingResampleVertical_8bpc);
}

/* A length: as it is, tiny, shorter, or longer. */
static int draw_target(int length) {
    int lengths[] = {length, 1 + fi_draw(3), 1 + fi_draw(length), length + fi_draw(200)};
    return FI_TAKE((int[]){lengths[0], lengths[1], lengths[2], lengths[3]});
}

void fi_check_case(void) {
    static struct filter *const filters[] = {&BOX, &BILINEAR, &HAMMING, &BICUBIC, &LANCZOS};
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA,
                                     IMAGING_MODE_CMYK, IMAGING_MODE_RGBX});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), fi_draw_length());
    int xsize = draw_target(in->xsize), ysize = draw_target(in->ysize), filter = fi_draw(5);
    float box[4] = {0, 0, in->xsize, in->ysize};
    if (fi_draw(2)) {
        box[0] = fi_draw(1024) / 1024.0 * in->xsize * 0.7;
        box[1] = fi_draw(1024) / 1024.0 * in->ysize * 0.7;
        box[2] = box[0] + 0.1f + fi_draw(1024) / 1024.0 * (in->xsize - box[0] - 0.1f);
        box[3] = box[1] + 0.1f + fi_draw(1024) / 1024.0 * (in->ysize - box[1] - 0.1f);
    }
    fi_say("resize mode %d, %dx%d to %dx%d, filter %d, box %g %g %g %g", mode, in->xsize, in->ysize, xsize, ysize,
           filter, box[0], box[1], box[2], box[3]);
    Imaging theirs = ImagingResampleInner__source(in, xsize, ysize, filters[filter], box,
                                                  _ImagingResampleHorizontal_8bpc, _ImagingResampleVertical_8bpc);
    fi_compare(resize(in, xsize, ysize, filters[filter], box), theirs);
    ImagingDelete(in);
}
