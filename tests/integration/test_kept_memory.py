"""recipes/memory.c in a program of its own: what glibc keeps, what it returns, and where nothing is changed."""

import os
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from fastinstall.core.directories import recipes_directory

MB = 1 << 20
PROGRAM = """
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static long count_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* Blocks of this size, freed in the other order: the faults of the second time. */
static void *fill(void *argument) {
    size_t *numbers = argument;
    long before = 0;
    for (int turn = 0; turn < 2; turn++) {
        char **blocks = calloc(numbers[0], sizeof *blocks);
        before = count_faults();
        for (size_t each = 0; each < numbers[0]; each++) memset(blocks[each] = malloc(numbers[1]), 7, numbers[1]);
        for (size_t each = numbers[0]; each-- > 0;) free(blocks[each]);
        free(blocks);
    }
    numbers[2] = (size_t)(count_faults() - before);
    return NULL;
}

static pthread_barrier_t all_begun;

static void *begin_and_fill(void *numbers) {
    free(malloc(1));
    pthread_barrier_wait(&all_begun);
    return fill(numbers);
}

static int count_heaps(void) {
    char *text, *at;
    size_t length;
    int heaps = 0;
    FILE *file = open_memstream(&text, &length);
    malloc_info(0, file);
    fclose(file);
    for (at = text; (at = strstr(at, "<heap nr=")); at++) heaps++;
    return heaps;
}

int main(int argc, char **argv) {
    size_t numbers[1024][3];
    long size, resident;
    pthread_t threads[1024];
    int count = argc > 3 ? atoi(argv[3]) : 0;
    pthread_barrier_init(&all_begun, NULL, count + !count);
    for (int each = 0; each < count + !count; each++) {
        numbers[each][0] = strtoul(argv[1], NULL, 10), numbers[each][1] = strtoul(argv[2], NULL, 10);
        if (count) pthread_create(threads + each, NULL, begin_and_fill, numbers[each]);
    }
    for (int each = 0; each < count; each++) pthread_join(threads[each], NULL);
    if (!count) fill(numbers[0]);
    FILE *memory = fopen("/proc/self/statm", "r");
    if (fscanf(memory, "%ld %ld", &size, &resident) != 2) return 1;
    printf("%zu %ld %d\\n", numbers[0][2], resident * (long)sysconf(_SC_PAGESIZE), count_heaps());
}
"""
ONE_PHOTO = (1, 31 * MB)
MOST_PAGES = 0.9 * ONE_PHOTO[1] / resource.getpagesize()
IN_GROUP = """
mount -t tmpfs none /sys/fs/cgroup && mkdir -p "/sys/fs/cgroup/$(dirname "$1")" && echo "$2" > "/sys/fs/cgroup/$1"
shift 2
exec "$@"
"""
SETTINGS = ("MMAP_THRESHOLD", "TRIM_THRESHOLD", "TOP_PAD", "MMAP_MAX")
OWN = dict.fromkeys(
    (*(f"MALLOC_{setting}_" for setting in SETTINGS), "GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "FASTINSTALL_KEEP_MB"), "0"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("memory"))


def build(directory: Path, *flags: str) -> Path:
    """A program into which memory.c is linked, as it is into the core."""
    source, made = directory / "program.c", directory / "program"
    source.write_text(PROGRAM)
    argv = ("gcc", "-O1", "-fno-builtin", "-pthread", "-Wall", "-Werror", *flags)
    subprocess.run([*argv, source, recipes_directory() / "memory.c", "-o", made], check=True)
    return made


def run(*argv: object, **variables: str) -> tuple[int, int, int]:
    """The faults of the second time, the bytes that are resident at the end, and the heaps of the process."""
    environment = {name: value for name, value in os.environ.items() if name not in OWN} | variables
    answer = subprocess.run(list(map(str, argv)), env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    faults, resident, heaps = map(int, answer.stdout.split())
    return faults, resident, heaps


def run_in_group(file: str, limit: str, program: Path) -> int:
    """The faults of one photo where this is the memory limit of the container."""
    begin = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")))
    if not shutil.which("unshare") or subprocess.run((*begin, "true"), check=False, capture_output=True).returncode:
        pytest.skip("no mount can be made here: neither a superuser nor a user namespace")
    return run(*begin, "sh", "-c", IN_GROUP, "sh", file, limit, program, *ONE_PHOTO)[0]


@pytest.mark.parametrize("threads", [(), (1,)])
@pytest.mark.parametrize("blocks", [1, 3, 4])  # a thread's heap has 64 MB; 4 are nearly what is kept
def test_the_memory_of_a_photo_serves_the_next(program: Path, threads: tuple[int, ...], blocks: int) -> None:
    assert run(program, blocks, ONE_PHOTO[1], *threads)[0] < 10


def test_threads_share_heaps(program: Path) -> None:
    most = max(2, len(os.sched_getaffinity(0)) // 2)
    assert run(program, 1, MB, 2 * most)[2] == most
    assert run(program, 1, MB, 8, MALLOC_ARENA_MAX="5")[2] == 5
    assert run(program, 1, MB, 8, GLIBC_TUNABLES="glibc.malloc.arena_max=5")[2] == 5


@pytest.mark.parametrize("where", [(), ("in a thread",)])
def test_so_does_that_of_an_array_of_12_megapixels(program: Path, where: tuple[str, ...]) -> None:
    version = os.confstr("CS_GNU_LIBC_VERSION") or ""
    if tuple(map(int, version.removeprefix("glibc ").split("."))) < (2, 36):
        pytest.skip(f"{version} keeps no block of more than 32 MB")
    assert run(program, 1, 36_000_000, *where)[0] < 10


@pytest.mark.parametrize(("told", "most"), [("", 128), ("40", 40), ("4", 4), ("no", 128)])
def test_the_free_end_is_returned_beyond_what_the_variable_says(program: Path, told: str, most: int) -> None:
    _, resident, _ = run(program, 300, MB, FASTINSTALL_KEEP_MB=told)
    assert resident < (most + 4) * MB


def test_nothing_changes_where_the_variable_says_0(program: Path) -> None:
    assert run(program, *ONE_PHOTO, FASTINSTALL_KEEP_MB="0")[0] > MOST_PAGES


def test_the_most_that_the_variable_may_say_fits_what_glibc_takes(program: Path) -> None:
    assert run(program, 20, 31 * MB, FASTINSTALL_KEEP_MB="99999999")[0] < 10


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_the_user_has_set_stays(program: Path, setting: str) -> None:
    value = "131072" if setting == "MMAP_THRESHOLD" else "0"
    assert run(program, *ONE_PHOTO, **{f"MALLOC_{setting}_": value})[0] > MOST_PAGES
    tunable = f"glibc.malloc.{setting.lower()}={value}"
    assert run(program, *ONE_PHOTO, GLIBC_TUNABLES=f"glibc.malloc.arena_max=4:{tunable}")[0] > MOST_PAGES


def test_other_tunables_do_not_matter(program: Path) -> None:
    assert run(program, *ONE_PHOTO, GLIBC_TUNABLES="glibc.malloc.arena_max=4")[0] < 10


@pytest.mark.parametrize(("limit", "kept"), [(200, False), (1000, True)])
def test_a_small_address_space_changes_nothing_and_a_large_one_is_used(
    program: Path, limit: int, *, kept: bool
) -> None:
    faults, _, _ = run("sh", "-c", 'ulimit -v "$0" && exec "$@"', limit * 1024, program, *ONE_PHOTO)
    assert (faults < 10) is kept


@pytest.mark.parametrize("file", ["memory.max", "memory/memory.limit_in_bytes"])
@pytest.mark.parametrize(
    ("limit", "kept"), [(200 * MB, False), (1024 * MB, True), ("max", True), (9223372036854771712, True)]
)
def test_so_does_a_container_by_its_limit(program: Path, file: str, limit: object, *, kept: bool) -> None:
    assert (run_in_group(file, str(limit), program) < 10) is kept


def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    made = build(tmp_path, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    run(made, *ONE_PHOTO, FASTINSTALL_KEEP_MB="64", ASAN_OPTIONS="detect_leaks=0")
