/* Rows of pixels that are pasted or filled through a mask: bytes are mixed by the mask's.

   Pillow's sum is (out * (255 - mask) + in * mask + 128), divided by 255 by adding its upper byte to it and taking the
   upper byte again. The sum is at most 65,153 and fits a word of 16 bits, with its upper byte too, so words give the same
   bytes. Every byte of the picture gets its own byte of the mask first:

       mask      m       n       ...        spread      m m m m   n n n n   ...
       picture   r g b a r g b a ...        and then the bytes of even places, and those of odd places, are mixed as words.

   Where all of a mask's bytes in a vector are 0, as around a mark or a letter, nothing is read or written. */

#ifndef FI_MASKS_H
#define FI_MASKS_H

#include "vectors.h"

typedef UINT8 fi_mask_bytes __attribute__((vector_size(FI_WIDE_PIXELS)));

/* What is done: constants wherever rows are computed. */
typedef struct {
    int pixel;      /* bytes of a pixel of the picture: 1 or 4 */
    int mask_pixel; /* of the mask: 1, or 4 of which the last counts */
    int is_ink;     /* one colour is filled in, instead of the pixels of a row */
    int is_binary;  /* all of a pixel is taken where its mask is not 0 */
    int covers;     /* pixels whose alpha is 0 take the whole colour of the ink */
} fi_mask_way;

/* The mask's byte for each byte of a vector of the picture. */
FI_INLINE fi_wide_u8 fi_mask_spread(const UINT8 *mask, fi_mask_way way) {
    if (way.pixel == 1) {
        return FI_LOAD(fi_wide_u8, mask);
    }
    if (way.mask_pixel == 4) {
        return FI_SHUFFLE_IN_PIXELS(FI_LOAD(fi_wide_u8, mask), 3, 3, 3, 3);
    }
    fi_wide_u32 pixels = __builtin_convertvector(FI_LOAD(fi_mask_bytes, mask), fi_wide_u32);
    return FI_SHUFFLE_IN_PIXELS(pixels, 0, 0, 0, 0);
}

FI_INLINE fi_wide_u8 fi_mask_mix(fi_wide_u8 out, fi_wide_u8 in, fi_wide_u8 mask) {
    fi_wide_u16 from = (fi_wide_u16)in, onto = (fi_wide_u16)out, share = (fi_wide_u16)mask;
    fi_wide_u16 even = (onto & 255) * (255 - (share & 255)) + (from & 255) * (share & 255) + 128;
    fi_wide_u16 odd = (onto >> 8) * (255 - (share >> 8)) + (from >> 8) * (share >> 8) + 128;
    return (fi_wide_u8)((even + (even >> 8)) >> 8 | ((odd + (odd >> 8)) & 0xff00));
}

FI_INLINE int fi_mask_is_empty(fi_wide_u8 mask) {
    fi_wide_u64 quads = (fi_wide_u64)mask;
    return (quads[0] | quads[1] | quads[2] | quads[3]) == 0;
}

FI_INLINE void fi_mask_vector(UINT8 *out, const UINT8 *in, const UINT8 *mask, fi_mask_way way) {
    fi_wide_u8 spread = fi_mask_spread(mask, way);
    if (fi_mask_is_empty(spread)) {
        return;
    }
    fi_wide_u8 onto = FI_LOAD(fi_wide_u8, out), from = FI_LOAD(fi_wide_u8, in);
    if (way.covers) {
        fi_wide_u32 taken = (fi_wide_u32)(((fi_wide_u32)onto >> 24 == 0) & ((fi_wide_u32)spread != 0));
        spread |= (fi_wide_u8)(taken & ~MASK_UINT32_CHANNEL_3);
    }
    if (way.is_binary) {
        fi_wide_u8 taken = (fi_wide_u8)(spread != 0);
        FI_STORE(out, FI_SELECT(taken, from, onto));
    } else {
        FI_STORE(out, fi_mask_mix(onto, from, spread));
    }
}

/* One row; `in` has a whole vector of the ink, if that is filled in. What is left at the end is copied, and back. */
FI_INLINE void fi_mask_row(UINT8 *out, const UINT8 *in, const UINT8 *mask, int width, fi_mask_way way) {
    int step = FI_WIDE / way.pixel, x = 0;
    for (; x <= width - step; x += step) {
        fi_mask_vector(out + x * way.pixel, way.is_ink ? in : in + x * way.pixel, mask + x * way.mask_pixel, way);
    }
    if (x < width) {
        UINT8 onto[FI_WIDE] = {0}, from[FI_WIDE] = {0}, share[FI_WIDE] = {0};
        int bytes = (width - x) * way.pixel;
        memcpy(onto, out + x * way.pixel, bytes);
        memcpy(from, way.is_ink ? in : in + x * way.pixel, bytes);
        memcpy(share, mask + x * way.mask_pixel, (width - x) * way.mask_pixel);
        fi_mask_vector(onto, from, share, way);
        memcpy(out + x * way.pixel, onto, bytes);
    }
}

/* Where a picture is pasted, and what of it: `dx` and `dy` in the picture that changes, `sx` and `sy` in mask and source. */
typedef struct {
    int dx, dy, sx, sy, width, height;
} fi_mask_area;

/* `in` is NULL if the vector `ink` is filled in. */
FI_INLINE void
fi_mask_rows(Imaging out, Imaging in, const UINT8 *ink, Imaging mask, const fi_mask_area *area, fi_mask_way way) {
    for (int y = 0; y < area->height; y++) {
        UINT8 *to = (UINT8 *)out->image[y + area->dy] + area->dx * way.pixel;
        const UINT8 *from = in ? (const UINT8 *)in->image[y + area->sy] + area->sx * way.pixel : ink;
        const UINT8 *share = (const UINT8 *)mask->image[y + area->sy] + area->sx * way.mask_pixel;
        fi_mask_row(to, from, share, area->width, way);
    }
}

#endif
