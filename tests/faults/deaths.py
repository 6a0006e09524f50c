"""Kills a command by SIGKILL, at a boundary or after a time, and records how the next command recovers."""

import json
import os
import pickle
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fastinstall.journal.store import JournalStore
from faults.doors import FORCES, Boundary
from faults.film import Film, film
from faults.forked import Ended, command, forked, start
from faults.hooks import Notes, dies_at
from faults.scenes import Scene
from faults.trees import Pool
from faults.verdicts import Verdict, python_sees, works

TURNS = ("rollback", "setup", "doctor")
"""The next commands, used in turn."""

_PATIENCE = 120.0
_POLL = 0.0002


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """A process that was killed, and the state that it left.

    Attributes:
        moment: when it was killed, in words.
        phase: how far its transaction had come: "nothing begun", "staging", "swapping", "verifying", "committing",
            "held", "undoing".
        worked: whether PIL worked before any recovery.
        children: number of child processes that outlived the killed process.
        next: the command that ran after the kill, one of `TURNS`.
        ended: the result of the next command.
        verdict: the verdict on the environment after the next command.
        unlike: paths that differ from both the state before and the state after the killed command.
        debris: files left in the directory for temporary files.
    """

    moment: str
    phase: str
    worked: bool
    children: int
    next: str
    ended: Ended
    verdict: Verdict
    unlike: tuple[str, ...]
    debris: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A scene whose command is killed again and again.

    Attributes:
        scene: the environment and its command.
        film: the disk states before and after a run that was not killed.
        pool: stores the contents of the files in `film`.
        seconds: duration of a run.
    """

    scene: Scene
    film: Film
    pool: Pool
    seconds: float


def stage_of(scene: Scene) -> Stage:
    """Run the command of a scene once, and record the states before and after it."""
    pool = scene.space / "pool"
    work = command(scene.argv, scene.variables, scene.space)
    started = time.monotonic()
    taken = film(work, scene.live, pool, looked_at=lambda boundary: boundary.number == 0)
    assert taken.ended.code == 0, taken.ended.text
    return Stage(scene=scene, film=taken, pool=Pool(pool), seconds=time.monotonic() - started)


def die_at(stage: Stage, number: int, turn: str) -> Death:
    """Kill the command at a boundary inside the environment, and run the next command."""
    _renew(stage)
    scene = stage.scene
    hook = dies_at(number)
    ended = forked(command(scene.argv, scene.variables, scene.space, hook=hook, within=[scene.prefix]))
    assert ended.code in (0, -signal.SIGKILL), ended.text
    return _next(stage, f"boundary {number}", turn)


def die_after(stage: Stage, seconds: float, turn: str, *, aimed: bool = False) -> Death:
    """Kill the command some time after its start, or after its transaction announced its moves; run the next command.

    Args:
        stage: the scene to run.
        seconds: the time to wait before the kill.
        turn: the next command, one of `TURNS`.
        aimed: whether the time counts from the announcement of moves (or of a rollback).
    """
    _renew(stage)
    scene = stage.scene
    with tempfile.TemporaryFile() as said:
        process = start(command(scene.argv, scene.variables, scene.space), said.fileno())
        if aimed:
            _await_moves(scene, process)
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    moment = f"{seconds * 1000:.2f} ms after {'its moves were announced' if aimed else 'its start'}"
    return _next(stage, moment, turn)


def list_turns(scene: Scene) -> tuple[str, ...]:
    """Return the `TURNS` that must lead to the state before or after the scene's command, wherever it was killed.

    In `guard-accept`, setup and doctor rightly install our build again, so they lead to neither state.
    """
    return ("rollback",) if scene.name == "guard-accept" else TURNS


def moments(random_numbers: random.Random, count: int, lasting: float, window: float) -> Iterator[tuple[float, bool]]:
    """Yield arguments of `die_after`: a time in seconds, and whether it counts from the announcement of moves.

    Args:
        random_numbers: a seeded source.
        count: number of times.
        lasting: duration of a run, in seconds.
        window: seconds after the announcement of moves in which to kill.
    """
    for number in range(count):
        aimed = number % 2 == 1
        yield random_numbers.uniform(0, window if aimed else lasting), aimed


def acts(stage: Stage) -> list[Boundary]:
    """Run the command; return its boundaries inside the environment from the first move on, numbered as for `die_at`.

    Calls that only force data to disk are left out: they make no difference to other processes.
    """
    _renew(stage)
    scene, notes, kept = stage.scene, Notes(), stage.scene.space / "notes"

    def work() -> int:
        code = command(scene.argv, scene.variables, scene.space, hook=notes, within=[scene.prefix])()
        kept.write_bytes(pickle.dumps(notes.passed))
        return code

    ended = forked(work)
    assert ended.code == 0, ended.text
    passed: list[Boundary] = pickle.loads(kept.read_bytes())  # noqa: S301 (written by this program)
    first = next(boundary.number for boundary in passed if "journal.moves.do" in boundary.site or _is_undoing(boundary))
    return [boundary for boundary in passed if boundary.number >= first and boundary.call not in FORCES]


def _is_undoing(boundary: Boundary) -> bool:
    return "journal.undo.undo" in boundary.site


def _renew(stage: Stage) -> None:
    stage.pool.lay(stage.film.before, stage.scene.live)


def _next(stage: Stage, moment: str, turn: str) -> Death:
    scene = stage.scene
    phase, left = phase_of(scene.prefix), _outliving(scene)
    _await(lambda: not _outliving(scene))
    worked = works(scene.prefix)
    ended = forked(command(_words(scene, turn), scene.variables, scene.space))
    unlike = _unlike(stage)
    verdict = next((verdict for verdict, paths in unlike.items() if not paths), Verdict.LOST)
    return Death(
        moment=moment,
        phase=phase,
        worked=worked,
        children=len(left),
        next=turn,
        ended=ended,
        verdict=verdict,
        unlike=min(map(tuple, unlike.values()), key=len),
        debris=tuple(sorted(path.name for path in (scene.live / "tmp").iterdir())),
    )


def phase_of(prefix: Path) -> str:
    """Return how far the newest transaction of an environment had come, according to its journal."""
    journals = sorted((*prefix.glob("share/fastinstall/tx/*/journal.jsonl"), *prefix.glob("**/.fastinstall-*.jsonl")))
    if not journals:
        return "nothing begun"
    newest = max(journals, key=lambda path: path.name if path.name != "journal.jsonl" else path.parent.name)
    lines = newest.read_text(encoding="utf-8").split("\n")[:-1]
    events = [json.loads(line)["event"] for line in lines]
    if "undoing" in events:
        return "undoing"
    return next((phase for event, phase in _PHASES.items() if event in events), "staging")


_PHASES = {"committed": "held", "committing": "committing", "moved": "verifying", "moving": "swapping"}


def _words(scene: Scene, turn: str) -> tuple[str, ...]:
    """Return the words of the next command. A rollback that would undo an earlier setup is replaced by a listing."""
    here = ("--yes", "--prefix", str(scene.prefix))
    rollback = ("rollback", *here)
    if scene.is_over_ours and JournalStore(scene.prefix).unfinished() is None:
        rollback = ("rollback", "--list", *here[1:])
    return {"rollback": rollback, "setup": scene.setup, "doctor": ("doctor", "--fix", *here)}[turn]


def _unlike(stage: Stage) -> dict[Verdict, list[str]]:
    """Compare what Python sees with the states before and after the command; return differing paths by verdict."""
    found = _without_times(python_sees(stage.pool.read(stage.scene.live)))
    ends = {Verdict.BEFORE: stage.film.before, Verdict.AFTER: stage.film.after}
    meant = {verdict: _without_times(python_sees(tree)) for verdict, tree in ends.items()}
    return {
        verdict: [path for path in sorted({*found, *tree}) if found.get(path) != tree.get(path)]
        for verdict, tree in meant.items()
    }


def _without_times(tree: dict[str, tuple[int, int, str]]) -> dict[str, tuple[int, str]]:
    """Return the tree without times, bytecode and the guard's state; the latter two contain times."""
    dated = (".pyc", "_fastinstall_guard/state")
    return {path: (mode, content) for path, (mode, _, content) in tree.items() if not path.endswith(dated)}


def _await_moves(scene: Scene, process: int) -> None:
    known = set(scene.prefix.glob("share/fastinstall/tx/*/journal.jsonl"))
    last = {path: path.stat().st_size for path in known}

    def begun() -> bool:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        journals = scene.prefix.glob("share/fastinstall/tx/*/journal.jsonl")
        return any(_has_moves(path, last.get(path, 0)) for path in journals)

    _await(begun)


def _has_moves(journal: Path, start: int) -> bool:
    try:
        text = journal.read_bytes()[start:]
    except OSError:
        return False
    return b'"event":"moving"' in text or b'"event":"undoing"' in text


def _outliving(scene: Scene) -> list[int]:
    """List other processes whose command line contains the scene's path."""
    return [number for number in _processes() if str(scene.live) in _about(number)]


def _processes() -> Iterator[int]:
    numbers = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    return (number for number in numbers if number != os.getpid())


def _about(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _await(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(_POLL)
