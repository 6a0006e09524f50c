/* Random cases of one kernel, and the stand-in for Pillow's pictures that they work on.

       CHECK SECONDS SEED      cases for some seconds; the seed is a number, or "random"
       CHECK FILE...           one case of each file's bytes, as a fuzzer wrote them

   Each case has 1, 2, 3 or 7 threads, and a share of it may be a single row. Compiled with FI_FUZZ it is a target of
   libFuzzer instead. A row of a picture is a piece of memory of its own, with marked bytes behind it: whoever writes
   there is found out, and AddressSanitizer finds whoever reads there. */

#include "Imaging.h"
#include "check.h"
#include "../threads.h"

#include <stdarg.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
#define GUARD 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GUARD 0
#endif
#endif
#ifndef GUARD
#define GUARD 64 /* marked bytes behind each row; AddressSanitizer does better */
#endif
#define MARK 0xa5

static const UINT8 *input, *input_end;
static uint64_t seed, case_seed;
static int from_input;
static char words[1000];

UINT32
fi_draw(UINT32 bound) {
    UINT32 number = 0;
    if (from_input) {
        for (UINT32 range = 1; range < bound && input < input_end; range <<= 8) {
            number = number << 8 | *input++;
            if (range > bound >> 8) {
                break;
            }
        }
    } else { /* splitmix64: S. Vigna, public domain */
        uint64_t mixed = seed += 0x9e3779b97f4a7c15;
        mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
        number = mixed >> 32;
    }
    return bound ? number % bound : 0;
}

double fi_draw_fraction(void) {
    return ((int)fi_draw(2049) - 1024) / 1024.0;
}

int fi_draw_length(void) {
    switch (fi_draw(4)) {
    case 0:
        return 1 + fi_draw(9);
    case 1: /* around widths of vectors */
        return 16 * (1 + fi_draw(8)) - 2 + fi_draw(5);
    case 2:
        return 1 + fi_draw(100);
    default:
        return 1 + fi_draw(fi_draw(4) ? 200 : 400);
    }
}

void fi_draw_bytes(UINT8 *bytes, size_t count) {
    UINT32 kind = fi_draw(5), value = fi_draw(256), step = fi_draw(7), noise = fi_draw(0x10000);
    for (size_t i = 0; i < count; i++) {
        noise = noise * 1664525 + 1013904223 + (kind == 1 ? fi_draw(256) : 0);
        bytes[i] = kind <= 1 ? noise >> 24 : kind == 2 ? (noise >> 31 ? 255 : 0) : kind == 3 ? i * step + value : value;
    }
}

Imaging fi_draw_picture(ModeID mode, int xsize, int ysize) {
    Imaging image = ImagingNewDirty(mode, xsize, ysize);
    for (int y = 0; y < ysize; y++) {
        UINT8 *row = (UINT8 *)image->image[y];
        fi_draw_bytes(row, image->linesize);
        for (int x = 0; x < image->linesize && image->pixelsize == 4 && image->type == IMAGING_TYPE_UINT8; x += 4) {
            row[x + 1] = image->bands == 2 ? 0 : row[x + 1];
            row[x + 2] = image->bands == 2 ? 0 : row[x + 2];
            row[x + 3] = image->bands == 3 ? 0 : row[x + 3];
        }
        for (int x = 0; x < image->linesize && mode == IMAGING_MODE_1; x++) {
            row[x] = row[x] & 1 ? 255 : 0;
        }
        for (int x = 0; x < image->linesize / 4 && image->type == IMAGING_TYPE_FLOAT32; x++) {
            FLOAT32 number = fi_draw_fraction() * 1000;
            memcpy(row + 4 * x, &number, sizeof(number));
        }
    }
    return image;
}

Imaging fi_copy_picture(Imaging image) {
    Imaging copy = ImagingNewDirty(image->mode, image->xsize, image->ysize);
    for (int y = 0; y < image->ysize; y++) {
        memcpy(copy->image[y], image->image[y], image->linesize);
    }
    return copy;
}

void fi_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof(words), format, arguments);
    va_end(arguments);
}

static void fail(const char *what, int x, int y, int ours, int theirs) {
    fprintf(stderr, "%s: %s at byte %d of row %d: ours %d, Pillow's %d (%d threads, SEED=%llu)\n", words, what, x, y,
            ours, theirs, fi_most_threads, (unsigned long long)case_seed);
    abort();
}

void fi_compare_bytes(const void *ours, const void *theirs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (((const UINT8 *)ours)[i] != ((const UINT8 *)theirs)[i]) {
            fail("other bytes", i, 0, ((const UINT8 *)ours)[i], ((const UINT8 *)theirs)[i]);
        }
    }
}

void fi_compare(Imaging ours, Imaging theirs) {
    if (!ours || !theirs) {
        if (ours || theirs) {
            fail("one picture is missing", 0, 0, ours != NULL, theirs != NULL);
        }
        return;
    }
    if (ours->mode != theirs->mode || ours->xsize != theirs->xsize || ours->ysize != theirs->ysize) {
        fail("another size or mode", 0, 0, ours->mode, theirs->mode);
    }
    for (int y = 0; y < ours->ysize; y++) {
        for (int x = 0; x < ours->linesize; x++) {
            UINT8 one = ours->image[y][x], other = theirs->image[y][x];
            if (one != other) {
                fail("another pixel", x, y, one, other);
            }
        }
    }
    ImagingDelete(ours);
    ImagingDelete(theirs);
}

/* The stand-in for Pillow's Storage.c. */

