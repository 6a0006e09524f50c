/* Pillow's Convert.c beside the kernel. */

#define rgb2hsv rgb2hsv__source
#define hsv2rgb hsv2rgb__source
#include "Convert.c"
#undef rgb2hsv
#undef hsv2rgb
#include "../hsv.c"
#include "check.h"

void fi_check_case(void) {
    int width = fi_draw_length();
    UINT8 *in = malloc(4 * width), *ours = calloc(4, width), *theirs = calloc(4, width);
    fi_draw_bytes(in, 4 * width);
    fi_say("rgb2hsv, %d pixels, first %d %d %d", width, in[0], in[1], in[2]);
    rgb2hsv(ours, in, width);
    rgb2hsv__source(theirs, in, width);
    fi_compare_bytes(ours, theirs, 4 * width);
    fi_say("hsv2rgb, %d pixels, first %d %d %d", width, in[0], in[1], in[2]);
    hsv2rgb(ours, in, width);
    hsv2rgb__source(theirs, in, width);
    fi_compare_bytes(ours, theirs, 4 * width);
    free(in);
    free(ours);
    free(theirs);
}
