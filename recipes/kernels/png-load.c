/* Loading PNG: zlib inflates many rows a call, and the row filters are undone pixel by pixel in vectors.

   Pillow's own code inflates row by row. zlib is fast only while there is room for 258 bytes and more, so it is slow at the
   end of each row. Here it gets room for 128 kB, of which rows are taken. Pillow's code does what is left: pictures with
   interlaced rows, the last row, and the last bytes of what was read so far.

   Why errors and cut files end as in Pillow. What can be seen of them is after which row Pillow stops, and with which error.

   - Pillow stops at a row's end where all that it was given is read, though zlib may hold back the rest of a match. At a
     row's end zlib has read one code or one block's head ahead, so that this does not happen while FI_TAIL bytes are left,
     which Pillow's code gets.
   - What zlib has read when it is at some byte of the rows does not depend on how much room its calls gave: whole bytes up
     to the next code.
   - The last row of a picture ends the file, so it is left to Pillow, and with it whatever stands behind it.
   - A row of an unknown filter is the end, as there; no row after it is looked at.
   - zlib reads ahead in the call that ends a row. If it finds an error there, the row is lost. Only a distance that is too
     far is found when its bytes are wanted.
   - If it finds the end of the data there, Pillow stops without an error, else it waits for more. So where the input ends
     with a row, zlib reads ahead in the tail, without any room.

   Each pixel's filter needs the pixel to its left, so that time is the latency of one pixel after the other: the bytes of a
   pixel are undone at once, in lanes of 8 bits, or of 16 bits for Paeth.

       left   a  r g b .      Paeth: of a, b and c that which is nearest to a + b - c; on the way from one pixel to the
       above  b  r g b .      next there are eight operations, all others do not wait for a
       corner c  r g b .

   Photographs of 1920x1080 take half as long as with zlib-ng and Pillow's own loops, and a third as long on pages as in the
   official wheel (24 ms of 48 and 62; 3.7 of 8.0 and 11.3; AMD Zen 4, 2026-11-29). */

#include "vectors.h"

#define FI_ROOM (1 << 17) /* bytes that are inflated at a time, and a row more */
#define FI_TAIL 512       /* bytes of what was read that are left to Pillow */
#define FI_FLAT 24        /* bytes that are compared at once: whole pixels of one to four bytes */
#define FI_SLACK 16       /* bytes behind rows that are read, or written and then written again */

typedef UINT8 fi_pixel_u8 __attribute__((vector_size(8))); /* at most eight bytes of a pixel */
typedef INT16 fi_pixel_i16 __attribute__((vector_size(16)));
typedef int64_t fi_pixel_i64 __attribute__((vector_size(16)));

/* The bytes that are moved for a pixel: with four or eight, a pixel of three or six is one move. What is read is that of
   the next pixel, too; and it is written before that is. */
#define FI_MOVED(bytes) ((bytes) == 3 ? 4 : (bytes) == 6 ? 8 : (bytes))

FI_INLINE fi_pixel_u8 fi_load_pixel(const UINT8 *from, int bytes) {
    fi_pixel_u8 pixel = {0};
    memcpy(&pixel, from, FI_MOVED(bytes));
    return pixel;
}

/* All pixels but the last of a row are written with what follows them. */
FI_INLINE void fi_store_pixel(UINT8 *to, fi_pixel_u8 pixel, int left, int bytes) {
    if (left > bytes) {
        memcpy(to, &pixel, FI_MOVED(bytes));
    } else {
        memcpy(to, &pixel, bytes);
    }
}

static inline fi_pixel_i16 fi_absolute(fi_pixel_i16 value) {
    fi_pixel_i16 sign = value >> 15;
    return (value ^ sign) - sign;
}

static inline void fi_undo_up(UINT8 *restrict row, const UINT8 *restrict above, int count) {
    for (int i = 0; i < count; i++) {
        row[i] += above[i];
    }
}

FI_INLINE void fi_undo_left(UINT8 *row, int count, int bytes) {
    fi_pixel_u8 left = {0}, next = fi_load_pixel(row, bytes);
    for (int i = 0; i < count; i += bytes) {
        left += next;
        next = fi_load_pixel(row + i + bytes, bytes);
        fi_store_pixel(row + i, left, count - i, bytes);
    }
}

/* The average is rounded down: the bits that both have, and half of those that one has. */
FI_INLINE void fi_undo_average(UINT8 *row, const UINT8 *above, int count, int bytes) {
    fi_pixel_u8 left = {0}, next = fi_load_pixel(row, bytes);
    for (int i = 0; i < count; i += bytes) {
        fi_pixel_u8 up = fi_load_pixel(above + i, bytes);
        left = (left & up) + ((left ^ up) >> 1) + next;
        next = fi_load_pixel(row + i + bytes, bytes);
        fi_store_pixel(row + i, left, count - i, bytes);
    }
}

