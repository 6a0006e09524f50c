/* Lookup tables of bytes: Image.point, and with it ImageOps.invert, posterize, solarize, autocontrast and equalize.

   Pillow looks up one byte after the other, which takes about a cycle for each. This kernel computes the same bytes by
   one of three methods:

   1. Rules. Most tables that programs make are not arbitrary. Inverting is x ^ 255, and posterizing is x & mask. A
      threshold, or solarizing, does one of these up to some x and another one above it. So the kernel looks for a rule

          (x & and) ^ xor   for x up to `last`, with another `and` and `xor` for those above it,

      and applies it to a whole vector. A rule is taken only if it gives all 256 entries of the table.

   2. AVX-512 VBMI. Its permutation looks 64 bytes up in a table of 128 entries, so two of them serve a table of 256.

   3. Shuffles of bytes (SSSE3, AVX2). A shuffle looks up in a table of 16 entries, by the lower four bits of an index.
      An index whose highest bit is set gives 0. The table is cut into 16 rows of 16 entries. For x below 128, row 0 is
      looked up by x, row 1 by x - 16, row 2 by x - 32 and so on. In the rows after that of x the index is negative and
      gives 0. In the rows up to that of x the lower four bits of the index are those of x. So every row is stored as
      its difference (exclusive or) from the row before it, and all results are combined by exclusive or: what is left
      is the row of x. For x = 0x25:

          index     0x25            0x15                      0x05                      -0x0b ...
          gives     row 0 [5]   ^   (row 0 ^ row 1) [5]   ^   (row 1 ^ row 2) [5]   ^   0 ...   =   row 2 [5]

      The upper half of the table does the same by x ^ 128. Subtraction saturates, so that a negative index stays
      negative.

   If the bands of a pixel have different tables, shuffles need one vector for each band: four vectors of pixels are
   turned into four of bands, and back. */

#include "vectors.h"

#if defined(__AVX2__)
#define FI_POINT_BYTES 32
#else
#define FI_POINT_BYTES 16
#endif

typedef UINT8 fi_point_bytes __attribute__((vector_size(FI_POINT_BYTES)));
typedef UINT32 fi_point_pixels __attribute__((vector_size(FI_POINT_BYTES)));

/* One part of a rule. */
typedef struct {
    UINT8 and, xor;
} fi_point_part;

/* The rules of a pixel's four bytes: what is done to bytes up to `last`, and to those above it. */
typedef struct {
    UINT8 last[4], and_below[4], xor_below[4], and_above[4], xor_above[4];
} fi_point_rules;

/* Find the part of a rule that gives the most entries from one end of a table, and return how many entries that are.

   From the start, table[x] ^ table[0] has to be x & and. At x = 2 ** k only bit k of x is set, so this entry gives bit
   k of `and`. The numbers up to the next power of two have no higher bit, so they are only compared. From the end,
   table[255 - x] ^ table[255] has to be x & and in the same way. */
static int fi_point_learn(const UINT8 *table, int from_end, fi_point_part *part) {
    UINT8 flip = from_end ? 255 : 0, first = table[flip], and = 0;
    int x = 1;
    for (; x < 256; x++) {
        UINT8 difference = table[x ^ flip] ^ first;
        if ((x & (x - 1)) == 0) {
            and |= difference & x;
        }
        if (difference != (x & and)) {
            break;
        }
    }
    part->and = and;
    part->xor = first ^ (flip & and);
    return x;
}

/* Find the rule of one byte of a pixel; false if there is none. */
static int fi_point_find_rule(const UINT8 *table, int byte, fi_point_rules *rules) {
    fi_point_part below, above;
    int count = fi_point_learn(table, 0, &below);
    if (count < 256 && count + fi_point_learn(table, 1, &above) < 256) {
        return 0;
    }
    rules->last[byte] = count - 1;
    rules->and_below[byte] = below.and;
    rules->xor_below[byte] = below.xor;
    rules->and_above[byte] = count < 256 ? above.and : 0;
    rules->xor_above[byte] = count < 256 ? above.xor : 0;
    return 1;
}

/* Four bytes, repeated in every pixel of a vector. */
FI_INLINE fi_point_bytes fi_point_repeat(const UINT8 *bytes) {
    UINT32 pixel;
    memcpy(&pixel, bytes, sizeof(pixel));
    return (fi_point_bytes)((fi_point_pixels){0} + pixel);
}

