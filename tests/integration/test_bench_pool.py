"""Worker processes that load, with a loader that needs no package: rates, deaths, silence, and who is left over."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.environments import interpreters

from fastinstall.bench import _pool_own
from fastinstall.bench.loading import Job, LoadingProcess, NotLoadedError, PoolWorkload, measure_rates, start_loading
from fastinstall.bench.report import LoadingEngine

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
SOON = 4.0
LIBRARIES = os.environ.get("FASTINSTALL_TEST_LIBRARIES")


@contextmanager
def _loading(place: Path, *names: str, python: Path = Path(sys.executable)) -> Iterator[LoadingProcess]:
    (place / "loader.py").write_text(LOADER)
    for name in names:
        (place / name).write_bytes(bytes(range(256)) * 50)
    images = tuple(place / name for name in names)
    job = Job(python=python, images=images, loader=f"{place / 'loader.py'}:load", variables={}, tensor=False)
    with start_loading(job, with_workers=True) as found:
        yield found


def _load(images: tuple[int, ...] = (), patience: float = 20.0) -> PoolWorkload:
    return PoolWorkload(seconds=0.02, images=images, patience=patience)


def _seen(place: Path) -> list[tuple[int, int, str]]:
    rows = [line.split() for line in (place / "seen-by").read_text().splitlines()]
    return [(int(pid), int(parent), name) for pid, parent, name in rows]


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_workers_load_and_the_process_itself(tmp_path: Path, version: str) -> None:
    python = interpreters.of_version(version) or interpreters.running()
    counts, remarks = (0, 1, 2), list[str]()
    with _loading(tmp_path, "a", "b", "c", python=python.executable) as found:
        measured = measure_rates(found, counts, _load(), remarks.append)
    assert remarks == []
    assert [each.workers for each in measured] == list(counts)
    assert all(each.engine is LoadingEngine.OWN for each in measured)
    assert all(each.images_per_second > 0 and each.first_batch_seconds > 0 for each in measured)
    assert all(each.peak_bytes > 4_000_000 * (each.workers + 1) for each in measured)
    assert len({pid for pid, _, _ in _seen(tmp_path)}) == sum(max(1, count) for count in counts)


@pytest.fixture(scope="module")
def trouble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, LoadingProcess]]:
    """A process whose images make all kinds of it, by their indexes."""
    place = tmp_path_factory.mktemp("trouble")
    with _loading(place, "good", "deadly", "endless", "corrupt") as found:
        yield place, found


def test_a_worker_that_dies_is_named_by_its_signal_and_the_next_request_is_measured(
    trouble: tuple[Path, LoadingProcess],
) -> None:
    remarks: list[str] = []
    assert measure_rates(trouble[1], (2,), _load(images=(0, 1)), remarks.append) == ()
    assert len(measure_rates(trouble[1], (2,), _load(images=(0,)))) == 1
    (remark,) = remarks
    assert remark.startswith("2 workers: ")
    assert remark.endswith(" SIGSEGV")


def test_workers_that_never_answer_are_given_up(trouble: tuple[Path, LoadingProcess]) -> None:
    remarks: list[str] = []
    assert measure_rates(trouble[1], (2,), _load(images=(2,), patience=0.3), remarks.append) == ()
    assert len(measure_rates(trouble[1], (2,), _load(images=(0,)))) == 1
    (remark,) = remarks
    assert remark.startswith("2 workers: ")
    assert remark.endswith(" within 0.38 s")
    assert _all_gone({pid for pid, _, name in _seen(trouble[0]) if name == "endless"})


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_threads_load_at_the_same_time_in_one_process(tmp_path: Path, version: str) -> None:
    python = interpreters.of_version(version) or interpreters.running()
    remarks: list[str] = []
    with _loading(tmp_path, "together", python=python.executable) as found:
        (measured,) = measure_rates(found, (2,), _load(), remarks.append, in_threads=True)
    assert remarks == []
    assert (measured.workers, measured.engine) == (2, LoadingEngine.THREADS)
    assert measured.images_per_second > 0
    assert len({pid for pid, _, _ in _seen(tmp_path)}) == 1


def test_threads_that_never_answer_are_given_up(trouble: tuple[Path, LoadingProcess]) -> None:
    remarks: list[str] = []
    endless = _load(images=(2,), patience=0.3)
    assert measure_rates(trouble[1], (2,), endless, remarks.append, in_threads=True) == ()
    (remark,) = remarks
    assert remark.startswith("2 threads: ")
    assert remark.endswith(" within 0.38 s")
    assert len(measure_rates(trouble[1], (2,), _load(images=(0,)), in_threads=True)) == 1


@pytest.mark.parametrize("in_threads", [False, True])
def test_an_image_that_fails_is_counted_nowhere(trouble: tuple[Path, LoadingProcess], *, in_threads: bool) -> None:
    wanted: dict[str, Any] = {"do": "pool", "workers": 1, "threads": in_threads, "seconds": 0.0}
    request = {**wanted, "batch": 4, "limit": 20.0}
    answer = trouble[1].ask({**request, "images": [0, 3]}, 20.0)
    assert answer["failed"] == {"3": "ValueError: no picture"}
    assert answer["images"] == 2
    with pytest.raises(NotLoadedError, match=r"^ValueError: no picture$"):
        trouble[1].ask({**request, "images": [3]}, 20.0)


def test_workers_die_with_their_parent(tmp_path: Path) -> None:
    request = {"do": "pool", "workers": 2, "threads": False, "seconds": 60.0, "batch": 1, "limit": 60.0}
    with _loading(tmp_path, "good") as found:
        asked = threading.Thread(target=lambda: answers.append(_refused(found, request)))
        answers: list[str] = []
        asked.start()
        os.kill(_first_parent(tmp_path), signal.SIGKILL)
        asked.join(SOON)
        assert [answer.split()[-1] for answer in answers] == ["SIGKILL"]
        assert _all_gone({pid for pid, _, _ in _seen(tmp_path)})


@pytest.mark.skipif(not LIBRARIES, reason="FASTINSTALL_TEST_LIBRARIES names no Python that has torch")
def test_the_dataloader_of_torch_is_used_where_tensors_are_made(tmp_path: Path) -> None:
    image = tmp_path / "a.ppm"
    image.write_bytes(b"P6 300 300 255\n" + bytes(270_000))
    job = Job(python=Path(str(LIBRARIES)), images=(image,), variables={})
    with start_loading(job, with_workers=True) as found:
        (measured,) = measure_rates(found, (1,), PoolWorkload(seconds=0.1, ms=10.0))
    assert measured.engine is LoadingEngine.TORCH
    assert measured.images_per_second > 0


def test_a_batch_lies_together_in_memory_which_grows_with_the_largest() -> None:
    class Shelf:
        def load(self, index: int) -> object:
            return [b"first", {"image": bytearray(b"second"), "label": 7}, None][index]

    collator = _pool_own.Collator(Shelf())
    count, failed = collator.make([0, 1, 5])
    assert (count, list(failed)) == (2, [5])
    assert collator.memory[:].startswith(b"firstsecond")
    assert collator.make([0] * 4000) == (4000, {})
    assert collator.memory[:] == b"first" * 4000


def _refused(found: LoadingProcess, request: dict[str, Any]) -> str:
    with pytest.raises(NotLoadedError) as caught:
        found.ask(request, 20.0)
    return str(caught.value)


def _first_parent(place: Path) -> int:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if (place / "seen-by").is_file() and len({pid for pid, _, _ in _seen(place)}) == 2:
            return _seen(place)[0][1]
        time.sleep(0.01)
    raise AssertionError("no worker loaded an image")


def _all_gone(pids: set[int]) -> bool:
    until = time.monotonic() + SOON
    while time.monotonic() < until:
        if not any(map(_lives, pids)):
            return True
        time.sleep(0.01)
    return False


def _lives(pid: int) -> bool:
    """Not so one that has ended, and waits until somebody looks at how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
