/* Pillow's Unpack.c beside the kernel. */

#define ImagingUnpackRGB ImagingUnpackRGB__source
#define ImagingUnpackBGR ImagingUnpackBGR__source
#include "Unpack.c"
#undef ImagingUnpackRGB
#undef ImagingUnpackBGR
#include "../unpack.c"
#include "check.h"

void fi_check_case(void) {
    int width = fi_draw_length();
    UINT8 *in = malloc(3 * width), *ours = calloc(4, width), *theirs = calloc(4, width);
    fi_draw_bytes(in, 3 * width);
    fi_say("unpack %d pixels", width);
    ImagingUnpackRGB(ours, in, width);
    ImagingUnpackRGB__source(theirs, in, width);
    fi_compare_bytes(ours, theirs, 4 * width);
    ImagingUnpackBGR(ours, in, width);
    ImagingUnpackBGR__source(theirs, in, width);
    fi_compare_bytes(ours, theirs, 4 * width);
    free(in);
    free(ours);
    free(theirs);
}
