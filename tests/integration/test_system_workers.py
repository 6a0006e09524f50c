"""Work that is shared among forks gives what one process would give, and tells when one of them fails."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fastinstall.core.concurrency import run_in_processes

# Where tests run in parallel, the runner's own threads are there when the process forks, which Python 3.12 warns of.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("items", [0, 1, 2, 7])
def test_results_come_in_the_order_of_the_items(count: int, items: int) -> None:
    added = 1000
    assert run_in_processes(lambda item: item + added, range(items), count=count) == [
        1000 + item for item in range(items)
    ]


def test_the_work_is_done_in_as_many_processes() -> None:
    def work(_item: int) -> int:
        time.sleep(0.2)
        return os.getpid()

    workers = run_in_processes(work, range(6), count=3)
    assert len(set(workers)) == 3
    assert os.getpid() not in workers


def test_a_result_larger_than_a_pipe_holds_arrives() -> None:
    assert [len(text) for text in run_in_processes(lambda size: "x" * size, (300_000, 200_000), count=2)] == [
        300000,
        200000,
    ]


def test_a_failure_in_a_process_is_told_with_its_cause() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_in_processes(lambda item: 1 // item, (1, 0), count=2)
    assert "lambda item: 1 // item" in str(caught.value.__cause__), "where it happened, in the other process"


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(RuntimeError, match="terminated abruptly"):
        run_in_processes(lambda _item: os.kill(os.getpid(), signal.SIGKILL), (1, 2), count=2)


def test_no_process_and_no_pipe_is_left_over() -> None:
    pipes, children = _open_pipes(), _children()
    run_in_processes(str, range(4), count=2)
    assert _children() <= children, "the runner's own may have ended meanwhile"
    assert _open_pipes() == pipes


def test_no_process_outlives_the_one_that_waits(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys, time\n"
        "from fastinstall.core.concurrency import run_in_processes\n"
        "def work(number):\n"
        "    pathlib.Path(sys.argv[1], str(os.getpid())).touch()\n"
        "    time.sleep(60)\n"
        "run_in_processes(work, range(4), count=2)\n"
    )
    with subprocess.Popen((sys.executable, "-c", code, tmp_path)) as process:
        _wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
        process.kill()
    _wait_until(lambda: not any(_is_alive(int(file.name)) for file in tmp_path.iterdir()))


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def _open_pipes() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _children() -> set[int]:
    """The processes that this thread has started and not waited for, ended ones too: other tests may have left some."""
    return set(map(int, Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text().split()))