FI_INLINE fi_pixel_i16 fi_choose(fi_pixel_i16 mask, fi_pixel_i16 one, fi_pixel_i16 other) {
    return (one & mask) | (other & ~mask);
}

/* Keep a compiler from computing a value later than it is written: clang would add once, after the choice. */
FI_INLINE fi_pixel_i16 fi_now(fi_pixel_i16 value) {
#if defined(__x86_64__)
    __asm__("" : "+x"(value));
#elif defined(__aarch64__)
    __asm__("" : "+w"(value));
#endif
    return value;
}

/* Whether the next bytes of a row repeat the pixel before them, if that equals the pixel above it: the row above goes on
   in one colour, and nothing is added. Most of a page is like this. The first pixel is in `next`: in memory its bytes wait
   for what was written last. */
FI_INLINE int fi_is_flat(fi_pixel_u8 next, const UINT8 *row, const UINT8 *above, int bytes) {
    static const UINT8 zeros[FI_FLAT] = {0};
    return ((uint64_t)next & ((2ull << (8 * bytes - 1)) - 1)) == 0 && memcmp(row + bytes, zeros, FI_FLAT) == 0 &&
           memcmp(above, above - bytes, FI_FLAT) == 0;
}

/* The three results are ready before it is known which is wanted. */
FI_INLINE void fi_undo_paeth(UINT8 *row, const UINT8 *above, int count, int bytes) {
    fi_pixel_i16 a = {0}, c = {0};
    fi_pixel_u8 next = fi_load_pixel(row, bytes);
    for (int i = 0; i < count;) {
        if (bytes <= 4 && i >= bytes && i + bytes + FI_FLAT <= count &&
            fi_is_flat(next, row + i, above + i, bytes) && ((fi_pixel_i64)(a ^ c))[0] == 0) {
            memcpy(row + i, above + i, FI_FLAT);
            i += FI_FLAT;
            next = fi_load_pixel(row + i, bytes);
            continue;
        }
        fi_pixel_i16 b = __builtin_convertvector(fi_load_pixel(above + i, bytes), fi_pixel_i16);
        fi_pixel_i16 difference = __builtin_convertvector(next, fi_pixel_i16);
        fi_pixel_i16 to_a = fi_absolute(b - c), to_b = fi_absolute(a - c), to_c = fi_absolute((b - c) + (a - c));
        fi_pixel_i16 by_a = fi_now((a + difference) & 255), by_b = fi_now((b + difference) & 255);
        fi_pixel_i16 by_c = fi_now((c + difference) & 255);
        fi_pixel_i16 nearer = fi_choose(to_b > to_c, by_c, by_b);
        a = fi_choose((to_a > to_b) | (to_a > to_c), nearer, by_a);
        c = b;
        next = fi_load_pixel(row + i + bytes, bytes);
        fi_store_pixel(row + i, __builtin_convertvector(a, fi_pixel_u8), count - i, bytes);
        i += bytes;
    }
}

FI_INLINE void fi_undo_filter(int filter, UINT8 *row, const UINT8 *above, int count, int bytes) {
    if (filter == 1) {
        fi_undo_left(row, count, bytes);
    } else if (filter == 2) {
        fi_undo_up(row, above, count);
    } else if (filter == 3) {
        fi_undo_average(row, above, count, bytes);
    } else if (filter == 4) {
        fi_undo_paeth(row, above, count, bytes);
    }
}

/* Undo the filter of a row by the row above it. The row's number of bytes is a multiple of a pixel's. */
static void fi_undo_row(int filter, UINT8 *row, const UINT8 *above, int count, int bytes) {
    switch (bytes) {
        case 1:
            fi_undo_filter(filter, row, above, count, 1);
            break;
        case 2:
            fi_undo_filter(filter, row, above, count, 2);
            break;
        case 3:
            fi_undo_filter(filter, row, above, count, 3);
            break;
        case 4:
            fi_undo_filter(filter, row, above, count, 4);
            break;
        case 6:
            fi_undo_filter(filter, row, above, count, 6);
            break;
        default:
            fi_undo_filter(filter, row, above, count, 8);
    }
}

/* How many bytes of rows are inflated at most. */
static size_t fi_room(ImagingCodecState state) {
    size_t row = (size_t)state->bytes + 1, all = row * state->ysize;
    return (all < FI_ROOM ? all : FI_ROOM) + row;
}

/* Pillow's own code has begun; its pointers for encoders are free. Rows are taken here if there is memory for them. */
static void fi_begin_png_load(ImagingCodecState state) {
    ZIPSTATE *context = (ZIPSTATE *)state->context;
    int pixel = (state->bits + 7) / 8;
    context->prior = NULL;
    if (!context->interlaced && context->mode == ZIP_PNG && (pixel <= 4 || pixel == 6 || pixel == 8) &&
        state->bytes % pixel == 0) {
        size_t row = (size_t)state->bytes + 1;
        context->prior = malloc(row + fi_room(state) + FI_SLACK);
    }
}

