/* Pillow's Resample.c beside the kernel for pictures of numbers. */

#define _ImagingResampleVertical_16bpc _ImagingResampleVertical_16bpc__source
#define _ImagingResampleHorizontal_16bpc _ImagingResampleHorizontal_16bpc__source
#define _ImagingResampleVertical_32bpc _ImagingResampleVertical_32bpc__source
#define _ImagingResampleHorizontal_32bpc _ImagingResampleHorizontal_32bpc__source
#include "Resample.c"
#undef _ImagingResampleVertical_16bpc
#undef _ImagingResampleHorizontal_16bpc
#undef _ImagingResampleVertical_32bpc
#undef _ImagingResampleHorizontal_32bpc
#include "../resample.c"
#include "check.h"

/* Where each of some sums begins, how long it is, and its coefficients. */
static int draw_coefficients(int size, int out_size, int *bounds, double *k) {
    int ksize = 1 + fi_draw(fi_min(size, 12));
    for (int i = 0; i < out_size; i++) {
        bounds[2 * i + 1] = 1 + fi_draw(ksize);
        bounds[2 * i] = fi_draw(size - bounds[2 * i + 1] + 1);
        for (int t = 0; t < ksize; t++) {
            k[i * ksize + t] = fi_draw_fraction() / 3;
        }
    }
    return ksize;
}

void fi_check_case(void) {
    static int bounds[2 * 400];
    static double k[400 * 12];
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_F, IMAGING_MODE_I, IMAGING_MODE_I_16});
    int width = fi_draw_length(), height = 1 + fi_draw(40), size = fi_draw_length(), offset = fi_draw(height);
    Imaging in = fi_draw_picture(mode, width, height);
    Imaging ours = ImagingNewDirty(mode, size, height - offset), theirs = ImagingNewDirty(mode, size, height - offset);
    int ksize = draw_coefficients(width, size, bounds, k);
    fi_say("along rows, mode %d, %dx%d to %d, %d taps, from row %d", mode, width, height, size, ksize, offset);
    ResampleFunction along =
        mode == IMAGING_MODE_I_16 ? _ImagingResampleHorizontal_16bpc : _ImagingResampleHorizontal_32bpc;
    along(ours, in, offset, ksize, bounds, k);
    along =
        mode == IMAGING_MODE_I_16 ? _ImagingResampleHorizontal_16bpc__source : _ImagingResampleHorizontal_32bpc__source;
    along(theirs, in, offset, ksize, bounds, k);
    fi_compare(ours, theirs);
    ours = ImagingNewDirty(mode, width, size), theirs = ImagingNewDirty(mode, width, size);
    ksize = draw_coefficients(height, size, bounds, k);
    fi_say("down columns, mode %d, %dx%d to %d, %d taps", mode, width, height, size, ksize);
    ResampleFunction down = mode == IMAGING_MODE_I_16 ? _ImagingResampleVertical_16bpc : _ImagingResampleVertical_32bpc;
    down(ours, in, 0, ksize, bounds, k);
    down = mode == IMAGING_MODE_I_16 ? _ImagingResampleVertical_16bpc__source : _ImagingResampleVertical_32bpc__source;
    down(theirs, in, 0, ksize, bounds, k);
    fi_compare(ours, theirs);
    ImagingDelete(in);
}
