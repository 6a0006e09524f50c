/* Decodes the rows of a JPEG to addresses that libjpeg-turbo writes by ordinary stores.

   Its AVX2 colour conversion writes a row aligned to 32 bytes past the caches (non-temporal stores). Pillow copies the
   row into the picture at once, and waits for the memory. Without this file, the allocator's alignment decides. */

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
