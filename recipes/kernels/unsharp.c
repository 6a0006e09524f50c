/* Unsharp masks of 8-bit bands. A Gaussian blur of the picture comes first; then each value moves away from the blurred
   value, a vector at a time:

       difference   |value - blurred|
       change       difference * percent / 100, rounded down; 0 where the difference is not above the threshold
       result       value + change, or value - change where the blurred value is larger, clipped to 0 to 255

   Exactness. The numbers are Pillow's, of 16 bits without a sign. If difference * percent has more bits, the change is
   above 255, which clips any value to 0 or 255; so the product may be taken for 65535. For an n of 16 bits, let m be
   n / 4, rounded down. Pillow's n / 100, rounded down, is m / 25, rounded down. That is m * 20972 / 2 ** 19, rounded
   down: as 20972 is (2 ** 19 + 12) / 25, m / 25 grows by 12 m / 2 ** 19 times 1 / 25. That is less than 1 / 25, so the
   next integer is not reached. Pillow sharpens all four bytes of a pixel, whether the mode uses them or not, and so
   does the kernel. */

#include "threads.h"
#include "vectors.h"

/* The results for values and blurred values of 16 bits. `is_large` says that a product may have more than 16 bits. */
FI_INLINE fi_wide_u16 fi_sharpen(fi_wide_u16 values, fi_wide_u16 blurred, int percent, int threshold, int is_large) {
    fi_wide_u16 factor = (fi_wide_u16){0} + (UINT16)percent, upper = FI_MAX(values, blurred);
    fi_wide_u16 difference = upper - FI_MIN(values, blurred), product = difference * factor;
    if (is_large) {
        product |= (fi_wide_u16)(fi_multiply_high(difference, factor) != 0); /* a mask of 16 ones */
    }
    fi_wide_u16 change = fi_multiply_high(product >> 2, (fi_wide_u16){0} + 20972) >> 3;
    change &= (fi_wide_u16)(difference > (UINT16)threshold);
    return FI_SELECT((fi_wide_u16)(upper == values), FI_MIN(values + change, 255), values - FI_MIN(values, change));
}

/* Sharpen up to FI_WIDE bytes of a row: those at even and those at odd places, as numbers of 16 bits. */
FI_INLINE void fi_sharpen_some(UINT8 *out, const UINT8 *in, int percent, int threshold, int is_large, int bytes) {
    fi_wide_u16 values = {0}, blurred = {0};
    memcpy(&values, in, bytes);
    memcpy(&blurred, out, bytes);
    fi_wide_u16 even = fi_sharpen(values & 255, blurred & 255, percent, threshold, is_large);
    fi_wide_u16 odd = fi_sharpen(values >> 8, blurred >> 8, percent, threshold, is_large);
    values = even | odd << 8;
    memcpy(out, &values, bytes);
}

/* An unsharp mask. `out` has the blurred picture, and gets the result. */
typedef struct {
    Imaging out, in;
    int percent, threshold;
} fi_unsharp_job;

static void fi_unsharp_share(void *argument, const fi_share *share) {
    const fi_unsharp_job *job = argument;
    int percent = job->percent, threshold = job->threshold, is_large = percent > 0xffff / 255;
    for (int y = share->first; y < share->end; y++) {
        for (int x = 0; x < job->in->linesize; x += FI_WIDE) {
            UINT8 *out = (UINT8 *)job->out->image[y] + x, *in = (UINT8 *)job->in->image[y] + x;
            int bytes = fi_min(job->in->linesize - x, FI_WIDE);
            FI_EITHER(is_large, 0, 1,
                      FI_SPECIALIZE(bytes, FI_WIDE, fi_sharpen_some(out, in, percent, threshold, is_large, bytes)));
        }
    }
}

Imaging ImagingUnsharpMask(Imaging imOut, Imaging imIn, float radius, int percent, int threshold) {
    if (percent < 0 || percent > 0xffff || threshold < 0 || threshold > 255) {
        return ImagingUnsharpMask__source(imOut, imIn, radius, percent, threshold);
    }
    if (!ImagingGaussianBlur(imOut, imIn, radius, radius, 3)) {
        return NULL;
    }
    fi_unsharp_job job = {imOut, imIn, percent, threshold};
    int shares = fi_count_shares(imIn->ysize, (int64_t)imIn->linesize * imIn->ysize);
    FI_BEGIN_SECTION(imIn)
    fi_for_rows(shares, imIn->ysize, 1, fi_unsharp_share, &job);
    FI_END_SECTION(imIn)
    return imOut;
}
