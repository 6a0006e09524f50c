/* Rank filters of one 8-bit band: the smallest, the largest and the median of a window; any rank of 3 x 3 and of 5 x 5.

   A vector holds neighbouring pixels of a row, and each of its lanes computes a window of its own. A window has as many
   columns as rows, so the windows of neighbouring lanes share columns. What is computed of a column is stored once, and
   each window loads it from there, by loads that begin one byte further to the right for each of its columns:

       rows of the picture      r0[x], r1[x], r2[x] ...           lane x has pixels of column x
            | down the columns, once for each column
       columns                  c[x]
            | across: loads of c[x], c[x + 1], c[x + 2] ...       lane x has the columns of the window that begins at x
       windows                  out[x]

   Exactness. Only minimum and maximum of bytes are computed, and a rank is one of the window's own values.

   The largest of 3 x 3 takes 4 operations a vector, the median of 3 x 3 takes 18 and of 5 x 5 94. A sorting network for
   each window alone takes 16, 40 and 202.

   The result is computed in strips of columns, so that what is stored of a row stays in the first cache. All loads and
   stores are whole vectors: the last one of a row begins earlier, and computes some windows again. */

#include "threads.h"
#include "vectors.h"

/* Bytes of a vector. GCC splits comparisons of a vector that is wider than a register into single bytes. */
#if defined(__clang__) || defined(__AVX2__)
#define FI_RANK_WIDTH 32
#else
#define FI_RANK_WIDTH 16
#endif

enum {
    FI_RANK_STRIP = 1024,                             /* columns of the result that are computed together */
    FI_RANK_LIMIT = 256,                              /* a window has fewer columns */
    FI_RANK_ROOM = FI_RANK_STRIP + 2 * FI_RANK_LIMIT, /* columns that a strip needs, and what vectors read after them */
    FI_RANK_LIST = 32 /* vectors of a list to be sorted, a power of two; 9 or 25 are used */
};

typedef UINT8 fi_pixels __attribute__((vector_size(FI_RANK_WIDTH)));

/* A loop over the vectors of `count` pixels. Each begins at `x`; the last one ends with the pixels. */
#define FI_EACH_VECTOR(x, count)                                                                                       \
    for (int i_ = 0, x = 0; i_ < (count) && ((x = fi_min(i_, (count) - FI_RANK_WIDTH)), 1); i_ += FI_RANK_WIDTH)

FI_INLINE fi_pixels fi_smaller(fi_pixels a, fi_pixels b) {
    return FI_MIN(a, b);
}

FI_INLINE fi_pixels fi_larger(fi_pixels a, fi_pixels b) {
    return FI_MAX(a, b);
}

FI_INLINE fi_pixels fi_median_of_3(fi_pixels a, fi_pixels b, fi_pixels c) {
    return fi_larger(fi_smaller(a, b), fi_smaller(fi_larger(a, b), c));
}

/* Lists of vectors are sorted in every lane at once, by a network of comparisons that is the same for all values.

   This is one round of K. E. Batcher's odd-even merges ("Sorting Networks and Their Applications", 1968). Sorted lists
   of `width` elements, which begin at multiples of `width`, are merged two by two. First element i of the lower list is
   compared with element i of the upper one. Then, for each smaller `gap` (width / 2, width / 4, ... 1), those elements
   whose number has the bit `gap` are compared with the elements `gap` further, within the merged list.

   The lists may have gaps at both ends: elements before `first` count as smaller than all others, and elements from
   `end` on as larger. Comparisons with them are left out. All bounds are constants, so that loops are unrolled and
   elements are registers. The compiler leaves out comparisons that the result does not need. */
