"""Signals that ask the process to end: handled once, ignored if the parent ignores them, nothing is left half done."""

import contextlib
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.journal.signals import all_ended, outcomes

from fastinstall.core import signals
from fastinstall.core.concurrency import RunningProbe, await_future, run_together
from fastinstall.core.lock import lock_environment, reserve_file
from fastinstall.core.signals import defer_signals, handle_interruptions

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_each_of_them_interrupts(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), handle_interruptions():
        signal.raise_signal(number)


def test_what_follows_at_once_is_the_same_wish() -> None:
    with handle_interruptions():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        for number in ENDING:
            signal.raise_signal(number)


def test_what_follows_later_is_heard_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "_ONE_REQUEST_SECONDS", 0.0)
    with handle_interruptions():
        for number in ENDING:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)


def test_what_the_parent_ignores_stays_ignored() -> None:
    """nohup(1) starts programs with SIGHUP ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with handle_interruptions():
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_behind_the_block_all_is_as_before() -> None:
    before = [signal.getsignal(number) for number in ENDING]
    with handle_interruptions():
        assert [signal.getsignal(number) for number in ENDING] != before
    assert [signal.getsignal(number) for number in ENDING] == before


def _moment() -> None:
    time.sleep(0.001)


def _in_a_pool() -> None:
    with ThreadPoolExecutor(1) as pool:
        await_future(pool.submit(_moment))


def _in_a_temporary_directory() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name, "file").touch()


def _deferred() -> None:
    with defer_signals(), defer_signals():
        _moment()


SCENES = {
    "a probe": lambda: RunningProbe(_moment).result(),
    "works": lambda: run_together([lambda _: _moment()] * 2),
    "a pool": _in_a_pool,
    "a temporary directory": _in_a_temporary_directory,
    "deferred": _deferred,
}


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_an_interruption_at_any_moment_is_an_interruption(
    scene: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exception is always KeyboardInterrupt, not for example "release unlocked lock".

    No thread goes on, no signal handler is changed, and no temporary file is left.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    threads = threading.active_count()
    handlers = [signal.getsignal(number) for number in ENDING]
    moments = 0
    for moment, error in outcomes(scene):
        assert type(error) is KeyboardInterrupt, (moment, error)
        assert all_ended(threads), moment
        assert [signal.getsignal(number) for number in ENDING] == handlers, moment
        assert not list(tmp_path.iterdir()), moment
        moments += 1
    assert moments > 10


@pytest.mark.parametrize(
    "hold", [lock_environment, lambda path: reserve_file(path / "file", lambda _: None)], ids=["of", "in"]
)
def test_an_interruption_at_any_moment_gives_a_lock_back(
    hold: Callable[[Path], contextlib.AbstractContextManager[None]], tmp_path: Path
) -> None:
    """After an interruption, the same process must be able to lock again, to undo its changes."""

    def scene() -> None:
        with hold(tmp_path):
            _moment()

    for moment, error in outcomes(scene):
        assert type(error) is KeyboardInterrupt, (moment, error)
        with hold(tmp_path):
            assert moment


def test_a_long_wait_is_interrupted_at_once() -> None:
    over = threading.Event()
    running: list[RunningProbe[bool]] = []

    def wait_for_a_probe() -> None:
        running.append(RunningProbe(lambda: over.wait(20)))
        running[0].result()

    def wait_for_a_future() -> None:
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(over.wait, 20)
            try:
                await_future(future)
            finally:
                over.set()

    for wait in (wait_for_a_probe, wait_for_a_future):
        threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident or 0, signal.SIGTERM)).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt), handle_interruptions():
            wait()
        assert time.monotonic() - start < 1
        over.set()
        running[0].result()
        over.clear()
