/* Image.histogram of bytes, and with it ImageOps.autocontrast and equalize.

   For each byte that it counts, Pillow loads a counter, adds 1 and stores it. The stores take the time: a CPU writes one
   a cycle to its cache, and a byte that is equal to the one before it waits for that one's counter. So this kernel counts
   two bytes by one store: one of a row, and the one below it. They are alike in most pictures, and their order doesn't
   matter. So a pair is named by its smaller byte and the difference, and counters that are needed often lie together:

       row y      a0 a1 a2 ...       smaller     s0 s1 s2 ...
       row y + 1  b0 b1 b2 ...       difference  d0 d1 d2 ...       pairs[d0][s0] += 1

   Differences below 32 have 8,192 counters. Each is a byte, so that they fit into the nearest caches, for three bands too.
   When one overflows, its 256 pairs are added to the counters of single bytes. In the end the row of each difference d is
   added to these twice: in place, and d places further on. Pixels of even and of odd places have counters of their own:
   then equal neighbours wait less for each other.

   Numbers of pairs are stored for a piece of a row before they are counted. A load that soon follows its store would
   have to wait for it. In a piece where many differences are large, and the next ones, single bytes are counted: there
   pairs would not stay in the cache.

   A picture of one band is counted as one of four bands, whose counters are added up. Masks, pixels that are no bytes, and
   pictures too small for such tables are left to Pillow. */

#include "vectors.h"

#define FI_HISTOGRAM_SMALL (1 << 19) /* bytes of a picture */
#define FI_HISTOGRAM_PIECE 1024      /* bytes of a row */
#define FI_HISTOGRAM_FAR 64          /* a large difference */
#define FI_HISTOGRAM_BLIND 15        /* pieces that are counted singly before differences are looked at again */

/* Counters for pixels of even and of odd places, and each of their four bytes. A load waits for an earlier store if their
   addresses differ by a multiple of 4096 bytes, as if they were the same. So the tables have odd distances. */
typedef struct {
    UINT8 pairs[2][4][256 * 256 + 1355];
    long singles[2][4][256 + 11];
} fi_histogram_tables;

FI_INLINE void fi_histogram_count_pair(fi_histogram_tables *tables, int turn, int byte, UINT16 pair) {
    UINT8 *count = &tables->pairs[turn][byte][pair];
    if (__builtin_expect(__builtin_add_overflow(*count, 1, count), 0)) {
        tables->singles[turn][byte][pair & 255] += 256;
        tables->singles[turn][byte][(pair & 255) + (pair >> 8)] += 256;
    }
}

/* Count pixels of which a mask of four bits says which bytes count: a constant. */
FI_INLINE void fi_histogram_count_singles(fi_histogram_tables *tables, const UINT8 *row, int bytes, const int used) {
    int i = 0;
    for (; i <= bytes - 8; i += 8) {
        uint64_t two = FI_LOAD(uint64_t, row + i);
        for (int byte = 0; byte < 8; byte++) {
            if (used >> byte % 4 & 1) {
                tables->singles[byte / 4][byte % 4][two >> 8 * byte & 255]++;
            }
        }
    }
    for (; i < bytes; i++) {
        if (used >> i % 4 & 1) {
            tables->singles[0][i % 4][row[i]]++;
        }
    }
}

/* Count a piece of two rows by pairs; return how many differences are large. */
FI_INLINE int fi_histogram_count_pairs(fi_histogram_tables *tables, const UINT8 *upper, const UINT8 *lower, int bytes,
                                       const int used) {
    UINT16 even[FI_HISTOGRAM_PIECE / 2], odd[FI_HISTOGRAM_PIECE / 2];
    fi_wide_u8 far = {0};
    for (int i = 0; i < bytes; i += FI_WIDE) {
        fi_wide_u8 a = FI_LOAD(fi_wide_u8, upper + i), b = FI_LOAD(fi_wide_u8, lower + i), least = FI_MIN(a, b);
        fi_wide_u8 change = FI_MAX(a, b) - least;
        fi_wide_u16 smaller = (fi_wide_u16)least, difference = (fi_wide_u16)change;
        FI_STORE(even + i / 2, (smaller & 255) | difference << 8);
        FI_STORE(odd + i / 2, smaller >> 8 | (difference & 0xff00));
        far -= (fi_wide_u8)(change >= FI_HISTOGRAM_FAR);
    }
    for (int i = 0; i < bytes / 2; i += 4) {
        for (int byte = 0; byte < 8; byte++) { /* of two pixels */
            if (used >> byte % 4 & 1) {
                fi_histogram_count_pair(tables, byte / 4, byte % 4, (byte % 2 ? odd : even)[i + byte / 2]);
            }
        }
    }
    int sum = 0;
    for (int i = 0; i < FI_WIDE; i++) {
        sum += far[i];
    }
    return sum;
}

