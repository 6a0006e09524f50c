/* Deflate blocks (RFC 1951) of single bytes and of runs of one byte, without a search for matches.

   A block is planned, which gives its exact size, and then written, or not. Both go through the bytes once:

   - How often each byte occurs is counted, in four tables by turns, so that equal neighbours need not wait for each other.
   - A run is a match with the byte before it (distance 1). Four bytes that equal the four bytes one earlier are looked for
     at every fourth place. That finds all runs of seven and more. A run is taken if its bytes would need more bits.
   - Huffman's algorithm gives each code its length. None has more than 14 bits, so that four codes and what is left of the
     byte before them fit into 64 bits, and memory is written once for four bytes of a picture.
   - A block's head has the lengths of the codes with four bits each. By rights they would be coded once more; that would
     save some 80 bytes of 40,000.

   A photograph's 6 MB take 7 ms; zlib-ng takes 29 ms with Z_HUFFMAN_ONLY and 38 ms with Z_RLE (AMD Zen 4, 2026-11-29). */

#ifndef FI_DEFLATE_RUNS_H
#define FI_DEFLATE_RUNS_H

#include <math.h>

#include "vectors.h"

#define FI_CODES (257 + 29) /* bytes, the end of the block, and lengths of runs */
#define FI_END 256          /* the code of the end */
#define FI_LONGEST 14       /* bits of a code */
#define FI_LONGEST_RUN 258
#define FI_RUN_BITS 12 /* that a run takes, roughly: it is worth it from so many bits on */

/* Bits on their way to memory, the first of them lowest. CPUs are little-endian here. */
typedef struct {
    UINT8 *out;
    uint64_t bits;
    int count;
} fi_bits;

/* A block: how often each code occurs, its length and its bits, and which runs of a byte are taken. */
typedef struct {
    UINT32 often[FI_CODES];
    UINT8 length[FI_CODES];
    UINT16 code[FI_CODES];
    UINT32 least_run[256];
    size_t size; /* bytes, at most */
} fi_deflate_block;

static inline void fi_put_bits(fi_bits *bits, uint64_t value, int count) {
    bits->bits |= value << bits->count;
    bits->count += count;
}

/* Write all whole bytes. Eight bytes behind the end are touched. */
static inline void fi_flush_bits(fi_bits *bits) {
    memcpy(bits->out, &bits->bits, sizeof(bits->bits));
    bits->out += bits->count >> 3;
    bits->bits >>= bits->count & ~7;
    bits->count &= 7;
}

static void fi_count_bytes(UINT32 *often, const UINT8 *bytes, size_t count) {
    UINT32 tables[4][256] = {{0}};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (int table = 0; table < 4; table++) {
            tables[table][bytes[i + table]]++;
        }
    }
    for (; i < count; i++) {
        tables[0][bytes[i]]++;
    }
    for (int byte = 0; byte < 256; byte++) {
        often[byte] = tables[0][byte] + tables[1][byte] + tables[2][byte] + tables[3][byte];
    }
}

/* How many bytes from one place on equal the byte before it; at least four do. */
static inline size_t fi_measure_run(const UINT8 *bytes, size_t from, size_t count) {
    size_t end = from + 4;
    while (end < count && bytes[end] == bytes[from]) {
        end++;
    }
    return end - from;
}

/* Find the next run that is worth it, from a place on that is not the first; returns its length, or 0. */
static inline size_t fi_find_run(const fi_deflate_block *block, const UINT8 *bytes, size_t *place, size_t count) {
    for (size_t i = *place; i + 4 <= count; i += 4) {
        UINT32 here, before;
        memcpy(&here, bytes + i, 4);
        memcpy(&before, bytes + i - 1, 4);
        if (here == before) {
            size_t start = i;
            while (start > *place && bytes[start - 1] == bytes[start - 2]) {
                start--;
            }
            size_t length = fi_measure_run(bytes, start, count);
            if (length >= block->least_run[bytes[i]]) {
                *place = start;
                return length;
            }
            i = start + length - 4; /* and on behind it */
        }
    }
    return 0;
}

/* The code of a run of 3 to 258 bytes, and how many bits of its length follow the code (RFC 1951, 3.2.5). */
static inline int fi_run_code(int length, int *extra) {
    int more = length - 3;
    if (length == FI_LONGEST_RUN) {
        *extra = 0;
        return FI_CODES - 1;
    }
    *extra = more < 8 ? 0 : 29 - __builtin_clz(more);
    return FI_END + 1 + 4 * *extra + (more >> *extra);
}

/* Go through bytes: their runs are counted in the block, or everything is written. The first byte never begins a run. */
FI_INLINE void fi_code_bytes(fi_deflate_block *block, const UINT8 *bytes, size_t count, fi_bits *written) {
    fi_bits here = written ? *written : (fi_bits){0}, *bits = written ? &here : NULL; /* in registers */
    size_t done = 0, place = 1;
    while (done < count) {
        size_t run = fi_find_run(block, bytes, &place, count);
        if (!run) {
            place = count;
        }
        if (bits) {
            const UINT16 *code = block->code;
            const UINT8 *length = block->length;
            for (; done + 4 <= place; done += 4) {
                for (int i = 0; i < 4; i++) {
                    fi_put_bits(bits, code[bytes[done + i]], length[bytes[done + i]]);
                }
                fi_flush_bits(bits);
            }
            for (; done < place; done++) {
                fi_put_bits(bits, code[bytes[done]], length[bytes[done]]);
                fi_flush_bits(bits);
            }
        }
        /* One or two bytes at the end of a run are no run: they are coded singly. */
        for (done = place; run >= 3; done = place) {
            int piece = run < FI_LONGEST_RUN ? (int)run : FI_LONGEST_RUN, extra, code = fi_run_code(piece, &extra);
            if (bits) {
                fi_put_bits(bits, block->code[code], block->length[code]);
                fi_put_bits(bits, (piece - 3) & ((1 << extra) - 1), extra);
                fi_put_bits(bits, 0, 1); /* distance 1 */
                fi_flush_bits(bits);
            } else {
                block->often[bytes[place]] -= piece;
                block->often[code]++;
                block->size += extra + 1; /* bits, up to here */
            }
            place += piece;
            run -= piece;
        }
    }
    if (written) {
        *written = here;
    }
}

