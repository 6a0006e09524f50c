/* Deflate blocks (RFC 1951) of single bytes and of runs of one byte, without a search for matches.

   A block is planned, which gives its size to within eight bytes, and then written or not. Both go through the bytes
   once:

   - How often each byte occurs is counted, in four arrays by turns, so that equal neighbours need not wait for each
     other.
   - A run is a match with the byte before it (distance 1). So eight equal bytes are a byte and a run of seven.

         bytes   a b b b b b b b b c        coded   a, b, (length 7, distance 1), c

     At every fourth place, four bytes are compared with the four bytes one earlier. Every run of seven or
     more has four bytes that begin at such a place, so all of these are found. A run is coded as such if its single
     bytes would need more bits.
   - Huffman's algorithm gives each code its length. No length is above 14 bits, so four codes and up to seven bits of
     an unfinished byte fit into 64 bits, and memory is written once for four bytes of a picture.
   - A block's header has the lengths of the codes with four bits each. Other compressors code these lengths once more,
     which would save some 80 bytes of 40,000.

   A photograph's 6 MB take 7 ms; zlib-ng takes 29 ms with Z_HUFFMAN_ONLY, 38 ms with Z_RLE (AMD Zen 4, 2026-11-29). */

#ifndef FI_DEFLATE_RUNS_H
#define FI_DEFLATE_RUNS_H

#include <math.h>

#include "vectors.h"

#define FI_DEFLATE_CODES (257 + 29) /* bytes, the end of the block, and lengths of runs */
#define FI_DEFLATE_END 256          /* the code of the end */
#define FI_DEFLATE_LONGEST_CODE 14  /* bits */
#define FI_DEFLATE_LONGEST_RUN 258  /* bytes; a longer one is coded as several */
#define FI_DEFLATE_RUN_BITS 12      /* what a run takes, roughly */

/* Bits on their way to memory, the first of them lowest, as deflate wants them. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lowest byte of a number comes first in memory");
typedef struct {
    UINT8 *out;
    uint64_t bits;
    int count;
} fi_deflate_bits;

/* A block, as it is planned. */
typedef struct {
    UINT32 counts[FI_DEFLATE_CODES]; /* how often each code occurs */
    UINT8 length[FI_DEFLATE_CODES];  /* of each code, in bits; 0 if it does not occur */
    UINT16 code[FI_DEFLATE_CODES];   /* its bits, the first of them lowest */
    UINT32 least_run[256];           /* for each byte, the length from which on a run of it is coded as such */
    size_t size;                     /* of the whole block: bytes, at most */
} fi_deflate_block;

static inline void fi_deflate_put(fi_deflate_bits *bits, uint64_t value, int count) {
    bits->bits |= value << bits->count;
    bits->count += count;
}

/* Write all whole bytes. Eight bytes from the end on are touched, whatever their number. */
static inline void fi_deflate_flush(fi_deflate_bits *bits) {
    memcpy(bits->out, &bits->bits, sizeof(bits->bits));
    bits->out += bits->count >> 3;
    bits->bits >>= bits->count & ~7;
    bits->count &= 7;
}

static void fi_deflate_count(UINT32 *counts, const UINT8 *bytes, size_t count) {
    UINT32 arrays[4][256] = {{0}};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (int array = 0; array < 4; array++) {
            arrays[array][bytes[i + array]]++;
        }
    }
    for (; i < count; i++) {
        arrays[0][bytes[i]]++;
    }
    for (int byte = 0; byte < 256; byte++) {
        counts[byte] = arrays[0][byte] + arrays[1][byte] + arrays[2][byte] + arrays[3][byte];
    }
}

/* The length of a run of at least four bytes. */
static inline size_t fi_deflate_measure_run(const UINT8 *bytes, size_t from, size_t count) {
    size_t end = from + 4;
    while (end < count && bytes[end] == bytes[from]) {
        end++;
    }
    return end - from;
}

/* Find the next run that pays, from `*place` on, which is not the first byte. Returns its length, or 0, and moves
   `*place` to its first byte. */
static inline size_t fi_deflate_find_run(const fi_deflate_block *block, const UINT8 *bytes, size_t *place,
                                         size_t count) {
    for (size_t i = *place; i + 4 <= count; i += 4) {
        UINT32 here, before;
        memcpy(&here, bytes + i, 4);
        memcpy(&before, bytes + i - 1, 4);
        if (here == before) {
            size_t start = i;
            while (start > *place && bytes[start - 1] == bytes[start - 2]) {
                start--;
            }
            size_t length = fi_deflate_measure_run(bytes, start, count);
            if (length >= block->least_run[bytes[i]]) {
                *place = start;
                return length;
            }
            i = start + length - 4; /* the loop goes on after this run, which is too short */
        }
    }
    return 0;
}

