/* Pillow's Point.c beside the kernel. */

#define ImagingPoint ImagingPoint__source
#include "Point.c"
#undef ImagingPoint
#include "../point.c"
#include "check.h"

/* A table by the kernel's rules, or almost, or of any bytes. */
static void draw_table(UINT8 *table) {
    UINT8 and_below = fi_draw(256), xor_below = fi_draw(256), and_above = fi_draw(256), xor_above = fi_draw(256);
    int last = fi_draw(3) ? (int)fi_draw(256) : 255, kind = fi_draw(4);
    for (int x = 0; x < 256; x++) {
        table[x] = x <= last ? (x & and_below) ^ xor_below : (x & and_above) ^ xor_above;
    }
    if (kind == 0) {
        table[fi_draw(256)] ^= 1 << fi_draw(8);
    } else if (kind == 1) {
        fi_draw_bytes(table, 256);
    }
}

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_1, IMAGING_MODE_L, IMAGING_MODE_LA, IMAGING_MODE_RGB,
                                     IMAGING_MODE_RGBA, IMAGING_MODE_CMYK});
    Imaging in = fi_draw_picture(mode, fi_draw_length(), 1 + fi_draw(30));
    UINT8 tables[4 * 256];
    for (int band = 0; band < 4; band++) {
        if (band && fi_draw(2)) {
            memcpy(tables + 256 * band, tables + 256 * fi_draw(band), 256);
        } else {
            draw_table(tables + 256 * band);
        }
    }
    fi_say("point, mode %d, %dx%d", mode, in->xsize, in->ysize);
    mode = fi_draw(4) ? IMAGING_MODE_UNKNOWN : mode; /* the picture's own; given, only one band is ours */
    fi_compare(ImagingPoint(in, mode, tables), ImagingPoint__source(in, mode, tables));
    ImagingDelete(in);
}
