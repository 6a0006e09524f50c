"""recipes/memory.c in a separate program: which memory glibc keeps or returns, and when the file has no effect."""

import contextlib
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.machine.addresses import fixed_addresses

from fastinstall.core.directories import recipes_directory

MB = 1 << 20
PROGRAM = """
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

void *ImagingNew(int mode, int width, int height);

static void join_group(const char *file) {
    FILE *processes = fopen(file, "w");
    fprintf(processes, "%d", getpid());
    fclose(processes);
    sleep(2); /* groups are read each second */
}

int main(int argc, char **argv) {
    size_t numbers[1024][3];
    long size, resident;
    pthread_t threads[1024];
    int count = argc > 3 ? atoi(argv[3]) : 0;
    prctl(PR_SET_THP_DISABLE, 1L, 0L, 0L, 0L); /* a fault is one page */
    pthread_barrier_init(&all_begun, NULL, count + !count);
    for (int each = 0; each < count + !count; each++) {
        numbers[each][0] = strtoul(argv[1], NULL, 10), numbers[each][1] = strtoul(argv[2], NULL, 10);
        if (count) pthread_create(threads + each, NULL, begin_and_fill, numbers[each]);
    }
    for (int each = 0; each < count; each++) pthread_join(threads[each], NULL);
    if (!count) fill(numbers[0]);
    if (argc > 4) {
        struct rlimit limit = {1 << 30, RLIM_INFINITY};
        if (*argv[4] == 'd') setrlimit(RLIMIT_DATA, &limit);
        if (*argv[4] == 'v') setrlimit(RLIMIT_AS, &limit);
        if (*argv[4] == 'g') join_group(argv[5]);
        ImagingNew(0, 4000, 3000);
        fill(numbers[0]);
    }
    FILE *memory = fopen("/proc/self/statm", "r");
    if (fscanf(memory, "%ld %ld", &size, &resident) != 2) return 1;
    printf("%zu %ld %d\\n", numbers[0][2], resident * (long)sysconf(_SC_PAGESIZE), count_heaps());
    fflush(stdout);
    getchar();
}
"""
PILLOW = """
void *ImagingNew(int mode, int width, int height) { return 0; }
"""
ONE_PHOTO = (1, 31 * MB)
MOST_PAGES = 0.9 * ONE_PHOTO[1] / resource.getpagesize()
SMALL_PHOTO = (1, 7 * MB)
SEVERAL_PHOTOS_KEPT_FROM = 6 << 30
"""Memory of a machine, in bytes, from which on a 64th of it holds several photos; a 64th is kept."""
NO_LIMIT_1 = 9223372036854771712
"""The value that means "no limit" in control groups of version 1."""
IN_GROUP = """
mount -t tmpfs none /sys/fs/cgroup
mkdir -p "/sys/fs/cgroup/$(dirname "$1")" && echo "$2" > "/sys/fs/cgroup/$1" && echo "$3" > /sys/fs/cgroup/groups
mount --bind /sys/fs/cgroup/groups "/proc/$$/cgroup"
shift 3
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
    """Build a program with memory.c linked in as it is linked into the core; return its path."""
    source, pillow, made = directory / "program.c", directory / "pillow.c", directory / "program"
    source.write_text(PROGRAM)
    pillow.write_text(PILLOW)
    argv = ("gcc", "-O1", "-fno-builtin", "-pthread", "-Wall", "-Werror", "-Wl,--wrap=ImagingNew", *flags)
    subprocess.run([*argv, source, pillow, recipes_directory() / "memory.c", "-o", made], check=True)
    return made


def run(*argv: object, **variables: str) -> tuple[int, int, int]:
    """Run the program; return page faults of the second round, resident bytes at the end, and number of heaps."""
    environment = {name: value for name, value in os.environ.items() if name not in OWN} | variables
    answer = subprocess.run(
        list(map(str, argv)), env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    faults, resident, heaps = map(int, answer.stdout.split())
    return faults, resident, heaps


def run_in_group(groups: str, file: str, limit: object, program: Path) -> int:
    """Run with `groups` as /proc/self/cgroup and `limit` in the group's `file`; return faults of the second round."""
    begin = begin_mounts()
    if not begin:
        pytest.skip("no mount can be made here: neither a superuser nor a user namespace")
    return run(*begin, "sh", "-c", IN_GROUP, "sh", file, limit, groups, program, *ONE_PHOTO)[0]


def run_without_group(*argv: object, **variables: str) -> tuple[int, int, int]:
    """Run the program as `run` does, but with this machine's control groups hidden if mounts are allowed."""
    begin = begin_mounts()
    hidden = (*begin, "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh") if begin else ()
    return run(*hidden, *argv, **variables)


