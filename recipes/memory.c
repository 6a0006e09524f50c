/* Keeps large blocks of memory for the next image, instead of returning them to the system.

   The allocator returns blocks above a few megabytes immediately, and the kernel maps and clears every page again when
   the next image touches it: a third of the time of decoding and resizing a photo. Here a freed large block waits in a
   list, and an allocation of a suitable size takes it.

   The linker redirects the core's malloc, calloc and free to this file (--wrap). Every block comes from the allocator
   itself, so any code may free it, and blocks of other code may be kept. No block needs an owner, and any allocator
   with malloc_usable_size works.

   Bounds: FASTINSTALL_KEEP_MB megabytes per process (128; 0 keeps nothing). A block that has waited for two seconds is
   returned at the next large allocation or release. The 32 MB freed last stay in memory; of older blocks, the kernel may
   take the pages when memory is short (MADV_FREE), even from an idle process. This slows 12-megapixel photos by a tenth
   and smaller ones not at all. Threads: one that finds the list in use calls the allocator, so no thread waits; a child
   forked at that moment keeps nothing, but works. */

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LEAST ((size_t)64 << 10)
#define USUAL_MB 128
#define MOST_MB 65536
#define PIECES 64
#define SECONDS 2
#define HELD ((size_t)32 << 20)
#define PAGE ((uintptr_t)4096)
#define UNKNOWN SIZE_MAX

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void __real_free(void *piece);

struct piece {
    void *start;
    size_t size; /* usable size, at least LEAST */
    time_t since;
    int lent; /* the kernel may take its pages */
};

static struct piece kept[PIECES]; /* the first `pieces` are in use, the oldest first */
static int pieces;
static size_t total;
static _Atomic size_t bound = UNKNOWN; /* bytes */
static atomic_flag in_use = ATOMIC_FLAG_INIT;

/* For measurements: bytes in the list. */
__attribute__((visibility("default"))) size_t
fastinstall_kept_bytes(void) {
    return total;
}

static size_t
get_bound(void) {
    const char *told = getenv("FASTINSTALL_KEEP_MB");
    unsigned long megabytes = USUAL_MB;

    if (told != NULL && *told >= '0' && *told <= '9') {
        megabytes = strtoul(told, NULL, 10);
    }
    return (size_t)(megabytes < MOST_MB ? megabytes : MOST_MB) << 20;
}

static time_t
now(void) {
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return time.tv_sec;
}

static void *
take_out(int index) {
    void *start = kept[index].start;

    total -= kept[index].size;
    pieces--;
    memmove(&kept[index], &kept[index + 1], (size_t)(pieces - index) * sizeof kept[0]);
    return start;
}

/* Return blocks that have waited too long, or leave no space for `size` more bytes. */
static void
make_room(size_t size) {
    time_t before = now() - SECONDS;

    while (pieces > 0 && (kept[0].since < before || total + size > bound || pieces == PIECES)) {
        __real_free(take_out(0));
    }
}

/* The smallest block that fits and wastes at most a quarter, of equals the last one freed; NULL if none does. */
static void *
find(size_t size) {
    void *found = NULL;
    int best = -1;

    if (atomic_flag_test_and_set_explicit(&in_use, memory_order_acquire)) {
        return NULL;
    }
    for (int index = 0; index < pieces; index++) {
        size_t there = kept[index].size;
        if (there >= size && there - size <= size / 4 && (best < 0 || there <= kept[best].size)) {
            best = index;
        }
    }
    if (best >= 0) {
        found = take_out(best);
    }
    make_room(0);
    atomic_flag_clear_explicit(&in_use, memory_order_release);
    return found;
}

/* Let the kernel take the pages of blocks beyond HELD. Until it does, they stay readable and writable. */
static void
lend(void) {
    size_t held = 0;

    for (int index = pieces - 1; index >= 0; index--) {
        struct piece *piece = &kept[index];
        uintptr_t start = (uintptr_t)piece->start, first = (start + PAGE - 1) & ~(PAGE - 1);
        if (held + piece->size <= HELD) {
            held += piece->size;
        } else if (!piece->lent) {
            piece->lent = 1;
            madvise((void *)first, ((start + piece->size) & ~(PAGE - 1)) - first, MADV_FREE);
        }
    }
}

/* Returns whether the list took it. */
static int
keep(void *piece, size_t size) {
    if (bound == UNKNOWN) {
        bound = get_bound();
    }
    if (size > bound || atomic_flag_test_and_set_explicit(&in_use, memory_order_acquire)) {
        return 0;
    }
    make_room(size);
    kept[pieces++] = (struct piece){piece, size, now(), 0};
    total += size;
    lend();
    atomic_flag_clear_explicit(&in_use, memory_order_release);
    return 1;
}

void *
__wrap_malloc(size_t size) {
    void *piece = size >= LEAST ? find(size) : NULL;

    return piece != NULL ? piece : __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size) {
    size_t bytes;
    void *piece = NULL;

    if (!__builtin_mul_overflow(count, size, &bytes) && bytes >= LEAST) {
        piece = find(bytes);
    }
    return piece != NULL ? memset(piece, 0, bytes) : __real_calloc(count, size);
}

void
__wrap_free(void *piece) {
    size_t size = piece != NULL ? malloc_usable_size(piece) : 0;

    if (size < LEAST || !keep(piece, size)) {
        __real_free(piece);
    }
}