FI_INLINE void fi_merge_lists(fi_pixels *list, int first, int end, int width) {
#pragma GCC unroll 8
    for (int gap = width; gap >= 1; gap /= 2) {
#pragma GCC unroll 32
        for (int i = 0; i < FI_RANK_LIST; i++) {
            /* First gap is width, and `from` is i: elements without the bit `width` are compared. Then `from` is
               i - gap, and lacks the bit `gap` if i has it. */
            int from = i - (gap & (width - 1));
            if (from >= 0 && !(from & gap) && i >= first && i + gap < end && (i ^ (i + gap)) < 2 * width) {
                fi_pixels low = fi_smaller(list[i], list[i + gap]);
                list[i + gap] = fi_larger(list[i], list[i + gap]);
                list[i] = low;
            }
        }
    }
}

FI_INLINE void fi_sort_list(fi_pixels *list, int count) {
#pragma GCC unroll 8
    for (int width = 1; width < count; width *= 2) {
        fi_merge_lists(list, 0, count, width);
    }
}

/* Any rank of a small window: all of its pixels are sorted. */
FI_INLINE void fi_rank_row(UINT8 *out, UINT8 *const *rows, int from, int count, int size, int rank) {
    FI_EACH_VECTOR(x, count) {
        fi_pixels window[FI_RANK_LIST];
#pragma GCC unroll 32
        for (int i = 0; i < size * size; i++) {
            window[i] = FI_LOAD(fi_pixels, rows[i / size] + from + x + i % size);
        }
        fi_sort_list(window, size * size);
        FI_STORE(out + x, window[rank]);
    }
}

FI_INLINE fi_pixels fi_extreme(fi_pixels a, fi_pixels b, int is_largest) {
    return is_largest ? fi_larger(a, b) : fi_smaller(a, b);
}

/* The smallest or the largest of a window of any size. First it is found for each column, then for every 2, 4, 8 ...
   (`joined`) neighbouring columns, as long as a window has as many. Two such groups, which may overlap, make a window:
   one begins with it, the other ends with it. */
FI_INLINE void fi_extreme_row(UINT8 *out, UINT8 *const *rows, int from, int count, int size, int is_largest,
                              UINT8 *columns) {
    int width = count + size - 1, joined = 1;
    FI_EACH_VECTOR(x, width) {
        fi_pixels column = FI_LOAD(fi_pixels, rows[0] + from + x);
        for (int i = 1; i < size; i++) {
            column = fi_extreme(column, FI_LOAD(fi_pixels, rows[i] + from + x), is_largest);
        }
        FI_STORE(columns + x, column);
    }
    for (; 2 * joined < size; joined *= 2) {
        for (int x = 0; x < width; x += FI_RANK_WIDTH) { /* in place: what is stored is not loaded again */
            FI_STORE(columns + x, fi_extreme(FI_LOAD(fi_pixels, columns + x), FI_LOAD(fi_pixels, columns + x + joined),
                                             is_largest));
        }
    }
    FI_EACH_VECTOR(x, count) {
        fi_pixels right = FI_LOAD(fi_pixels, columns + x + size - joined);
        FI_STORE(out + x, fi_extreme(FI_LOAD(fi_pixels, columns + x), right, is_largest));
    }
}

/* The median of 3 x 3. With sorted columns it is the median m of three values: the largest of the columns' lowest
   pixels, the median of their middle ones, and the smallest of their highest. Proof: three pixels are not larger than
   the first value, the lowest of each column. Four are not larger than the second, the lowest and the middle ones of
   two columns. Three are not larger than the third, one whole column. Any two of these groups have at least five pixels
   together, and m is not smaller than two of the values. So at least five of the nine pixels are not larger than m, and
   likewise at least five are not smaller. */
