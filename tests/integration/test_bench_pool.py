"""Pools of worker processes or threads: measured rates, dead and silent workers, and no orphans at the end."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.environments import interpreters

from fastinstall.bench.loading import Job, LoadingProcess, NotLoadedError, start_loading
from fastinstall.bench.rates import measure_rates
from fastinstall.bench.report import LoadingEngine, LoadingRate

LOADER = """
import os, signal, threading, time

def load(path):
    name = os.path.basename(path)
    with open(os.path.join(os.path.dirname(path), "seen-by"), "a") as log:
        log.write("%d %d %s\\n" % (os.getpid(), os.getppid(), name))
    if name == "deadly":
        os.kill(os.getpid(), signal.SIGSEGV)
    if name == "endless":
        time.sleep(600)
    if name == "corrupt":
        raise ValueError("no picture")
    if name == "together":
        meet(os.path.dirname(path))
    return b"pixels" * 1000

def meet(place):
    open(os.path.join(place, "thread-%d" % threading.get_ident()), "w").close()
    until = time.monotonic() + 10
    while sum(name.startswith("thread-") for name in os.listdir(place)) < 2:
        if time.monotonic() > until:
            raise ValueError("no other thread came")
        time.sleep(0.001)
"""
SOON = 30.0
LIBRARIES = os.environ.get("FASTINSTALL_TEST_LIBRARIES")
GOOD, DEADLY, ENDLESS, CORRUPT = range(4)

of_old_and_new = pytest.mark.parametrize("version", ["3.8", "3.13"])


@contextmanager
def _loading(place: Path, *names: str, version: str = "") -> Iterator[LoadingProcess]:
    (place / "loader.py").write_text(LOADER)
    for name in names:
        (place / name).write_bytes(bytes(range(256)) * 50)
    images = tuple(place / name for name in names)
    python = (interpreters.of_version(version) or interpreters.running()).executable if version else sys.executable
    job = Job(python=Path(python), images=images, loader=f"{place / 'loader.py'}:load", tensor=False)
    with start_loading(job) as process:
        yield process


def _rates(
    process: LoadingProcess, counts: Sequence[int], *images: int, patience: float = 20.0, in_threads: bool = False
) -> tuple[list[LoadingRate], list[str]]:
    remarks: list[str] = []
    request: dict[str, Any] = {"threads": in_threads, "seconds": 0.02, "batch": 32, "images": images}
    return list(measure_rates(process, counts, remarks.append, patience=patience, **request)), remarks


def _seen(place: Path) -> list[tuple[int, int, str]]:
    rows = [line.split() for line in (place / "seen-by").read_text().splitlines()]
    return [(int(pid), int(parent), name) for pid, parent, name in rows]


@of_old_and_new
def test_workers_load_and_the_process_itself(tmp_path: Path, version: str) -> None:
    counts = (0, 1, 2)
    with _loading(tmp_path, "a", "b", "c", version=version) as process:
        rates, remarks = _rates(process, counts)
    assert remarks == []
    assert [each.workers for each in rates] == list(counts)
    assert all(each.engine is LoadingEngine.OWN for each in rates)
    assert all(each.images_per_second > 0 and each.first_batch_seconds > 0 for each in rates)
    assert all(each.peak_bytes > 4_000_000 * (each.workers + 1) for each in rates)
    assert len({pid for pid, _, _ in _seen(tmp_path)}) == sum(max(1, count) for count in counts)


@of_old_and_new
def test_threads_load_together_in_one_process(tmp_path: Path, version: str) -> None:
    with _loading(tmp_path, "together", version=version) as process:
        ((rate,), remarks) = _rates(process, (2,), in_threads=True)
    assert (remarks, rate.workers, rate.engine) == ([], 2, LoadingEngine.THREADS)
    assert rate.images_per_second > 0
    assert len({pid for pid, _, _ in _seen(tmp_path)}) == 1


@pytest.fixture(scope="module")
def trouble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, LoadingProcess]]:
    """Yield a directory, and a loading process with four images: good, killing the worker, endless, and corrupt."""
    place = tmp_path_factory.mktemp("trouble")
    with _loading(place, "good", "deadly", "endless", "corrupt") as process:
        yield place, process


def test_a_dead_worker_is_named_by_its_signal(trouble: tuple[Path, LoadingProcess]) -> None:
    rates, (remark,) = _rates(trouble[1], (2,), GOOD, DEADLY)
    assert rates == []
    assert remark == "2 workers: not measured: a worker was killed by SIGSEGV"
    assert len(_rates(trouble[1], (2,), GOOD)[0]) == 1, "the next request is measured"


@pytest.mark.parametrize("in_threads", [False, True])
def test_silent_workers_are_given_up(trouble: tuple[Path, LoadingProcess], *, in_threads: bool) -> None:
    rates, (remark,) = _rates(trouble[1], (2,), ENDLESS, patience=0.3, in_threads=in_threads)
    assert rates == []
    assert remark.startswith(f"2 {'threads' if in_threads else 'workers'}: not measured: no answer within 0.38 s")
    assert len(_rates(trouble[1], (2,), GOOD, in_threads=in_threads)[0]) == 1
    assert _all_gone({pid for pid, _, name in _seen(trouble[0]) if name == "endless"})


@pytest.mark.parametrize("threads", [False, True])
def test_a_failing_image_is_not_counted(trouble: tuple[Path, LoadingProcess], *, threads: bool) -> None:
    request: dict[str, Any] = {"workers": 1, "threads": threads, "seconds": 0.0, "batch": 4, "limit": 20.0}
    assert trouble[1].ask("_pool.rate", 20.0, images=[GOOD, CORRUPT], **request)["images_per_second"] > 0
    with pytest.raises(NotLoadedError, match=r"^ValueError: no picture$"):
        trouble[1].ask("_pool.rate", 20.0, images=[CORRUPT], **request)


def test_workers_die_with_their_parent(tmp_path: Path) -> None:
    request: dict[str, Any] = {"workers": 2, "threads": False, "seconds": 60.0, "batch": 1, "limit": 60.0, "images": []}
    answers: list[str] = []

    def ask() -> None:
        with pytest.raises(NotLoadedError) as caught:
            process.ask("_pool.rate", 20.0, **request)
        answers.append(str(caught.value))

    with _loading(tmp_path, "good") as process:
        asking = threading.Thread(target=ask)
        asking.start()
        os.kill(_first_parent(tmp_path), signal.SIGKILL)
        asking.join(SOON)
        assert answers == ["the loading process was killed by SIGKILL"]
        assert _all_gone({pid for pid, _, _ in _seen(tmp_path)})


@pytest.mark.skipif(not LIBRARIES, reason="FASTINSTALL_TEST_LIBRARIES names no Python that has torch")
def test_torch_has_its_own_data_loader(tmp_path: Path) -> None:
    image = tmp_path / "a.ppm"
    image.write_bytes(b"P6 300 300 255\n" + bytes(270_000))
    with start_loading(Job(python=Path(str(LIBRARIES)), images=(image,))) as process:
        (rate,), _ = _rates(process, (1,))
    assert rate.engine is LoadingEngine.TORCH
    assert rate.images_per_second > 0


def _first_parent(place: Path) -> int:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if (place / "seen-by").is_file() and len({pid for pid, _, _ in _seen(place)}) == 2:
            return _seen(place)[0][1]
        time.sleep(0.01)
    raise AssertionError("no worker loaded an image")


def _all_gone(pids: set[int]) -> bool:
    until = time.monotonic() + SOON
    while any(map(_lives, pids)):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _lives(pid: int) -> bool:
    """Return True if a process runs; zombies do not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
