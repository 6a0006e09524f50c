/* Rows of a JPEG, decoded to where libjpeg-turbo writes them by ordinary stores.

   A row that is aligned to 32 bytes it writes past the caches (its AVX2 colour conversion), and Pillow, which copies the
   row into the picture at once, has to wait for the memory. Whether the allocator aligned it was chance. */

#include <stdint.h>
#include <stdlib.h>

#define ALIGNED 32

int
ImagingJpegDecode(Imaging im, ImagingCodecState state, UINT8 *buf, Py_ssize_t bytes) {
    UINT8 *buffer = state->buffer, *memory = calloc(1, (size_t)state->bytes + ALIGNED);
    if (memory) {
        state->buffer = memory + ((ALIGNED / 2 - (uintptr_t)memory) & (ALIGNED - 1));
    }
    int consumed = ImagingJpegDecode__source(im, state, buf, bytes);
    state->buffer = buffer;
    free(memory);
    return consumed;
}