static void fi_point_row_by_rules(UINT8 *restrict out, const UINT8 *restrict in, int bytes,
                                  const fi_point_rules *rules) {
    fi_point_bytes last = fi_point_repeat(rules->last);
    fi_point_bytes and_below = fi_point_repeat(rules->and_below), xor_below = fi_point_repeat(rules->xor_below);
    fi_point_bytes and_above = fi_point_repeat(rules->and_above), xor_above = fi_point_repeat(rules->xor_above);
    for (int i = 0; i < bytes; i += FI_POINT_BYTES) {
        fi_point_bytes x = {0};
        fi_copy_some(&x, in + i, bytes - i, FI_POINT_BYTES);
        fi_point_bytes below = (fi_point_bytes)(x <= last);
        x = FI_SELECT(below, (x & and_below) ^ xor_below, (x & and_above) ^ xor_above);
        fi_copy_some(out + i, &x, bytes - i, FI_POINT_BYTES);
    }
}

/* Tables of so many bands are looked up faster than by Pillow. Shuffles of 16 bytes are so for one band alone: for
   three, they take up to twice as long. */
static int fi_point_most_bands = 0;

#if defined(__SSSE3__)
/* The different tables of a picture, and for each byte of a pixel the index of its table: -1 for a byte that its mode
   does not use. */
typedef struct {
    int count;
    const UINT8 *tables[4];
    int table_of[4];
} fi_point_lookup;

static fi_point_lookup fi_point_find_tables(const UINT8 *tables, const int *band_of) {
    fi_point_lookup lookup = {0, {0}, {-1, -1, -1, -1}};
    for (int byte = 0; byte < 4; byte++) {
        int i = 0;
        if (band_of[byte] < 0) {
            continue;
        }
        /* The table comes last for now, so that the search ends there at the latest. */
        lookup.tables[lookup.count] = tables + 256 * band_of[byte];
        while (memcmp(lookup.tables[i], lookup.tables[lookup.count], 256) != 0) {
            i++;
        }
        lookup.table_of[byte] = i;
        lookup.count += i == lookup.count;
    }
    return lookup;
}

/* A table as 16 rows of 16 entries, each row as its difference from the one before it. Rows 0 and 8 are as they are. */
typedef struct {
    UINT8 entries[256];
} fi_point_differences;

static void fi_point_store_differences(fi_point_differences *differences, const UINT8 *table) {
    for (int i = 0; i < 256; i++) {
        differences->entries[i] = table[i] ^ (i % 128 < 16 ? 0 : table[i - 16]);
    }
}

#if defined(__AVX2__)
/* A row in both segments of a vector: shuffles look up within a segment. */
FI_INLINE fi_point_bytes fi_point_load_row(const UINT8 *row) {
    return (fi_point_bytes)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)row));
}

FI_INLINE fi_point_bytes fi_point_shuffle(fi_point_bytes row, fi_point_bytes indexes) {
    return (fi_point_bytes)_mm256_shuffle_epi8((__m256i)row, (__m256i)indexes);
}

FI_INLINE fi_point_bytes fi_point_subtract_16(fi_point_bytes indexes) {
    return (fi_point_bytes)_mm256_subs_epi8((__m256i)indexes, _mm256_set1_epi8(16));
}
#else
FI_INLINE fi_point_bytes fi_point_load_row(const UINT8 *row) {
    return FI_LOAD(fi_point_bytes, row);
}

FI_INLINE fi_point_bytes fi_point_shuffle(fi_point_bytes row, fi_point_bytes indexes) {
    return (fi_point_bytes)_mm_shuffle_epi8((__m128i)row, (__m128i)indexes);
}

FI_INLINE fi_point_bytes fi_point_subtract_16(fi_point_bytes indexes) {
    return (fi_point_bytes)_mm_subs_epi8((__m128i)indexes, _mm_set1_epi8(16));
}
#endif

/* Look up `count` vectors of bytes, at most 4: each row is loaded once for all of them. `count` is a constant. */
FI_INLINE void fi_point_look_up(fi_point_bytes *vectors, int count, const fi_point_differences *differences) {
    fi_point_bytes low[4], high[4], sums[4];
    for (int i = 0; i < count; i++) {
        low[i] = vectors[i];
        high[i] = vectors[i] ^ 128;
        sums[i] = (fi_point_bytes){0};
    }
    for (int row = 0; row < 8; row++) {
        const UINT8 *entries = differences->entries + 16 * row;
        fi_point_bytes lower = fi_point_load_row(entries), upper = fi_point_load_row(entries + 128);
        for (int i = 0; i < count; i++) {
            sums[i] ^= fi_point_shuffle(lower, low[i]) ^ fi_point_shuffle(upper, high[i]);
            low[i] = fi_point_subtract_16(low[i]);
            high[i] = fi_point_subtract_16(high[i]);
        }
    }
    memcpy(vectors, sums, count * sizeof(*vectors));
}

