/* Saving PNG: row filters by vectors, and a deflate that looks at the picture.

   Filters. Each row gets the filter whose bytes have the smallest sum of distances from zero, as Pillow chooses it. So
   the filtered rows are Pillow's, byte for byte. Pillow's loops go byte by byte; these are plain loops over arrays that
   do not overlap, which compilers turn into vectors. Zeros precede each row, and stand for the pixel to the left of
   the first one. With them the formula of each filter holds for the first pixel too, which needs no code of its own. A
   photograph of 1920x1080 takes 3 ms where Pillow's own loops take 45 (AMD Zen 4, 2026-11-29).

   Deflate. zlib looks for earlier occurrences of the next bytes ("matches"). On pages and screenshots nearly everything
   has occurred before. On the filtered rows of a photograph nothing has but by chance: the search takes ten times as
   long as coding each byte, and the few short matches make the file larger. So there are two methods: `runs` codes
   bytes and runs of one byte (deflate-runs.h), and `matches` is zlib-ng. Rows are compressed in batches, and a method
   is chosen for each:

   - A trial finds out which method is better. The batch goes through zlib-ng, and its size is compared with the size
     that runs would have. The first batch is a trial.
   - Runs are used for a megabyte before the next trial, and each further time for twice as long. If a batch would
     shrink to less than a quarter by runs, it is no photograph's, and is a trial instead.
   - Matches are used until they shrink a quarter of a megabyte to no less than a quarter of its size. Then comes a
     trial.

       batches of      32 kB    64 kB    64 kB
       a photograph    trial    runs     runs       ... until a trial
       a page          trial    matches  matches    ... until a trial

   The file is zlib's header of 2 bytes, then blocks of zlib-ng and blocks of our own by turns, and the Adler-32 of the
   filtered bytes. At each change the blocks before it end with a whole byte. Where zlib-ng goes on, it is given the
   last 32 kB as its dictionary.

   Levels. zlib-ng's lower levels find less than zlib's do (its level 1 makes files 1.3 times as large). So they are
   moved up until no level's files are larger than zlib's. zlib-ng's level 6 follows chains of 128 earlier occurrences.
   Only the first 32 of them are followed here, which gives files within 0.3 % in three quarters of the time. Small
   pictures lose more by that, so they get level 7. */

#include "deflate-runs.h"

#define FI_PNG_SAVE_WINDOW (1 << 15) /* deflate's window: how far back a match may begin; and the bytes of a trial */
#define FI_PNG_SAVE_BATCH (1 << 16)  /* filtered bytes that are compressed together, but for a trial */
#define FI_PNG_SAVE_PERIOD (1 << 20) /* filtered bytes that runs are used for at first, until the next trial */
#define FI_PNG_SAVE_CHECK (1 << 18)  /* filtered bytes after which the size of matches is looked at */
#define FI_PNG_SAVE_DENSE 4          /* a photograph shrinks to no less than a fourth */
#define FI_PNG_SAVE_SMALL (1 << 16)  /* filtered bytes of a picture; below this there is no trial */
#define FI_PNG_SAVE_LEAST_ROOM 16    /* bytes for zlib-ng; with 6 or less, each call repeats the marker of a flush */
#define FI_PNG_SAVE_ZEROS 32         /* zeros before a row; no pixel has more bytes */

#define FI_PNG_SAVE_DEFAULT 6 /* the level */

/* For each of zlib's levels, the level of zlib-ng whose files are at most as large. */
static const int fi_png_levels[] = {0, 2, 4, 4, 5, 6, 6, 7, 8, 9};

/* States of an encoder. Pillow's own are 0, before it begins, 1 and 2. */
enum { FI_PNG_SAVING = 3, FI_PNG_SAVED };

/* How a batch is compressed. */
typedef enum { FI_PNG_TRIAL, FI_PNG_MATCHES, FI_PNG_RUNS } fi_png_method;

