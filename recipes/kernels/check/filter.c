/* Pillow's Filter.c beside the kernel. */

#define ImagingFilter ImagingFilter__source
#include "Filter.c"
#undef ImagingFilter
#include "../filter.c"
#include "check.h"

/* Weights as programs have them: integers by a scale, or any number. */
static void draw_weights(FLOAT32 *weights, int count) {
    int scale = 1 + fi_draw(FI_TAKE((int[]){4, 20, 300})), any = !fi_draw(4), most = FI_TAKE((int[]){2, 10, 200});
    for (int i = 0; i < count; i++) {
        weights[i] = any ? fi_draw_fraction() * most : ((int)fi_draw(2 * most + 1) - most) / (FLOAT32)scale;
        weights[i] = fi_draw(5) ? weights[i] : 0;
    }
}

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA,
                                     IMAGING_MODE_CMYK, IMAGING_MODE_P, IMAGING_MODE_F});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), fi_draw_length());
    int size = fi_draw(2) ? 3 : 5;
    FLOAT32 weights[25], offset = fi_draw(2) ? 0 : fi_draw(2) ? (int)fi_draw(300) - 150 : fi_draw_fraction() * 90;
    draw_weights(weights, size * size);
    fi_say("filter mode %d, %dx%d, size %d, offset %g, first weights %g %g %g", mode, in->xsize, in->ysize, size,
           offset, weights[0], weights[1], weights[2]);
    fi_compare(ImagingFilter(in, size, size, weights, offset), ImagingFilter__source(in, size, size, weights, offset));
    ImagingDelete(in);
}
