/* Pillow's ZipDecode.c beside the kernel: whole, cut and damaged data in pieces give the same rows and errors. */

#define HAVE_LIBZ
#define ImagingZipDecode ImagingZipDecode__source
#define ImagingZipDecodeCleanup ImagingZipDecodeCleanup__source
#include "ZipDecode.c"
#undef ImagingZipDecode
#undef ImagingZipDecodeCleanup
#include "../png-load.c"
#include "check.h"

typedef int (*fi_decoder)(Imaging im, ImagingCodecState state, UINT8 *buf, Py_ssize_t bytes);
typedef void (*fi_cleanup)(ImagingCodecState state);

static int check_bytes; /* of a packed pixel */

static void unpack_pixels(UINT8 *out, const UINT8 *in, int pixels) {
    int step = check_bytes == 3 ? 4 : check_bytes;
    for (int x = 0; x < pixels; x++) {
        memcpy(out + step * x, in + check_bytes * x, check_bytes);
    }
}

typedef struct {
    int last, error, rows; /* the last return, the error, and how many rows were taken */
} fi_load_result;

/* Load by calls that get some bytes each, as long as they want more. */
static fi_load_result load_rows(
    Imaging im, UINT8 *data, size_t size, size_t piece, int interlaced, fi_decoder decode, fi_cleanup cleanup
) {
    struct ImagingCodecStateInstance state = {0};
    ZIPSTATE context = {0};
    fi_load_result result = {0};
    context.interlaced = interlaced;
    state.xsize = im->xsize;
    state.ysize = im->ysize;
    state.bits = 8 * check_bytes;
    state.bytes = im->xsize * check_bytes;
    state.buffer = calloc(1, state.bytes);
    state.shuffle = unpack_pixels;
    state.context = &context;
    for (size_t from = 0; from < size && result.last >= 0; from += piece) {
        result.last = decode(im, &state, data + from, size - from < piece ? size - from : piece);
    }
    result.error = state.errcode;
    result.rows = state.y;
    cleanup(&state);
    free(state.buffer);
    return result;
}

/* Compress rows with ends of blocks and runs of empty blocks between them, mostly after whole rows. Returns the size,
   and a place near which a cut is worth a try. */
static size_t compress_parts(UINT8 *data, const UINT8 *rows, size_t size, size_t row, size_t *cut) {
    static const UINT8 stored[] = {0, 0, 0, 255, 255}, fixed[] = {2, 8, 32, 128, 0}; /* one empty block; four of them */
    z_stream stream = {0};
    size_t from = 0;
    deflateInit(&stream, fi_draw(10));
    stream.next_out = data;
    *cut = 0;
    while (from < size) {
        size_t count = row * (1 + fi_draw(fi_draw(2) ? 3 : 200)) + (fi_draw(4) ? 0 : fi_draw(row));
        int flush = FI_TAKE((int[]){Z_NO_FLUSH, Z_BLOCK, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_FULL_FLUSH});
        count = count < size - from ? count : size - from;
        stream.next_in = (UINT8 *)rows + from;
        stream.avail_in = count;
        stream.avail_out = 1 << 30;
        from += count;
        deflate(&stream, from < size ? flush : Z_FINISH);
        if (from < size && flush >= Z_SYNC_FLUSH && flush <= Z_FULL_FLUSH && fi_draw(2)) {
            for (int blocks = fi_draw(fi_draw(2) ? 4 : 400); blocks > 0; blocks--) {
                memcpy(stream.next_out, fi_draw(2) ? stored : fixed, 5);
                stream.next_out += 5;
            }
            *cut = fi_draw(3) && *cut ? *cut : (size_t)(stream.next_out - data);
        }
    }
    deflateEnd(&stream);
    return stream.next_out - data;
}

void fi_check_case(void) {
    ModeID mode = FI_TAKE((ModeID[]){IMAGING_MODE_L, IMAGING_MODE_I_16, IMAGING_MODE_RGB, IMAGING_MODE_RGBA});
    int width = fi_draw_length(), height = fi_draw_length(), is_wrong = fi_draw(16) == 0;
    Imaging ours = ImagingNew(mode, width, height), theirs = ImagingNew(mode, width, height);
    check_bytes = mode == IMAGING_MODE_RGB ? 3 : ours->pixelsize;
    size_t row = (size_t)width * check_bytes + 1, size = row * height;
    size_t most = compressBound(size), piece = fi_draw(4) ? 1 + fi_draw(FI_TAKE((int[]){100, 2000, 70000})) : 1 << 30;
    UINT8 *rows = malloc(size), *data = malloc(most + (size_t)height * (5 * 400 + 64));
    int repeats = fi_draw(2); /* rows like the one before them: a match may span several */
    for (int y = 0; y < height; y++) {
        if (repeats && y && fi_draw(8)) {
            memcpy(rows + row * y, rows + row * (y - 1), row);
            continue;
        }
        fi_draw_bytes(rows + row * y, row);
        rows[row * y] = fi_draw(is_wrong && fi_draw(100) == 0 ? 256 : 5);
    }
    size = fi_draw(8) ? size : 1 + fi_draw(size);
    size_t cut = 0;
    if (fi_draw(2)) {
        compress2(data, &most, rows, size, fi_draw(10));
    } else {
        most = compress_parts(data, rows, size, row, &cut);
    }
    size = fi_draw(3) ? most : cut && fi_draw(4) ? fi_min(cut + fi_draw(12), most) : 1 + fi_draw(most);
    if (fi_draw(3) == 0) {
        data[fi_draw(size)] ^= 1 << fi_draw(8);
    }
    int interlaced = fi_draw(8) == 0;
    fi_say("load mode %d, %dx%d, %zu bytes of %zu, interlaced %d", mode, width, height, size, most, interlaced);
    fi_load_result one = load_rows(ours, data, size, piece, interlaced, ImagingZipDecode, ImagingZipDecodeCleanup);
    fi_load_result other =
        load_rows(theirs, data, size, piece, interlaced, ImagingZipDecode__source, ImagingZipDecodeCleanup__source);
    fi_compare_bytes(&one, &other, sizeof(one));
    fi_compare(ours, theirs);
    free(rows);
    free(data);
}
