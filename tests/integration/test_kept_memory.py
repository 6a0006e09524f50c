"""recipes/memory.c, compiled into programs of its own: what waits, what is given back, and that nothing breaks."""

import os
import subprocess
from pathlib import Path

import pytest

from fastinstall.core.surroundings import recipes_directory
from fastinstall.wheelbuild.own_code import WRAPPED

BEGIN = """
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define MB ((size_t)1 << 20)
size_t fastinstall_kept_bytes(void);
__attribute__((unused)) static void *made(size_t size) {
    char *piece = malloc(size);
    assert(piece);
    return memset(piece, 7, size);
}
"""
REUSE = """
int main(void) {
    void *first = made(8 * MB), *small = made(1000);
    free(first);
    assert(fastinstall_kept_bytes() >= 8 * MB);
    free(small);
    free(NULL);
    assert(malloc(MB) != first); /* would waste more than a quarter */
    assert(malloc(9 * MB) != first); /* does not fit */
    void *second = malloc(8 * MB - 4096);
    assert(second == first && fastinstall_kept_bytes() == 0);
    free(second);
    char *zeroed = calloc(8, MB - 512);
    assert(zeroed == first);
    for (size_t at = 0; at < 8 * (MB - 512); at++) assert(zeroed[at] == 0);
    free(realloc(zeroed, 16 * MB));
    assert(calloc(SIZE_MAX, 16) == NULL);
    puts("ok");
}
"""
BOUND = """
int main(int argc, char **argv) {
    size_t most = strtoul(argv[1], NULL, 10) * MB;
    for (int turn = 0; turn < 3; turn++) {
        void *pieces[200];
        for (int each = 0; each < 200; each++) pieces[each] = made(MB);
        for (int each = 0; each < 200; each++) {
            free(pieces[each]);
            assert(fastinstall_kept_bytes() <= most);
        }
    }
    free(made(most + MB));
    printf("%zu", fastinstall_kept_bytes() / MB);
}
"""
IDLE = """
int main(void) {
    free(made(8 * MB));
    assert(fastinstall_kept_bytes() > 0);
    struct timespec wait = {4, 0};
    nanosleep(&wait, NULL);
    free(made(MB));
    assert(fastinstall_kept_bytes() < 2 * MB);
    puts("ok");
}
"""
LENT = """
static long lent(void) {
    long pages, total = 0;
    char line[256];
    FILE *mapped = fopen("/proc/self/smaps", "r");
    while (fgets(line, sizeof line, mapped)) total += sscanf(line, "LazyFree: %ld kB", &pages) == 1 ? pages : 0;
    fclose(mapped);
    return total >> 10;
}
int main(void) {
    free(made(24 * MB));
    assert(lent() == 0);
    free(made(64 * MB));
    assert(lent() >= 63);
    char *again = made(64 * MB);
    assert(lent() == 0);
    for (size_t at = 0; at < 64 * MB; at++) assert(again[at] == 7);
    void *newest = made(26 * MB);
    free(newest); /* the piece that has waited since the beginning goes, and not this one */
    long older = lent();
    assert(older == 23 || older == 24);
    assert(malloc(26 * MB) == newest && lent() == older);
    puts("ok");
}
"""
TOGETHER = """
static void *work(void *number) {
    unsigned seed = (unsigned)(uintptr_t)number;
    for (int turn = 0; turn < 1000; turn++) {
        size_t size = 65536 + rand_r(&seed) % 300000;
        unsigned char *piece = turn % 3 ? malloc(size) : calloc(1, size), mark = (unsigned char)rand_r(&seed);
        memset(piece, mark, size);
        if (FORKS && turn % 500 == 0 && fork() == 0) {
            free(malloc(MB));
            free(piece);
            _exit(0);
        }
        for (size_t at = 0; at < size; at += 511) assert(piece[at] == mark);
        free(piece);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[8];
    for (uintptr_t each = 0; each < 8; each++) assert(!pthread_create(&threads[each], NULL, work, (void *)each));
    for (int each = 0; each < 8; each++) pthread_join(threads[each], NULL);
    for (int status; wait(&status) > 0;) assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    puts("ok");
}
"""


def run(directory: Path, program: str, *arguments: str, flags: tuple[str, ...] = (), **variables: str) -> str:
    """What a program says that keeps memory as a core does."""
    source, made = directory / "program.c", directory / "program"
    source.write_text(BEGIN + program)
    wrapped = [f"-Wl,--wrap={name}" for name in WRAPPED]
    strict = ("-O2", "-pthread", "-fno-builtin", *flags)
    subprocess.run(["gcc", *strict, source, recipes_directory() / "memory.c", *wrapped, "-o", made], check=True)
    environment = {**os.environ, **variables}
    answer = subprocess.run([made, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_a_piece_that_fits_is_taken_again_and_calloc_clears_it(tmp_path: Path) -> None:
    assert run(tmp_path, REUSE) == "ok\n"


@pytest.mark.parametrize(
    ("told", "most", "left"), [("", "128", "1"), ("10", "10", "1"), ("0", "0", "0"), ("no", "128", "1")]
)
def test_no_more_waits_than_the_variable_says(tmp_path: Path, told: str, most: str, left: str) -> None:
    waiting = int(run(tmp_path, BOUND, most, FASTINSTALL_KEEP_MB=told))
    assert waiting >= int(left)
    assert waiting <= int(most)


def test_what_waits_too_long_is_given_back(tmp_path: Path) -> None:
    assert run(tmp_path, IDLE) == "ok\n"


def test_the_kernel_may_take_what_waits_beyond_32_megabytes(tmp_path: Path) -> None:
    assert run(tmp_path, LENT) == "ok\n"


@pytest.mark.parametrize("sanitizer", ["address", "undefined", "thread", ""])
def test_threads_and_forks_harm_no_piece(tmp_path: Path, sanitizer: str) -> None:
    """Without forks where the sanitizer's own allocator does not survive one beside threads, as GCC 12's does not."""
    flags = (f"-fsanitize={sanitizer}", "-g") if sanitizer else ()
    forks = f"-DFORKS={int(sanitizer in ('undefined', ''))}"
    assert run(tmp_path, TOGETHER, flags=(*flags, forks), ASAN_OPTIONS="detect_leaks=0") == "ok\n"
