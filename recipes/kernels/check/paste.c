/* Pillow's Paste.c beside the kernel that pastes a picture. */

#define paste_mask_1 paste_mask_1__source
#define paste_mask_L paste_mask_L__source
#define paste_mask_RGBA paste_mask_RGBA__source
#include "Paste.c"
#undef paste_mask_1
#undef paste_mask_L
#undef paste_mask_RGBA
#include "../paste.c"
#include "check.h"

typedef void paste_function(Imaging, Imaging, Imaging, int, int, int, int, int, int, int);

void fi_check_case(void) {
    static const struct {
        ModeID mode;
        paste_function *ours, *theirs;
    } masks[] = {{IMAGING_MODE_1, paste_mask_1, paste_mask_1__source},
                 {IMAGING_MODE_L, paste_mask_L, paste_mask_L__source},
                 {IMAGING_MODE_LA, paste_mask_RGBA, paste_mask_RGBA__source},
                 {IMAGING_MODE_RGBA, paste_mask_RGBA, paste_mask_RGBA__source}};
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA,
                                     IMAGING_MODE_F, IMAGING_MODE_I_16});
    int width = fi_draw_length(), height = 1 + fi_draw(20), dx = fi_draw(20), dy = fi_draw(5), which = fi_draw(4);
    int sx = fi_draw(width), sy = fi_draw(height);
    Imaging out = fi_draw_picture(mode, dx + width + fi_draw(20), dy + height), copy = fi_copy_picture(out);
    Imaging in = fi_draw_picture(mode, width, height), mask = fi_draw_picture(masks[which].mode, width, height);
    fi_say("paste, mode %d, mask %d, %dx%d from %d,%d to %d,%d", mode, mask->mode, width, height, sx, sy, dx, dy);
    masks[which].ours(out, in, mask, dx, dy, sx, sy, width - sx, height - sy, out->pixelsize);
    masks[which].theirs(copy, in, mask, dx, dy, sx, sy, width - sx, height - sy, out->pixelsize);
    fi_compare(out, copy);
    ImagingDelete(in);
    ImagingDelete(mask);
}