/* How much is compressed: some rows, all of them, or all of them with their checksum in `out`. */
typedef enum { FI_PNG_SOME_ROWS, FI_PNG_ALL_ROWS, FI_PNG_ALL } fi_png_progress;

typedef struct {
    UINT8 *memory;             /* of all arrays that follow */
    UINT8 *row, *above;        /* packed pixels; FI_PNG_SAVE_ZEROS zeros precede them */
    UINT8 *best, *candidate;   /* filtered rows */
    UINT8 *batch, *last_batch; /* filtered rows, each after the number of its filter; and those before them */
    UINT8 *out;                /* bytes of the file that zlib-ng does not write into the caller's buffer */
    size_t size, last_size;    /* of both batches */
    size_t room, taken, ready; /* of `out`: its bytes from `taken` to `ready` wait for the caller's buffer */
    int level;                 /* of zlib-ng */
    int is_alone;              /* zlib-ng compresses everything: there are no trials */
    fi_png_progress progress;
    fi_png_method method;   /* of the batch */
    int flush;              /* how zlib-ng ends the batch; after matches, Z_BLOCK also means that a trial comes next */
    int is_flushed;         /* whether it has, so that the next batch can begin */
    size_t since;           /* filtered bytes that the method was used for since the last decision */
    size_t period;          /* filtered bytes that runs may be used for until the next trial */
    unsigned long written;  /* bytes that zlib-ng had written at the last decision */
    UINT32 adler;           /* checksum of the filtered bytes */
    fi_deflate_bits bits;   /* of our blocks */
    fi_deflate_block block; /* the batch as one of them */
} fi_png_save;

/* The sum of the distances from zero of bytes with a sign. It wraps around where Pillow's sum does. */
static int fi_png_cost(const UINT8 *restrict bytes, int count) {
    UINT32 sum = 0;
    for (int i = 0; i < count; i++) {
        UINT8 negative = (UINT8)-bytes[i];
        sum += bytes[i] < negative ? bytes[i] : negative;
    }
    return (int)sum;
}

static void fi_png_filter_up(UINT8 *restrict out, const UINT8 *restrict row, const UINT8 *restrict above, int count) {
    for (int i = 0; i < count; i++) {
        out[i] = row[i] - above[i];
    }
}

/* The pixel to the left has a pointer of its own: GCC would make no vectors of row[i - pixel], since i - pixel might
   wrap around. */
static void fi_png_filter_sub(UINT8 *restrict out, const UINT8 *restrict row, int pixel, int count) {
    const UINT8 *left = row - pixel;
    for (int i = 0; i < count; i++) {
        out[i] = row[i] - left[i];
    }
}

static void fi_png_filter_average(UINT8 *restrict out, const UINT8 *restrict row, const UINT8 *restrict above,
                                  int pixel, int count) {
    const UINT8 *left = row - pixel;
    for (int i = 0; i < count; i++) {
        out[i] = row[i] - (UINT8)((left[i] + above[i]) / 2);
    }
}

/* With a to the left, b above and c above to the left, the distances of a + b - c from a, b and c are |b - c|, |a - c|
   and |(b - c) + (a - c)|. The nearest is subtracted; of equally near ones a rather than b, and b rather than c. */
static void fi_png_filter_paeth(UINT8 *restrict out, const UINT8 *restrict row, const UINT8 *restrict above, int pixel,
                                int count) {
    const UINT8 *left = row - pixel, *corner = above - pixel;
    for (int i = 0; i < count; i++) {
        INT16 a = left[i], b = above[i], c = corner[i];
        INT16 to_a = b - c, to_b = a - c, to_c = to_a + to_b;
        to_a = to_a < 0 ? -to_a : to_a;
        to_b = to_b < 0 ? -to_b : to_b;
        to_c = to_c < 0 ? -to_c : to_c;
        INT16 nearer = to_b <= to_c ? b : c, distance = to_b <= to_c ? to_b : to_c;
        out[i] = row[i] - (UINT8)(to_a <= distance ? a : nearer);
    }
}

