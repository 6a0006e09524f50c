/* Vectors of sixteen lanes and blocks of 16 x 16 bytes, with GCC's vector extensions: for any CPU level. */

#ifndef FASTINSTALL_VECTORS_H
#define FASTINSTALL_VECTORS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#define LANES 16 /* bytes of a vector */
#ifndef WIDE
#define WIDE 32 /* bytes of other vectors */
#endif
#define PIXELS (WIDE / 4) /* of one of them */
#define INLINE static inline __attribute__((always_inline))
#define FEWEST (LANES / 2) /* rows or columns; below this, one at a time is faster */

typedef UINT8 Bytes __attribute__((vector_size(LANES)));
typedef UINT32 Four __attribute__((vector_size(16))); /* pixels */
typedef INT32 Signed __attribute__((vector_size(16)));
typedef UINT32 Pairs __attribute__((vector_size(WIDE)));
typedef uint64_t Quads __attribute__((vector_size(WIDE)));
typedef UINT16 Halves __attribute__((vector_size(WIDE)));
typedef UINT8 Wide __attribute__((vector_size(WIDE)));
typedef INT32 Numbers __attribute__((vector_size(WIDE)));
typedef INT16 Shorts __attribute__((vector_size(WIDE)));
typedef float Floats __attribute__((vector_size(WIDE)));

INLINE int smaller(int a, int b) {
    return a < b ? a : b;
}

INLINE int larger(int a, int b) {
    return a > b ? a : b;
}

/* A call that is compiled once more where a variable has a common value, or for each of two: there it is a constant. */
#define SPECIALIZE(name, value, call) if (name == (value)) CALL_WITH(name, value, call) else { call; }
#define EITHER(name, a, b, call) if (name == (a)) CALL_WITH(name, a, call) else CALL_WITH(name, b, call)
#define CALL_WITH(name, value, call) { const int name = (value); call; }

#define LOAD(type, from) ({ type value; memcpy(&value, from, sizeof(value)); value; })
#define STORE(to, value) ({ __typeof__(value) stored = value; memcpy(to, &stored, sizeof(stored)); })

/* At most `most` bytes: a constant, with which no function is called. */
INLINE void copy_some(void *to, const void *from, int count, int most) {
    if (count >= most) {
        memcpy(to, from, most);
    } else if (count > 0) {
        memcpy(to, from, count);
    }
}

/* At most sixteen bytes; the others are 0. */
INLINE Bytes load_bytes(const UINT8 *from, int count) {
    Bytes value = {0};
    copy_some(&value, from, count, LANES);
    return value;
}

/* Lanes of a and b, by their indexes in both. */
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif

/* Indexes in two vectors of n lanes by turns, from one index on. */
#define MIX2(from, n) from, (from) + (n)
#define MIX4(from, n) MIX2(from, n), MIX2((from) + 1, n)
#define MIX8(from, n) MIX4(from, n), MIX4((from) + 2, n)
#define MIX16(from, n) MIX8(from, n), MIX8((from) + 4, n)

/* Each pixel's four bytes, by their indexes in the first pixel; from WIDE on zeros. */
#define SHUFFLE_EACH(pixels, ...) SHUFFLE(Wide, (Wide)(pixels), (Wide){0}, ALL(__VA_ARGS__))
#if WIDE == 64
#define ALL(a, b, c, d) EIGHT(a, b, c, d), EIGHT((a) + 32, (b) + 32, (c) + 32, (d) + 32)
#else
#define ALL EIGHT
#endif
#define EIGHT(a, b, c, d)                                                                                  \
    TWO(a, b, c, d), TWO((a) + 8, (b) + 8, (c) + 8, (d) + 8), TWO((a) + 16, (b) + 16, (c) + 16, (d) + 16), \
        TWO((a) + 24, (b) + 24, (c) + 24, (d) + 24)
#define TWO(a, b, c, d) a, b, c, d, (a) + 4, (b) + 4, (c) + 4, (d) + 4

/* A function from pixels of `before` bytes to others of `after` bytes: four at a time, by the indexes of their bytes; from 16
   on bytes are 255. Vectors reach into the next four, so that six must be left. The source's own does the rest. */