@cache
def begin_mounts() -> tuple[str, ...]:
    """Return the command that gives another command its own mounts; empty if mounts are not allowed."""
    begin = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")))
    if not shutil.which("unshare") or subprocess.run((*begin, "true"), check=False, capture_output=True).returncode:
        return ()
    return begin


@pytest.fixture
def group() -> Iterator[Path]:
    """Yield a real control group with a limit of 300 MB, below the mounted root group."""
    version_1 = Path("/sys/fs/cgroup/memory")
    root, file = (version_1, "memory.limit_in_bytes") if version_1.is_dir() else (version_1.parent, "memory.max")
    made = root / f"fastinstall-test-{os.getpid()}"
    try:
        made.mkdir()
        (made / file).write_text(str(300 * MB))
    except OSError as error:
        if made.is_dir():
            made.rmdir()
        pytest.skip(f"no control group with a limit of memory can be made here: {error}")
    yield made
    for _ in range(50):  # removal fails while the group's last process is still ending
        with contextlib.suppress(OSError):
            made.rmdir()
            break
        time.sleep(0.1)


@pytest.mark.parametrize("threads", [(), (1,)])
@pytest.mark.parametrize("blocks", [1, 3, 4])  # a thread's heap has 64 MB: 4 blocks almost fill it
def test_the_memory_of_a_photo_serves_the_next(program: Path, threads: tuple[int, ...], blocks: int) -> None:
    if blocks > 1 and os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < SEVERAL_PHOTOS_KEPT_FROM:
        pytest.skip("a 64th of this machine's memory does not hold several photos")
    assert run_without_group(program, blocks, ONE_PHOTO[1], *threads)[0] < 10


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
    assert run_without_group(program, 1, 36_000_000, *where)[0] < 10


@pytest.mark.parametrize(("told", "most"), [("", 128), ("40", 40), ("4", 4), ("no", 128)])
def test_the_free_end_is_returned_beyond_what_the_variable_says(program: Path, told: str, most: int) -> None:
    _, resident, _ = run(program, 300, MB, FASTINSTALL_KEEP_MB=told)
    assert resident < (most + 4) * MB


def test_nothing_changes_where_the_variable_says_0(program: Path) -> None:
    assert run(program, *ONE_PHOTO, FASTINSTALL_KEEP_MB="0")[0] > MOST_PAGES


def test_the_largest_setting_stays_within_what_glibc_accepts(program: Path) -> None:
    assert run(program, 20, 31 * MB, FASTINSTALL_KEEP_MB="99999999")[0] < 10


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_the_user_has_set_stays(program: Path, setting: str) -> None:
    value = "131072" if setting == "MMAP_THRESHOLD" else "0"
    assert run(program, *ONE_PHOTO, **{f"MALLOC_{setting}_": value})[0] > MOST_PAGES
    tunable = f"glibc.malloc.{setting.lower()}={value}"
    assert run(program, *ONE_PHOTO, GLIBC_TUNABLES=f"glibc.malloc.arena_max=4:{tunable}")[0] > MOST_PAGES


def test_other_tunables_do_not_matter(program: Path) -> None:
    assert run_without_group(program, *ONE_PHOTO, GLIBC_TUNABLES="glibc.malloc.arena_max=4")[0] < 10


def limit_process(option: str, megabytes: int) -> tuple[str, ...]:
    return ("sh", "-c", f'ulimit -{option} {megabytes * 1024} && exec "$@"', "sh")


@pytest.mark.parametrize("option", ["d", "v"])
@pytest.mark.parametrize("megabytes", [200, 4000])
def test_a_limited_process_keeps_no_large_block(program: Path, option: str, megabytes: int) -> None:
    assert run(*limit_process(option, megabytes), program, *ONE_PHOTO)[0] > MOST_PAGES


@pytest.mark.parametrize("option", ["d", "v"])
def test_a_heap_does_not_grow_ahead_in_a_limited_process(program: Path, option: str) -> None:
    needed = run(*limit_process(option, 64), program, 1, 24 * MB)  # if the heap grew 64 MB ahead, malloc would fail
    chosen = run(*limit_process(option, 64), program, 1, 24 * MB, FASTINSTALL_KEEP_MB="128")
    assert needed[0] > 0 == chosen[0]


def test_a_limited_process_keeps_small_blocks_at_once(program: Path) -> None:
    limited = (*limit_process("v", 4000), program, *SMALL_PHOTO)
    assert run(*limited)[0] < 10
    assert run(*limited, FASTINSTALL_KEEP_MB="0")[0] > 0.9 * SMALL_PHOTO[1] / resource.getpagesize()


def test_a_limited_process_keeps_little(program: Path) -> None:
    assert run(*limit_process("v", 4000), program, 300, MB)[1] < (16 + 4) * MB


