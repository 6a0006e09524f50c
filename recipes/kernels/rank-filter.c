/* Rank filters of one 8-bit band: the smallest, the largest and the median of a window, and any rank of 3 x 3 and 5 x 5.

   A vector holds neighbouring pixels of a row, and each of its lanes works for a window of its own. A window is a few rows
   high and as many columns wide, so the windows of neighbouring lanes share columns. What is computed of a column is stored
   once, by its place in the row, and each window loads it from there, a few bytes further to the right:

       rows of the picture      r0 r1 r2 ...          lane x: pixels of column x
            | down the column, once for each column
       columns                  c[x]
            | across: unaligned loads of c[x], c[x + 1], c[x + 2] ...
       windows                  out[x]

   Exactness. Minimum and maximum of bytes are all that is computed, and a rank is a value of the window itself.

   The largest of 3 x 3 takes 4 operations a vector, the median of 3 x 3 takes 18 and of 5 x 5 94, where a sorting network for
   each window alone has 16, 40 and 202.

   A row is worked on in blocks, so that what is stored stays in the first cache. Everything reads and writes whole vectors:
   the last one of a block begins earlier, and computes some lanes twice. */

#include "threads.h"
#include "vectors.h"

/* GCC computes what is wider than a register byte by byte. */
#if defined(__clang__) || defined(__AVX2__)
#define FI_LANES 32
#else
#define FI_LANES 16
#endif

enum {
    FI_BLOCK = 1024,                   /* windows of a row that are computed together */
    FI_REACH = 256,                    /* a window's width is less */
    FI_ROOM = FI_BLOCK + 2 * FI_REACH, /* columns of a block, and what vectors read behind them */
    FI_MOST_LANES = 32                 /* a power of two for the network; a window has 9 or 25 */
};

typedef UINT8 fi_lanes __attribute__((vector_size(FI_LANES)));

/* All vectors of `count` lanes: `x` is where one begins. */
#define FI_EACH_VECTOR(x, count)                                                                                       \
    for (int i_ = 0, x = 0; i_ < (count) && ((x = fi_min(i_, (count) - FI_LANES)), 1); i_ += FI_LANES)

FI_INLINE fi_lanes fi_lower(fi_lanes a, fi_lanes b) {
    return FI_MIN(a, b);
}

FI_INLINE fi_lanes fi_upper(fi_lanes a, fi_lanes b) {
    return FI_MAX(a, b);
}

FI_INLINE fi_lanes fi_median_of_3(fi_lanes a, fi_lanes b, fi_lanes c) {
    return fi_upper(fi_lower(a, b), fi_lower(fi_upper(a, b), c));
}

/* One round of K. E. Batcher's odd-even merges ("Sorting Networks and Their Applications", 1968): merge sorted lists of
   `width` lanes, two by two, where lists begin at multiples of `width`. Lanes before `first` count as smaller than all
   others, and lanes from `end` on as larger: comparisons with them are left out. All bounds are constants, so that loops are
   unrolled and lanes are registers; the compiler leaves out what the result does not need. */
FI_INLINE void fi_merge_lists(fi_lanes *lanes, int first, int end, int width) {
#pragma GCC unroll 8
    for (int gap = width; gap >= 1; gap /= 2) {
#pragma GCC unroll 32
        for (int i = 0; i < FI_MOST_LANES; i++) {
            int from = i - (gap & (width - 1));
            if (from >= 0 && !(from & gap) && i >= first && i + gap < end && (i ^ (i + gap)) < 2 * width) {
                fi_lanes low = fi_lower(lanes[i], lanes[i + gap]);
                lanes[i + gap] = fi_upper(lanes[i], lanes[i + gap]);
                lanes[i] = low;
            }
        }
    }
}

FI_INLINE void fi_sort_lanes(fi_lanes *lanes, int count) {
#pragma GCC unroll 8
    for (int width = 1; width < count; width *= 2) {
        fi_merge_lists(lanes, 0, count, width);
    }
}

/* Any rank of a small window: its pixels are sorted. */
FI_INLINE void fi_rank_row(UINT8 *out, UINT8 *const *rows, int from, int count, int size, int rank) {
    FI_EACH_VECTOR(x, count) {
        fi_lanes window[FI_MOST_LANES];
#pragma GCC unroll 32
        for (int i = 0; i < size * size; i++) {
            window[i] = FI_LOAD(fi_lanes, rows[i / size] + from + x + i % size);
        }
        fi_sort_lanes(window, size * size);
        FI_STORE(out + x, window[rank]);
    }
}