FI_INLINE void fi_median_of_9(UINT8 *out, UINT8 *const *rows, int from, int count, UINT8 (*columns)[FI_RANK_ROOM]) {
    FI_EACH_VECTOR(x, count + 2) {
        fi_pixels column[FI_RANK_LIST];
        for (int i = 0; i < 3; i++) {
            column[i] = FI_LOAD(fi_pixels, rows[i] + from + x);
        }
        fi_sort_list(column, 3);
        for (int i = 0; i < 3; i++) {
            FI_STORE(columns[i] + x, column[i]);
        }
    }
    FI_EACH_VECTOR(x, count) {
        fi_pixels sorted[3][3]; /* lowest, middle and highest pixels of the three columns */
        for (int i = 0; i < 9; i++) {
            sorted[i / 3][i % 3] = FI_LOAD(fi_pixels, columns[i / 3] + x + i % 3);
        }
        fi_pixels low = fi_larger(fi_larger(sorted[0][0], sorted[0][1]), sorted[0][2]);
        fi_pixels high = fi_smaller(fi_smaller(sorted[2][0], sorted[2][1]), sorted[2][2]);
        fi_pixels middle = fi_median_of_3(sorted[1][0], sorted[1][1], sorted[1][2]);
        FI_STORE(out + x, fi_median_of_3(low, middle, high));
    }
}

/* The median of 5 x 5. Columns are sorted, and each is merged with its right neighbour into a sorted list of ten. A
   window is two such lists and a column:

       columns   c[x]  c[x+1]   c[x+2]  c[x+3]   c[x+4]
       tens      `- t[x] -'     `- t[x+2] -'

   Two tens are merged into 20 pixels. Only those of rank 7 to 12 can be the median of all 25, since others have more
   than 12 pixels below or above them. Let a0 to a5 be these six, in order, and b0 to b4 the column. Seven of the 20
   pixels are below a0, and 12 of all 25 are below the median. So the median is the sixth of the eleven pixels in a and
   b.

   If the six smallest of them are i of a and 6 - i of b, the sixth is the larger of a[i-1] and b[5-i], or a[5] if i is
   6. With any other i the first i of a and the first 6 - i of b are six elements as well, so the largest of them is not
   smaller than the sixth smallest. So the median is the smallest of these values for i = 1 to 6. */
FI_INLINE void fi_median_of_25(UINT8 *out, UINT8 *const *rows, int from, int count, UINT8 (*columns)[FI_RANK_ROOM]) {
    UINT8(*tens)[FI_RANK_ROOM] = columns + 5;
    FI_EACH_VECTOR(x, count + 4) {
        fi_pixels column[FI_RANK_LIST];
        for (int i = 0; i < 5; i++) {
            column[i] = FI_LOAD(fi_pixels, rows[i] + from + x);
        }
        fi_sort_list(column, 5);
        for (int i = 0; i < 5; i++) {
            FI_STORE(columns[i] + x, column[i]);
        }
    }
    FI_EACH_VECTOR(x, count + 3) {
        fi_pixels lists[FI_RANK_LIST];
        for (int i = 0; i < 5; i++) {
            lists[3 + i] = FI_LOAD(fi_pixels, columns[i] + x);
            lists[8 + i] = FI_LOAD(fi_pixels, columns[i] + x + 1);
        }
        fi_merge_lists(lists, 3, 13, 8);
        for (int i = 0; i < 10; i++) {
            FI_STORE(tens[i] + x, lists[3 + i]);
        }
    }
    FI_EACH_VECTOR(x, count) {
        fi_pixels lists[FI_RANK_LIST];
        for (int i = 0; i < 10; i++) {
            lists[6 + i] = FI_LOAD(fi_pixels, tens[i] + x);
            lists[16 + i] = FI_LOAD(fi_pixels, tens[i] + x + 2);
        }
        fi_merge_lists(lists, 6, 26, 16);
        const fi_pixels *a = lists + 6 + 7;
        fi_pixels median = a[5];
        for (int i = 1; i <= 5; i++) {
            median = fi_smaller(median, fi_larger(a[i - 1], FI_LOAD(fi_pixels, columns[5 - i] + x + 4)));
        }
        FI_STORE(out + x, median);
    }
}

typedef enum {
    FI_RANK_SMALLEST,
    FI_RANK_LARGEST,
    FI_RANK_MEDIAN_OF_9,
    FI_RANK_MEDIAN_OF_25,
    FI_RANK_ANY_OF_9,
    FI_RANK_ANY_OF_25,
    FI_RANK_NONE /* left to Pillow */
} fi_rank_method;