/* Take the candidate if it costs less than the best; returns the cost of the best. */
static int fi_png_keep_better(fi_png_save *save, UINT8 *filter, UINT8 number, int cost, int count) {
    int sum = fi_png_cost(save->candidate, count);
    if (sum >= cost) {
        return cost;
    }
    UINT8 *best = save->candidate;
    save->candidate = save->best;
    save->best = best;
    *filter = number;
    return sum;
}

/* Write the number of a filter, and the packed row filtered by it. The order of the filters decides between equal sums,
   and a sum of 0 ends the search, both as in Pillow. */
static void fi_png_filter_row(fi_png_save *save, UINT8 *out, int pixel, int count, int with_average) {
    const UINT8 *row = save->row, *above = save->above;
    int cost = fi_png_cost(row, count);
    UINT8 filter = 0;
    if (cost > 0) {
        fi_png_filter_up(save->candidate, row, above, count);
        cost = fi_png_keep_better(save, &filter, 2, cost, count);
    }
    if (cost > 0) {
        fi_png_filter_sub(save->candidate, row, pixel, count);
        cost = fi_png_keep_better(save, &filter, 1, cost, count);
    }
    if (cost > 0 && with_average) {
        fi_png_filter_average(save->candidate, row, above, pixel, count);
        cost = fi_png_keep_better(save, &filter, 3, cost, count);
    }
    if (cost > 0) {
        fi_png_filter_paeth(save->candidate, row, above, pixel, count);
        cost = fi_png_keep_better(save, &filter, 4, cost, count);
    }
    out[0] = filter;
    memcpy(out + 1, filter ? save->best : row, count);
}

/* Pack and filter the next rows of the picture into the batch, until it has at least `size` bytes. */
static void fi_png_fill_batch(fi_png_save *save, Imaging im, ImagingCodecState state, size_t size) {
    ZIPSTATE *context = (ZIPSTATE *)state->context;
    int pixel = (state->bits + 7) / 8;
    UINT8 *out = save->last_batch;
    save->last_batch = save->batch;
    save->last_size = save->size;
    save->batch = out;
    do {
        const UINT8 *in = (UINT8 *)im->image[state->y + state->yoff] + state->xoff * im->pixelsize;
        if (context->mode == ZIP_PNG) {
            state->shuffle(save->row, in, state->xsize);
            fi_png_filter_row(save, out, pixel, state->bytes, context->optimize);
            UINT8 *row = save->row;
            save->row = save->above;
            save->above = row;
        } else {
            out[0] = 0;
            state->shuffle(out + 1, in, state->xsize);
        }
        out += state->bytes + 1;
        state->y++;
    } while (state->y < state->ysize && (size_t)(out - save->batch) < size);
    save->size = out - save->batch;
    save->adler = adler32(save->adler, save->batch, save->size);
}

/* The method of the next batch, after what the last one showed. `written` is how many bytes zlib-ng has written. */
static fi_png_method fi_png_next_method(const fi_png_save *save, unsigned long written) {
    size_t size = written - save->written;
    if (save->is_alone) {
        return FI_PNG_MATCHES;
    }
    switch (save->method) {
    case FI_PNG_TRIAL: /* a low level wants speed, and gives up three per cent of the size for it */
        return save->block.size * FI_PNG_SAVE_DENSE > save->size &&
                       save->block.size <= size * (save->level < 7 ? 1.03 : 1.005)
                   ? FI_PNG_RUNS
                   : FI_PNG_MATCHES;
    case FI_PNG_MATCHES: /* Z_BLOCK: fi_png_give_batch has decided that a trial comes next */
        return save->flush == Z_BLOCK ? FI_PNG_TRIAL : FI_PNG_MATCHES;
    default:
        return save->since >= save->period ? FI_PNG_TRIAL : FI_PNG_RUNS;
    }
}