/* The smallest or the largest of a window of any width: first of each column, then of 2, 4, 8 ... neighbouring columns, as
   long as a window has them. A window is then two such runs, which may overlap. */
FI_INLINE void fi_extreme_row(UINT8 *out, UINT8 *const *rows, int from, int count, int size, int is_largest,
                              UINT8 *columns) {
#define FI_EXTREME(a, b) (is_largest ? fi_upper(a, b) : fi_lower(a, b))
    int width = count + size - 1, run = 1;
    FI_EACH_VECTOR(x, width) {
        fi_lanes column = FI_LOAD(fi_lanes, rows[0] + from + x);
        for (int i = 1; i < size; i++) {
            column = FI_EXTREME(column, FI_LOAD(fi_lanes, rows[i] + from + x));
        }
        FI_STORE(columns + x, column);
    }
    for (; 2 * run < size; run *= 2) {
        for (int x = 0; x < width; x += FI_LANES) { /* in place: nothing is read again that was written */
            FI_STORE(columns + x, FI_EXTREME(FI_LOAD(fi_lanes, columns + x), FI_LOAD(fi_lanes, columns + x + run)));
        }
    }
    FI_EACH_VECTOR(x, count) {
        fi_lanes right = FI_LOAD(fi_lanes, columns + x + size - run);
        FI_STORE(out + x, FI_EXTREME(FI_LOAD(fi_lanes, columns + x), right));
    }
#undef FI_EXTREME
}

/* The median of 3 x 3. Where the columns are sorted, it is the median of three: the largest of the lowest pixels, the median
   of the middle ones, and the smallest of the highest. (Five pixels are at most as large as it, five at least.) */
FI_INLINE void fi_median_of_9(UINT8 *out, UINT8 *const *rows, int from, int count, UINT8 (*columns)[FI_ROOM]) {
    FI_EACH_VECTOR(x, count + 2) {
        fi_lanes column[FI_MOST_LANES];
        for (int i = 0; i < 3; i++) {
            column[i] = FI_LOAD(fi_lanes, rows[i] + from + x);
        }
        fi_sort_lanes(column, 3);
        for (int i = 0; i < 3; i++) {
            FI_STORE(columns[i] + x, column[i]);
        }
    }
    FI_EACH_VECTOR(x, count) {
        fi_lanes of[3][3];
        for (int i = 0; i < 9; i++) {
            of[i / 3][i % 3] = FI_LOAD(fi_lanes, columns[i / 3] + x + i % 3);
        }
        fi_lanes low = fi_upper(fi_upper(of[0][0], of[0][1]), of[0][2]);
        fi_lanes high = fi_lower(fi_lower(of[2][0], of[2][1]), of[2][2]);
        FI_STORE(out + x, fi_median_of_3(low, fi_median_of_3(of[1][0], of[1][1], of[1][2]), high));
    }
}

/* The median of 5 x 5. Columns are sorted, and each is merged with its right neighbour into a pair, a sorted list of ten. A
   window is two pairs and a column:

       columns   c[x]  c[x+1]   c[x+2]  c[x+3]   c[x+4]
       pairs     `- p[x] -'     `- p[x+2] -'

   Of the 20 pixels of two pairs, only those of rank 7 to 12 can be the median of 25: others have more than 12 below or above
   them. Let a0 to a5 be these six and b0 to b4 the column. The median has 5 of these 11 below it. If the six smallest are i
   of a and 6 - i of b, the sixth is the larger of a[i-1] and b[5-i]; for every other i that is not
   smaller. */
FI_INLINE void fi_median_of_25(UINT8 *out, UINT8 *const *rows, int from, int count, UINT8 (*columns)[FI_ROOM]) {
    UINT8(*pairs)[FI_ROOM] = columns + 5;
    FI_EACH_VECTOR(x, count + 4) {
        fi_lanes column[FI_MOST_LANES];
        for (int i = 0; i < 5; i++) {
            column[i] = FI_LOAD(fi_lanes, rows[i] + from + x);
        }
        fi_sort_lanes(column, 5);
        for (int i = 0; i < 5; i++) {
            FI_STORE(columns[i] + x, column[i]);
        }
    }
    FI_EACH_VECTOR(x, count + 3) {
        fi_lanes lists[FI_MOST_LANES];
        for (int i = 0; i < 5; i++) {
            lists[3 + i] = FI_LOAD(fi_lanes, columns[i] + x);
            lists[8 + i] = FI_LOAD(fi_lanes, columns[i] + x + 1);
        }
        fi_merge_lists(lists, 3, 13, 8);
        for (int i = 0; i < 10; i++) {
            FI_STORE(pairs[i] + x, lists[3 + i]);
        }
    }
    FI_EACH_VECTOR(x, count) {
        fi_lanes lists[FI_MOST_LANES];
        for (int i = 0; i < 10; i++) {
            lists[6 + i] = FI_LOAD(fi_lanes, pairs[i] + x);
            lists[16 + i] = FI_LOAD(fi_lanes, pairs[i] + x + 2);
        }
        fi_merge_lists(lists, 6, 26, 16);
        const fi_lanes *a = lists + 6 + 7;
        fi_lanes median = a[5];
        for (int i = 1; i <= 5; i++) {
            median = fi_lower(median, fi_upper(a[i - 1], FI_LOAD(fi_lanes, columns[5 - i] + x + 4)));
        }
        FI_STORE(out + x, median);
    }
}

