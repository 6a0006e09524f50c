/* What all kernels share: vector types, and the few operations on them that the C language lacks.

   Kernels are written with the vector extensions of GCC and clang (typedef ... vector_size), so that one source serves
   every CPU. clang splits a vector that is wider than the CPU's registers into vectors of their width. GCC does so with
   sums and products, but GCC 12 splits comparisons, shuffles and some conversions into single lanes, which is slow.
   Where that matters, a kernel takes narrower vectors with GCC, or is for clang alone. Where a plain form would be
   slow, an operation names an instruction of x86-64 beside the plain form.

   Words that have one meaning in all kernels. Of a vector:

   lane       one element
   segment    16 bytes of a wider vector; most shuffles of AVX2 and AVX-512 stay within it
   pair       two neighbouring values that one instruction multiplies by two weights and sums (vpmaddwd, vpmaddubsw)

   Of a picture:

   pixelsize  bytes of a pixel in memory: 1, 4, or 2 in I;16 (Pillow's word). RGB has 4, of which the last is not used
   band       one value of each pixel, as red (Pillow's word)
   used       a mask of the bytes of a pixel that its mode uses
   strip      some rows, or the same columns of all rows, that are handled together
   stretch    neighbouring pixels of one row that are handled together
   square     n x n pixels that are transposed in vectors
   margin     rows and columns at the edge that a filter reads and does not compute

   Of memory and loops:

   step       by how much a variable of a loop grows each time
   stride     the distance in memory from one vector, row or entry of a table to the next
   place      the number of an element in a row, line or buffer
   ring       a circular buffer: place i is at i % size, or at i & mask if the size is a power of two
   room       how many elements or bytes a buffer can hold

   Of the work:

   tap        a neighbour of a pixel, with its weight
   pass       one application of a filter, along the rows or down the columns
   share      what one thread does of an operation (threads.h)
   method     one of several algorithms; a call's arguments decide
   variant    a function that is compiled once more for an extension of the CPU (cpu.h); the CPU decides
   NAME__source  Pillow's own function, which a kernel calls for whatever it leaves to Pillow */

#ifndef FI_VECTORS_H
#define FI_VECTORS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cpu.h"

#define FI_NARROW 16 /* bytes of a narrow vector */
/* Bytes of a wide vector: 32, or 64 if a kernel defines that before it includes this file. Kernels that replace
   functions of the same file of Pillow are all included into that file. So they share the types below, which the first
   of them defines, and its width holds for all. A kernel that needs a certain width asserts it. */
#ifndef FI_WIDE
#define FI_WIDE 32
#endif
_Static_assert(FI_WIDE == 32 || FI_WIDE == 64, "shuffles of wide vectors are listed for these widths");
#define FI_WIDE_PIXELS (FI_WIDE / 4) /* pixels of four bytes in a wide vector */
#define FI_INLINE static inline __attribute__((always_inline))
#define FI_LEAST_SIDE 8 /* rows or columns of a picture; a smaller one is faster pixel by pixel */

/* Vectors of a fixed number of lanes. */
typedef UINT8 fi_u8x4 __attribute__((vector_size(4)));
typedef UINT8 fi_u8x16 __attribute__((vector_size(FI_NARROW)));
typedef UINT16 fi_u16x4 __attribute__((vector_size(8)));
typedef UINT32 fi_u32x4 __attribute__((vector_size(FI_NARROW)));
typedef UINT32 fi_u32x16 __attribute__((vector_size(64)));
typedef INT32 fi_i32x4 __attribute__((vector_size(FI_NARROW)));
typedef double fi_f64x4 __attribute__((vector_size(32)));

/* Vectors of FI_WIDE bytes. */
typedef UINT8 fi_wide_u8 __attribute__((vector_size(FI_WIDE)));
typedef UINT16 fi_wide_u16 __attribute__((vector_size(FI_WIDE)));
typedef UINT32 fi_wide_u32 __attribute__((vector_size(FI_WIDE)));
typedef uint64_t fi_wide_u64 __attribute__((vector_size(FI_WIDE)));
typedef INT16 fi_wide_i16 __attribute__((vector_size(FI_WIDE)));
typedef INT32 fi_wide_i32 __attribute__((vector_size(FI_WIDE)));
typedef float fi_wide_f32 __attribute__((vector_size(FI_WIDE)));

