/* Image.histogram of bytes, and with it ImageOps.autocontrast and equalize.

   For each byte that it counts, Pillow loads a counter, adds 1 and stores it. The stores take the time: a CPU writes
   one or two a cycle to its cache, and a byte that is equal to the one before it waits for that one's counter. So this
   kernel counts two bytes by one store: a couple is a byte of a row and the byte below it. The order of the two does
   not matter for a histogram, so a couple is numbered by its smaller byte and the difference of both. In most pictures
   the two are alike. Numbered like this, the counters that are needed often are neighbours in memory:

       row y      a0 a1 a2 ...       smaller     s0 s1 s2 ...
       row y + 1  b0 b1 b2 ...       difference  d0 d1 d2 ...       couples[d0][s0] += 1

   Each of the 256 differences has 256 counters, one for each smaller byte. Pixels at even and at odd places have
   counters of their own, so that equal neighbours wait less for each other. A counter is one byte: those of differences
   below 64 take 32,768 bytes a band, and stay in the caches next to the core for three bands too. When a counter
   overflows, its 256 couples are added to the counters of single bytes. In the end the counters of each difference d
   are added to those of single bytes twice: in place, for the smaller bytes, and d places further on, for the larger
   ones.

   The numbers of a stretch's couples are all stored before any is counted, since a load that soon follows its store
   would have to wait for it. If more than a quarter of a stretch's differences are 64 or more, too many counters are
   needed for these caches. Then the single bytes of the stretches that follow are counted, and couples are tried again
   later.

   A picture of one band is counted as one of four bands, whose counters are added up. Left to Pillow: masks, pixels
   that are not bytes, and pictures too small for such tables to pay. */

#include "vectors.h"

#define FI_HISTOGRAM_SMALL (1 << 19) /* bytes; smaller pictures are left to Pillow */
#define FI_HISTOGRAM_STRETCH 1024    /* bytes of a row that are handled together */
#define FI_HISTOGRAM_FAR 64          /* the least difference that is large */
#define FI_HISTOGRAM_BLIND 15        /* stretches that are counted by single bytes before couples are tried again */

/* Counters: [0] is for pixels at even places and [1] for those at odd places, the second index is the byte of a pixel.
   A load waits for an earlier store if their addresses differ by a multiple of 4096 bytes, as if they were the same. So
   the arrays are longer than needed, and their distances are no such multiples. */
typedef struct {
    UINT8 couples[2][4][256 * 256 + 1355]; /* by smaller byte + 256 * difference */
    long singles[2][4][256 + 11];
} fi_histogram_counters;

FI_INLINE void fi_histogram_count_couple(fi_histogram_counters *counters, int is_odd, int byte, UINT16 couple) {
    UINT8 *count = &counters->couples[is_odd][byte][couple];
    if (__builtin_expect(__builtin_add_overflow(*count, 1, count), 0)) {
        counters->singles[is_odd][byte][couple & 255] += 256;
        counters->singles[is_odd][byte][(couple & 255) + (couple >> 8)] += 256;
    }
}

/* Count the single bytes of some pixels. `counted` is a constant: bit i says whether byte i of a pixel is counted. */
FI_INLINE void fi_histogram_count_singles(fi_histogram_counters *counters, const UINT8 *row, int bytes,
                                          const int counted) {
    int i = 0;
    for (; i <= bytes - 8; i += 8) {
        uint64_t pixels = FI_LOAD(uint64_t, row + i); /* two */
        for (int byte = 0; byte < 8; byte++) {
            if (counted >> byte % 4 & 1) {
                counters->singles[byte / 4][byte % 4][pixels >> 8 * byte & 255]++;
            }
        }
    }
    for (; i < bytes; i++) {
        if (counted >> i % 4 & 1) {
            counters->singles[0][i % 4][row[i]]++;
        }
    }
}