/* End our blocks with a whole byte, where zlib-ng goes on. It gets the filtered bytes before it as its window. */
static int fi_png_end_runs(fi_png_save *save, z_stream *stream, const UINT8 *bytes, size_t size) {
    fi_deflate_align(&save->bits, 0);
    save->ready = save->bits.out - save->out;
    return deflateSetDictionary(stream, bytes + size - FI_PNG_SAVE_WINDOW, FI_PNG_SAVE_WINDOW);
}

/* Write the batch to `out`, as the block that was planned for it. */
static void fi_png_write_runs(fi_png_save *save, int is_end) {
    fi_deflate_write(&save->block, save->batch, save->size, &save->bits);
    if (is_end) {
        fi_deflate_align(&save->bits, 1);
        save->progress = FI_PNG_ALL_ROWS;
    }
    save->ready = save->bits.out - save->out;
    save->since += save->size;
}

/* Give the batch to zlib-ng, and decide how zlib-ng ends it. A trial ends with a flush, so that its size is known. If
   matches did not shrink a quarter of a megabyte enough, a trial comes next. Its size is measured from there on, so
   this batch ends with a block (Z_BLOCK), and fi_png_next_method takes the flag as the decision for a trial. */
static void fi_png_give_batch(fi_png_save *save, z_stream *stream, fi_png_method method, int is_end) {
    stream->next_in = save->batch;
    stream->avail_in = save->size;
    save->since += save->size;
    save->flush = is_end ? Z_FINISH : method == FI_PNG_TRIAL ? Z_SYNC_FLUSH : Z_NO_FLUSH;
    save->is_flushed = 0;
    if (method == FI_PNG_MATCHES && !is_end && !save->is_alone && save->since >= FI_PNG_SAVE_CHECK) {
        if ((stream->total_out - save->written) * FI_PNG_SAVE_DENSE >= save->since) {
            save->flush = Z_BLOCK;
        }
        save->since = 0;
        save->written = stream->total_out;
    }
}

/* Begin the next batch: choose its method, fill it with rows, and give it to that method. Returns an error of
   zlib-ng's. */
static int fi_png_begin_batch(fi_png_save *save, Imaging im, ImagingCodecState state) {
    z_stream *stream = &((ZIPSTATE *)state->context)->z_stream;
    fi_png_method before = save->method, method = fi_png_next_method(save, stream->total_out);
    int err = Z_OK;
    if (method == FI_PNG_RUNS && before != FI_PNG_RUNS) { /* also if the batch becomes a trial below */
        save->since = 0;
        save->period *= 2;
    }
    fi_png_fill_batch(save, im, state, method == FI_PNG_TRIAL ? FI_PNG_SAVE_WINDOW : FI_PNG_SAVE_BATCH);
    int is_end = state->y >= state->ysize;
    if (method != FI_PNG_MATCHES) {
        fi_deflate_plan(&save->block, save->batch, save->size);
    }
    if (method == FI_PNG_RUNS && (save->block.size * FI_PNG_SAVE_DENSE < save->size || save->block.size > save->room)) {
        method = FI_PNG_TRIAL;
    }
    save->bits.out = save->out;
    save->taken = save->ready = 0;
    if (method == FI_PNG_RUNS) {
        fi_png_write_runs(save, is_end);
    } else {
        if (before == FI_PNG_RUNS) {
            err = fi_png_end_runs(save, stream, save->last_batch, save->last_size);
        }
        if (method != before) {
            save->since = 0;
            save->written = stream->total_out;
        }
        fi_png_give_batch(save, stream, method, is_end);
    }
    save->method = method;
    return err;
}

static void fi_png_put_byte(fi_png_save *save, UINT32 byte) {
    save->out[save->ready++] = (UINT8)byte;
}

/* Put the checksum that ends the file, highest byte first, into `out`. */
static void fi_png_put_checksum(fi_png_save *save) {
    save->taken = save->ready = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        fi_png_put_byte(save, save->adler >> shift);
    }
    save->progress = FI_PNG_ALL;
}