FI_INLINE void fi_histogram_count_rows(fi_histogram_tables *tables, Imaging im, const int used) {
    int blind = 0;
    for (int y = 0; y < im->ysize; y += 2) {
        const UINT8 *upper = (const UINT8 *)im->image[y];
        if (y + 1 == im->ysize) {
            fi_histogram_count_singles(tables, upper, im->linesize, used);
            break;
        }
        const UINT8 *lower = (const UINT8 *)im->image[y + 1];
        for (int i = 0; i < im->linesize; i += FI_HISTOGRAM_PIECE) {
            int bytes = fi_min(im->linesize - i, FI_HISTOGRAM_PIECE), whole = blind ? 0 : bytes & -FI_WIDE;
            if (blind) {
                blind--;
            } else if (fi_histogram_count_pairs(tables, upper + i, lower + i, whole, used) > whole / 4) {
                blind = FI_HISTOGRAM_BLIND;
            }
            fi_histogram_count_singles(tables, upper + i + whole, bytes - whole, used);
            fi_histogram_count_singles(tables, lower + i + whole, bytes - whole, used);
        }
    }
}

/* Add what was counted for one byte of a pixel to a histogram. */
static void fi_histogram_add_up(const fi_histogram_tables *tables, int byte, long *histogram) {
    UINT32 sums[256] = {0}; /* of at most 1024 counters of a byte each */
    for (int difference = 0; difference < 256; difference++) {
        const UINT8 *pairs = tables->pairs[0][byte] + 256 * difference;
        const UINT8 *others = tables->pairs[1][byte] + 256 * difference;
        for (int smaller = 0; smaller < 256 - difference; smaller++) {
            sums[smaller] += pairs[smaller] + others[smaller];
        }
        for (int smaller = 0; smaller < 256 - difference; smaller++) {
            sums[smaller + difference] += pairs[smaller] + others[smaller];
        }
    }
    for (int i = 0; i < 256; i++) {
        histogram[i] += sums[i] + tables->singles[0][byte][i] + tables->singles[1][byte][i];
    }
}

ImagingHistogram ImagingGetHistogram(Imaging im, Imaging imMask, void *minmax) {
    if (!im || imMask || im->type != IMAGING_TYPE_UINT8 || (int64_t)im->linesize * im->ysize < FI_HISTOGRAM_SMALL) {
        return ImagingGetHistogram__source(im, imMask, minmax);
    }
    fi_histogram_tables *tables = calloc(1, sizeof(*tables));
    if (!tables) {
        return ImagingGetHistogram__source(im, imMask, minmax);
    }
    ImagingHistogram h = ImagingHistogramNew(im);
    if (!h) {
        free(tables);
        return NULL;
    }
    FI_BEGIN_SECTION(im)
    int used = im->bands == 2 ? 9 : im->bands == 3 ? 7 : 15, band = 0;
    if (used == 7) {
        fi_histogram_count_rows(tables, im, 7);
    } else {
        FI_EITHER(used, 9, 15, fi_histogram_count_rows(tables, im, used))
    }
    for (int byte = 0; byte < 4; byte++) {
        if (used >> byte & 1) {
            fi_histogram_add_up(tables, byte, h->histogram + 256 * band);
            band += im->bands > 1;
        }
    }
    FI_END_SECTION(im)
    free(tables);
    return h;
}
