"""A disk that fails the n-th call of a kind, for fastinstall and for every program that it starts.

`refuse.c` is preloaded into a process that has imported fastinstall, and each run is a fork of that process. Unlike the
hooks of `doors`, this also covers calls by C code and by started programs.
"""

import contextlib
import ctypes
import errno
import importlib
import json
import mmap
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Any, Self

from support.machine.needs import require_system

from faults.command import Ended
from faults.forked import start
from faults.held import hold_before_change, serve_copies

ERRORS = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS)
"""Errors of a disk that is failing, full, forbidden, or remounted read-only."""

_ORDERS = "REFUSE_ORDERS"
_STREAMS = ("stdout", "stderr")
_PIPES = ("asking", "answers")
_PATH = 4096
_PLACES = 4
_SECONDS = 120.0
_TESTS = Path(__file__).parent.parent


class Kind(IntEnum):
    """Kinds of calls, numbered as in refuse.c."""

    OPEN = 0
    """Open for writing."""
    WRITE = 1
    RENAME = 2
    FSYNC = 3
    UNLINK = 4
    """Unlink or rmdir."""
    MAKE = 5
    """Create a directory or a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A call that fails.

    Attributes:
        kind: kind of the call.
        number: index of the call among those of its kind, from 0.
        error: the errno, such as `errno.ENOSPC`.
        lasting: whether later calls fail, too, if a disk with this error could not perform them.
    """

    kind: Kind
    number: int
    error: int
    lasting: bool = False

    def __str__(self) -> str:
        """Return a text such as "write ENOSPC from 17 on"."""
        when = f"from {self.number} on" if self.lasting else f"at {self.number}"
        return f"{self.kind.name.lower()} {errno.errorcode[self.error]} {when}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """The paths on which calls are counted and may fail.

    Attributes:
        within: directories that contain the paths, four at most.
        without: a part of a path; calls on paths that contain it do not count. Empty for none.
    """

    within: Sequence[Path]
    without: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Ended):
    """A command that ended on a disk with a failing call; `reached` is that call and its path, "" if not reached.

    Attributes:
        calls: number of calls of the whole command, by kind.
    """

    calls: Mapping[Kind, int]

    @property
    def text(self) -> str:
        """The failing call, the exit code and the output, as text."""
        return f"{self.reached}\nexit code {self.code}\n{self.stdout}{self.stderr}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A command that is stopped midway, and can continue from there many times.

    Attributes:
        passed: number of calls before the stop, by kind.
        go_on: continues a copy of the command to its end; the argument is a later call that fails, None for no failure.
    """

    passed: Mapping[Kind, int]
    go_on: Callable[[Refusal | None], Run]


class _Orders(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int) for name in ("armed", "kind", "number", "error", "lasting")),
        ("seen", ctypes.c_int * len(Kind)),
        ("struck", ctypes.c_int),
        ("call", ctypes.c_char * 64),
        ("path", ctypes.c_char * _PATH),
        ("within", ctypes.c_char * _PATH * _PLACES),
        ("without", ctypes.c_char * 64),
    )