def test_the_user_decides_under_a_limit_too(program: Path) -> None:
    assert run(*limit_process("d", 4000), program, *ONE_PHOTO, FASTINSTALL_KEEP_MB="64")[0] < 10


@pytest.mark.parametrize("limit", ["d", "v"])
def test_a_limit_that_comes_later_is_noticed(program: Path, limit: str) -> None:
    faults, resident, _ = run_without_group(program, *ONE_PHOTO, 0, limit)
    assert faults > MOST_PAGES
    assert resident < (16 + 4) * MB


def test_a_move_to_a_limited_group_is_noticed(program: Path, group: Path) -> None:
    if run(program, *ONE_PHOTO)[0] > MOST_PAGES:
        pytest.skip("the tests themselves run under a limit of memory")
    faults, resident, _ = run(program, *ONE_PHOTO, 0, "group", group / "cgroup.procs")
    assert faults > MOST_PAGES
    assert resident < (16 + 4) * MB


def test_processes_that_work_in_turn_share_a_limit(program: Path, group: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in OWN}
    argv = ("sh", "-c", 'echo $$ > "$0" && exec "$@"', group / "cgroup.procs", program, 3, ONE_PHOTO[1])
    workers: list[subprocess.Popen[str]] = []
    with contextlib.ExitStack() as running:
        for _ in range(5):  # each worker uses 93 MB while at work
            worker = subprocess.Popen(
                list(map(str, argv)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
            )
            workers.append(running.enter_context(worker))
            assert worker.stdout is not None
            worker.stdout.readline()
        assert [worker.poll() for worker in workers] == [None] * 5


SERVICE = "0::/system.slice/images.service"
SESSION = "0::/user.slice/user-1000.slice/session-2.scope"
SLURM = "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0"
SLURM_1 = "12:cpuset:/slurm/uid_1000/job_7\n4:memory:/slurm/uid_1000/job_7/step_0/task_0\n0::/slurmd"
DOCKER_1 = "5:cpu,cpuacct:/docker/4f2a\n4:memory:/docker/4f2a"
KUBERNETES_1 = "9:memory:/kubepods/burstable/pod1b/8c0d\n1:name=systemd:/kubepods/burstable/pod1b/8c0d"
TOGETHER_1 = "7:hugetlb,memory:/batch"


@pytest.mark.parametrize(
    ("groups", "file"),
    [
        (SERVICE, "system.slice/images.service/memory.max"),
        (SERVICE, "system.slice/images.service/memory.high"),
        (SERVICE, "system.slice/memory.max"),
        (f"{SERVICE} (deleted)", "system.slice/memory.max"),
        (SESSION, "user.slice/user-1000.slice/memory.max"),
        (SLURM, "system.slice/slurmstepd.scope/job_7/memory.max"),
        (SLURM_1, "memory/slurm/uid_1000/job_7/memory.limit_in_bytes"),
        (SLURM_1, "memory/slurm/uid_1000/job_7/step_0/task_0/memory.limit_in_bytes"),
        (DOCKER_1, "memory/memory.limit_in_bytes"),
        (KUBERNETES_1, "memory/memory.limit_in_bytes"),
        (TOGETHER_1, "memory/batch/memory.limit_in_bytes"),
        ("0::/", "memory.max"),
        ("0::/../other", "memory.max"),
    ],
)
def test_a_limit_of_the_group_or_one_above_it_is_found(program: Path, groups: str, file: str) -> None:
    assert run_in_group(groups, file, 1024 * MB, program) > MOST_PAGES


@pytest.mark.parametrize(
    ("groups", "file", "limit"),
    [
        (SERVICE, "system.slice/images.service/memory.max", "max"),
        (SERVICE, "system.slice/other.service/memory.max", 1024 * MB),
        (SERVICE, "memory/system.slice/images.service/memory.limit_in_bytes", 1024 * MB),
        (SLURM_1, "memory/slurm/uid_1000/job_8/memory.limit_in_bytes", 1024 * MB),
        (SLURM_1, "memory/slurm/uid_1000/job_7/memory.limit_in_bytes", NO_LIMIT_1),
        ("0::/", "memory.max", 1 << 50),  # more than the machine has
        ("no line of a group", "memory.max", 1024 * MB),
    ],
)
def test_no_limit_is_found_where_none_counts(program: Path, groups: str, file: str, limit: object) -> None:
    assert run_in_group(groups, file, limit, program) < 10


def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    made = build(tmp_path, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    with fixed_addresses():
        run(made, *ONE_PHOTO, FASTINSTALL_KEEP_MB="64", ASAN_OPTIONS="detect_leaks=0")
