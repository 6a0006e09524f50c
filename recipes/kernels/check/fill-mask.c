/* Pillow's Paste.c beside the kernel that pastes a colour. */

#define fill_mask_1 fill_mask_1__source
#define fill_mask_L fill_mask_L__source
#define fill_mask_RGBA fill_mask_RGBA__source
#include "Paste.c"
#undef fill_mask_1
#undef fill_mask_L
#undef fill_mask_RGBA
#include "../fill-mask.c"
#include "check.h"

/* One of the functions, whose inks have other types. */
static void fill_by(int which, int ours, Imaging out, void *ink, Imaging mask, const int *at, int width, int height) {
    int x = at[0], y = at[1], sx = at[2], sy = at[3], pixelsize = out->pixelsize;
    if (which == 0) {
        (ours ? fill_mask_1 : fill_mask_1__source)(out, ink, mask, x, y, sx, sy, width, height, pixelsize);
    } else if (which == 1) {
        (ours ? fill_mask_L : fill_mask_L__source)(out, ink, mask, x, y, sx, sy, width, height, pixelsize);
    } else {
        (ours ? fill_mask_RGBA : fill_mask_RGBA__source)(out, ink, mask, x, y, sx, sy, width, height, pixelsize);
    }
}

void fi_check_case(void) {
    static const ModeID masks[] = {IMAGING_MODE_1, IMAGING_MODE_L, IMAGING_MODE_RGBA};
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB, IMAGING_MODE_RGBA,
                                     IMAGING_MODE_RGBa, IMAGING_MODE_I_16});
    int width = fi_draw_length(), height = 1 + fi_draw(20), which = fi_draw(3);
    int at[] = {fi_draw(20), fi_draw(5), fi_draw(width), fi_draw(height)};
    UINT8 ink[4];
    fi_draw_bytes(ink, sizeof(ink));
    Imaging out = fi_draw_picture(mode, at[0] + width + fi_draw(20), at[1] + height), copy = fi_copy_picture(out);
    Imaging mask = fi_draw_picture(masks[which], width, height);
    fi_say("fill, mode %d, mask %d, %dx%d from %d,%d to %d,%d", mode, mask->mode, width, height, at[2], at[3], at[0],
           at[1]);
    fill_by(which, 1, out, ink, mask, at, width - at[2], height - at[3]);
    fill_by(which, 0, copy, ink, mask, at, width - at[2], height - at[3]);
    fi_compare(out, copy);
    ImagingDelete(mask);
}