class Disk:
    """Runs fastinstall on a disk that fails calls.

    Args:
        space: a directory for the preloaded library, the file that controls it, and the output of runs.
    """

    def __init__(self, space: Path) -> None:
        self._space = space
        self._library = _compile(space)
        file = space / "orders"
        file.write_bytes(bytes(ctypes.sizeof(_Orders)))
        with file.open("r+b") as stream:
            self._orders = _Orders.from_buffer(mmap.mmap(stream.fileno(), 0))
        self._own = {"LD_PRELOAD": str(self._library), _ORDERS: str(file)}
        paths = os.pathsep.join(map(str, (_TESTS, _TESTS.parent)))
        self._server = subprocess.Popen(
            (sys.executable, "-m", "faults.refusing", str(space)),
            env={**os.environ, **self._own, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        """Return the disk."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process that forks the runs."""
        self._server.communicate()

    def run(
        self,
        words: Sequence[str],
        variables: Mapping[str, str],
        area: "Area",
        refusal: Refusal | None = None,
    ) -> Run:
        """Run the command line to its end.

        Args:
            words: the words after `fastinstall`.
            variables: all environment variables.
            area: only calls on paths in this area are counted and may fail.
            refusal: the call that fails; None to let every call succeed and only count.
        """
        self._order(area, refusal)
        return self._end(self._ask(words, variables))

    @contextmanager
    def held(
        self, words: Sequence[str], variables: Mapping[str, str], area: "Area", after: str = ""
    ) -> "Iterator[Held]":
        """Run the command line up to its first change, and from that point to its end as often as requested.

        Args:
            words: see `run`.
            variables: see `run`.
            area: see `run`.
            after: stop only after a program with this word in its command line was started; empty for no such
                condition.

        Yields:
            The stopped command. The caller must restore all files to their state at the stop before each continuation.
        """
        for name in _PIPES:
            os.mkfifo(self._space / name)
        self._order(area, None)
        self._ask(words, variables, within=[os.path.realpath(directory) for directory in area.within], after=after)
        asking_place, answers_place = (self._space / name for name in _PIPES)
        with asking_place.open("wb", 0) as asking, answers_place.open("rb") as answers:
            for place in (asking_place, answers_place):
                place.unlink()
            assert answers.readline() == b"held\n", "it ended, and changed nothing"
            passed = list(self._orders.seen)
            assert after or not any(passed), "something was changed before it could be held"

            def go_on(refusal: Refusal | None) -> Run:
                self._order(area, refusal)
                self._orders.seen = type(self._orders.seen)(*passed)
                asking.write(b"\n")
                return self._end(int(answers.readline()))

            yield Held(passed={kind: passed[kind] for kind in Kind}, go_on=go_on)

    def _ask(self, words: Sequence[str], variables: Mapping[str, str], **held: object) -> int:
        """Send the command line to the process that runs it in a fork; return the fork's exit code."""
        asked = {"words": list(words), "variables": {**variables, **self._own}, "directory": str(self._space)}
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps({**asked, **held}), file=self._server.stdin, flush=True)
        return int(self._server.stdout.readline())

    def _end(self, code: int) -> Run:
        self._orders.armed = 0
        stdout, stderr = ((self._space / name).read_text("utf-8", "replace") for name in _STREAMS)
        reached = f"{os.fsdecode(self._orders.call)} {os.fsdecode(self._orders.path)}" if self._orders.struck else ""
        calls = {kind: int(self._orders.seen[kind]) for kind in Kind}
        return Run(code=code, stdout=stdout, stderr=stderr, reached=reached, calls=calls)

    def _order(self, area: "Area", refusal: Refusal | None) -> None:
        ctypes.memset(ctypes.byref(self._orders), 0, ctypes.sizeof(_Orders))
        self._orders.without = os.fsencode(area.without)
        for place, directory in enumerate(area.within):
            self._orders.within[place].value = os.fsencode(os.path.realpath(directory))
        if refusal is not None:
            self._orders.kind, self._orders.number = refusal.kind, refusal.number
            self._orders.error, self._orders.lasting = refusal.error, refusal.lasting
        self._orders.armed = 1


def _compile(space: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    require_system(compiler, "a C compiler")
    library = space / "refuse.so"
    source = Path(__file__).with_name("refuse.c")
    subprocess.run((str(compiler), "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"), check=True)
    return library


def serve(space: Path) -> None:
    """Run each requested command line in a fork of this process, and write its exit code to stdout."""
    for line in sys.stdin:
        asked = json.loads(line)
        streams = [
            os.open(space / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600) for name in _STREAMS
        ]
        child = start(partial(_work, asked, space, streams), streams[1])
        code = 0 if "within" in asked else _wait(child)
        for stream in streams:
            os.close(stream)
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()
        for name in _list_modules(space):
            with contextlib.suppress(Exception):  # some modules cannot be imported by name alone
                importlib.import_module(name)


def _work(asked: Mapping[str, Any], space: Path, streams: Sequence[int]) -> int:
    from fastinstall.cli.main import main

    os.environ.clear()
    os.environ.update(asked["variables"])
    os.chdir(asked["directory"])
    os.dup2(streams[0], 1)
    if "within" in asked:
        pipes = (os.open(space / _PIPES[0], os.O_RDONLY), os.open(space / _PIPES[1], os.O_WRONLY))
        hold_before_change(asked["within"], asked["after"], partial(_hold, streams, pipes))
    code = main(asked["words"])
    if not (space / "modules").exists():
        (space / "modules").write_text("\n".join(sys.modules), encoding="utf-8")
    return code


def _hold(streams: Sequence[int], pipes: tuple[int, int]) -> None:
    """Serve forks that continue this process; the output of each fork starts with the text printed so far."""
    for printing in (sys.stdout, sys.stderr):
        printing.flush()
    sizes = [os.fstat(stream).st_size for stream in streams]

    def copy() -> int | None:
        child = os.fork()
        if child != 0:
            return _wait(child)
        os.setsid()
        for stream, size in zip(streams, sizes, strict=True):
            os.ftruncate(stream, size)
            os.lseek(stream, size, os.SEEK_SET)
        return None

    serve_copies(copy, pipes)


def _list_modules(space: Path) -> Iterator[str]:
    """Yield the names of modules that a run has imported, to import them before later forks; then delete the list."""
    file = space / "modules"
    if file.exists():
        yield from file.read_text(encoding="utf-8").split()
        file.unlink()


def _wait(child: int) -> int:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, 9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
