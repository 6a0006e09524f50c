/* Rows of pixels that are pasted or filled through a mask: what `paste` and `fill-mask` share.

   For each byte, Pillow computes sum = out * (255 - mask) + in * mask + 128 and divides it by 255 as
   (sum + (sum >> 8)) >> 8. Exactness: the sum is at most 255 * 255 + 128 = 65,153, and together with its upper byte at
   most 65,407, so 16 bits hold it and give the same bytes.

   First, every byte of the picture gets the mask's byte of its pixel. Then a vector of bytes is taken as one of 16-bit
   lanes: the bytes at even places are mixed, and after them those at odd places.

       mask      m       n       ...        spread      m m m m   n n n n   ...
       picture   r g b a r g b a ...        even        r   b     r   b     ...     & 255
                                            odd           g   a     g   a   ...     >> 8

   Where the mask is 0 the sum is 255 * out + 128, which gives `out` again. So a vector whose mask bytes are all 0, as
   around a letter or a logo, is neither read nor written. */

#ifndef FI_MASKS_H
#define FI_MASKS_H

#include "vectors.h"

typedef UINT8 fi_mask_bytes __attribute__((vector_size(FI_WIDE_PIXELS)));

/* Which form of the functions below is compiled. Every caller passes constants. */
typedef struct {
    int pixel;      /* bytes of one of the picture's pixels: 1 or 4 */
    int mask_pixel; /* bytes of one of the mask's pixels: 1, or 4 of which the last is the mask */
    int is_ink;     /* one colour is filled in, instead of the pixels of a row */
    int is_binary;  /* a pixel is taken whole where its mask is not 0, and not at all elsewhere */
    int covers;     /* pixels whose alpha is 0 take the colour whole where their mask is not 0 */
} fi_mask_kind;

/* The mask's byte for each byte of a vector of the picture. */
FI_INLINE fi_wide_u8 fi_mask_spread(const UINT8 *mask, fi_mask_kind kind) {
    if (kind.pixel == 1) {
        return FI_LOAD(fi_wide_u8, mask);
    }
    if (kind.mask_pixel == 4) {
        return FI_SHUFFLE_IN_PIXELS(FI_LOAD(fi_wide_u8, mask), 3, 3, 3, 3);
    }
    fi_wide_u32 pixels = __builtin_convertvector(FI_LOAD(fi_mask_bytes, mask), fi_wide_u32);
    return FI_SHUFFLE_IN_PIXELS(pixels, 0, 0, 0, 0);
}

FI_INLINE fi_wide_u8 fi_mask_mix(fi_wide_u8 out, fi_wide_u8 in, fi_wide_u8 mask) {
    fi_wide_u16 from = (fi_wide_u16)in, onto = (fi_wide_u16)out, weight = (fi_wide_u16)mask;
    fi_wide_u16 even = (onto & 255) * (255 - (weight & 255)) + (from & 255) * (weight & 255) + 128;
    fi_wide_u16 odd = (onto >> 8) * (255 - (weight >> 8)) + (from >> 8) * (weight >> 8) + 128;
    return (fi_wide_u8)((even + (even >> 8)) >> 8 | ((odd + (odd >> 8)) & 0xff00));
}

FI_INLINE int fi_mask_is_empty(fi_wide_u8 mask) {
    _Static_assert(FI_WIDE == 32, "four lanes are all of the vector");
    fi_wide_u64 lanes = (fi_wide_u64)mask;
    return (lanes[0] | lanes[1] | lanes[2] | lanes[3]) == 0;
}

FI_INLINE void fi_mask_vector(UINT8 *out, const UINT8 *in, const UINT8 *mask, fi_mask_kind kind) {
    fi_wide_u8 spread = fi_mask_spread(mask, kind);
    if (fi_mask_is_empty(spread)) {
        return;
    }
    fi_wide_u8 onto = FI_LOAD(fi_wide_u8, out), from = FI_LOAD(fi_wide_u8, in);
    if (kind.covers) { /* a mask of 255 for all bytes of these pixels but their alpha */
        fi_wide_u32 covered = (fi_wide_u32)(((fi_wide_u32)onto >> 24 == 0) & ((fi_wide_u32)spread != 0));
        spread |= (fi_wide_u8)(covered & ~MASK_UINT32_CHANNEL_3);
    }
    if (kind.is_binary) {
        fi_wide_u8 taken = (fi_wide_u8)(spread != 0);
        FI_STORE(out, FI_SELECT(taken, from, onto));
    } else {
        FI_STORE(out, fi_mask_mix(onto, from, spread));
    }
}

/* One row. `in` is a row of pixels, or a whole vector of the ink. The last pixels, too few for a vector, are copied
   into vectors on the stack and the result is copied back, so that nothing after the row is touched. */
FI_INLINE void fi_mask_row(UINT8 *out, const UINT8 *in, const UINT8 *mask, int width, fi_mask_kind kind) {
    int step = FI_WIDE / kind.pixel, x = 0;
    for (; x <= width - step; x += step) {
        fi_mask_vector(out + x * kind.pixel, kind.is_ink ? in : in + x * kind.pixel, mask + x * kind.mask_pixel, kind);
    }
    if (x < width) {
        UINT8 onto[FI_WIDE] = {0}, from[FI_WIDE] = {0}, weight[FI_WIDE] = {0};
        int bytes = (width - x) * kind.pixel;
        memcpy(onto, out + x * kind.pixel, bytes);
        memcpy(from, kind.is_ink ? in : in + x * kind.pixel, bytes);
        memcpy(weight, mask + x * kind.mask_pixel, (width - x) * kind.mask_pixel);
        fi_mask_vector(onto, from, weight, kind);
        memcpy(out + x * kind.pixel, onto, bytes);
    }
}

/* A rectangle: its size, its corner (dx, dy) in the picture that changes and (sx, sy) in the mask and the source. */
typedef struct {
    int dx, dy, sx, sy, width, height;
} fi_mask_area;

/* All rows of an area. `in` is NULL if the vector `ink` is filled in. */
FI_INLINE void fi_mask_rows(Imaging out, Imaging in, const UINT8 *ink, Imaging mask, const fi_mask_area *area,
                            fi_mask_kind kind) {
    for (int y = 0; y < area->height; y++) {
        UINT8 *to = (UINT8 *)out->image[y + area->dy] + area->dx * kind.pixel;
        const UINT8 *from = in ? (const UINT8 *)in->image[y + area->sy] + area->sx * kind.pixel : ink;
        const UINT8 *weight = (const UINT8 *)mask->image[y + area->sy] + area->sx * kind.mask_pixel;
        fi_mask_row(to, from, weight, area->width, kind);
    }
}

#endif