static void fi_end_png_load(ZIPSTATE *context) {
    free(context->prior);
    context->prior = NULL;
}

/* Undo the filters of rows below another, and unpack them. Returns how many; fewer if one has an unknown filter. */
static size_t fi_take_rows(Imaging im, ImagingCodecState state, UINT8 *rows, size_t count) {
    size_t row = (size_t)state->bytes + 1, taken = 0;
    for (; taken < count && rows[0] <= 4; taken++, rows += row) {
        fi_undo_row(rows[0], rows + 1, rows + 1 - row, state->bytes, (state->bits + 7) / 8);
        UINT8 *out = (UINT8 *)im->image[state->y + state->yoff] + state->xoff * im->pixelsize;
        state->shuffle(out, rows + 1, state->xsize);
        state->y++;
    }
    return taken;
}

/* Whether Pillow takes a row that zlib's last call has ended. */
static int fi_is_taken(const z_stream *stream, int err) {
    return err >= 0 || (stream->msg && strcmp(stream->msg, "invalid distance too far back") == 0);
}

/* Take rows, the first of them partly inflated before, until the input ends but for its tail, or the last row begins.
   Returns 0 if Pillow shall go on with the rest of the input, 1 if it waits for more, and -1 at the end. */
static int fi_load_rows(Imaging im, ImagingCodecState state) {
    ZIPSTATE *context = (ZIPSTATE *)state->context;
    z_stream *stream = &context->z_stream;
    size_t row = (size_t)state->bytes + 1, room = fi_room(state), ready = context->last_output;
    UINT8 *rows = context->prior + row;
    int err = Z_OK, tail = FI_TAIL;
    memcpy(rows - row, context->previous, row);
    memcpy(rows, state->buffer, ready);
    stream->avail_in -= tail;
    while (err == Z_OK && stream->avail_in > 0 && state->y < state->ysize - 1) {
        size_t left = row * (state->ysize - 1 - state->y);
        stream->next_out = rows + ready;
        stream->avail_out = (left < room ? left : room) - ready;
        err = inflate(stream, Z_NO_FLUSH);
        ready = stream->next_out - rows;
        size_t count = ready / row, rest = ready % row;
        if (err == Z_OK && count && !rest && stream->avail_in == 0) {
            stream->avail_in = tail;
            stream->avail_out = 0;
            err = inflate(stream, Z_NO_FLUSH);
            err = err == Z_BUF_ERROR ? Z_OK : err; /* it had read ahead */
            tail = stream->avail_in;
            stream->avail_in = 0;
        }
        count -= count && !rest && !fi_is_taken(stream, err);
        size_t taken = fi_take_rows(im, state, rows, count);
        if (taken < count) {
            state->errcode = IMAGING_CODEC_UNKNOWN;
            return -1;
        }
        if (err < 0) {
            state->errcode = err == Z_DATA_ERROR  ? IMAGING_CODEC_BROKEN
                             : err == Z_MEM_ERROR ? IMAGING_CODEC_MEMORY
                                                  : IMAGING_CODEC_CONFIG;
            return -1;
        }
        if (err == Z_STREAM_END && count && !rest) {
            return -1;
        }
        if (count) {
            memcpy(rows - row, rows + (count - 1) * row, row);
            memmove(rows, rows + count * row, rest);
        }
        ready = rest;
    }
    stream->avail_in += tail;
    memcpy(context->previous, rows - row, row);
    memcpy(state->buffer, rows, ready);
    context->last_output = ready;
    return err != Z_OK;
}

int ImagingZipDecode(Imaging im, ImagingCodecState state, UINT8 *buf, Py_ssize_t bytes) {
    ZIPSTATE *context = (ZIPSTATE *)state->context;
    z_stream *stream = &context->z_stream;
    Py_ssize_t rest = bytes;
    if (!state->state) {
        if (ImagingZipDecode__source(im, state, buf, 0) < 0) {
            return -1;
        }
        fi_begin_png_load(state);
    }
    /* The rows are copied in and out again, so not for pieces that are small beside a row. */
    int is_worth = bytes > FI_TAIL && bytes <= INT_MAX && state->bytes / 8 <= bytes && state->y < state->ysize - 1;
    if (context->prior && is_worth) {
        stream->next_in = buf;
        stream->avail_in = bytes;
        int is_over = fi_load_rows(im, state);
        if (is_over > 0) {
            return bytes;
        }
        if (is_over < 0) {
            inflateEnd(stream);
            free(context->previous);
            context->previous = NULL;
            fi_end_png_load(context);
            return -1;
        }
        rest = stream->avail_in;
    }
    int result = ImagingZipDecode__source(im, state, buf + bytes - rest, rest);
    if (!context->previous) {
        fi_end_png_load(context);
    }
    return result < 0 ? result : bytes;
}

void ImagingZipDecodeCleanup(ImagingCodecState state) {
    fi_end_png_load((ZIPSTATE *)state->context);
    ImagingZipDecodeCleanup__source(state);
}