static fi_rank_method fi_choose_rank_method(int size, int rank) {
    if (size % 2 == 0 || size < 3 || size >= FI_RANK_LIMIT || rank < 0 || rank >= size * size) {
        return FI_RANK_NONE;
    }
    if (rank == 0 || rank == size * size - 1) {
        return rank == 0 ? FI_RANK_SMALLEST : FI_RANK_LARGEST;
    }
    int is_median = rank == size * size / 2;
    return size == 3   ? (is_median ? FI_RANK_MEDIAN_OF_9 : FI_RANK_ANY_OF_9)
           : size == 5 ? (is_median ? FI_RANK_MEDIAN_OF_25 : FI_RANK_ANY_OF_25)
                       : FI_RANK_NONE;
}

typedef struct {
    Imaging out, in;
    int size, rank;
    fi_rank_method method;
} fi_rank_job;

/* Rows `first` to `end` - 1 of a strip of `count` columns from `from` on. */
static void fi_rank_strip(const fi_rank_job *job, int from, int count, int first, int end) {
    Imaging out = job->out, in = job->in;
    int size = job->size, rank = job->rank;
    UINT8 columns[15][FI_RANK_ROOM] = {{0}}; /* of the median of 5 x 5: five sorted columns, and ten of the tens */
    for (int y = first; y < end; y++) {
        UINT8 *to = out->image8[y] + from, *const *rows = in->image8 + y;
        switch (job->method) {
        case FI_RANK_SMALLEST:
            FI_SPECIALIZE(size, 3, fi_extreme_row(to, rows, from, count, size, 0, columns[0]));
            break;
        case FI_RANK_LARGEST:
            FI_SPECIALIZE(size, 3, fi_extreme_row(to, rows, from, count, size, 1, columns[0]));
            break;
        case FI_RANK_MEDIAN_OF_9:
            fi_median_of_9(to, rows, from, count, columns);
            break;
        case FI_RANK_MEDIAN_OF_25:
            fi_median_of_25(to, rows, from, count, columns);
            break;
        case FI_RANK_ANY_OF_9:
            fi_rank_row(to, rows, from, count, 3, rank);
            break;
        default:
            fi_rank_row(to, rows, from, count, 5, rank);
        }
    }
}

static void fi_rank_share(void *argument, const fi_share *share) {
    const fi_rank_job *job = argument;
    int width = job->out->xsize, step = fi_min(width, FI_RANK_STRIP);
    for (int x = 0; x < width; x += step) { /* the last strip ends with the row, and repeats some columns */
        fi_rank_strip(job, fi_min(x, width - step), step, share->first, share->end);
    }
}

Imaging ImagingRankFilter(Imaging im, int size, int rank) {
    fi_rank_method method = fi_choose_rank_method(size, rank);
    int margin = size / 2;
    if (!im || im->bands != 1 || !im->image8 || im->type != IMAGING_TYPE_UINT8 || method == FI_RANK_NONE ||
        im->xsize < FI_RANK_WIDTH + 2 * margin) {
        return ImagingRankFilter__source(im, size, rank);
    }
    Imaging out = ImagingNewDirty(im->mode, im->xsize - 2 * margin, im->ysize - 2 * margin);
    if (!out) { /* Python's error is set, so no other result may be returned */
        return NULL;
    }
    fi_rank_job job = {out, im, size, rank, method};
    int shares = fi_count_shares(out->ysize, (int64_t)out->linesize * out->ysize);
    FI_BEGIN_SECTION(im)
    fi_for_rows(shares, out->ysize, 1, fi_rank_share, &job);
    FI_END_SECTION(im)
    ImagingCopyPalette(out, im);
    return out;
}

#undef FI_RANK_WIDTH
#undef FI_EACH_VECTOR