/* Copy bytes of `out` that wait into the caller's buffer, as many as it has room for. */
static void fi_png_copy_out(fi_png_save *save, z_stream *stream) {
    size_t size = save->ready - save->taken < stream->avail_out ? save->ready - save->taken : stream->avail_out;
    memcpy(stream->next_out, save->out + save->taken, size);
    save->taken += size;
    stream->next_out += size;
    stream->avail_out -= size;
}

/* Let zlib-ng go on with the batch. It writes into the caller's buffer, or into `out` if that has little room. Returns
   an error of zlib-ng's. */
static int fi_png_deflate(fi_png_save *save, z_stream *stream) {
    UINT8 *next = stream->next_out;
    uInt remaining = stream->avail_out;
    if (remaining < FI_PNG_SAVE_LEAST_ROOM) {
        stream->next_out = save->out;
        stream->avail_out = save->room;
    }
    int err = deflate(stream, save->flush);
    save->progress = err == Z_STREAM_END ? FI_PNG_ALL_ROWS : FI_PNG_SOME_ROWS;
    err = err == Z_BUF_ERROR ? Z_OK : err; /* there was nothing left to do */
    save->is_flushed = save->progress || stream->avail_out > 0;
    if (remaining < FI_PNG_SAVE_LEAST_ROOM) {
        save->taken = 0;
        save->ready = stream->next_out - save->out;
        stream->next_out = next;
        stream->avail_out = remaining;
    }
    return err;
}

/* Compress the picture until it ends, or the caller's buffer is full. Returns an error of zlib-ng's, Z_STREAM_END or
   Z_OK. */
static int fi_png_save_rows(fi_png_save *save, Imaging im, ImagingCodecState state) {
    z_stream *stream = &((ZIPSTATE *)state->context)->z_stream;
    int err = Z_OK;
    while (err >= 0 && stream->avail_out > 0) {
        if (save->taken < save->ready) {
            fi_png_copy_out(save, stream);
        } else if (save->progress == FI_PNG_ALL) {
            return Z_STREAM_END;
        } else if (save->progress == FI_PNG_ALL_ROWS) {
            fi_png_put_checksum(save);
        } else if (!save->is_flushed) {
            err = fi_png_deflate(save, stream);
        } else {
            err = fi_png_begin_batch(save, im, state);
        }
    }
    int is_all = save->progress == FI_PNG_ALL && save->taken == save->ready;
    return err < 0 ? err : is_all ? Z_STREAM_END : Z_OK;
}

static void fi_png_save_end(ImagingCodecState state) {
    ZIPSTATE *context = (ZIPSTATE *)state->context;
    fi_png_save *save = (fi_png_save *)context->prior;
    deflateEnd(&context->z_stream);
    free(save->memory);
    free(save);
    context->prior = NULL;
    state->state = FI_PNG_SAVED;
}

/* Begin to save. Returns NULL to leave a picture to Pillow's own code: if the caller gives a dictionary, if Pillow
   would refuse its arguments, or if there is too little memory. */
