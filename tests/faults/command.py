"""Runs fastinstall's command line in forks of this process, with a hook; modules are imported only once."""

import contextlib
import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from faults.doors import Boundary, Hook, Side, watched
from faults.scenes import Scene, picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The result of a run.

    Attributes:
        code: its exit code; negative if a signal ended it.
        stdout: its standard output.
        stderr: its standard error.
        reached: the boundary at which the hook first interfered; empty if the run did not get that far.
    """

    code: int
    stdout: str
    stderr: str
    reached: str


def command(scene: Scene, make_hook: Callable[[Callable[[Boundary], None]], Hook]) -> Ended:
    """Run the command of a scene.

    Args:
        scene: the scene. The run may change only its directory `live`, and only that is watched.
        make_hook: makes the hook. Its argument is a function that the hook calls when it first interferes.
    """
    streams = {name: scene.space / f"run.{name}" for name in ("stdout", "stderr", "reached")}
    for path in streams.values():
        path.write_bytes(b"")
    child = os.fork()
    if child == 0:
        _run(scene, make_hook, streams)
    _, status = os.waitpid(child, 0)
    text = {name: path.read_text(encoding="utf-8", errors="surrogateescape") for name, path in streams.items()}
    return Ended(code=os.waitstatus_to_exitcode(status), **text)


def stops_of(scene: Scene) -> tuple[Boundary, ...]:
    """Run the scene's command and return every boundary; import its modules here, which makes later forks faster.

    Raises:
        AssertionError: the command fails.
    """
    notes = scene.space / "boundaries"
    _modules(scene).unlink(missing_ok=True)
    ended = command(scene, lambda _struck: _noting(notes))
    assert ended.code == 0, ended.stderr
    for name in _modules(scene).read_text(encoding="utf-8").split():
        with contextlib.suppress(Exception):  # some modules cannot be imported by name alone
            importlib.import_module(name)
    return tuple(_boundary(line) for line in notes.read_text(encoding="utf-8").splitlines())


def distinct(stops: Iterable[Boundary], scene: Scene, *, whole: bool) -> tuple[Boundary, ...]:
    """Return the first boundary of each kind.

    Args:
        stops: all boundaries.
        scene: the scene of the run.
        whole: whether boundaries of one kind must have the same system call and the same chain of fastinstall
            functions. If False, the same call, last function and top-level directory of the path are enough.
    """
    found: dict[object, Boundary] = {}
    for stop in stops:
        place = os.path.relpath((*stop.paths, "")[0], scene.live).partition("/")[0]
        found.setdefault((stop.call, stop.site if whole else (*stop.site[-1:], place)), stop)
    return tuple(found.values())


def essence(scene: Scene) -> dict[str, tuple[object, ...]]:
    """Return an environment's files without our records, and without contents that include times or digests."""
    found = ((path, look) for path, look in picture(scene.prefix).items() if not path.startswith("share"))
    return {path: () if _is_of_the_moment(path) else look[:2] for path, look in found}


def but_journals_times(looks: Mapping[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    """Leave out the times of journals, because a line that is appended and removed again changes a journal's time."""
    return {path: look[:2] if path.endswith("journal.jsonl") else look for path, look in looks.items()}


def _is_of_the_moment(path: str) -> bool:
    return "_fastinstall_guard" in path or path.endswith((".pyc", "RECORD", "pip.conf"))


def _modules(scene: Scene) -> Path:
    return scene.space / "modules"


def _noting(notes: Path) -> Hook:
    stream = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def hook(boundary: Boundary, side: Side, _arguments: tuple[object, ...]) -> None:
        if side is Side.BEFORE:
            os.write(stream, json.dumps(asdict(boundary)).encode() + b"\n")

    return hook


def _boundary(line: str) -> Boundary:
    noted = json.loads(line)
    return Boundary(**{**noted, "paths": tuple(noted["paths"]), "site": tuple(noted["site"])})


def _run(scene: Scene, make_hook: Callable[[Callable[[Boundary], None]], Hook], streams: dict[str, Path]) -> None:
    code = 1
    try:
        _become(scene, streams)
        reached = streams["reached"].open("w", encoding="utf-8")
        from fastinstall.cli.main import main

        hook = make_hook(lambda boundary: print(boundary, file=reached, flush=True))
        with watched(hook, within=[scene.live]):
            code = main(scene.argv)
    except BaseException:  # noqa: BLE001 (this process ends here)
        traceback.print_exc()
        code = 1
    finally:
        if not _modules(scene).exists():
            _modules(scene).write_text("\n".join(sys.modules), encoding="utf-8")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _become(scene: Scene, streams: dict[str, Path]) -> None:
    """Give this process the variables, directory, streams and signals that the command would get from a shell."""
    os.environ.clear()
    os.environ.update(scene.variables)
    os.chdir(scene.space)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(streams[name], os.O_WRONLY | os.O_TRUNC), descriptor)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in ((0, "r"), (1, "w"), (2, "w")))
    signal.signal(signal.SIGINT, signal.default_int_handler)