FI_INLINE int fi_min(int a, int b) {
    return a < b ? a : b;
}

FI_INLINE int fi_max(int a, int b) {
    return a > b ? a : b;
}

/* Compile a call twice. FI_SPECIALIZE: once where the variable `name` is a constant of a common value, and once where
   it is any other number. FI_EITHER: once for each of the only two values that it can have, each a constant. With a
   constant the compiler unrolls loops and leaves out branches. */
#define FI_SPECIALIZE(name, value, call)                                                                               \
    if (name == (value)) {                                                                                             \
        const int name = (value);                                                                                      \
        call;                                                                                                          \
    } else {                                                                                                           \
        call;                                                                                                          \
    }
#define FI_EITHER(name, a, b, call)                                                                                    \
    if (name == (a)) {                                                                                                 \
        const int name = (a);                                                                                          \
        call;                                                                                                          \
    } else {                                                                                                           \
        const int name = (b);                                                                                          \
        call;                                                                                                          \
    }

/* Load a vector from any address, or store one: no alignment is needed. */
#define FI_LOAD(type, from)                                                                                            \
    ({                                                                                                                 \
        type value;                                                                                                    \
        memcpy(&value, from, sizeof(value));                                                                           \
        value;                                                                                                         \
    })
#define FI_STORE(to, value)                                                                                            \
    ({                                                                                                                 \
        __typeof__(value) stored = value;                                                                              \
        memcpy(to, &stored, sizeof(stored));                                                                           \
    })

/* Copy min(count, limit) bytes, or none for a count below 1. `limit` is a constant, the size of a vector. So the usual
   case, a whole vector, is one load and one store, and only the last vector of a row calls memcpy. */
FI_INLINE void fi_copy_some(void *to, const void *from, int count, int limit) {
    if (count >= limit) {
        memcpy(to, from, limit);
    } else if (count > 0) {
        memcpy(to, from, count);
    }
}

/* Load min(count, 16) bytes; the other lanes are 0. Nothing beyond `count` is read. */
FI_INLINE fi_u8x16 fi_load_bytes(const UINT8 *from, int count) {
    fi_u8x16 value = {0};
    fi_copy_some(&value, from, count, FI_NARROW);
    return value;
}

/* A vector of lanes of a and b, by constant indexes. The lanes of b are numbered after those of a. */
#if defined(__clang__) || __GNUC__ >= 12
#define FI_SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define FI_SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif

/* Indexes for FI_SHUFFLE that interleave two vectors a and b of n lanes. The first index is `from`, and the macro's
   name says how many there are: FI_INTERLEAVE4(2, 8) is 2 10 3 11, that is a2 b2 a3 b3. */
#define FI_INTERLEAVE2(from, n) from, (from) + (n)
#define FI_INTERLEAVE4(from, n) FI_INTERLEAVE2(from, n), FI_INTERLEAVE2((from) + 1, n)
#define FI_INTERLEAVE8(from, n) FI_INTERLEAVE4(from, n), FI_INTERLEAVE4((from) + 2, n)
#define FI_INTERLEAVE16(from, n) FI_INTERLEAVE8(from, n), FI_INTERLEAVE8((from) + 4, n)

/* The same shuffle in each pixel of a wide vector. The four arguments choose bytes 0 to 3 of a pixel for each byte of
   the result; FI_WIDE in place of an index gives 0. */
#define FI_SHUFFLE_IN_PIXELS(pixels, ...)                                                                              \
    FI_SHUFFLE(fi_wide_u8, (fi_wide_u8)(pixels), (fi_wide_u8){0}, FI_ALL_PIXELS(__VA_ARGS__))
#if FI_WIDE == 64
#define FI_ALL_PIXELS(a, b, c, d) FI_EIGHT_PIXELS(a, b, c, d), FI_EIGHT_PIXELS((a) + 32, (b) + 32, (c) + 32, (d) + 32)
#else
#define FI_ALL_PIXELS FI_EIGHT_PIXELS
#endif
#define FI_EIGHT_PIXELS(a, b, c, d)                                                                                    \
    FI_TWO_PIXELS(a, b, c, d), FI_TWO_PIXELS((a) + 8, (b) + 8, (c) + 8, (d) + 8),                                      \
        FI_TWO_PIXELS((a) + 16, (b) + 16, (c) + 16, (d) + 16), FI_TWO_PIXELS((a) + 24, (b) + 24, (c) + 24, (d) + 24)
