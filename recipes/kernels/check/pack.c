/* Pillow's Pack.c beside the kernel. */

#define ImagingPackRGB ImagingPackRGB__source
#define ImagingPackBGR ImagingPackBGR__source
#include "Pack.c"
#undef ImagingPackRGB
#undef ImagingPackBGR
#include "../pack.c"
#include "check.h"

void fi_check_case(void) {
    int width = fi_draw_length();
    UINT8 *in = malloc(4 * width), *ours = calloc(3, width), *theirs = calloc(3, width);
    fi_draw_bytes(in, 4 * width);
    fi_say("pack %d pixels", width);
    ImagingPackRGB(ours, in, width);
    ImagingPackRGB__source(theirs, in, width);
    fi_compare_bytes(ours, theirs, 3 * width);
    ImagingPackBGR(ours, in, width);
    ImagingPackBGR__source(theirs, in, width);
    fi_compare_bytes(ours, theirs, 3 * width);
    free(in);
    free(ours);
    free(theirs);
}
