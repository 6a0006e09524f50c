/* Threads inside one operation, where FASTINSTALL_THREADS asks for them.

   An operation is split into shares of its rows, or of strips of columns: one for each thread, in order.

       rows     0 ............ 499 | 500 ........... 999 | 1000 ......... 1499
       thread   the caller's       | one of its own      | one of its own

   Exactness. A share writes its own rows or columns of the result, and reads nothing that another share writes. So any
   split gives the same bytes. Most operations read a picture that none of the shares writes. Unsharp masks change each
   row in place, and the columns of a box blur are blurred in place: there a share reads only its own rows or columns of
   the result. A kernel that computes several rows together names their number as `unit`, and every share begins at a
   multiple of it.

   Threads live as long as the call: the caller starts them, does the first share itself, and waits for the others. To
   start and join one thread takes 17 microseconds at best, 55 on average (Intel Xeon, 2026-11-30). A pool of threads
   would save this time, but a forked process would have none of its threads. If a thread cannot be started, the caller
   does its share.

   The caller allocates the memory of all shares beforehand, because a thread that calls malloc gets a heap of its own.
   Threads block signals, so that a handler runs where it would run without threads. SIGSEGV and SIGBUS are not blocked:
   they belong to the thread that causes them, by reading a mapped file that was truncated. */

#ifndef FI_THREADS_H
#define FI_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "cpu.h"

#ifndef FI_SHARE_BYTES
#define FI_SHARE_BYTES (4 << 20) /* the least share of a picture: a million pixels of four bytes, 0.3 to 5 ms of work */
#endif
#define FI_MOST_THREADS 64
#define FI_STACK_BYTES (1 << 20) /* of a thread, which uses a few pages of it */

/* glibc 2.32 and 2.34 moved these functions from libpthread into libc, and gave them a second symbol version. A core
   that is linked against that version does not load with an older glibc. The first version is the same function, and
   every glibc has it. */
#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#if __GLIBC_PREREQ(2, 32)
#if defined(__x86_64__)
#define FI_FIRST_VERSION(name) __asm__(".symver " #name ", " #name "@GLIBC_2.2.5")
#else
#define FI_FIRST_VERSION(name) __asm__(".symver " #name ", " #name "@GLIBC_2.17")
#endif
FI_FIRST_VERSION(pthread_create);
FI_FIRST_VERSION(pthread_join);
FI_FIRST_VERSION(pthread_sigmask);
FI_FIRST_VERSION(pthread_attr_setstacksize);
#endif
#endif

/* How many threads one operation may have. Every file of the core defines this variable; it is weak, so the linker
   merges them. */
__attribute__((weak, visibility("hidden"))) int fi_most_threads = 1;

FI_AT_LOAD(fi_read_threads) {
    const char *wanted = getenv("FASTINSTALL_THREADS");
    char *end = NULL;
    long number = wanted ? strtol(wanted, &end, 10) : 1;
    if (end != wanted && !*end && number >= 1 && number <= FI_MOST_THREADS) {
        fi_most_threads = (int)number;
    }
}

typedef struct fi_share fi_share;

/* Do the operation `job` for the rows of a share. */
typedef void fi_share_function(void *job, const fi_share *share);

struct fi_share {
    int number;     /* from 0; chooses the memory of the share */
    int first, end; /* its rows are first to end - 1; where columns are shared out, bytes of a row */
    fi_share_function *function;
    void *job;
    int is_started;
    pthread_t thread;
};

/* How many shares to split an operation into that reads or writes `bytes`: at most one for each row. */
static inline int fi_count_shares(int rows, int64_t bytes) {
    int64_t shares = bytes / FI_SHARE_BYTES;
    shares = shares < fi_most_threads ? shares : fi_most_threads;
    shares = shares < rows ? shares : rows;
    return shares > 1 ? (int)shares : 1;
}

static inline void *fi_do_share(void *argument) {
    const fi_share *share = argument;
    share->function(share->job, share);
    return NULL;
}

/* Call a function for rows 0 to `rows` - 1, in `shares` shares of whole units (a unit is `unit` rows), each by a thread
   of its own. Returns when all are done. */
static inline void fi_for_rows(int shares, int rows, int unit, fi_share_function *function, void *job) {
    fi_share all[FI_MOST_THREADS];
    if (shares == 1) {
        all[0] = (fi_share){.end = rows};
        function(job, &all[0]);
        return;
    }
    sigset_t blocked, before;
    pthread_attr_t attributes;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, FI_STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int64_t units = (rows - 1) / unit + 1, next = 0;
    for (int i = 0; i < shares; i++) {
        all[i] = (fi_share){.function = function, .job = job, .number = i, .first = (int)next};
        next = units * (i + 1) / shares * unit;
        next = next < rows ? next : rows;
        all[i].end = (int)next;
        all[i].is_started = i && !pthread_create(&all[i].thread, &attributes, fi_do_share, &all[i]);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    for (int i = 0; i < shares; i++) {
        if (!all[i].is_started) {
            fi_do_share(&all[i]);
        }
    }
    for (int i = 0; i < shares; i++) {
        if (all[i].is_started) {
            pthread_join(all[i].thread, NULL);
        }
    }
}

#endif
