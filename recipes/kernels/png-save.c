/* Saving PNG: row filters by vectors, and a deflate that looks at the picture.

   Filters. Each row gets the filter whose bytes have the smallest sum of distances from zero, as Pillow chooses it, so the
   filtered rows are Pillow's, byte for byte. Pillow's loops go byte by byte; these are plain loops over arrays that do not
   overlap, which compilers turn into vectors. Zeros stand before each row, for the pixel to the left of the first. With
   them the first pixel needs no code of its own: all filters have the same result there. A photograph of 1920x1080 takes
   3 ms where Pillow's own loops take 45 (AMD Zen 4, 2026-11-29).

   Deflate. zlib looks for earlier occurrences of the next bytes ("matches"). On pages and screenshots nearly everything has
   occurred before. On filtered rows of a photograph nothing has but by chance: looking takes ten times as long as coding
   each byte, and the few short matches make the file larger. So a photograph is coded by deflate-runs.h, which knows bytes
   and runs of one byte, and everything else by zlib-ng. A try tells which it is: a chunk of rows goes through zlib-ng, and
   its size is compared with what runs alone would take. Runs then go on for a megabyte before the next try, and each time
   for twice as long; a chunk that they would shrink to less than a quarter is a try, too. Matches go on until they shrink
   a quarter of a megabyte to no less than a quarter of its size.

       rows       filtered bytes, a chunk at a time                      file
       ------     try      matches  matches  matches  try     runs       zlib's head (2 bytes)
       photo      zlib-ng  -------> zlib-ng -------> zlib-ng  ours       zlib-ng's blocks, up to a whole byte
       page       size?    size?             size?   size?               our blocks, up to a whole byte
                                                                         Adler-32 of the filtered bytes

   Where ours end and zlib-ng goes on, it is given the last 32 kB as its dictionary.

   Levels. zlib-ng's lower levels give up more than zlib's do (its level 1 makes files 1.3 times as large), so they are
   moved up until no level's files are larger than zlib's. Its level 6 follows chains of 128 earlier occurrences, of which
   the first 32 give files within 0.3 % in three quarters of the time; with small pictures it misses much, so that they get
   level 7. */

#include "deflate-runs.h"

#define FI_WINDOW (1 << 15)     /* bytes that a match looks back over, and a chunk of a try */
#define FI_CHUNK (1 << 16)      /* filtered bytes that are compressed at a time otherwise */
#define FI_PERIOD (1 << 20)     /* filtered bytes that runs go on for at first */
#define FI_CHECK (1 << 18)      /* filtered bytes after which matches are looked at */
#define FI_DENSE 4              /* what runs or matches shrink to less than a fourth is none of a photograph */
#define FI_SMALL (1 << 16)      /* filtered bytes of a picture; for fewer there is no try */
#define FI_LEAST 16             /* bytes of room; with less, zlib would end a try by one marker of five bytes after another */
#define FI_MARGIN 32            /* zeros before a row; no pixel has more bytes */

#define FI_DEFAULT 6 /* the level */

/* zlib-ng's level whose files are at most as large as those of zlib's level. */
static const int fi_levels[] = {0, 2, 4, 4, 5, 6, 6, 7, 8, 9};

/* Of an encoder: its own values are 0, before it begins, 1 and 2. */
enum { FI_SAVING = 3, FI_SAVED };

typedef enum { FI_TRY, FI_MATCHES, FI_RUNS } fi_png_way;

typedef struct {
    UINT8 *memory;                             /* of all that follows */
    UINT8 *row, *above;                        /* packed pixels; FI_MARGIN zeros stand before them */
    UINT8 *best, *candidate;                   /* filtered rows */
    UINT8 *chunk, *last;                       /* filtered rows, each after its filter's number, and those before them */
    UINT8 *out;                                /* bytes of the file that are not zlib-ng's */
    size_t size, last_size, room, from, ready; /* of chunk, last and out; which bytes of out wait */
    int level;                                 /* zlib-ng's */
    int is_chosen;                             /* zlib-ng does everything */
    int end;                                   /* 0; 1 when all rows are compressed; 2 when their sum is in `out`, too */
    fi_png_way way;                            /* of the chunk */
    int flush;                                 /* with which zlib-ng ends the chunk */
    int is_flushed;                            /* it has */
    size_t since, period;                      /* filtered bytes that the way was used for, and that runs may be used for */
    unsigned long written;                     /* zlib-ng's bytes before that */
    UINT32 adler;
    fi_bits bits;                              /* of our blocks */
    fi_deflate_block block;                    /* the chunk in one of them */
} fi_png_save;