static int fi_compare_numbers(const void *a, const void *b) {
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/* Give each code that occurs a length, by Huffman's algorithm with two queues: the codes by how often they occur, and the
   sums of pairs, which come into being in order. At least two codes occur. */
static void fi_find_lengths(fi_deflate_block *block) {
    uint64_t sorted[FI_CODES];
    UINT32 sums[FI_CODES];
    UINT16 parents[2 * FI_CODES];
    UINT8 depths[2 * FI_CODES];
    int used = 0, leaf = 0, pair = 0, levels[FI_LONGEST + 1] = {0};
    memset(block->length, 0, sizeof(block->length));
    for (int code = 0; code < FI_CODES; code++) {
        if (block->often[code]) {
            sorted[used++] = (uint64_t)block->often[code] << 16 | code;
        }
    }
    qsort(sorted, used, sizeof(*sorted), fi_compare_numbers);
    for (int next = 0; next < used - 1; next++) {
        sums[next] = 0;
        for (int child = 0; child < 2; child++) {
            if (pair == next || (leaf < used && sorted[leaf] >> 16 <= sums[pair])) {
                sums[next] += sorted[leaf] >> 16;
                parents[leaf++] = used + next;
            } else {
                sums[next] += sums[pair];
                parents[used + pair++] = used + next;
            }
        }
    }
    depths[2 * used - 2] = 0;
    for (int node = 2 * used - 3; node >= 0; node--) {
        depths[node] = depths[parents[node]] + 1;
        if (node < used) {
            levels[depths[node] < FI_LONGEST ? depths[node] : FI_LONGEST]++;
        }
    }
    /* Too long codes have become shorter, and take more than there is. For each unit that is missing, the longest code
       that can becomes one bit longer, and beside it there is room for one of those. */
    int taken = 0;
    for (int length = 1; length <= FI_LONGEST; length++) {
        taken += levels[length] << (FI_LONGEST - length);
    }
    for (; taken > 1 << FI_LONGEST; taken--) {
        int length = FI_LONGEST - 1;
        while (!levels[length]) {
            length--;
        }
        levels[length]--;
        levels[length + 1] += 2;
        levels[FI_LONGEST]--;
    }
    for (int length = FI_LONGEST, next = 0; length > 0; length--) {
        for (int i = 0; i < levels[length]; i++) {
            block->length[sorted[next++] & 0xffff] = length;
        }
    }
}

/* Codes of one length are consecutive numbers, in the order of what they stand for, highest bit first (RFC 1951, 3.2.2). */
static void fi_find_codes(fi_deflate_block *block) {
    UINT32 next = 0;
    for (int length = 1; length <= FI_LONGEST; length++, next <<= 1) {
        for (int code = 0; code < FI_CODES; code++) {
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

/* Plan a block of at least one byte. */
static void fi_plan_block(fi_deflate_block *block, const UINT8 *bytes, size_t count) {
    memset(block->often, 0, sizeof(block->often));
    fi_count_bytes(block->often, bytes, count);
    for (int byte = 0; byte < 256; byte++) {
        double often = block->often[byte] ? block->often[byte] : 1;
        double least = FI_RUN_BITS / (log2((double)count / often) + 0.01);
        block->least_run[byte] = least < 4 ? 4 : (UINT32)least;
    }
    block->often[FI_END] = 1;
    block->size = 0;
    fi_code_bytes(block, bytes, count, NULL);
    fi_find_lengths(block);
    for (int code = 0; code < FI_CODES; code++) {
        block->size += (size_t)block->often[code] * block->length[code];
    }
    block->size = block->size / 8 + 160;
}

/* Write a block that was planned for these bytes. `bits` has less than eight bits. */
static void fi_write_block(fi_deflate_block *block, const UINT8 *bytes, size_t count, fi_bits *bits) {
    fi_find_codes(block);
    fi_put_bits(bits, 2 << 1, 3); /* not the last block; with codes of its own */
    fi_put_bits(bits, FI_CODES - 257, 5);
    fi_put_bits(bits, 0, 5); /* one distance */
    fi_put_bits(bits, 19 - 4, 4);
    fi_flush_bits(bits);
    for (int i = 0; i < 19; i++) { /* how lengths are coded: 16 to 18, which repeat others, not; 0 to 15 with 4 bits each */
        fi_put_bits(bits, i < 3 ? 0 : 4, 3);
        fi_flush_bits(bits);
    }
    for (int code = 0; code <= FI_CODES; code++) {
        static const UINT8 reversed[] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
        fi_put_bits(bits, reversed[code < FI_CODES ? block->length[code] : 1], 4); /* and the distance: 1 bit */
        fi_flush_bits(bits);
    }
    fi_code_bytes(block, bytes, count, bits);
    fi_put_bits(bits, block->code[FI_END], block->length[FI_END]);
    fi_flush_bits(bits);
}

/* An empty block without codes, the last one or not: what follows it begins with a whole byte. */
static void fi_align_bits(fi_bits *bits, int is_last) {
    fi_put_bits(bits, is_last, 3);
    bits->count = (bits->count + 7) & ~7;
    fi_flush_bits(bits);
    fi_put_bits(bits, 0xffff0000, 32);
    fi_flush_bits(bits);
}

#endif