static fi_png_save *fi_png_save_begin(ImagingCodecState state) {
    ZIPSTATE *context = (ZIPSTATE *)state->context;
    size_t row = FI_PNG_SAVE_ZEROS + (size_t)state->bytes, batch = FI_PNG_SAVE_BATCH + row,
           room = batch + batch / 8 + 1024;
    int level = context->optimize ? Z_BEST_COMPRESSION : context->compress_level;
    int has_filters = context->mode == ZIP_PNG,
        is_small = ((size_t)state->bytes + 1) * state->ysize < FI_PNG_SAVE_SMALL;
    int strategy = context->compress_type != -1 ? context->compress_type
                   : has_filters                ? Z_FILTERED
                                                : Z_DEFAULT_STRATEGY;
    if (context->dictionary || state->bytes > INT_MAX - FI_PNG_SAVE_BATCH - 1 || level > 9 ||
        (state->bits + 7) / 8 > FI_PNG_SAVE_ZEROS) {
        return NULL;
    }
    fi_png_save *save = calloc(1, sizeof(fi_png_save));
    UINT8 *memory = calloc(1, 4 * row + 2 * batch + room);
    memset(&context->z_stream, 0, sizeof(context->z_stream));
    int level_ng = level < 0 ? FI_PNG_SAVE_DEFAULT : fi_png_levels[level];
    level_ng = is_small && level_ng == FI_PNG_SAVE_DEFAULT ? (has_filters ? 7 : 9) : level_ng;
    if (!save || !memory || level < -1 ||
        deflateInit2(&context->z_stream, level_ng, Z_DEFLATED, -15, 9, strategy) < 0) {
        free(memory);
        free(save);
        return NULL;
    }
    /* Shorter chains for the default level. Small pictures without filters get level 9 with matches as in level 7. */
    if (level_ng == FI_PNG_SAVE_DEFAULT || (level_ng == 9 && level < 7)) {
        deflateTune(&context->z_stream, 8, level_ng == 9 ? 32 : 16, 128, level_ng == 9 ? 1025 : 32);
    }
    save->level = level_ng;
    save->memory = memory;
    save->row = memory + FI_PNG_SAVE_ZEROS;
    save->above = save->row + row;
    save->best = save->above + row;
    save->candidate = save->best + row;
    save->batch = memory + 4 * row;
    save->last_batch = save->batch + batch;
    save->out = save->last_batch + batch;
    save->room = room - 64; /* the rest is for ends of blocks, which are not planned, and bytes touched after them */
    save->is_alone = context->compress_type != -1 || !has_filters || level == 0 || is_small;
    save->method = FI_PNG_MATCHES;
    save->flush = Z_BLOCK; /* so that the first batch is a trial, unless zlib-ng is alone */
    save->is_flushed = 1;
    save->period = FI_PNG_SAVE_PERIOD / 2;
    save->adler = adler32(0, NULL, 0);
    /* zlib's header, RFC 1950: deflate with a window of 32 kB, then how much the compressor tried, and a check. */
    fi_png_put_byte(save, 0x78);
    fi_png_put_byte(save, level < 0 || level == FI_PNG_SAVE_DEFAULT ? 0x9c
                          : level < 2                               ? 0x01
                          : level < 6                               ? 0x5e
                                                                    : 0xda);
    return save;
}

static int fi_png_error(int err) {
    return err == Z_DATA_ERROR  ? IMAGING_CODEC_BROKEN
           : err == Z_MEM_ERROR ? IMAGING_CODEC_MEMORY
                                : IMAGING_CODEC_CONFIG;
}

int ImagingZipEncode(Imaging im, ImagingCodecState state, UINT8 *buf, int bytes) {
    ZIPSTATE *context = (ZIPSTATE *)state->context;
    fi_png_save *save = (fi_png_save *)context->prior;
    ImagingSectionCookie cookie;
    if (!state->state && (save = fi_png_save_begin(state))) {
        context->prior = (UINT8 *)save;
        state->state = FI_PNG_SAVING;
    }
    if (state->state != FI_PNG_SAVING) {
        if (state->state != FI_PNG_SAVED) {
            return ImagingZipEncode__source(im, state, buf, bytes);
        }
        state->errcode = IMAGING_CODEC_CONFIG;
        return -1;
    }
    context->z_stream.next_out = buf;
    context->z_stream.avail_out = bytes;
    ImagingSectionEnter(&cookie);
    int err = fi_png_save_rows(save, im, state);
    if (err != Z_OK) {
        state->errcode = err < 0 ? fi_png_error(err) : IMAGING_CODEC_END;
        fi_png_save_end(state);
    }
    ImagingSectionLeave(&cookie);
    return err < 0 ? -1 : bytes - (int)context->z_stream.avail_out;
}

void ImagingZipEncodeCleanup(ImagingCodecState state) {
    if (state->state == FI_PNG_SAVING) {
        fi_png_save_end(state);
    }
    ImagingZipEncodeCleanup__source(state);
}
