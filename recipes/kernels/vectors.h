/* Vectors of sixteen lanes and blocks of 16 x 16 bytes, with GCC's vector extensions: for any CPU level. */

#ifndef FASTINSTALL_VECTORS_H
#define FASTINSTALL_VECTORS_H

#include <string.h>

#define LANES 16
#define FEWEST (LANES / 2) /* rows or columns; below this, one at a time is faster */

typedef UINT8 Bytes __attribute__((vector_size(LANES)));
typedef INT32 Ints __attribute__((vector_size(LANES * sizeof(INT32))));
typedef UINT32 Counts __attribute__((vector_size(LANES * sizeof(UINT32))));

static inline Bytes
load_bytes(const UINT8 *from, int count) {
    Bytes value = {0};
    if (count >= LANES) {
        memcpy(&value, from, sizeof(value));
    } else {
        memcpy(&value, from, count);
    }
    return value;
}

static inline void
store_bytes(UINT8 *to, Bytes value, int count) {
    if (count >= LANES) {
        memcpy(to, &value, sizeof(value));
    } else {
        memcpy(to, &value, count);
    }
}

/* Lanes of a and b, by their indexes in both. */
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif

/* Four perfect shuffles transpose rows to columns. */
static inline void
transpose_block(Bytes block[LANES]) {
    Bytes mixed[LANES];
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < LANES / 2; i++) {
            Bytes a = block[i], b = block[i + LANES / 2];
            mixed[2 * i] = SHUFFLE(Bytes, a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            mixed[2 * i + 1] = SHUFFLE(Bytes, a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
        memcpy(block, mixed, sizeof(mixed));
    }
}

/* Sixteen rows (or fewer: the last is repeated) as columns of sixteen bytes. */
static inline void
rows_to_columns(Bytes *columns, UINT8 *const *rows, int count, int width) {
    Bytes block[LANES];
    for (int x = 0; x < width; x += LANES) {
        for (int i = 0; i < LANES; i++) {
            block[i] = load_bytes(rows[i < count ? i : count - 1] + x, width - x);
        }
        transpose_block(block);
        memcpy(columns + x, block, sizeof(Bytes) * (width - x < LANES ? width - x : LANES));
    }
}

static inline void
columns_to_rows(UINT8 **rows, int count, const Bytes *columns, int width) {
    Bytes block[LANES] = {{0}};
    for (int x = 0; x < width; x += LANES) {
        memcpy(block, columns + x, sizeof(Bytes) * (width - x < LANES ? width - x : LANES));
        transpose_block(block);
        for (int i = 0; i < count; i++) {
            store_bytes(rows[i] + x, block[i], width - x);
        }
    }
}

#endif