/* The code of a run of 3 to 258 bytes, and how many extra bits of its length follow the code (RFC 1951, 3.2.5). */
static inline int fi_deflate_run_code(int length, int *extra) {
    int more = length - 3;
    if (length == FI_DEFLATE_LONGEST_RUN) {
        *extra = 0;
        return FI_DEFLATE_CODES - 1;
    }
    *extra = more < 8 ? 0 : 29 - __builtin_clz(more);
    return FI_DEFLATE_END + 1 + 4 * *extra + (more >> *extra);
}

/* Code bytes. If `written` is NULL, the runs are only counted in the block: each adds a length code and takes its bytes
   from the counts of single bytes. The first byte never begins a run, as no byte precedes it. */
FI_INLINE void fi_deflate_code(fi_deflate_block *block, const UINT8 *bytes, size_t count, fi_deflate_bits *written) {
    fi_deflate_bits copy = written ? *written : (fi_deflate_bits){0},
                    *bits = written ? &copy : NULL; /* a copy stays in registers */
    size_t done = 0, place = 1;
    while (done < count) {
        size_t run = fi_deflate_find_run(block, bytes, &place, count);
        if (!run) {
            place = count;
        }
        if (bits) {
            const UINT16 *code = block->code;
            const UINT8 *length = block->length;
            for (; done + 4 <= place; done += 4) {
                for (int i = 0; i < 4; i++) {
                    fi_deflate_put(bits, code[bytes[done + i]], length[bytes[done + i]]);
                }
                fi_deflate_flush(bits);
            }
            for (; done < place; done++) {
                fi_deflate_put(bits, code[bytes[done]], length[bytes[done]]);
                fi_deflate_flush(bits);
            }
        }
        /* One or two bytes that remain of a run are too few for a length code: they are coded as single bytes. */
        for (done = place; run >= 3; done = place) {
            int length = run < FI_DEFLATE_LONGEST_RUN ? (int)run : FI_DEFLATE_LONGEST_RUN, extra,
                code = fi_deflate_run_code(length, &extra);
            if (bits) {
                fi_deflate_put(bits, block->code[code], block->length[code]);
                fi_deflate_put(bits, (length - 3) & ((1 << extra) - 1), extra);
                fi_deflate_put(bits, 0, 1); /* distance 1 */
                fi_deflate_flush(bits);
            } else {
                block->counts[bytes[place]] -= length;
                block->counts[code]++;
                block->size += extra + 1; /* still in bits: those after the code */
            }
            place += length;
            run -= length;
        }
    }
    if (written) {
        *written = copy;
    }
}

