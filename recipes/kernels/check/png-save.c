/* Pillow's ZipEncode.c beside the kernel: both files are inflated, and have the same filtered rows. */

#define HAVE_LIBZ
#define ImagingZipEncode ImagingZipEncode__source
#define ImagingZipEncodeCleanup ImagingZipEncodeCleanup__source
#include "ZipEncode.c"
#undef ImagingZipEncode
#undef ImagingZipEncodeCleanup
#include "../png-save.c"
#include "check.h"

typedef int (*fi_encoder)(Imaging im, ImagingCodecState state, UINT8 *buf, int bytes);
typedef void (*fi_cleanup)(ImagingCodecState state);

static int check_bytes; /* of a packed pixel */

static void pack_pixels(UINT8 *out, const UINT8 *in, int pixels) {
    int step = check_bytes == 3 ? 4 : check_bytes;
    for (int x = 0; x < pixels; x++) {
        memcpy(out + check_bytes * x, in + step * x, check_bytes);
    }
}

/* Save by calls that have room for a few bytes or for many, and inflate what was saved. */
static UINT8 *save_rows(Imaging im, ZIPSTATE settings, fi_encoder encode, fi_cleanup cleanup, size_t *size) {
    struct ImagingCodecStateInstance state = {0};
    static UINT8 room[1 << 16];
    z_stream stream = {0};
    UINT8 *rows = malloc(*size + 1);
    state.xsize = im->xsize;
    state.ysize = im->ysize;
    state.bits = 8 * check_bytes;
    state.bytes = im->xsize * check_bytes;
    state.shuffle = pack_pixels;
    state.context = &settings;
    inflateInit(&stream);
    stream.next_out = rows;
    stream.avail_out = *size + 1;
    while (!state.errcode) {
        int count = encode(im, &state, room, 1 + (fi_draw(2) ? fi_draw(100) : fi_draw(sizeof(room))));
        stream.next_in = room;
        stream.avail_in = count > 0 ? count : 0;
        inflate(&stream, Z_NO_FLUSH);
    }
    cleanup(&state);
    free(state.buffer);
    *size = stream.total_out;
    inflateEnd(&stream);
    return rows;
}

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_I_16, IMAGING_MODE_RGB, IMAGING_MODE_RGBA});
    Imaging im = fi_draw_picture(mode, fi_draw_length(), fi_draw_length());
    ZIPSTATE settings = {0};
    settings.mode = fi_draw(8) ? ZIP_PNG : ZIP_PNG_PALETTE;
    settings.optimize = fi_draw(8) == 0;
    settings.compress_level = (int)fi_draw(11) - 1;
    settings.compress_type = fi_draw(4) ? -1 : (int)fi_draw(5);
    check_bytes = mode == IMAGING_MODE_RGB ? 3 : im->pixelsize;
    fi_say("save mode %d, %dx%d, level %d, type %d, optimize %d", mode, im->xsize, im->ysize, settings.compress_level,
           settings.compress_type, settings.optimize);
    size_t one = ((size_t)im->xsize * check_bytes + 1) * im->ysize, other = one;
    UINT8 *ours = save_rows(im, settings, ImagingZipEncode, ImagingZipEncodeCleanup, &one);
    UINT8 *theirs = save_rows(im, settings, ImagingZipEncode__source, ImagingZipEncodeCleanup__source, &other);
    fi_compare_bytes(&one, &other, sizeof(one));
    fi_compare_bytes(ours, theirs, one);
    free(ours);
    free(theirs);
    ImagingDelete(im);
}