#define SHUFFLE_PIXELS(function, before, after, ...)                                          \
    void function(UINT8 *out, const UINT8 *in, int pixels) {                                  \
        for (; pixels >= 6; pixels -= 4, in += 4 * before, out += 4 * after) {                \
            STORE(out, (SHUFFLE(Bytes, LOAD(Bytes, in), ~(Bytes){0}, __VA_ARGS__)));          \
        }                                                                                     \
        function##__source(out, in, pixels);                                                  \
    }

/* Transpose sixteen rows of bytes by four perfect shuffles, or four of pixels of four bytes by two. */
INLINE void transpose(Bytes *block, int pixel) {
    int rows = LANES / pixel;
    Bytes mixed[LANES];
    for (int round = 1; round < rows; round *= 2) {
        for (int i = 0; i < rows / 2; i++) {
            Bytes a = block[i], b = block[i + rows / 2];
            Bytes low = SHUFFLE(Bytes, a, b, MIX16(0, 16));
            Bytes high = SHUFFLE(Bytes, a, b, MIX16(8, 16));
            mixed[2 * i] = pixel == 1 ? low : (Bytes)SHUFFLE(Four, (Four)a, (Four)b, 0, 4, 1, 5);
            mixed[2 * i + 1] = pixel == 1 ? high : (Bytes)SHUFFLE(Four, (Four)a, (Four)b, 2, 6, 3, 7);
        }
        memcpy(block, mixed, rows * sizeof(Bytes));
    }
}

/* Rows of pixels of one byte or four as columns of sixteen bytes. They are sixteen or four, or fewer: the last is repeated. */
INLINE void rows_to_columns(Bytes *columns, UINT8 *const *rows, int count, int width, int pixel) {
    int step = LANES / pixel;
    for (int x = 0; x < width; x += step) {
        Bytes block[LANES];
        for (int i = 0; i < step; i++) {
            block[i] = load_bytes(rows[smaller(i, count - 1)] + x * pixel, (width - x) * pixel);
        }
        transpose(block, pixel);
        copy_some(columns + x, block, sizeof(Bytes) * (width - x), sizeof(Bytes) * step);
    }
}

INLINE void columns_to_rows(UINT8 *const *rows, int count, const Bytes *columns, int width, int pixel) {
    int step = LANES / pixel;
    for (int x = 0; x < width; x += step) {
        Bytes block[LANES] = {{0}};
        copy_some(block, columns + x, sizeof(Bytes) * (width - x), sizeof(Bytes) * step);
        transpose(block, pixel);
        for (int i = 0; i < count; i++) {
            copy_some(rows[i] + x * pixel, &block[i], (width - x) * pixel, LANES);
        }
    }
}

/* dot_pairs: the sums of two products of 16-bit numbers each. dot_bytes: of bytes and of signed bytes; no sum may have more
   than 16 bits. multiply_high: the upper halves of products of 16-bit numbers, without sign and with. */