/* Turn four vectors of pixels into one vector for each band, or back: the function is its own inverse.

       A  rgbx rgbx ...        rrrr rrrr ...  of A, B, C, D, A, B, C, D ...
       B  rgbx rgbx ...  <-->  gggg gggg ...
       C  rgbx rgbx ...        bbbb bbbb ...
       D  rgbx rgbx ...        xxxx xxxx ... */
FI_INLINE void fi_point_turn(fi_point_bytes *vectors) {
    const fi_point_pixels halves = (fi_point_pixels){0} + 0xffff, bytes = (fi_point_pixels){0} + 0xff00ff;
    fi_point_pixels a = (fi_point_pixels)vectors[0], b = (fi_point_pixels)vectors[1];
    fi_point_pixels c = (fi_point_pixels)vectors[2], d = (fi_point_pixels)vectors[3];
    fi_point_pixels first_ac = (a & halves) | c << 16, second_ac = a >> 16 | (c & ~halves);
    fi_point_pixels first_bd = (b & halves) | d << 16, second_bd = b >> 16 | (d & ~halves);
    vectors[0] = (fi_point_bytes)((first_ac & bytes) | (first_bd & bytes) << 8);
    vectors[1] = (fi_point_bytes)((first_ac >> 8 & bytes) | (first_bd & ~bytes));
    vectors[2] = (fi_point_bytes)((second_ac & bytes) | (second_bd & bytes) << 8);
    vectors[3] = (fi_point_bytes)((second_ac >> 8 & bytes) | (second_bd & ~bytes));
}

#define FI_POINT_STRETCH (4 * FI_POINT_BYTES) /* bytes of a row that are handled together */

/* `out` may be `in`. `used` masks the bytes of a pixel that have a table; the others become 0. */
FI_INLINE void fi_point_stretch_by_shuffles(UINT8 *out, const UINT8 *in, const fi_point_lookup *lookup,
                                            const fi_point_differences *differences, fi_point_bytes used) {
    fi_point_bytes vectors[4];
    memcpy(vectors, in, sizeof(vectors));
    if (lookup->count == 1) {
        fi_point_look_up(vectors, 4, differences);
        for (int i = 0; i < 4; i++) {
            vectors[i] &= used;
        }
    } else {
        fi_point_turn(vectors);
        for (int byte = 0; byte < 4; byte++) {
            if (lookup->table_of[byte] >= 0) {
                fi_point_look_up(vectors + byte, 1, differences + lookup->table_of[byte]);
            } else {
                vectors[byte] = (fi_point_bytes){0};
            }
        }
        fi_point_turn(vectors);
    }
    memcpy(out, vectors, sizeof(vectors));
}

static void fi_point_by_shuffles(Imaging out, Imaging in, const fi_point_lookup *lookup) {
    fi_point_differences differences[4];
    UINT8 used[4];
    for (int i = 0; i < lookup->count; i++) {
        fi_point_store_differences(differences + i, lookup->tables[i]);
    }
    for (int byte = 0; byte < 4; byte++) {
        used[byte] = lookup->table_of[byte] < 0 ? 0 : 255;
    }
    fi_point_bytes mask = fi_point_repeat(used);
    for (int y = 0; y < in->ysize; y++) {
        const UINT8 *from = (const UINT8 *)in->image[y];
        UINT8 *to = (UINT8 *)out->image[y];
        int i = 0, bytes = in->linesize;
        for (; i <= bytes - FI_POINT_STRETCH; i += FI_POINT_STRETCH) {
            fi_point_stretch_by_shuffles(to + i, from + i, lookup, differences, mask);
        }
        if (i < bytes) {
            UINT8 rest[FI_POINT_STRETCH] = {0};
            memcpy(rest, from + i, bytes - i);
            fi_point_stretch_by_shuffles(rest, rest, lookup, differences, mask);
            memcpy(to + i, rest, bytes - i);
        }
    }
}

#define FI_POINT_VBMI __attribute__((target(FI_AVX512_TARGET ",avx512vbmi")))

/* Look up 64 bytes in each of `count` tables, the bytes that it serves (`masks`). A byte that no table serves is 0. A
   table is four vectors: two for indexes below 128, and two for the others. */
FI_POINT_VBMI FI_INLINE __m512i fi_point_permute(__m512i x, const __m512i *tables, const __mmask64 *masks, int count) {
    __mmask64 upper = _mm512_movepi8_mask(x);
    __m512i sum = _mm512_setzero_si512();
    for (int i = 0; i < count; i++) {
        const __m512i *table = tables + 4 * i;
        sum |= _mm512_maskz_permutex2var_epi8(masks[i] & ~upper, table[0], x, table[1]);
        sum |= _mm512_maskz_permutex2var_epi8(masks[i] & upper, table[2], x, table[3]);
    }
    return sum;
}

