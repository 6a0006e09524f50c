/* Two pictures combined byte by byte into a third one: what `blend` and `chops` share. */

#ifndef FI_COMBINE_H
#define FI_COMBINE_H

#include "vectors.h"

#define FI_COMBINE_HELD (1 << 18) /* bytes of a picture; up to this many, the GIL is held, as in Pillow */

/* Combine two rows. `combined` is an expression of the vectors of bytes `a` and `b`: FI_COMBINE_ROW(to, from, other,
   bytes, a ^ b). The last bytes, too few for a vector, are copied into vectors first, so that nothing after the rows is
   touched. */
#define FI_COMBINE_ROW(out, first, second, bytes, combined)                                                            \
    {                                                                                                                  \
        int i = 0;                                                                                                     \
        for (; i <= (bytes) - FI_WIDE; i += FI_WIDE) {                                                                 \
            fi_wide_u8 a = FI_LOAD(fi_wide_u8, (first) + i), b = FI_LOAD(fi_wide_u8, (second) + i);                    \
            FI_STORE((out) + i, combined);                                                                             \
        }                                                                                                              \
        if (i < (bytes)) {                                                                                             \
            fi_wide_u8 a = {0}, b = {0};                                                                               \
            memcpy(&a, (first) + i, (bytes) - i);                                                                      \
            memcpy(&b, (second) + i, (bytes) - i);                                                                     \
            a = combined;                                                                                              \
            memcpy((out) + i, &a, (bytes) - i);                                                                        \
        }                                                                                                              \
    }

/* Whether a kernel may release the GIL where Pillow holds it. Without a GIL, the caller has locked both pictures, and
   releasing would unlock them. */
#ifdef Py_GIL_DISABLED
#define FI_MAY_RELEASE 0
#else
#define FI_MAY_RELEASE 1
#endif

/* Between these two, Python's other threads run if the picture is large. */
#define FI_BEGIN_LARGE(picture)                                                                                        \
    {                                                                                                                  \
        ImagingSectionCookie cookie;                                                                                   \
        int is_large = FI_MAY_RELEASE && (int64_t)(picture)->linesize * (picture)->ysize > FI_COMBINE_HELD;            \
        if (is_large) {                                                                                                \
            ImagingSectionEnter(&cookie);                                                                              \
        }
#define FI_END_LARGE                                                                                                   \
    if (is_large) {                                                                                                    \
        ImagingSectionLeave(&cookie);                                                                                  \
    }                                                                                                                  \
    }

#endif