static int fi_deflate_compare(const void *a, const void *b) {
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/* Give each code that occurs a length, by Huffman's algorithm with two queues: the codes in the order of their counts,
   which are the leaves of the tree, and the inner nodes in the order in which they come into being, which is that of
   their sums. Each inner node takes the two smallest of both queues as its children. At least two codes occur. */
static void fi_deflate_find_lengths(fi_deflate_block *block) {
    uint64_t sorted[FI_DEFLATE_CODES]; /* a code and its count above it */
    UINT32 sums[FI_DEFLATE_CODES];
    UINT16 parents[2 * FI_DEFLATE_CODES]; /* leaves, then inner nodes */
    UINT8 depths[2 * FI_DEFLATE_CODES];
    int leaves = 0, leaf = 0, inner = 0, of_length[FI_DEFLATE_LONGEST_CODE + 1] = {0};
    memset(block->length, 0, sizeof(block->length));
    for (int code = 0; code < FI_DEFLATE_CODES; code++) {
        if (block->counts[code]) {
            sorted[leaves++] = (uint64_t)block->counts[code] << 16 | code;
        }
    }
    qsort(sorted, leaves, sizeof(*sorted), fi_deflate_compare);
    for (int next = 0; next < leaves - 1; next++) {
        sums[next] = 0;
        for (int child = 0; child < 2; child++) {
            if (inner == next || (leaf < leaves && sorted[leaf] >> 16 <= sums[inner])) {
                sums[next] += sorted[leaf] >> 16;
                parents[leaf++] = leaves + next;
            } else {
                sums[next] += sums[inner];
                parents[leaves + inner++] = leaves + next;
            }
        }
    }
    depths[2 * leaves - 2] = 0; /* the root: the last inner node */
    for (int node = 2 * leaves - 3; node >= 0; node--) {
        depths[node] = depths[parents[node]] + 1;
        if (node < leaves) {
            of_length[depths[node] < FI_DEFLATE_LONGEST_CODE ? depths[node] : FI_DEFLATE_LONGEST_CODE]++;
        }
    }
    /* A code of n bits takes 2 ** (14 - n) of the 2 ** 14 numbers of 14 bits: all that begin with it. Lengths above 14
       became 14, so more numbers may be taken than there are. Each round gives one of them back. A code of n bits, the
       longest below 14, becomes one bit longer, which frees half of its numbers. A code of 14 bits takes that half, as
       a code of n + 1 bits, and frees its own number. */
    int taken = 0;
    for (int length = 1; length <= FI_DEFLATE_LONGEST_CODE; length++) {
        taken += of_length[length] << (FI_DEFLATE_LONGEST_CODE - length);
    }
    for (; taken > 1 << FI_DEFLATE_LONGEST_CODE; taken--) {
        int length = FI_DEFLATE_LONGEST_CODE - 1;
        while (!of_length[length]) {
            length--;
        }
        of_length[length]--;
        of_length[length + 1] += 2;
        of_length[FI_DEFLATE_LONGEST_CODE]--;
    }
    /* The rarest codes get the longest lengths. */
    for (int length = FI_DEFLATE_LONGEST_CODE, next = 0; length > 0; length--) {
        for (int i = 0; i < of_length[length]; i++) {
            block->length[sorted[next++] & 0xffff] = length;
        }
    }
}

/* Give each code its bits. Codes of one length are consecutive numbers, in the order of what they stand for. They are
   written with the highest bit first, so they are reversed here (RFC 1951, 3.2.2). */
static void fi_deflate_find_codes(fi_deflate_block *block) {
    UINT32 next = 0;
    for (int length = 1; length <= FI_DEFLATE_LONGEST_CODE; length++, next <<= 1) {
        for (int code = 0; code < FI_DEFLATE_CODES; code++) {
            if (block->length[code] == length) {
                UINT32 reversed = 0;
                for (int bit = 0; bit < length; bit++) {
                    reversed |= (next >> bit & 1) << (length - 1 - bit);
                }
                block->code[code] = reversed;
                next++;
            }
        }
    }
}

/* Plan a block of at least one byte. A byte whose frequency is p takes about -log2(p) bits, so a run of n
   such bytes pays from n = FI_DEFLATE_RUN_BITS / -log2(p) on. */
static void fi_deflate_plan(fi_deflate_block *block, const UINT8 *bytes, size_t count) {
    memset(block->counts, 0, sizeof(block->counts));
    fi_deflate_count(block->counts, bytes, count);
    for (int byte = 0; byte < 256; byte++) {
        double occurrences = block->counts[byte] ? block->counts[byte] : 1;
        double least = FI_DEFLATE_RUN_BITS / (log2((double)count / occurrences) + 0.01); /* 0.01: not by 0 */
        block->least_run[byte] = least < 4 ? 4 : (UINT32)least;
    }
    block->counts[FI_DEFLATE_END] = 1;
    block->size = 0;
    fi_deflate_code(block, bytes, count, NULL);
    fi_deflate_find_lengths(block);
    for (int code = 0; code < FI_DEFLATE_CODES; code++) {
        block->size += (size_t)block->counts[code] * block->length[code];
    }
    block->size = block->size / 8 + 160; /* the header has 153 bytes */
}

/* Write a block that was planned for these bytes. `bits` has less than eight bits to begin with. */
static void fi_deflate_write(fi_deflate_block *block, const UINT8 *bytes, size_t count, fi_deflate_bits *bits) {
    fi_deflate_find_codes(block);
    fi_deflate_put(bits, 2 << 1, 3); /* not the last block; with codes of its own */
    fi_deflate_put(bits, FI_DEFLATE_CODES - 257, 5);
    fi_deflate_put(bits, 0, 5); /* one distance */
    fi_deflate_put(bits, 19 - 4, 4);
    fi_deflate_flush(bits);
    /* How lengths are coded: 0 to 15 with 4 bits each, and not 16 to 18, which repeat others and come first. */
    for (int i = 0; i < 19; i++) {
        fi_deflate_put(bits, i < 3 ? 0 : 4, 3);
        fi_deflate_flush(bits);
    }
    for (int code = 0; code <= FI_DEFLATE_CODES; code++) {
        static const UINT8 reversed[] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
        fi_deflate_put(bits, reversed[code < FI_DEFLATE_CODES ? block->length[code] : 1],
                       4); /* last the distance, with 1 bit */
        fi_deflate_flush(bits);
    }
    fi_deflate_code(block, bytes, count, bits);
    fi_deflate_put(bits, block->code[FI_DEFLATE_END], block->length[FI_DEFLATE_END]);
    fi_deflate_flush(bits);
}

/* Write an empty stored block, the last block or not: what follows it begins with a whole byte. */
static void fi_deflate_align(fi_deflate_bits *bits, int is_last) {
    fi_deflate_put(bits, is_last, 3);
    bits->count = (bits->count + 7) & ~7;
    fi_deflate_flush(bits);
    fi_deflate_put(bits, 0xffff0000, 32); /* its length of 0, and the complement */
    fi_deflate_flush(bits);
}

#endif
