/* Pillow's RankFilter.c beside the kernel. */

#define ImagingRankFilter ImagingRankFilter__source
#include "RankFilter.c"
#undef ImagingRankFilter
#include "../rank-filter.c"
#include "check.h"

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_L, IMAGING_MODE_P, IMAGING_MODE_I, IMAGING_MODE_F});
    int size = FI_TAKE((int[]){3, 3, 5, 5, 1, 7, 13});
    Imaging in = fi_draw_picture(mode, size - 1 + fi_draw_length(), size - 1 + 1 + fi_draw(40));
    int rank = FI_TAKE((int[]){0, size * size / 2, size * size - 1, (int)fi_draw(size * size)});
    fi_say("rank filter mode %d, %dx%d, rank %d of %dx%d", mode, in->xsize, in->ysize, rank, size, size);
    fi_compare(ImagingRankFilter(in, size, rank), ImagingRankFilter__source(in, size, rank));
    ImagingDelete(in);
}
