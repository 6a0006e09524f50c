/* Lets glibc keep the memory of one image for the next, instead of returning it to the kernel.

   glibc maps each block above 128 kB by itself and returns it when it is freed. The kernel then maps and clears every
   page again as the next image touches it: a third to a half of the time of loading a photo. A process that frees a block
   of up to 32 MB teaches glibc to take such blocks from its heaps, and to keep twice as much (mallopt(3),
   M_MMAP_THRESHOLD). Which blocks a process frees is chance, so glibc is told here.

   Without a limit of memory:

   - blocks up to 64 MB, an array of 22 megapixels, come from the heaps; up to 32 MB where glibc accepts no more;
   - the free end of a heap is returned where it exceeds FASTINSTALL_KEEP_MB megabytes (128, or a 64th of the machine's
     memory; 0 changes nothing), and half of that again, by which the heap grows ahead;
   - a heap of a thread has 64 MB. The last one is returned where that half is free in the one before it: with 128
     megabytes never. Where the address space or the data of a process is limited, no heap grows ahead;
   - two CPUs share a heap, instead of eight heaps a CPU that each keep their own.

   Under a limit of memory, other processes may share the limit, and nobody knows how many. There, glibc learns as it
   does with any Pillow, but its first lesson is given: one block of 8 MB, freed without being touched. A heap then keeps
   at most 16 MB more than it would without the lesson. FASTINSTALL_KEEP_MB, where it is set, counts under a limit too.

   Limits are read at the import, at each large image (those of the process), and each second in which there is one (those
   of the control groups): a process may be limited, or moved to another group, after the import or a fork.

   Where the user has set one of glibc's values, nothing is changed. Another allocator does not read them, and other C
   libraries have none. */

#define _GNU_SOURCE /* sched_getaffinity */

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>

/* The linker sends Pillow's calls here (--wrap), and __real_ImagingNew is Pillow's function. `mode` is passed on as it is:
   an enumeration, or a pointer in older versions. */
typedef void *New(uintptr_t mode, int width, int height);
extern New __real_ImagingNew __attribute__((weak)), __real_ImagingNewDirty __attribute__((weak));
__attribute__((visibility("hidden"))) New __wrap_ImagingNew, __wrap_ImagingNewDirty;

static void follow_limits(void);

#define LARGE (128 << 10) /* bytes; glibc maps nothing smaller by itself */

static void *
create(New *source, uintptr_t mode, int width, int height) {
    if ((int64_t)width * height >= LARGE / 4) {
        follow_limits();
    }
    return source(mode, width, height);
}

void *
__wrap_ImagingNew(uintptr_t mode, int width, int height) {
    return create(__real_ImagingNew, mode, width, height);
}

void *
__wrap_ImagingNewDirty(uintptr_t mode, int width, int height) {
    return create(__real_ImagingNewDirty, mode, width, height);
}

#ifdef __GLIBC__

#include <malloc.h>
#include <sched.h>

#define MB ((uint64_t)1 << 20)
#define LARGEST_BLOCK (32 * MB) /* that each glibc accepts; it ignores what it does not accept */
#define USUAL_MB 128
#define MOST_MB 1024 /* mallopt takes an int */
#define MACHINE_SHARE 64
#define LESSON (8 * MB)         /* a picture of 1920x1080 is a bit smaller */
#define USUAL_AHEAD (128 << 10) /* glibc's own M_TOP_PAD */
#define FEWEST_HEAPS 2          /* one of them is the main thread's */
#define CPUS_A_HEAP 2
#define NO_LIMIT UINT64_MAX

/* How glibc treats freed memory. KEEPING_IN_LIMIT: as KEEPING, but no heap grows ahead. */
enum { UNCHANGED, LEARNING, BOUNDED, KEEPING, KEEPING_IN_LIMIT };

static _Atomic int manner = UNCHANGED;
static _Atomic int is_group_limited;
static _Atomic time_t groups_read;
static uint64_t wanted; /* bytes to keep where there is no limit; 0: glibc is left alone */
static int is_chosen;   /* by the user, who knows of any limit */

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
get_machine_memory(void) {
    struct sysinfo machine;

    return sysinfo(&machine) == 0 ? (uint64_t)machine.totalram * machine.mem_unit : NO_LIMIT;
}

static uint64_t
get_smaller(uint64_t one, uint64_t other) {
    return one < other ? one : other;
}

