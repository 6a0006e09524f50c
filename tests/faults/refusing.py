"""A disk that refuses the n-th call of a kind, to fastinstall and to every program that it starts.

`refuse.c` is preloaded into a process that has imported fastinstall; each run is a copy of that process. Calls of C
code and of started programs are seen as well, which the doors of `doors` do not.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Self

from needs import require_system

from faults.command import Ended
from faults.forked import start

ERRORS = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS)
"""Of a disk that is dying, full, forbidden, remounted read-only."""

_ORDERS = "REFUSE_ORDERS"
_PATH = 4096
_PLACES = 4
_SECONDS = 120.0
_TESTS = Path(__file__).parent.parent


class Kind(IntEnum):
    """What a call does; as in refuse.c."""

    OPEN = 0
    """For writing."""
    WRITE = 1
    RENAME = 2
    FSYNC = 3
    UNLINK = 4
    """Or rmdir."""
    MAKE = 5
    """A directory or a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What is refused.

    Attributes:
        kind: of call.
        number: of the call among its kind, from 0.
        error: `errno.ENOSPC` and the like.
        lasting: everything that such a disk cannot do fails from there on.
    """

    kind: Kind
    number: int
    error: int
    lasting: bool = False

    def __str__(self) -> str:
        """For people: "write ENOSPC from 17 on"."""
        when = f"from {self.number} on" if self.lasting else f"at {self.number}"
        return f"{self.kind.name.lower()} {errno.errorcode[self.error]} {when}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Where calls are counted and refused.

    Attributes:
        within: directories, four at most.
        without: a part of paths that do not count; empty for none.
    """

    within: Sequence[Path]
    without: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Ended):
    """A command that ended on such a disk; it reached the call that was refused, with its path.

    Attributes:
        calls: how many of each kind came.
    """

    calls: Mapping[Kind, int]

    @property
    def text(self) -> str:
        """For people: all of it."""
        return f"{self.reached}\nexit code {self.code}\n{self.stdout}{self.stderr}"


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
    """Runs fastinstall on a disk that refuses.

    Args:
        space: a directory for the library, the orders and what runs print.
    """

    def __init__(self, space: Path) -> None:
        self._space = space
        self._library = _compile(space)
        file = space / "orders"
        file.write_bytes(bytes(ctypes.sizeof(_Orders)))
        with file.open("r+b") as stream:
            self._orders = _Orders.from_buffer(mmap.mmap(stream.fileno(), 0))
        self._own = {"LD_PRELOAD": str(self._library), _ORDERS: str(file)}
        paths = os.pathsep.join(map(str, (_TESTS, _TESTS / "integration", _TESTS.parent)))
        self._server = subprocess.Popen(
            (sys.executable, "-m", "faults.refusing", str(space)),
            env={**os.environ, **self._own, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        """The disk itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """The process that is copied ends."""
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
            words: after `fastinstall`.
            variables: all environment variables.
            area: nothing is refused, or counted, elsewhere.
            refusal: of which call; None only counts.
        """
        self._order(area, refusal)
        asked = {"words": list(words), "variables": {**variables, **self._own}, "directory": str(self._space)}
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps(asked), file=self._server.stdin, flush=True)
        code = int(self._server.stdout.readline())
        self._orders.armed = 0
        stdout, stderr = ((self._space / name).read_text("utf-8", "replace") for name in ("stdout", "stderr"))
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
    """Run each command line that is asked for, in a copy of this process; its exit code goes to stdout."""
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.write(f"{_serve_one(asked, space)}\n")
        sys.stdout.flush()
        for name in _list_modules(space):
            with contextlib.suppress(Exception):  # not every module is made to be imported by its name
                importlib.import_module(name)


def _serve_one(asked: Mapping[str, object], space: Path) -> int:
    words, variables = asked["words"], asked["variables"]
    streams = [os.open(space / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) for name in ("stdout", "stderr")]

    def work() -> int:
        from fastinstall.cli.main import main

        os.environ.clear()
        os.environ.update(variables)  # type: ignore[call-overload]
        os.chdir(str(asked["directory"]))
        os.dup2(streams[0], 1)
        code = main(words)  # type: ignore[arg-type]
        if not (space / "modules").exists():
            (space / "modules").write_text("\n".join(sys.modules), encoding="utf-8")
        return code

    child = start(work, streams[1])
    code = _wait(child)
    for stream in streams:
        os.close(stream)
    return code


def _list_modules(space: Path) -> Iterator[str]:
    """What a run has imported, once; every later copy finds it there."""
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