/* Count a stretch of two rows by couples; return how many differences are large. `bytes` is a multiple of FI_WIDE. */
FI_INLINE int fi_histogram_count_couples(fi_histogram_counters *counters, const UINT8 *upper, const UINT8 *lower,
                                         int bytes, const int counted) {
    UINT16 even[FI_HISTOGRAM_STRETCH / 2], odd[FI_HISTOGRAM_STRETCH / 2]; /* the couples of bytes at these places */
    fi_wide_u8 far = {0}; /* in each lane the number of large differences, at most FI_HISTOGRAM_STRETCH / FI_WIDE */
    _Static_assert(FI_HISTOGRAM_STRETCH / FI_WIDE < 256, "a lane of `far` holds its number");
    for (int i = 0; i < bytes; i += FI_WIDE) {
        fi_wide_u8 a = FI_LOAD(fi_wide_u8, upper + i), b = FI_LOAD(fi_wide_u8, lower + i), minimum = FI_MIN(a, b);
        fi_wide_u8 change = FI_MAX(a, b) - minimum;
        fi_wide_u16 smaller = (fi_wide_u16)minimum, difference = (fi_wide_u16)change;
        FI_STORE(even + i / 2, (smaller & 255) | difference << 8);
        FI_STORE(odd + i / 2, smaller >> 8 | (difference & 0xff00));
        far -= (fi_wide_u8)(change >= FI_HISTOGRAM_FAR);
    }
    for (int i = 0; i < bytes / 2; i += 4) {
        for (int byte = 0; byte < 8; byte++) { /* the bytes of two pixels */
            if (counted >> byte % 4 & 1) {
                fi_histogram_count_couple(counters, byte / 4, byte % 4, (byte % 2 ? odd : even)[i + byte / 2]);
            }
        }
    }
    int sum = 0;
    for (int i = 0; i < FI_WIDE; i++) {
        sum += far[i];
    }
    return sum;
}

/* Count two rows at a time, and the last row of an odd number by single bytes. */
FI_INLINE void fi_histogram_count_rows(fi_histogram_counters *counters, Imaging im, const int counted) {
    int blind = 0; /* stretches that are still to be counted by single bytes */
    for (int y = 0; y < im->ysize; y += 2) {
        const UINT8 *upper = (const UINT8 *)im->image[y];
        if (y + 1 == im->ysize) {
            fi_histogram_count_singles(counters, upper, im->linesize, counted);
            break;
        }
        const UINT8 *lower = (const UINT8 *)im->image[y + 1];
        for (int i = 0; i < im->linesize; i += FI_HISTOGRAM_STRETCH) {
            int bytes = fi_min(im->linesize - i, FI_HISTOGRAM_STRETCH), whole = blind ? 0 : bytes & -FI_WIDE;
            if (blind) {
                blind--;
            } else if (fi_histogram_count_couples(counters, upper + i, lower + i, whole, counted) > whole / 4) {
                blind = FI_HISTOGRAM_BLIND;
            }
            fi_histogram_count_singles(counters, upper + i + whole, bytes - whole, counted);
            fi_histogram_count_singles(counters, lower + i + whole, bytes - whole, counted);
        }
    }
}

/* Add what was counted for one byte of a pixel to a histogram. */
static void fi_histogram_add_up(const fi_histogram_counters *counters, int byte, long *histogram) {
    UINT32 sums[256] = {0}; /* each of at most 1024 counters of one byte */
    for (int difference = 0; difference < 256; difference++) {
        const UINT8 *even = counters->couples[0][byte] + 256 * difference;
        const UINT8 *odd = counters->couples[1][byte] + 256 * difference;
        for (int smaller = 0; smaller < 256 - difference; smaller++) {
            sums[smaller] += even[smaller] + odd[smaller];
        }
        for (int smaller = 0; smaller < 256 - difference; smaller++) {
            sums[smaller + difference] += even[smaller] + odd[smaller];
        }
    }
    for (int i = 0; i < 256; i++) {
        histogram[i] += sums[i] + counters->singles[0][byte][i] + counters->singles[1][byte][i];
    }
}

ImagingHistogram ImagingGetHistogram(Imaging im, Imaging imMask, void *minmax) {
    if (!im || imMask || im->type != IMAGING_TYPE_UINT8 || (int64_t)im->linesize * im->ysize < FI_HISTOGRAM_SMALL) {
        return ImagingGetHistogram__source(im, imMask, minmax);
    }
    fi_histogram_counters *counters = calloc(1, sizeof(*counters));
    if (!counters) {
        return ImagingGetHistogram__source(im, imMask, minmax);
    }
    ImagingHistogram h = ImagingHistogramNew(im);
    if (!h) {
        free(counters);
        return NULL;
    }
    FI_BEGIN_SECTION(im)
    /* As in Pillow, modes of two bands use bytes 0 and 3 of a pixel, modes of three bands bytes 0 to 2. */
    int counted = im->bands == 2 ? 9 : im->bands == 3 ? 7 : 15, band = 0;
    if (counted == 7) {
        fi_histogram_count_rows(counters, im, 7);
    } else {
        FI_EITHER(counted, 9, 15, fi_histogram_count_rows(counters, im, counted))
    }
    for (int byte = 0; byte < 4; byte++) {
        if (counted >> byte & 1) {
            fi_histogram_add_up(counters, byte, h->histogram + 256 * band);
            band += im->bands > 1;
        }
    }
    FI_END_SECTION(im)
    free(counters);
    return h;
}