FI_POINT_VBMI FI_INLINE void fi_point_rows_by_permutations(Imaging out, Imaging in, const fi_point_lookup *lookup,
                                                           int count) {
    __m512i tables[16];
    __mmask64 masks[4] = {0};
    for (int i = 0; i < count; i++) {
        memcpy(tables + 4 * i, lookup->tables[i], 256);
    }
    for (int byte = 0; byte < 4; byte++) {
        for (int i = 0; i < count; i++) {
            masks[i] |= lookup->table_of[byte] == i ? 0x1111111111111111u << byte : 0;
        }
    }
    for (int y = 0; y < in->ysize; y++) {
        const UINT8 *from = (const UINT8 *)in->image[y];
        UINT8 *to = (UINT8 *)out->image[y];
        int i = 0, bytes = in->linesize;
        for (; i <= bytes - 64; i += 64) {
            _mm512_storeu_si512(to + i, fi_point_permute(_mm512_loadu_si512(from + i), tables, masks, count));
        }
        if (i < bytes) {
            __mmask64 rest = ~(__mmask64)0 >> (64 - (bytes - i));
            __m512i x = _mm512_maskz_loadu_epi8(rest, from + i);
            _mm512_mask_storeu_epi8(to + i, rest, fi_point_permute(x, tables, masks, count));
        }
    }
}

FI_POINT_VBMI static void fi_point_by_permutations(Imaging out, Imaging in, const fi_point_lookup *lookup) {
    int count = lookup->count; /* 1, 2 or 3, each with code of its own, and 4 in the code for any other number */
    FI_SPECIALIZE(
        count, 1,
        FI_SPECIALIZE(count, 2, FI_SPECIALIZE(count, 3, fi_point_rows_by_permutations(out, in, lookup, count))))
}

static void (*fi_point_look_up_chosen)(Imaging out, Imaging in, const fi_point_lookup *lookup);

FI_AT_LOAD(fi_choose_point) {
    int has_permutations = fi_cpu_has(FI_AVX512_VBMI);
    fi_point_look_up_chosen = has_permutations ? fi_point_by_permutations : fi_point_by_shuffles;
    fi_point_most_bands = has_permutations || FI_POINT_BYTES > 16 ? 4 : 1;
}
#endif

static void fi_point_by_rules(Imaging out, Imaging in, const fi_point_rules *rules) {
    for (int y = 0; y < in->ysize; y++) {
        fi_point_row_by_rules((UINT8 *)out->image[y], (const UINT8 *)in->image[y], in->linesize, rules);
    }
}

Imaging ImagingPoint(Imaging imIn, ModeID mode, const void *table) {
    if (!imIn || imIn->type != IMAGING_TYPE_UINT8 ||
        (mode != IMAGING_MODE_UNKNOWN && (mode != imIn->mode || imIn->bands > 1))) {
        return ImagingPoint__source(imIn, mode, table);
    }
    /* For pictures of 1 to 4 bands: the band of each of four bytes, which are a pixel, or four pixels of one band. */
    static const int bands[5][4] = {{0}, {0, 0, 0, 0}, {0, -1, -1, 1}, {0, 1, 2, -1}, {0, 1, 2, 3}};
    const int *band_of = bands[imIn->bands];
    fi_point_rules rules;
    int has_rules = 1;
    memset(&rules, 0, sizeof(rules));
    for (int byte = 0; byte < 4 && has_rules; byte++) {
        has_rules = band_of[byte] < 0 || fi_point_find_rule((const UINT8 *)table + 256 * band_of[byte], byte, &rules);
    }
    if (!has_rules && imIn->bands > fi_point_most_bands) {
        return ImagingPoint__source(imIn, mode, table);
    }
    Imaging out = ImagingNewDirty(imIn->mode, imIn->xsize, imIn->ysize);
    if (!out) {
        return NULL;
    }
    ImagingCopyPalette(out, imIn);
    ImagingSectionCookie cookie;
    ImagingSectionEnter(&cookie);
    if (has_rules) {
        fi_point_by_rules(out, imIn, &rules);
#if defined(__SSSE3__)
    } else {
        fi_point_lookup lookup = fi_point_find_tables(table, band_of);
        fi_point_look_up_chosen(out, imIn, &lookup);
#endif
    }
    ImagingSectionLeave(&cookie);
    return out;
}
