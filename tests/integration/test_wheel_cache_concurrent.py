"""Two processes build the same wheel in one cache: the second waits for the first, and uses its wheel."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.build.tiny_pillow import tiny_sdist

from fastinstall.core.events import Event
from fastinstall.core.lock import reserve_file
from fastinstall.wheelbuild import wheel_cache

_BUILD = (
    "import sys; sys.path[:0] = sys.argv[1:2]\n"
    "from pathlib import Path\nfrom support.build.tiny_pillow import tiny_request\n"
    "from fastinstall.wheelbuild.pipeline import build_wheel\n"
    "def emit(event): print(getattr(event, 'message', ''), flush=True)\n"
    "result = build_wheel(tiny_request(Path(sys.argv[2]), Path(sys.argv[3]), emit=emit))\n"
    "print(result.from_cache, result.wheel, flush=True)\n"
)
_HOLD = (
    "import signal, sys; from pathlib import Path; from fastinstall.wheelbuild import wheel_cache as cache\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "with cache.reserve_cache_key(Path(sys.argv[1]), 'key', lambda event: print(event.message, flush=True)):\n"
    "    print('held', flush=True)\n"
    "    input()\n"
)
Child = subprocess.Popen[str]


@contextmanager
def program(text: str, *words: str | Path) -> Iterator[Child]:
    """Run a Python program until the block ends."""
    argv = (sys.executable, "-c", text, *words)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def says(child: Child, words: str) -> None:
    """Read the child's output until a line contains these words."""
    assert child.stdout is not None
    heard = iter(child.stdout.readline, "")
    assert any(words in line for line in heard), f"it ended, and never said {words!r}"


def is_blocked(child: Child) -> None:
    """Wait until the child is blocked on a lock. Source: proc_locks(5)."""
    deadline = time.monotonic() + 20
    while f" {child.pid} " not in "".join(
        line for line in Path("/proc/locks").read_text().splitlines() if "->" in line
    ):
        assert time.monotonic() < deadline, "it does not wait"
        time.sleep(0.01)


def test_two_builds_of_one_wheel_compile_it_once(tmp_path: Path) -> None:
    here, sdist = Path(__file__).parents[1], tiny_sdist(tmp_path)
    with program(_BUILD, here, tmp_path, sdist) as first:
        says(first, "compiling")
        first.send_signal(signal.SIGSTOP)
        with program(_BUILD, here, tmp_path, sdist) as second:
            says(second, f"process {first.pid} builds the same wheel; waiting for it")
            first.send_signal(signal.SIGCONT)
            told = [child.communicate(timeout=60)[0].splitlines()[-1] for child in (first, second)]
    made, taken = (line.partition(" ") for line in told)
    assert (made[0], taken[0], made[2]) == ("False", "True", taken[2])


def test_a_killed_builder_is_waited_for_no_longer(tmp_path: Path) -> None:
    with program(_HOLD, tmp_path) as first:
        says(first, "held")
        with program(_HOLD, tmp_path) as second:
            says(second, f"process {first.pid} builds")
            is_blocked(second)
            os.kill(first.pid, signal.SIGKILL)
            says(second, "held")


def test_a_wait_can_be_interrupted(tmp_path: Path) -> None:
    with program(_HOLD, tmp_path) as first:
        says(first, "held")
        with program(_HOLD, tmp_path) as second:
            says(second, f"process {first.pid} builds")
            is_blocked(second)
            second.send_signal(signal.SIGINT)
            assert "held" not in second.communicate(timeout=10)[0]
            assert second.returncode != 0
            assert first.poll() is None


def test_nobody_waits_for_another_key(tmp_path: Path) -> None:
    events: list[Event] = []
    with (
        wheel_cache.reserve_cache_key(tmp_path, "one", events.append),
        wheel_cache.reserve_cache_key(tmp_path, "other", events.append),
    ):
        assert events == []


def test_where_files_cannot_be_locked_the_work_is_done_twice(tmp_path: Path, refusing: Callable[[], None]) -> None:
    refusing()
    events: list[Event] = []
    with (
        wheel_cache.reserve_cache_key(tmp_path, "key", events.append),
        wheel_cache.reserve_cache_key(tmp_path, "key", events.append),
    ):
        assert events == []


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="lock"), reserve_file(tmp_path / "lock", lambda _process: None):
        pass
    assert not (tmp_path / "elsewhere").exists()


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that makes locking fail (ENOLCK, flock(2)), as on a filesystem without locks."""

    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(37, os.strerror(37))

    return lambda: monkeypatch.setattr("fcntl.flock", refuse)
