/* Pillow's Geometry.c beside the kernel. */

#define ImagingGenericTransform ImagingGenericTransform__source
#define affine_fixed affine_fixed__source
#include "Geometry.c"
#undef ImagingGenericTransform
#undef affine_fixed
#include "../transform.c"
#include "check.h"

/* A picture so wide that coordinates of 16.16 bits pass 2**31 within a row. In the widest results, rounded steps take
   them further than a pixel. */
static void fi_check_wide(void) {
    Imaging in = fi_draw_picture(IMAGING_MODE_L, fi_draw(2) ? 32767 : 32760 + fi_draw(9000), 1 + fi_draw(2));
    Imaging ours = fi_draw_picture(IMAGING_MODE_L, 50000 + fi_draw(15000) + fi_draw(2) * 100000, 1);
    Imaging theirs = fi_copy_picture(ours);
    double sign = fi_draw(2) ? 1 : -1;
    double a[6] = {sign * (0.5 + fi_draw(100) / 1000.0) / 65536, 0, sign * (32767 + fi_draw(10) / 10.0), 0, 0, 0.25};
    fi_say("transform %dx%d to %dx1, nearest, %g %g", in->xsize, in->ysize, ours->xsize, a[0], a[2]);
    affine_fixed(ours, in, 0, 0, ours->xsize, 1, a, IMAGING_TRANSFORM_NEAREST, 1);
    affine_fixed__source(theirs, in, 0, 0, theirs->xsize, 1, a, IMAGING_TRANSFORM_NEAREST, 1);
    fi_compare(ours, theirs);
    ImagingDelete(in);
}

void fi_check_case(void) {
    if (fi_draw(40) == 0) {
        fi_check_wide();
        return;
    }
    ModeID mode =
        FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA, IMAGING_MODE_I_16});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), fi_draw_length());
    Imaging ours = fi_draw_picture(mode, fi_draw_length(), 1 + fi_draw(60)), theirs = fi_copy_picture(ours);
    int filter = FI_TAKE((int[]){IMAGING_TRANSFORM_BILINEAR, IMAGING_TRANSFORM_BICUBIC, IMAGING_TRANSFORM_NEAREST});
    int fill = fi_draw(2), perspective = fi_draw(3) == 0;
    double a[8];
    for (int i = 0; i < 8; i++) {
        a[i] = i % 3 == 2 ? fi_draw_fraction() * 60 : fi_draw_fraction() * 2;
    }
    a[6] /= 500;
    a[7] /= 500;
    if (fi_draw(3) == 0) { /* it only scales */
        a[1] = a[3] = 0;
    }
    int x0 = fi_draw(ours->xsize), y0 = fi_draw(ours->ysize);
    int x1 = x0 + fi_draw(ours->xsize - x0 + 1), y1 = y0 + fi_draw(ours->ysize - y0 + 1);
    fi_say("transform mode %d, filter %d, %dx%d to %dx%d, perspective %d, fill %d, %g %g %g", mode, filter, in->xsize,
           in->ysize, ours->xsize, ours->ysize, perspective, fill, a[0], a[1], a[2]);
    if (filter == IMAGING_TRANSFORM_NEAREST && !perspective && mode != IMAGING_MODE_I_16) { /* numbers that fit */
        affine_fixed(ours, in, x0, y0, x1, y1, a, filter, fill);
        affine_fixed__source(theirs, in, x0, y0, x1, y1, a, filter, fill);
    } else {
        ImagingTransformMap map = perspective ? perspective_transform : affine_transform;
        ImagingGenericTransform(ours, in, x0, y0, x1, y1, map, a, filter, fill);
        ImagingGenericTransform__source(theirs, in, x0, y0, x1, y1, map, a, filter, fill);
    }
    fi_compare(ours, theirs);
    ImagingDelete(in);
}