static int
is_process_limited(void) {
    static const int kinds[] = {RLIMIT_AS, RLIMIT_DATA};
    struct rlimit limit;

    for (size_t index = 0; index < sizeof kinds / sizeof *kinds; index++) {
        if (getrlimit(kinds[index], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
            return 1;
        }
    }
    return 0;
}

static uint64_t
read_limit(const char *group, const char *name) {
    char path[PATH_MAX];
    unsigned long long number;
    uint64_t limit = NO_LIMIT;

    if (snprintf(path, sizeof path, "%s/%s", group, name) >= (int)sizeof path) {
        return NO_LIMIT;
    }
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%llu", &number) == 1) { /* else "max" */
            limit = number;
        }
        fclose(file);
    }
    return limit;
}

/* The least limit of a group and the groups above it, up to the root of the mount. In a container, the path may begin
   above that root; none of these directories exists then, but the root, which is the container's own group. */
static uint64_t
read_group_limit(const char *root, const char *path, const char *const *names) {
    char group[PATH_MAX];
    uint64_t least = NO_LIMIT;
    size_t length = strlen(root);

    if (snprintf(group, sizeof group, "%s%s", root, path) >= (int)sizeof group) {
        return NO_LIMIT;
    }
    for (char *end = group + strlen(group); end != NULL; end = strrchr(group + length, '/')) {
        *end = 0;
        for (const char *const *name = names; *name != NULL; name++) {
            least = get_smaller(least, read_limit(group, *name));
        }
    }
    return least;
}

/* Whether a control group has less memory than the machine. Source: cgroups(7). */
static int
read_whether_group_limited(void) {
    static const char *const names[] = {"memory.max", "memory.high", NULL};
    static const char *const names_of_version_1[] = {"memory.limit_in_bytes", NULL};
    char line[PATH_MAX + 64], controllers[64];
    uint64_t least = NO_LIMIT;
    FILE *file = fopen("/proc/self/cgroup", "re");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) { /* hierarchy:controllers:path */
        char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (second == NULL) {
            continue;
        }
        line[strcspn(line, "\n")] = 0;
        *second = 0;
        snprintf(controllers, sizeof controllers, ",%s,", first + 1);
        if (second == first + 1) {
            least = get_smaller(least, read_group_limit("/sys/fs/cgroup", second + 1, names));
        } else if (strstr(controllers, ",memory,") != NULL) {
            least = get_smaller(least, read_group_limit("/sys/fs/cgroup/memory", second + 1, names_of_version_1));
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return least < get_machine_memory();
}

static void
set_values(uint64_t largest_block, uint64_t kept, uint64_t ahead) {
    mallopt(M_MMAP_THRESHOLD, (int)get_smaller(largest_block, LARGEST_BLOCK));
    mallopt(M_MMAP_THRESHOLD, (int)largest_block);
    mallopt(M_TOP_PAD, (int)ahead);
    mallopt(M_TRIM_THRESHOLD, (int)(kept + ahead));
}

static void
teach(void) {
    void *volatile block = malloc(LESSON); /* volatile: compilers remove a block that nobody uses */

    free(block);
}

static int
choose_manner(int previous) {
    int is_limited = is_process_limited();

    if (is_chosen || !(is_limited || is_group_limited)) {
        return is_limited ? KEEPING_IN_LIMIT : KEEPING;
    }
    return previous == UNCHANGED || previous == LEARNING ? LEARNING : BOUNDED;
}

static void
follow_limits(void) {
    struct timespec now;
    time_t before = groups_read;
    int previous = manner;

    if (wanted == 0) {
        return;
    }
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0 && now.tv_sec != before &&
        atomic_compare_exchange_strong(&groups_read, &before, now.tv_sec)) {
        is_group_limited = read_whether_group_limited();
    }
    int next = choose_manner(previous);
    if (next == previous || !atomic_compare_exchange_strong(&manner, &previous, next)) {
        return;
    }
    if (next == LEARNING) {
        teach();
    } else if (next == BOUNDED) { /* whose values were set once, glibc adapts them no more */
        set_values(LESSON, 2 * LESSON, USUAL_AHEAD);
        malloc_trim(0);
    } else {
        set_values(2 * LARGEST_BLOCK, wanted, next == KEEPING ? wanted / 2 : USUAL_AHEAD);
    }
}

__attribute__((constructor)) static void
keep_memory(void) {
    const char *chosen = getenv("FASTINSTALL_KEEP_MB");

    is_chosen = chosen != NULL && *chosen >= '0' && *chosen <= '9';
    wanted = is_chosen ? get_smaller(strtoul(chosen, NULL, 10), MOST_MB) * MB
                       : get_smaller(USUAL_MB * MB, get_machine_memory() / MACHINE_SHARE);
    if (wanted == 0 || is_kept_by_user()) {
        wanted = 0;
        return;
    }
    if (!is_set_by_user("MALLOC_ARENA_MAX", "glibc.malloc.arena_max=")) {
        mallopt(M_ARENA_MAX, choose_heaps());
    }
    follow_limits();
}

#else

static void
follow_limits(void) {
}

#endif