Imaging ImagingNewDirty(ModeID mode, int xsize, int ysize) {
    Imaging image = calloc(1, sizeof(*image));
    image->mode = mode;
    image->xsize = xsize;
    image->ysize = ysize;
    image->type = IMAGING_TYPE_UINT8;
    image->bands = image->pixelsize = 1;
    switch (mode) {
    case IMAGING_MODE_LA:
    case IMAGING_MODE_La:
    case IMAGING_MODE_PA:
        image->bands = 2;
        image->pixelsize = 4;
        break;
    case IMAGING_MODE_RGB:
    case IMAGING_MODE_YCbCr:
    case IMAGING_MODE_LAB:
    case IMAGING_MODE_HSV:
        image->bands = 3;
        image->pixelsize = 4;
        break;
    case IMAGING_MODE_RGBA:
    case IMAGING_MODE_RGBa:
    case IMAGING_MODE_RGBX:
    case IMAGING_MODE_CMYK:
        image->bands = image->pixelsize = 4;
        break;
    case IMAGING_MODE_F:
        image->type = IMAGING_TYPE_FLOAT32;
        image->pixelsize = 4;
        break;
    case IMAGING_MODE_I:
        image->type = IMAGING_TYPE_INT32;
        image->pixelsize = 4;
        break;
    case IMAGING_MODE_I_16:
        image->type = IMAGING_TYPE_I16;
        image->pixelsize = 2;
        break;
    default:
        break;
    }
    image->linesize = xsize * image->pixelsize;
    image->image = calloc(ysize + 1, sizeof(*image->image));
    for (int y = 0; y < ysize; y++) {
        image->image[y] = malloc(image->linesize + GUARD);
        memset(image->image[y] + image->linesize, MARK, GUARD);
    }
    image->image8 = image->pixelsize <= 2 ? (UINT8 **)image->image : NULL;
    image->image32 = image->pixelsize == 4 ? (INT32 **)image->image : NULL;
    return image;
}

Imaging ImagingNew(ModeID mode, int xsize, int ysize) {
    Imaging image = ImagingNewDirty(mode, xsize, ysize);
    for (int y = 0; y < ysize; y++) {
        memset(image->image[y], 0, image->linesize);
    }
    return image;
}

void ImagingDelete(Imaging image) {
    for (int y = 0; image && y < image->ysize; y++) {
        for (int x = 0; x < GUARD; x++) {
            UINT8 mark = image->image[y][image->linesize + x];
            if (mark != MARK) {
                fail("a byte behind a row was changed", image->linesize + x, y, mark, MARK);
            }
        }
        free(image->image[y]);
    }
    if (image) {
        free(image->image);
        free(image);
    }
}

Imaging ImagingCopy(Imaging image) {
    return fi_copy_picture(image);
}

Imaging ImagingCopy2(Imaging out, Imaging in) {
    for (int y = 0; y < in->ysize; y++) {
        memcpy(out->image[y], in->image[y], in->linesize);
    }
    return out;
}

int isModeI16(const ModeID mode) {
    return mode >= IMAGING_MODE_I_16;
}

void ImagingCopyPalette(Imaging destination, Imaging source) {
    (void)destination, (void)source;
}

void ImagingSectionEnter(ImagingSectionCookie *cookie) {
    (void)cookie;
}

void ImagingSectionLeave(ImagingSectionCookie *cookie) {
    (void)cookie;
}

PyObject *PyExc_ValueError;

void PyErr_SetString(PyObject *type, const char *text) {
    (void)type, (void)text;
}

void *ImagingError_MemoryError(void) {
    return NULL;
}

void *ImagingError_ModeError(void) {
    return NULL;
}

void *ImagingError_Mismatch(void) {
    return NULL;
}

void *ImagingError_ValueError(const char *message) {
    (void)message;
    return NULL;
}

static void check_case(void) {
    fi_most_threads = FI_TAKE((int[]){1, 1, 2, 3, 7});
    fi_check_case();
}

/* One case of some bytes. */
int LLVMFuzzerTestOneInput(const UINT8 *bytes, size_t count) {
    from_input = 1;
    input = bytes;
    input_end = bytes + count;
    check_case();
    return 0;
}

#ifndef FI_FUZZ
static void check_file(const char *path) {
    FILE *file = fopen(path, "rb");
    static UINT8 bytes[1 << 20];
    if (!file) {
        perror(path);
        exit(2);
    }
    LLVMFuzzerTestOneInput(bytes, fread(bytes, 1, sizeof(bytes), file));
    fclose(file);
}

static double seconds_since(const struct timespec *begun) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - begun->tv_sec + (now.tv_nsec - begun->tv_nsec) / 1e9;
}

int main(int count, char **arguments) {
    char *end;
    double seconds = count > 1 ? strtod(arguments[1], &end) : 1;
    if (count > 1 && *end) {
        for (int i = 1; i < count; i++) {
            check_file(arguments[i]);
        }
        return 0;
    }
    struct timespec begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    uint64_t first = count > 2 ? strtoull(arguments[2], &end, 0) : 1;
    first = count > 2 && *end ? (uint64_t)begun.tv_nsec ^ (uint64_t)begun.tv_sec << 30 : first;
    int cases = 0;
    for (; !cases || seconds_since(&begun) < seconds; cases++) {
        case_seed = first + cases;
        seed = case_seed * 0xd1342543de82ef95;
        check_case();
    }
    const char *extensions = getenv("FI_EXTENSIONS");
    printf("%s: %d cases%s%s\n", arguments[0], cases, extensions ? ", extensions: " : "", extensions ? extensions : "");
    return 0;
}
#endif