#define FI_TWO_PIXELS(a, b, c, d) a, b, c, d, (a) + 4, (b) + 4, (c) + 4, (d) + 4

/* Define a function that turns pixels of `before` bytes into pixels of `after` bytes, four at a time, by one shuffle.
   The arguments are the shuffle's 16 indexes of bytes; an index of 16 gives 255.

       RGBx RGBx RGBx RGBx  ->  RGB RGB RGB RGB ....      0 1 2, 4 5 6, 8 9 10, 12 13 14, and four that do not matter

   One side has pixels of three bytes, of which four take 12 bytes, but all 16 bytes of the vector are read or written.
   So the loop stops when fewer than six pixels (18 bytes) remain, and Pillow's own function does those. */
#define FI_DEFINE_SHUFFLE(function, before, after, ...)                                                                \
    void function(UINT8 *out, const UINT8 *in, int pixels) {                                                           \
        for (; pixels >= 6; pixels -= 4, in += 4 * before, out += 4 * after) {                                         \
            FI_STORE(out, (FI_SHUFFLE(fi_u8x16, FI_LOAD(fi_u8x16, in), ~(fi_u8x16){0}, __VA_ARGS__)));                 \
        }                                                                                                              \
        function##__source(out, in, pixels);                                                                           \
    }

/* Transpose a square of n rows: 16 rows of 16 bytes, or 4 rows of 4 pixels. Number its elements row by row, in binary:
   the upper half of the bits is the row, the lower half the column. To interleave row i with row i + n / 2, for all i,
   rotates these numbers left by one bit. So after log2(n) such rounds row and column have changed places. For 4 x 4:

       00 01 02 03        00 20 01 21        00 10 20 30
       10 11 12 13   ->   02 22 03 23   ->   01 11 21 31
       20 21 22 23        10 30 11 31        02 12 22 32
       30 31 32 33        12 32 13 33        03 13 23 33 */
FI_INLINE void fi_transpose(fi_u8x16 *square, int pixelsize) {
    int rows = FI_NARROW / pixelsize;
    fi_u8x16 interleaved[FI_NARROW];
    for (int round = 1; round < rows; round *= 2) {
        for (int i = 0; i < rows / 2; i++) {
            fi_u8x16 a = square[i], b = square[i + rows / 2];
            fi_u8x16 low = FI_SHUFFLE(fi_u8x16, a, b, FI_INTERLEAVE16(0, 16));
            fi_u8x16 high = FI_SHUFFLE(fi_u8x16, a, b, FI_INTERLEAVE16(8, 16));
            interleaved[2 * i] =
                pixelsize == 1 ? low : (fi_u8x16)FI_SHUFFLE(fi_u32x4, (fi_u32x4)a, (fi_u32x4)b, FI_INTERLEAVE4(0, 4));
            interleaved[2 * i + 1] =
                pixelsize == 1 ? high : (fi_u8x16)FI_SHUFFLE(fi_u32x4, (fi_u32x4)a, (fi_u32x4)b, FI_INTERLEAVE4(2, 4));
        }
        memcpy(square, interleaved, rows * sizeof(fi_u8x16));
    }
}

/* Multiplications that C has no operator for.

   fi_dot_pairs             each 32-bit lane: a0 * b0 + a1 * b1 of its two signed 16-bit lanes (vpmaddwd)
   fi_dot_bytes             each 16-bit lane: a0 * b0 + a1 * b1 of its two bytes, those of b signed (vpmaddubsw, which
                            saturates: no sum may need more than 16 bits)
   fi_multiply_high         each 16-bit lane: the upper 16 bits of the product
   fi_multiply_high_signed  the same of signed lanes

   On x86-64 each names its instruction if a wide vector has 32 bytes. Without AVX2 that is two registers, and the
   instruction is applied to each. The plain forms are for vectors of 64 bytes and for other CPUs. They take the two
   values of a lane apart: the lower one by shifts to the left and back, which copy its sign, the upper one by a shift
   to the right. */
