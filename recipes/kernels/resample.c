/* Resizing pictures of numbers: modes F, I and I;16, one pass at a time. Pictures of bytes have the kernel `resize`.

   Pillow adds up products of pixels and coefficients in double precision, from the first to the last, and rounds the
   sum. The order of the additions decides how their results are rounded, so one sum cannot be split. But eight sums can
   be computed at once, each in Pillow's order, in the eight lanes of a vector. The recipe forbids the compiler to fuse
   a product with an addition (-ffp-contract=off), and no product is fused in the official wheel for x86-64. So the same
   order gives the same roundings. Down the columns the eight sums are neighbours of a row. Along the rows they are the
   same pixel x of eight rows, which are transposed first:

       row 0  a0 a1 a2 ...        a0 b0 c0 ... h0   a1 b1 c1 ... h1   a2 ...
       row 1  b0 b1 b2 ...   ->   times k[0]      + times k[1]      + ...      =  one pixel of each row
       ...

   Sums are rounded to integers one by one, by Pillow's macro, because a conversion of vectors gives other numbers where
   one overflows. On Arm all of it is left to Pillow: there the official wheel's compiler fuses products and additions
   in some parts of Pillow's loop and not in others, and another compiler may choose other parts.

   Pixels of 16 bits in another byte order are left to Pillow. So are all passes along the rows without memory for eight
   transposed rows. */

#include "vectors.h"

/* Sums at once. Their vectors have 64 bytes at every level: this kernel is for clang alone, which splits them well. */
#define FI_RESAMPLE_LANES 8

typedef double fi_f64x8 __attribute__((vector_size(64)));
typedef FLOAT32 fi_f32x8 __attribute__((vector_size(32)));
typedef INT32 fi_i32x8 __attribute__((vector_size(32)));
typedef UINT16 fi_u16x8 __attribute__((vector_size(16)));

/* Eight sums of products with the coefficients k. `from` is an expression: the address of eight pixels for tap `t`. */
#define FI_RESAMPLE_SUMS(vector, taps, k, from)                                                                        \
    ({                                                                                                                 \
        fi_f64x8 sums = {0};                                                                                           \
        for (int t = 0; t < (taps); t++) {                                                                             \
            sums = sums + __builtin_convertvector(FI_LOAD(vector, from), fi_f64x8) * (k)[t];                           \
        }                                                                                                              \
        sums;                                                                                                          \
    })

/* Define both passes for pixels of a type. `rounded` is an expression: the pixel for the number `sum`.

   down    each row of the result is a sum of rows. The last pixels of a row, fewer than eight, are copied to a vector.
   along   eight rows are transposed into `columns`, where the eight pixels of one x are neighbours. If fewer than eight
           rows are left, the last one stands in for those that are missing. */
