/* Pillow's Chops.c beside the kernel. */

#define ImagingChopMultiply ImagingChopMultiply__source
#define ImagingChopScreen ImagingChopScreen__source
#define ImagingChopSoftLight ImagingChopSoftLight__source
#define ImagingChopHardLight ImagingChopHardLight__source
#define ImagingOverlay ImagingOverlay__source
#define ImagingChopAdd ImagingChopAdd__source
#define ImagingChopSubtract ImagingChopSubtract__source
#include "Chops.c"
#undef ImagingChopMultiply
#undef ImagingChopScreen
#undef ImagingChopSoftLight
#undef ImagingChopHardLight
#undef ImagingOverlay
#undef ImagingChopAdd
#undef ImagingChopSubtract
#include "../chops.c"
#include "check.h"

void fi_check_case(void) {
    static Imaging (*const functions[][2])(Imaging, Imaging) = {
        {ImagingChopMultiply, ImagingChopMultiply__source},
        {ImagingChopScreen, ImagingChopScreen__source},
        {ImagingChopSoftLight, ImagingChopSoftLight__source},
        {ImagingChopHardLight, ImagingChopHardLight__source},
        {ImagingOverlay, ImagingOverlay__source},
    };
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA});
    int width = fi_draw_length(), height = 1 + fi_draw(30), other = fi_draw(4) ? width : fi_draw_length();
    Imaging first = fi_draw_picture(mode, width, height), second = fi_draw_picture(mode, other, height);
    for (int i = 0; i < (int)(sizeof(functions) / sizeof(*functions)); i++) {
        fi_say("chop %d, mode %d, %dx%d and %d wide", i, mode, width, height, other);
        fi_compare(functions[i][0](first, second), functions[i][1](first, second));
    }
    float scale = fi_draw(2) ? 1 : 0.125f * (1 + fi_draw(40));
    int offset = fi_draw(2) ? 0 : (int)fi_draw(600) - 300;
    fi_say("add, mode %d, %dx%d, scale %g, offset %d", mode, width, height, scale, offset);
    fi_compare(ImagingChopAdd(first, second, scale, offset), ImagingChopAdd__source(first, second, scale, offset));
    fi_say("subtract, mode %d, %dx%d, scale %g, offset %d", mode, width, height, scale, offset);
    fi_compare(ImagingChopSubtract(first, second, scale, offset),
               ImagingChopSubtract__source(first, second, scale, offset));
    ImagingDelete(first);
    ImagingDelete(second);
}