#if defined(__x86_64__) && WIDE == 32
#define dot_pairs(a, b) (Pairs) INSTRUCTION(madd_epi16, a, b)
#define dot_bytes(a, b) (Halves) INSTRUCTION(maddubs_epi16, a, b)
#define multiply_high(a, b) (Halves) INSTRUCTION(mulhi_epu16, a, b)
#define multiply_high_signed(a, b) (Shorts) INSTRUCTION(mulhi_epi16, a, b)
#if defined(__AVX2__)
#define INSTRUCTION(name, a, b) _mm256_##name((__m256i)(a), (__m256i)(b))
#else
#define HALF(vector, i) (((__m128i *)(Pairs[]){(Pairs)(vector)})[i])
#define INSTRUCTION(name, a, b) \
    LOAD(Pairs, ((__m128i[]){_mm_##name(HALF(a, 0), HALF(b, 0)), _mm_##name(HALF(a, 1), HALF(b, 1))}))
#endif
#else
static inline Pairs dot_pairs(Pairs a, Pairs b) {
    Numbers low = ((Numbers)a << 16 >> 16) * ((Numbers)b << 16 >> 16);
    return (Pairs)(low + ((Numbers)a >> 16) * ((Numbers)b >> 16));
}

static inline Halves dot_bytes(Wide a, Wide b) {
    Shorts low = (Shorts)((Halves)a & 255) * ((Shorts)b << 8 >> 8);
    return (Halves)(low + (Shorts)((Halves)a >> 8) * ((Shorts)b >> 8));
}

typedef INT32 Products __attribute__((vector_size(2 * WIDE)));
#define WIDEN(a) __builtin_convertvector(a, Products)
#define UPPER_HALF(type, a, b) __builtin_convertvector(WIDEN((type)(a)) * WIDEN((type)(b)) >> 16, type)
#define multiply_high(a, b) UPPER_HALF(Halves, a, b)
#define multiply_high_signed(a, b) UPPER_HALF(Shorts, a, b)
#endif

/* Lanes of a where the mask is -1, and of b where it is 0. */
#define CHOOSE(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))
#define MINIMUM(a, b) CHOOSE((a) < (b), a, b)
#define MAXIMUM(a, b) CHOOSE((a) > (b), a, b)

#if defined(__x86_64__)
#define TO_PRAGMA(words) _Pragma(#words)
#define AVX512 "avx512f,avx512bw,avx512vl,avx512dq"
#if defined(__clang__)
#define FOR_AVX512 __attribute__((target(AVX512), min_vector_width(512)))
#define BEGIN_TARGET(features) TO_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define END_TARGET _Pragma("clang attribute pop")
#else
#define FOR_AVX512 __attribute__((target(AVX512)))
#define BEGIN_TARGET(features) _Pragma("GCC push_options") TO_PRAGMA(GCC target(features))
#define END_TARGET _Pragma("GCC pop_options")
#endif

/* The width in bytes of the vectors with which the CPU multiplies bytes four at a time: 64 (AVX-512 F, DQ, BW, VL and VNNI),
   32 (AVX2 and AVX-VNNI), or 0. The system must keep such registers. Source: Intel SDM, volume 1, 15.2 to 15.4. */
static inline int ask_cpu(int most) {
    const UINT32 foundation = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    UINT32 a, b, c, d, kept, high, more;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) {
        return 0;
    }
    __asm__("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
    more = __get_cpuid_count(7, 1, &a, &b, &c, &d) ? a : 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        return 0;
    }
    if (most >= 64 && (kept & 0xe6) == 0xe6 && (b & foundation) == foundation && (c & 1u << 11)) {
        return 64;
    }
    return most >= 32 && (kept & 6) == 6 && (b & 1u << 5) && a >= 1 && (more & 1u << 4) ? 32 : 0;
}

/* CPUID leaves a virtual machine, so it is asked once. FASTINSTALL_VNNI is for tests: at most as many bytes. */
static inline int find_vnni(void) {
    static _Atomic int known = -1;
    if (known < 0) {
        const char *told = getenv("FASTINSTALL_VNNI");
        known = ask_cpu(told ? atoi(told) : 64);
    }
    return known;
}
#else
#define find_vnni() 0
#define FOR_AVX512
#endif

/* A function compiled once more, for AVX-512: with these parameters, called with these arguments. */
#define WITH_AVX512(function, parameters, ...) static FOR_AVX512 void function##_avx512 parameters { function(__VA_ARGS__); }

/* Without the GIL, and with an image's lock where Python has no GIL. */
#define BEGIN_SECTION(image) { ImagingSectionCookie cookie; ImagingSectionEnter(&cookie); MUTEX_LOCK(&(image)->mutex);
#define END_SECTION(image) MUTEX_UNLOCK(&(image)->mutex); ImagingSectionLeave(&cookie); }

/* The bytes of a pixel that a mode uses; Pillow leaves zeros in the others. */
static inline UINT32 used_bytes(Imaging image) {
    return image->bands == 3   ? MAKE_UINT32(255, 255, 255, 0)
           : image->bands == 2 ? MAKE_UINT32(255, 0, 0, 255)
                               : MAKE_UINT32(255, 255, 255, 255);
}

#endif