#if defined(__x86_64__) && FI_WIDE == 32
#define fi_dot_pairs(a, b) (fi_wide_u32) FI_INSTRUCTION(madd_epi16, a, b)
#define fi_dot_bytes(a, b) (fi_wide_u16) FI_INSTRUCTION(maddubs_epi16, a, b)
#define fi_multiply_high(a, b) (fi_wide_u16) FI_INSTRUCTION(mulhi_epu16, a, b)
#define fi_multiply_high_signed(a, b) (fi_wide_i16) FI_INSTRUCTION(mulhi_epi16, a, b)
#if defined(__AVX2__)
#define FI_INSTRUCTION(name, a, b) _mm256_##name((__m256i)(a), (__m256i)(b))
#else
#define FI_HALF(vector, i) (((__m128i *)(fi_wide_u32[]){(fi_wide_u32)(vector)})[i])
#define FI_INSTRUCTION(name, a, b)                                                                                     \
    FI_LOAD(fi_wide_u32,                                                                                               \
            ((__m128i[]){_mm_##name(FI_HALF(a, 0), FI_HALF(b, 0)), _mm_##name(FI_HALF(a, 1), FI_HALF(b, 1))}))
#endif
#else
static inline fi_wide_u32 fi_dot_pairs(fi_wide_u32 a, fi_wide_u32 b) {
    fi_wide_i32 low = ((fi_wide_i32)a << 16 >> 16) * ((fi_wide_i32)b << 16 >> 16);
    return (fi_wide_u32)(low + ((fi_wide_i32)a >> 16) * ((fi_wide_i32)b >> 16));
}

static inline fi_wide_u16 fi_dot_bytes(fi_wide_u8 a, fi_wide_u8 b) {
    fi_wide_i16 low = (fi_wide_i16)((fi_wide_u16)a & 255) * ((fi_wide_i16)b << 8 >> 8);
    return (fi_wide_u16)(low + (fi_wide_i16)((fi_wide_u16)a >> 8) * ((fi_wide_i16)b >> 8));
}

typedef INT32 fi_products __attribute__((vector_size(2 * FI_WIDE)));
#define FI_WIDEN(a) __builtin_convertvector(a, fi_products)
#define FI_UPPER_HALF(type, a, b) __builtin_convertvector(FI_WIDEN((type)(a)) * FI_WIDEN((type)(b)) >> 16, type)
#define fi_multiply_high(a, b) FI_UPPER_HALF(fi_wide_u16, a, b)
#define fi_multiply_high_signed(a, b) FI_UPPER_HALF(fi_wide_i16, a, b)
#endif

/* The bits of a where the mask has ones, and of b where it has zeros. A comparison of vectors gives a mask whose lanes
   are all ones (true) or all zeros (false). */
#define FI_SELECT(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))
#define FI_MIN(a, b) FI_SELECT((a) < (b), a, b)
#define FI_MAX(a, b) FI_SELECT((a) > (b), a, b)

/* Between FI_BEGIN_SECTION and FI_END_SECTION the GIL is released, so that Python's other threads run. In a Python
   without a GIL the image is locked there. */
#define FI_BEGIN_SECTION(image)                                                                                        \
    {                                                                                                                  \
        ImagingSectionCookie cookie;                                                                                   \
        ImagingSectionEnter(&cookie);                                                                                  \
        MUTEX_LOCK(&(image)->mutex);
#define FI_END_SECTION(image)                                                                                          \
    MUTEX_UNLOCK(&(image)->mutex);                                                                                     \
    ImagingSectionLeave(&cookie);                                                                                      \
    }

/* A mask of the bytes of a pixel that an image's mode uses. Pillow's functions leave 0 in the others. */
static inline UINT32 fi_used_bytes(Imaging image) {
    return image->bands == 3   ? MAKE_UINT32(255, 255, 255, 0)
           : image->bands == 2 ? MAKE_UINT32(255, 0, 0, 255)
                               : MAKE_UINT32(255, 255, 255, 255);
}

#endif