typedef enum {
    FI_SMALLEST,
    FI_LARGEST,
    FI_MEDIAN_OF_9,
    FI_MEDIAN_OF_25,
    FI_RANK_OF_9,
    FI_RANK_OF_25,
    FI_UNKNOWN
} fi_rank_way;

static fi_rank_way fi_choose_way(int size, int rank) {
    if (size % 2 == 0 || size < 3 || size >= FI_REACH || rank < 0 || rank >= size * size) {
        return FI_UNKNOWN;
    }
    if (rank == 0 || rank == size * size - 1) {
        return rank == 0 ? FI_SMALLEST : FI_LARGEST;
    }
    int is_median = rank == size * size / 2;
    return size == 3   ? (is_median ? FI_MEDIAN_OF_9 : FI_RANK_OF_9)
           : size == 5 ? (is_median ? FI_MEDIAN_OF_25 : FI_RANK_OF_25)
                       : FI_UNKNOWN;
}

typedef struct {
    Imaging out, in;
    int size, rank;
    fi_rank_way way;
} fi_rank_job;

/* Some rows of a block. */
static void fi_rank_block(const fi_rank_job *job, int from, int count, int first, int end) {
    Imaging out = job->out, in = job->in;
    int size = job->size, rank = job->rank;
    UINT8 columns[15][FI_ROOM] = {{0}};
    for (int y = first; y < end; y++) {
        UINT8 *to = out->image8[y] + from, *const *rows = in->image8 + y;
        switch (job->way) {
        case FI_SMALLEST:
            FI_SPECIALIZE(size, 3, fi_extreme_row(to, rows, from, count, size, 0, columns[0]));
            break;
        case FI_LARGEST:
            FI_SPECIALIZE(size, 3, fi_extreme_row(to, rows, from, count, size, 1, columns[0]));
            break;
        case FI_MEDIAN_OF_9:
            fi_median_of_9(to, rows, from, count, columns);
            break;
        case FI_MEDIAN_OF_25:
            fi_median_of_25(to, rows, from, count, columns);
            break;
        case FI_RANK_OF_9:
            fi_rank_row(to, rows, from, count, 3, rank);
            break;
        default:
            fi_rank_row(to, rows, from, count, 5, rank);
        }
    }
}

static void fi_rank_share(void *argument, const fi_share *share) {
    const fi_rank_job *job = argument;
    int width = job->out->xsize, step = fi_min(width, FI_BLOCK);
    for (int x = 0; x < width; x += step) {
        fi_rank_block(job, fi_min(x, width - step), step, share->first, share->end);
    }
}

Imaging ImagingRankFilter(Imaging im, int size, int rank) {
    fi_rank_way way = fi_choose_way(size, rank);
    int margin = size / 2;
    if (!im || im->bands != 1 || !im->image8 || im->type != IMAGING_TYPE_UINT8 || way == FI_UNKNOWN ||
        im->xsize < FI_LANES + 2 * margin) {
        return ImagingRankFilter__source(im, size, rank);
    }
    Imaging out = ImagingNewDirty(im->mode, im->xsize - 2 * margin, im->ysize - 2 * margin);
    if (!out) { /* Python's error is set, so no other result may be returned */
        return NULL;
    }
    fi_rank_job job = {out, im, size, rank, way};
    int shares = fi_count_shares(out->ysize, (int64_t)out->linesize * out->ysize);
    FI_BEGIN_SECTION(im)
    fi_for_rows(shares, out->ysize, 1, fi_rank_share, &job);
    FI_END_SECTION(im)
    ImagingCopyPalette(out, im);
    return out;
}

#undef FI_LANES
#undef FI_EACH_VECTOR
