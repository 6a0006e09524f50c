/* Pillow's Blend.c beside the kernel. */

#define ImagingBlend ImagingBlend__source
#include "Blend.c"
#undef ImagingBlend
#include "../blend.c"
#include "check.h"

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA});
    int width = fi_draw_length(), height = 1 + fi_draw(30);
    if (fi_draw(4) == 0) { /* a large picture */
        width += 500;
        height = FI_BLEND_LARGE / (mode == IMAGING_MODE_L ? 1 : 4) / width + fi_draw(3);
    }
    Imaging first = fi_draw_picture(mode, width, height), second = fi_draw_picture(mode, width, height);
    float alpha = FI_TAKE((float[]){fi_draw_fraction(), 4 * fi_draw_fraction(), (int)fi_draw(300) / 100.0f,
                                    (1 + (int)fi_draw(255)) / (1.0f + (int)fi_draw(255)),
                                    fi_draw_fraction() * (1 << fi_draw(24)), 0.5f * (int)fi_draw(9)});
    fi_say("blend, mode %d, %dx%d, alpha %.9g", mode, width, height, alpha);
    fi_compare(ImagingBlend(first, second, alpha), ImagingBlend__source(first, second, alpha));
    ImagingDelete(first);
    ImagingDelete(second);
}
