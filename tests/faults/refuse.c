/* Refuses the n-th call of a kind, as a kernel would whose disk is full, dying, forbidden or read-only.
 *
 * Preloaded into the program and into every program that it starts; all of them share one counter (see refusing.py,
 * which has the same structure). Calls about paths outside of the named directories pass, and are not counted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPEN, WRITE, RENAME, FSYNC, UNLINK, MAKE, KINDS };

struct orders {
    int armed, kind, number, error, lasting;
    int seen[KINDS];
    int struck;
    char call[64];
    char path[PATH_MAX];
    char within[4][PATH_MAX];
    char without[64]; /* of a path: calls about it pass, and are not counted */
};

static struct orders *orders;

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

__attribute__((constructor)) static void read_orders(void) {
    const char *file = getenv("REFUSE_ORDERS");
    int descriptor = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *mapped = mmap(NULL, sizeof(struct orders), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped != MAP_FAILED) orders = mapped;
    close(descriptor);
}

static int concerns(const char *path) {
    if (orders->without[0] && strstr(path, orders->without)) return 0;
    for (int i = 0; i < 4; i++) {
        size_t length = strlen(orders->within[i]);
        if (length && !strncmp(path, orders->within[i], length) && (path[length] == '/' || !path[length])) return 1;
    }
    return 0;
}

/* Whether this call is refused; errno is set then. */
static int refused(enum kind kind, const char *call, const char *path) {
    if (!concerns(path)) return 0;
    int number = __sync_fetch_and_add(&orders->seen[kind], 1), first = (int)kind == orders->kind && number == orders->number;
    if (!orders->armed || orders->error == 0) return 0;
    if (first) {
        snprintf(orders->call, sizeof orders->call, "%s", call);
        snprintf(orders->path, sizeof orders->path, "%s", path);
        orders->struck = 1;
    } else if (!orders->lasting || !orders->struck) {
        return 0;
    } else if (orders->error == ENOSPC && (kind == RENAME || kind == UNLINK || kind == FSYNC ||
               !strncmp(call, "ftruncate", 9) || (kind == OPEN && !access(path, F_OK)))) {
        return 0; /* a full disk takes nothing more, but opens what is there, moves, shortens and gives */
    }
    errno = orders->error;
    return -1;
}

static int at_path(enum kind kind, const char *call, int directory, const char *path) {
    char whole[2 * PATH_MAX], base[PATH_MAX] = "";
    if (!orders || !orders->armed || !path) return 0;
    if (path[0] == '/') return refused(kind, call, path);
    if (directory == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
        ssize_t length = readlink(link, base, sizeof base - 1);
        if (length < 0) return 0;
        base[length] = 0;
    }
    snprintf(whole, sizeof whole, "%s/%s", base, path);
    return refused(kind, call, whole);
}

static int at_descriptor(enum kind kind, const char *call, int descriptor) {
    char link[64], path[PATH_MAX];
    if (!orders || !orders->armed) return 0;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    if (length < 0) return 0;
    path[length] = 0;
    return refused(kind, call, path);
}

static int writes(int flags) { return flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND); }

#define MODE(last) mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, last); mode = va_arg(rest, mode_t); va_end(rest); }

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        MODE(flags); REAL(int, #name, const char *, int, ...); \
        if (writes(flags) && at_path(OPEN, #name, AT_FDCWD, path)) return -1; \
        return real(path, flags, mode); }
OPENS(open) OPENS(open64)

#define OPENS_AT(name) \
    int name(int directory, const char *path, int flags, ...) { \
        MODE(flags); REAL(int, #name, int, const char *, int, ...); \
        if (writes(flags) && at_path(OPEN, #name, directory, path)) return -1; \
        return real(directory, path, flags, mode); }
OPENS_AT(openat) OPENS_AT(openat64)

#define FOPENS(name) \
    FILE *name(const char *path, const char *mode) { \
        REAL(FILE *, #name, const char *, const char *); \
        if (strpbrk(mode, "wax+") && at_path(OPEN, #name, AT_FDCWD, path)) return NULL; \
        return real(path, mode); }
FOPENS(fopen) FOPENS(fopen64)

ssize_t write(int descriptor, const void *content, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (at_descriptor(WRITE, "write", descriptor)) {
        int error = errno;
        if (error == ENOSPC && size > 1) real(descriptor, content, size / 2); /* as much as there was room for */
        errno = error;
        return -1;
    }
    return real(descriptor, content, size);
}

#define REFUSES(kind, type, name, parameters, arguments, descriptor) \
    type name parameters { \
        static type (*real) parameters; \
        if (!real) real = (type (*) parameters)dlsym(RTLD_NEXT, #name); \
        return at_descriptor(kind, #name, descriptor) ? -1 : real arguments; }
REFUSES(WRITE, ssize_t, pwrite, (int to, const void *content, size_t size, off_t at), (to, content, size, at), to)
REFUSES(WRITE, ssize_t, pwrite64, (int to, const void *content, size_t size, off64_t at), (to, content, size, at), to)
REFUSES(WRITE, ssize_t, writev, (int to, const struct iovec *parts, int count), (to, parts, count), to)
REFUSES(WRITE, ssize_t, sendfile, (int to, int from, off_t *at, size_t size), (to, from, at, size), to)
REFUSES(WRITE, ssize_t, sendfile64, (int to, int from, off64_t *at, size_t size), (to, from, at, size), to)
REFUSES(WRITE, ssize_t, copy_file_range, (int from, off64_t *at, int to, off64_t *where, size_t size, unsigned flags),
        (from, at, to, where, size, flags), to)
REFUSES(WRITE, int, ftruncate, (int to, off_t size), (to, size), to)
REFUSES(WRITE, int, ftruncate64, (int to, off64_t size), (to, size), to)
REFUSES(FSYNC, int, fsync, (int of), (of), of)
REFUSES(FSYNC, int, fdatasync, (int of), (of), of)

#define REFUSES_PATH(kind, name, parameters, arguments, directory, path) \
    int name parameters { \
        static int (*real) parameters; \
        if (!real) real = (int (*) parameters)dlsym(RTLD_NEXT, #name); \
        return at_path(kind, #name, directory, path) ? -1 : real arguments; }
REFUSES_PATH(RENAME, rename, (const char *from, const char *to), (from, to), AT_FDCWD, to)
REFUSES_PATH(RENAME, renameat, (int here, const char *from, int there, const char *to), (here, from, there, to), there, to)
REFUSES_PATH(RENAME, renameat2, (int here, const char *from, int there, const char *to, unsigned flags),
             (here, from, there, to, flags), there, to)
REFUSES_PATH(UNLINK, unlink, (const char *path), (path), AT_FDCWD, path)
REFUSES_PATH(UNLINK, unlinkat, (int directory, const char *path, int flags), (directory, path, flags), directory, path)
REFUSES_PATH(UNLINK, rmdir, (const char *path), (path), AT_FDCWD, path)
REFUSES_PATH(MAKE, mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path)
REFUSES_PATH(MAKE, mkdirat, (int directory, const char *path, mode_t mode), (directory, path, mode), directory, path)
REFUSES_PATH(MAKE, link, (const char *from, const char *to), (from, to), AT_FDCWD, to)
REFUSES_PATH(MAKE, linkat, (int here, const char *from, int there, const char *to, int flags),
             (here, from, there, to, flags), there, to)
REFUSES_PATH(MAKE, symlink, (const char *to, const char *path), (to, path), AT_FDCWD, path)
REFUSES_PATH(MAKE, symlinkat, (const char *to, int directory, const char *path), (to, directory, path), directory, path)
