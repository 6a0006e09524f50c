/* Lets glibc keep the memory of one image for the next, that of bytes and arrays too, instead of returning it.

   glibc maps each block above 128 kB by itself and returns it when it is freed, so the kernel maps and clears every page
   again as the next image touches it: a third to a half of the time of loading a photo. A process in which a larger block
   was freed does so no more (mallopt(3), M_MMAP_THRESHOLD), but that is chance. Here glibc is told once, at the start:

   - blocks up to 64 MB, an array of 22 megapixels, come from its heaps; up to 32 MB where glibc accepts no more;
   - the free end of the heap is returned where it exceeds FASTINSTALL_KEEP_MB megabytes (128; 0 changes nothing), and half
     of that again, by which the heap grows ahead;
   - the last of a thread's heaps, of 64 MB each, is returned where that half is free in the one before it: with 128
     megabytes never. Under `ulimit -v` this is left out, because the main thread's heap then grows by so much at once;
   - two CPUs share a heap, instead of eight heaps a CPU that each keep their own.

   An eighth of a limit of memory may be kept; where that is less than 32 MB, or where the user has set one of these
   values, nothing is changed. Another allocator does not read them, and other C libraries have none. */

#define _GNU_SOURCE /* sched_getaffinity */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#ifdef __GLIBC__

#include <malloc.h>
#include <sched.h>

#define MB ((uint64_t)1 << 20)
#define LARGEST_BLOCK (32 * MB) /* that each glibc accepts; it ignores what it does not accept */
#define USUAL_MB 128
#define MOST_MB 1024 /* mallopt takes an int */
#define SHARE 8
#define FEWEST_HEAPS 2 /* one of them is the main thread's */
#define CPUS_A_HEAP 2

static int
is_set_by_user(const char *variable, const char *tunable) {
    const char *tunables = getenv("GLIBC_TUNABLES");

    return getenv(variable) != NULL || (tunables != NULL && strstr(tunables, tunable) != NULL);
}

static int
is_kept_by_user(void) {
    return is_set_by_user("MALLOC_MMAP_THRESHOLD_", "glibc.malloc.mmap_threshold=") ||
           is_set_by_user("MALLOC_TRIM_THRESHOLD_", "glibc.malloc.trim_threshold=") ||
           is_set_by_user("MALLOC_TOP_PAD_", "glibc.malloc.top_pad=") ||
           is_set_by_user("MALLOC_MMAP_MAX_", "glibc.malloc.mmap_max=");
}

static int
choose_heaps(void) {
    cpu_set_t usable;
    int heaps = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) / CPUS_A_HEAP : 0;

    return heaps < FEWEST_HEAPS ? FEWEST_HEAPS : heaps;
}

static uint64_t
get_wanted(void) {
    const char *told = getenv("FASTINSTALL_KEEP_MB");
    unsigned long megabytes = USUAL_MB;

    if (told != NULL && *told >= '0' && *told <= '9') {
        megabytes = strtoul(told, NULL, 10);
    }
    return (megabytes < MOST_MB ? megabytes : MOST_MB) * MB;
}

static uint64_t
get_process_limit(void) {
    struct rlimit limit;

    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}

/* Of the container: there, its own group is the root of what is mounted. Source: cgroups(7). */
static uint64_t
read_group_limit(void) {
    static const char *const files[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    unsigned long long limit, least = UINT64_MAX;

    for (size_t index = 0; index < sizeof files / sizeof *files; index++) {
        FILE *file = fopen(files[index], "re");
        if (file != NULL) {
            if (fscanf(file, "%llu", &limit) == 1 && limit < least) {
                least = limit;
            }
            fclose(file);
        }
    }
    return least;
}

static uint64_t
get_smaller(uint64_t one, uint64_t other) {
    return one < other ? one : other;
}

__attribute__((constructor)) static void
keep_memory(void) {
    uint64_t process = get_process_limit();
    uint64_t share = get_smaller(process, read_group_limit()) / SHARE;
    uint64_t kept = get_smaller(get_wanted(), share);

    if (kept == 0 || share < LARGEST_BLOCK || is_kept_by_user()) {
        return;
    }
    mallopt(M_MMAP_THRESHOLD, (int)LARGEST_BLOCK);
    mallopt(M_MMAP_THRESHOLD, (int)(2 * LARGEST_BLOCK));
    uint64_t ahead = process == UINT64_MAX ? kept / 2 : 0;
    mallopt(M_TOP_PAD, (int)ahead);
    mallopt(M_TRIM_THRESHOLD, (int)(kept + ahead));
    if (!is_set_by_user("MALLOC_ARENA_MAX", "glibc.malloc.arena_max=")) {
        mallopt(M_ARENA_MAX, choose_heaps());
    }
}

#endif
