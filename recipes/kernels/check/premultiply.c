/* Pillow's Convert.c beside the kernel. */

#define rgbA2rgba rgbA2rgba__source
#define rgba2rgbA rgba2rgbA__source
#include "Convert.c"
#undef rgbA2rgba
#undef rgba2rgbA
#include "../premultiply.c"
#include "check.h"

/* All values with all alphas: 256 rows of 256 pixels. */
static void check_all(void) {
    static UINT8 in[1024], ours[1024], theirs[1024];
    for (int alpha = 0; alpha < 256; alpha++) {
        for (int i = 0; i < 1024; i++) {
            in[i] = i % 4 == 3 ? alpha : i / 4;
        }
        fi_say("divide all values by alpha %d", alpha);
        rgba2rgbA(ours, in, 256);
        rgba2rgbA__source(theirs, in, 256);
        fi_compare_bytes(ours, theirs, 1024);
        fi_say("multiply all values by alpha %d", alpha);
        rgbA2rgba(ours, in, 256);
        rgbA2rgba__source(theirs, in, 256);
        fi_compare_bytes(ours, theirs, 1024);
    }
}

void fi_check_case(void) {
    static int done;
    if (!done++) {
        check_all();
    }
    int width = fi_draw_length();
    UINT8 *in = malloc(4 * width), *ours = malloc(4 * width), *theirs = malloc(4 * width);
    fi_draw_bytes(in, 4 * width);
    for (int i = 3; i < 4 * width && fi_draw(2); i += 4) {
        in[i] = FI_TAKE((UINT8[]){0, 1, 2, 128, 254, 255, in[i]});
    }
    fi_say("multiply by alpha, %d pixels", width);
    rgbA2rgba(ours, in, width);
    rgbA2rgba__source(theirs, in, width);
    fi_compare_bytes(ours, theirs, 4 * width);
    fi_say("divide by alpha, %d pixels", width);
    rgba2rgbA(ours, in, width);
    rgba2rgbA__source(theirs, in, width);
    fi_compare_bytes(ours, theirs, 4 * width);
    free(in);
    free(ours);
    free(theirs);
}