/* The sum of the distances from zero of bytes with a sign. It wraps around where Pillow's sum does. */
static int fi_cost(const UINT8 *restrict bytes, int count) {
    UINT32 sum = 0;
    for (int i = 0; i < count; i++) {
        UINT8 negative = (UINT8)-bytes[i];
        sum += bytes[i] < negative ? bytes[i] : negative;
    }
    return (int)sum;
}

static void fi_filter_up(UINT8 *restrict out, const UINT8 *restrict row, const UINT8 *restrict above, int count) {
    for (int i = 0; i < count; i++) {
        out[i] = row[i] - above[i];
    }
}

static void fi_filter_left(UINT8 *restrict out, const UINT8 *restrict row, int pixel, int count) {
    const UINT8 *left = row - pixel; /* an index that is a difference of two could wrap around, for all that GCC knows */
    for (int i = 0; i < count; i++) {
        out[i] = row[i] - left[i];
    }
}

static void fi_filter_average(
    UINT8 *restrict out, const UINT8 *restrict row, const UINT8 *restrict above, int pixel, int count
) {
    const UINT8 *left = row - pixel;
    for (int i = 0; i < count; i++) {
        out[i] = row[i] - (UINT8)((left[i] + above[i]) / 2);
    }
}

/* With a to the left, b above, c above to the left, the three distances of a + b - c from them are |b - c|, |a - c| and
   their sum with signs. The nearest is subtracted; of equally near ones a, then b. */