#define FI_RESAMPLE_DEFINE(name, type, vector, rounded)                                                                \
    static void fi_resample_down_##name(Imaging out, Imaging in, int ksize, const int *bounds, const double *kk) {     \
        for (int y = 0; y < out->ysize; y++) {                                                                         \
            const double *k = kk + (size_t)y * ksize;                                                                  \
            char **rows = in->image + bounds[2 * y];                                                                   \
            for (int x = 0; x < out->xsize; x += FI_RESAMPLE_LANES) {                                                  \
                type pixels[FI_RESAMPLE_LANES];                                                                        \
                int count = fi_min(out->xsize - x, FI_RESAMPLE_LANES), bytes = count * sizeof(type);                   \
                fi_f64x8 sums = {0};                                                                                   \
                if (count == FI_RESAMPLE_LANES) {                                                                      \
                    sums = FI_RESAMPLE_SUMS(vector, bounds[2 * y + 1], k, rows[t] + x * sizeof(type));                 \
                } else {                                                                                               \
                    for (int t = 0; t < bounds[2 * y + 1]; t++) {                                                      \
                        vector last = {0};                                                                             \
                        memcpy(&last, rows[t] + x * sizeof(type), bytes);                                              \
                        sums = sums + __builtin_convertvector(last, fi_f64x8) * k[t];                                  \
                    }                                                                                                  \
                }                                                                                                      \
                for (int lane = 0; lane < FI_RESAMPLE_LANES; lane++) {                                                 \
                    double sum = sums[lane];                                                                           \
                    pixels[lane] = rounded;                                                                            \
                }                                                                                                      \
                memcpy(out->image[y] + x * sizeof(type), pixels, bytes);                                               \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void fi_resample_along_##name(Imaging out, Imaging in, int offset, int ksize, const int *bounds,            \
                                         const double *kk, type *columns) {                                            \
        for (int y = 0; y < out->ysize; y += FI_RESAMPLE_LANES) {                                                      \
            int count = fi_min(out->ysize - y, FI_RESAMPLE_LANES);                                                     \
            const type *rows[FI_RESAMPLE_LANES];                                                                       \
            for (int row = 0; row < FI_RESAMPLE_LANES; row++) {                                                        \
                rows[row] = (const type *)in->image[offset + y + fi_min(row, count - 1)];                              \
            }                                                                                                          \
            for (int x = 0; x < in->xsize; x++) {                                                                      \
                for (int row = 0; row < FI_RESAMPLE_LANES; row++) {                                                    \
                    columns[FI_RESAMPLE_LANES * (size_t)x + row] = rows[row][x];                                       \
                }                                                                                                      \
            }                                                                                                          \
            for (int x = 0; x < out->xsize; x++) {                                                                     \
                const type *first = columns + FI_RESAMPLE_LANES * (size_t)bounds[2 * x];                               \
                fi_f64x8 sums = FI_RESAMPLE_SUMS(vector, bounds[2 * x + 1], kk + (size_t)x * ksize,                    \
                                                 first + FI_RESAMPLE_LANES * t);                                       \
                for (int row = 0; row < count; row++) {                                                                \
                    double sum = sums[row];                                                                            \
                    ((type *)out->image[y + row])[x] = rounded;                                                        \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

FI_RESAMPLE_DEFINE(f32, FLOAT32, fi_f32x8, sum)
FI_RESAMPLE_DEFINE(i32, INT32, fi_i32x8, ROUND_UP(sum))
FI_RESAMPLE_DEFINE(u16, UINT16, fi_u16x8, CLIP16(ROUND_UP(sum)))

static int fi_resample_is_ours(Imaging image) {
#if defined(__aarch64__)
    (void)image;
    return 0;
#else
    return image->type == IMAGING_TYPE_FLOAT32 || image->type == IMAGING_TYPE_INT32 || image->mode == IMAGING_MODE_I_16;
#endif
}

static void fi_resample_down(Imaging out, Imaging in, int ksize, int *bounds, double *kk) {
    FI_BEGIN_SECTION(in)
    if (in->type == IMAGING_TYPE_FLOAT32) {
        fi_resample_down_f32(out, in, ksize, bounds, kk);
    } else if (in->type == IMAGING_TYPE_INT32) {
        fi_resample_down_i32(out, in, ksize, bounds, kk);
    } else {
        fi_resample_down_u16(out, in, ksize, bounds, kk);
    }
    FI_END_SECTION(in)
}

static int fi_resample_along(Imaging out, Imaging in, int offset, int ksize, int *bounds, double *kk) {
    void *columns = malloc((size_t)in->linesize * FI_RESAMPLE_LANES);
    if (!columns) {
        return 0;
    }
    FI_BEGIN_SECTION(in)
    if (in->type == IMAGING_TYPE_FLOAT32) {
        fi_resample_along_f32(out, in, offset, ksize, bounds, kk, columns);
    } else if (in->type == IMAGING_TYPE_INT32) {
        fi_resample_along_i32(out, in, offset, ksize, bounds, kk, columns);
    } else {
        fi_resample_along_u16(out, in, offset, ksize, bounds, kk, columns);
    }
    FI_END_SECTION(in)
    free(columns);
    return 1;
}

/* Define Pillow's functions for pictures of 16 bits a pixel, or of 32. */
#define FI_RESAMPLE_DEFINE_PASSES(bits)                                                                                \
    static void _ImagingResampleVertical_##bits(Imaging imOut, Imaging imIn, int offset, int ksize, int *bounds,       \
                                                double *kk) {                                                          \
        if (fi_resample_is_ours(imIn)) {                                                                               \
            fi_resample_down(imOut, imIn, ksize, bounds, kk);                                                          \
        } else {                                                                                                       \
            _ImagingResampleVertical_##bits##__source(imOut, imIn, offset, ksize, bounds, kk);                         \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void _ImagingResampleHorizontal_##bits(Imaging imOut, Imaging imIn, int offset, int ksize, int *bounds,     \
                                                  double *kk) {                                                        \
        if (!fi_resample_is_ours(imIn) || !fi_resample_along(imOut, imIn, offset, ksize, bounds, kk)) {                \
            _ImagingResampleHorizontal_##bits##__source(imOut, imIn, offset, ksize, bounds, kk);                       \
        }                                                                                                              \
    }

FI_RESAMPLE_DEFINE_PASSES(16bpc)
FI_RESAMPLE_DEFINE_PASSES(32bpc)

#undef FI_RESAMPLE_LANES
#undef FI_RESAMPLE_SUMS
#undef FI_RESAMPLE_DEFINE
#undef FI_RESAMPLE_DEFINE_PASSES