static void fi_filter_paeth(
    UINT8 *restrict out, const UINT8 *restrict row, const UINT8 *restrict above, int pixel, int count
) {
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
static int fi_better(fi_png_save *save, UINT8 *filter, UINT8 number, int cost, int count) {
    int sum = fi_cost(save->candidate, count);
    if (sum >= cost) {
        return cost;
    }
    UINT8 *best = save->candidate;
    save->candidate = save->best;
    save->best = best;
    *filter = number;
    return sum;
}

/* Write a packed row, filtered, with the filter's number before it. The order of the filters decides between equal sums,
   and a sum of 0 ends the search: both are Pillow's. */
static void fi_filter_row(fi_png_save *save, UINT8 *out, int pixel, int count, int with_average) {
    const UINT8 *row = save->row, *above = save->above;
    int cost = fi_cost(row, count);
    UINT8 filter = 0;
    if (cost > 0) {
        fi_filter_up(save->candidate, row, above, count);
        cost = fi_better(save, &filter, 2, cost, count);
    }
    if (cost > 0) {
        fi_filter_left(save->candidate, row, pixel, count);
        cost = fi_better(save, &filter, 1, cost, count);
    }
    if (cost > 0 && with_average) {
        fi_filter_average(save->candidate, row, above, pixel, count);
        cost = fi_better(save, &filter, 3, cost, count);
    }
    if (cost > 0) {
        fi_filter_paeth(save->candidate, row, above, pixel, count);
        cost = fi_better(save, &filter, 4, cost, count);
    }
    out[0] = filter;
    memcpy(out + 1, filter ? save->best : row, count);
}

/* Pack and filter the next rows of the picture into the chunk. */
static void fi_fill_chunk(fi_png_save *save, Imaging im, ImagingCodecState state, size_t size) {
    ZIPSTATE *context = (ZIPSTATE *)state->context;
    int pixel = (state->bits + 7) / 8;
    UINT8 *out = save->last;
    save->last = save->chunk;
    save->last_size = save->size;
    save->chunk = out;
    do {
        const UINT8 *in = (UINT8 *)im->image[state->y + state->yoff] + state->xoff * im->pixelsize;
        if (context->mode == ZIP_PNG) {
            state->shuffle(save->row, in, state->xsize);
            fi_filter_row(save, out, pixel, state->bytes, context->optimize);
            UINT8 *row = save->row;
            save->row = save->above;
            save->above = row;
        } else {
            out[0] = 0;
            state->shuffle(out + 1, in, state->xsize);
        }
        out += state->bytes + 1;
        state->y++;
    } while (state->y < state->ysize && (size_t)(out - save->chunk) < size);
    save->size = out - save->chunk;
    save->adler = adler32(save->adler, save->chunk, save->size);
}

/* The way of the next chunk, after what the last one showed. */
static fi_png_way fi_next_way(const fi_png_save *save, unsigned long written) {
    size_t size = written - save->written;
    if (save->is_chosen) {
        return FI_MATCHES;
    }
    switch (save->way) {
        case FI_TRY: /* a low level wants speed, and gives up three per cent for it */
            return save->block.size * FI_DENSE > save->size &&
                           save->block.size <= size * (save->level < 7 ? 1.03 : 1.005)
                       ? FI_RUNS
                       : FI_MATCHES;
        case FI_MATCHES:
            return save->flush == Z_BLOCK ? FI_TRY : FI_MATCHES;
        default:
            return save->since >= save->period ? FI_TRY : FI_RUNS;
    }
}

/* End our blocks: zlib-ng goes on at a whole byte, with its window. */
static int fi_end_runs(fi_png_save *save, z_stream *stream, const UINT8 *bytes, size_t size) {
    fi_align_bits(&save->bits, 0);
    save->ready = save->bits.out - save->out;
    return deflateSetDictionary(stream, bytes + size - FI_WINDOW, FI_WINDOW);
}

/* Begin the next chunk: its way, its rows, and how its compression ends. Returns an error of zlib-ng's. */
static int fi_begin_chunk(fi_png_save *save, Imaging im, ImagingCodecState state) {
    z_stream *stream = &((ZIPSTATE *)state->context)->z_stream;
    fi_png_way before = save->way, way = fi_next_way(save, stream->total_out);
    int err = Z_OK;
    if (way == FI_RUNS && before != FI_RUNS) {
        save->since = 0;
        save->period *= 2;
    }
    fi_fill_chunk(save, im, state, way == FI_TRY ? FI_WINDOW : FI_CHUNK);
    int is_end = state->y >= state->ysize;
    if (way != FI_MATCHES) {
        fi_plan_block(&save->block, save->chunk, save->size);
    }
    if (way == FI_RUNS && (save->block.size * FI_DENSE < save->size || save->block.size > save->room)) {
        way = FI_TRY;
    }
    save->bits.out = save->out;
    save->from = save->ready = 0;
    if (way == FI_RUNS) {
        fi_write_block(&save->block, save->chunk, save->size, &save->bits);
        if (is_end) {
            fi_align_bits(&save->bits, 1);
            save->end = 1;
        }
        save->ready = save->bits.out - save->out;
        save->since += save->size;
    } else {
        if (before == FI_RUNS) {
            err = fi_end_runs(save, stream, save->last, save->last_size);
        }
        if (way != before) {
            save->since = 0;
            save->written = stream->total_out;
        }
        stream->next_in = save->chunk;
        stream->avail_in = save->size;
        save->since += save->size;
        save->flush = is_end ? Z_FINISH : way == FI_TRY ? Z_SYNC_FLUSH : Z_NO_FLUSH;
        save->is_flushed = 0;
        if (way == FI_MATCHES && !is_end && !save->is_chosen && save->since >= FI_CHECK) {
            if ((stream->total_out - save->written) * FI_DENSE >= save->since) {
                save->flush = Z_BLOCK;
            }
            save->since = 0;
            save->written = stream->total_out;
        }
    }
    save->way = way;
    return err;
}

static void fi_put_byte(fi_png_save *save, UINT32 byte) {
    save->out[save->ready++] = (UINT8)byte;
}

/* Compress the picture until it or the room for the file ends. Returns an error of zlib-ng's, Z_STREAM_END or Z_OK. */
static int fi_save_rows(fi_png_save *save, Imaging im, ImagingCodecState state) {
    z_stream *stream = &((ZIPSTATE *)state->context)->z_stream;
    int err = Z_OK;
    while (err >= 0 && stream->avail_out > 0) {
        if (save->from < save->ready) {
            size_t size = save->ready - save->from < stream->avail_out ? save->ready - save->from : stream->avail_out;
            memcpy(stream->next_out, save->out + save->from, size);
            save->from += size;
            stream->next_out += size;
            stream->avail_out -= size;
        } else if (save->end == 2) {
            return Z_STREAM_END;
        } else if (save->end) {
            save->from = save->ready = 0;
            for (int shift = 24; shift >= 0; shift -= 8) {
                fi_put_byte(save, save->adler >> shift);
            }
            save->end = 2;
        } else if (!save->is_flushed) {
            UINT8 *next = stream->next_out;
            uInt left = stream->avail_out;
            if (left < FI_LEAST) {
                stream->next_out = save->out;
                stream->avail_out = save->room;
            }
            err = deflate(stream, save->flush);
            save->end = err == Z_STREAM_END;
            err = err == Z_BUF_ERROR ? Z_OK : err; /* there was nothing left to do */
            save->is_flushed = save->end || stream->avail_out > 0;
            if (left < FI_LEAST) {
                save->from = 0;
                save->ready = stream->next_out - save->out;
                stream->next_out = next;
                stream->avail_out = left;
            }
        } else {
            err = fi_begin_chunk(save, im, state);
        }
    }
    return err < 0 ? err : save->end == 2 && save->from == save->ready ? Z_STREAM_END : Z_OK;
}

static void fi_end_png_save(ImagingCodecState state) {
    ZIPSTATE *context = (ZIPSTATE *)state->context;
    fi_png_save *save = (fi_png_save *)context->prior;
    deflateEnd(&context->z_stream);
    free(save->memory);
    free(save);
    context->prior = NULL;
    state->state = FI_SAVED;
}

/* Returns NULL to leave it to Pillow's own code: dictionaries, what it refuses, and too little memory. */
static fi_png_save *fi_begin_png_save(ImagingCodecState state) {
    ZIPSTATE *context = (ZIPSTATE *)state->context;
    size_t row = FI_MARGIN + (size_t)state->bytes, chunk = FI_CHUNK + row, room = chunk + chunk / 8 + 1024;
    int level = context->optimize ? Z_BEST_COMPRESSION : context->compress_level;
    int has_filters = context->mode == ZIP_PNG, is_small = ((size_t)state->bytes + 1) * state->ysize < FI_SMALL;
    int strategy = context->compress_type != -1 ? context->compress_type : has_filters ? Z_FILTERED : Z_DEFAULT_STRATEGY;
    if (context->dictionary || state->bytes > INT_MAX - FI_CHUNK - 1 || level > 9 || (state->bits + 7) / 8 > FI_MARGIN) {
        return NULL;
    }
    fi_png_save *save = calloc(1, sizeof(fi_png_save));
    UINT8 *memory = calloc(1, 4 * row + 2 * chunk + room);
    memset(&context->z_stream, 0, sizeof(context->z_stream));
    int ours = level < 0 ? FI_DEFAULT : fi_levels[level];
    ours = is_small && ours == FI_DEFAULT ? (has_filters ? 7 : 9) : ours;
    if (!save || !memory || level < -1 || deflateInit2(&context->z_stream, ours, Z_DEFLATED, -15, 9, strategy) < 0) {
        free(memory);
        free(save);
        return NULL;
    }
    if (ours == FI_DEFAULT || (ours == 9 && level < 7)) { /* with shorter chains, and level 9 with level 7's matches */
        deflateTune(&context->z_stream, 8, ours == 9 ? 32 : 16, 128, ours == 9 ? 1025 : 32);
    }
    save->level = ours;
    save->memory = memory;
    save->row = memory + FI_MARGIN;
    save->above = save->row + row;
    save->best = save->above + row;
    save->candidate = save->best + row;
    save->chunk = memory + 4 * row;
    save->last = save->chunk + chunk;
    save->out = save->last + chunk;
    save->room = room - 64; /* for what is not planned: the ends of blocks, and bytes that are touched behind them */
    save->is_chosen = context->compress_type != -1 || !has_filters || level == 0 || is_small;
    save->way = FI_MATCHES;
    save->flush = Z_BLOCK; /* so that it begins with a try */
    save->is_flushed = 1;
    save->period = FI_PERIOD / 2;
    save->adler = adler32(0, NULL, 0);
    fi_put_byte(save, 0x78); /* zlib's head, RFC 1950: a window of 32 kB, and how much was tried */
    fi_put_byte(save, level < 0 || level == FI_DEFAULT ? 0x9c : level < 2 ? 0x01 : level < 6 ? 0x5e : 0xda);
    return save;
}

static int fi_codec_error(int err) {
    return err == Z_DATA_ERROR ? IMAGING_CODEC_BROKEN : err == Z_MEM_ERROR ? IMAGING_CODEC_MEMORY : IMAGING_CODEC_CONFIG;
}

int ImagingZipEncode(Imaging im, ImagingCodecState state, UINT8 *buf, int bytes) {
    ZIPSTATE *context = (ZIPSTATE *)state->context;
    fi_png_save *save = (fi_png_save *)context->prior;
    ImagingSectionCookie cookie;
    if (!state->state && (save = fi_begin_png_save(state))) {
        context->prior = (UINT8 *)save;
        state->state = FI_SAVING;
    }
    if (state->state != FI_SAVING) {
        if (state->state != FI_SAVED) {
            return ImagingZipEncode__source(im, state, buf, bytes);
        }
        state->errcode = IMAGING_CODEC_CONFIG;
        return -1;
    }
    context->z_stream.next_out = buf;
    context->z_stream.avail_out = bytes;
    ImagingSectionEnter(&cookie);
    int err = fi_save_rows(save, im, state);
    if (err != Z_OK) {
        state->errcode = err < 0 ? fi_codec_error(err) : IMAGING_CODEC_END;
        fi_end_png_save(state);
    }
    ImagingSectionLeave(&cookie);
    return err < 0 ? -1 : bytes - (int)context->z_stream.avail_out;
}

void ImagingZipEncodeCleanup(ImagingCodecState state) {
    if (state->state == FI_SAVING) {
        fi_end_png_save(state);
    }
    ImagingZipEncodeCleanup__source(state);
}
