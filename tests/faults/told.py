"""Compares what a command reports, after calls on its disk have failed, with the real state of the disk.

Exit codes are a contract: 0 means that all is done; 4, 5, 6 and 130 that nothing is changed; 7 that the environment is
neither as before nor complete, and that the hint names a command that only recovers. The tests run that command twice:
the second run must find nothing to do.
"""

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from fastinstall.core.errors import ExitCode, FastinstallError
from fastinstall.journal.rollback import recover
from fastinstall.journal.snapshot import read_environment_history
from fastinstall.journal.store import JournalStore
from faults.command import but_journals_times
from faults.refusing import Area, Disk, Held, Kind, Refusal, Run
from faults.scenes import Materials, Scene, make_scene
from faults.trees import Pool, Tree

Picture = Mapping[str, tuple[object, ...]]
BUILDS = ("build", "build-conda")
_STOPS = {
    **dict.fromkeys(("published", "ours", "apply", "fix"), ("", "--stage")),
    **dict.fromkeys(("guard-install", "guard-remove", "guard-pin", "guard-accept"), ("",)),
    **dict.fromkeys(("rollback", "recover-setup", "build"), ("",)),
}
"""Stops of commands: before the first change (""), and after the program that checks the staged files was started.

Commands without stops cannot be continued repeatedly (see `_hold`), and are always run as a whole.
"""
_AS_BEFORE = (ExitCode.UNDETERMINED, ExitCode.REFUSED, ExitCode.FAILED_UNCHANGED, ExitCode.INTERRUPTED)
_COMMAND = re.compile(r"fastinstall ((?:rollback|doctor|guard|setup)\b[^\n;]*)")
_OF_THE_MOMENT = (".pyc", "RECORD", "pip.conf", "_fastinstall_guard", "SHA256SUMS", "index.")


class Outcome(StrEnum):
    """The result of a command, as judged from its report and the disk."""

    DONE = "done"
    AS_BEFORE = "as before"
    RECOVERED = "recovered by the hint's command"
    LOST = "LOST"
    """The environment is neither as before the command nor as after it, and cannot be recovered."""
    HALF = "HALF"
    """The environment is in between and can be recovered, but the exit code says that nothing is left to do."""
    WRONG = "TOLD WRONGLY"
    """The environment is intact, but exit code or message is wrong."""


GOOD = frozenset({Outcome.DONE, Outcome.AS_BEFORE, Outcome.RECOVERED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """An outcome, and the reason.

    Attributes:
        outcome: outcome of the run.
        why: the reason for a bad outcome, in words; empty if the outcome is good.
    """

    outcome: Outcome
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A point at which a command is stopped, to be continued from there many times.

    Attributes:
        held: the stopped command.
        there: all files of the scene at the stop.
    """

    held: Held
    there: Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A command that is tried on a disk that fails calls.

    Attributes:
        scene: the scene before the command.
        pool: stores the contents of the scene's files, and digests of other files.
        start: all files of the scene before the command.
        stops: the points at which the command is stopped, if any.
        disk: the disk that fails calls.
        variables: environment variables of the command.
        area: the directories in which calls are counted and may fail.
        before: the environment before the command.
        after: the environment after the command, without contents that differ between runs.
        calls: number of calls of a run without failures, by kind.
    """

    scene: Scene
    pool: Pool
    start: Tree
    stops: Sequence[Stop]
    disk: Disk
    variables: Mapping[str, str]
    area: Area
    before: Picture
    after: Picture
    calls: Mapping[Kind, int]

    def try_once(self, refusal: Refusal) -> tuple[Run, Judgement]:
        """Run the command with one failing call, from the last stop before that call, and judge the result."""
        fitting = [stop for stop in self.stops if stop.held.passed[refusal.kind] <= refusal.number]
        if fitting:
            self.pool.lay(fitting[-1].there, self.scene.live)
            run = fitting[-1].held.go_on(refusal)
        else:
            self.pool.lay(self.start, self.scene.live)
            run = self.disk.run(self.scene.argv, self.variables, self.area, refusal)
        return run, _judge(run, self)


@contextmanager
def trial_of(name: str, space: Path, disk: Disk, given: Materials, *, without: str = "") -> Iterator[Trial]:
    """Create a scene, and run its command without failing calls; yield the trial for runs with failing calls.

    Args:
        name: name of the scene.
        space: an empty directory.
        disk: the disk to run the command on.
        given: the wheels and interpreters that environments are made from.
        without: a part of a path; calls on paths that contain it do not count.

    Raises:
        AssertionError: the command fails without failing calls, or a run has changed the stored files of the scene.
    """
    scene = make_scene(name, space, given)
    own = {"FASTINSTALL_CACHE_DIR": str(given.cache)} if name in BUILDS else {}
    variables = {**scene.variables, **own}
    area = Area(within=(scene.prefix, scene.live / "out"), without=without)
    disk.run(scene.argv, variables, area)  # this run is only for its imports: later forks have the modules already
    pool = Pool(space / "pool")
    start = _lay_links(scene, pool)
    before = _look(scene, pool)
    whole = disk.run(scene.argv, variables, area)
    assert whole.code == 0, whole.text
    trial = Trial(
        scene=scene,
        pool=pool,
        start=start,
        stops=(),
        disk=disk,
        variables=variables,
        area=area,
        before=before,
        after=_essence(scene, pool),
        calls=whole.calls,
    )
    with ExitStack() as holding:
        yield replace(trial, stops=[_hold(trial, after, holding) for after in _STOPS.get(name, ())])
    assert not pool.written_through(), "the scene itself was changed"


def _hold(trial: Trial, after: str, holding: ExitStack) -> Stop:
    """Stop the command; continue it twice from the stop, and assert that both runs end as a run without a stop."""
    trial.pool.lay(trial.start, trial.scene.live)
    held = holding.enter_context(trial.disk.held(trial.scene.argv, trial.variables, trial.area, after))
    stop = Stop(held=held, there=trial.pool.read(trial.scene.live))
    for _ in range(2):
        trial.pool.lay(stop.there, trial.scene.live)
        run = held.go_on(None)
        assert (run.code, run.calls) == (0, trial.calls), f"{run.calls} for {trial.calls}\n{run.text}"
        assert _essence(trial.scene, trial.pool) == trial.after
    return stop


def _lay_links(scene: Scene, pool: Pool) -> Tree:
    """Create the scene's files as hard links into the pool, because a stopped command remembers their inodes."""
    scene.renew()
    start = pool.read(scene.live)
    shutil.rmtree(scene.live)
    pool.lay(start, scene.live)
    return start


def _judge(run: Run, trial: Trial) -> Judgement:
    if "Traceback" in run.stderr or run.code < 0 or run.code == ExitCode.BUG:
        return _worse(run, trial, "an error that nobody explained")
    if run.code == ExitCode.FAILED_CHANGED:
        return _judge_changed(run, trial)
    hinted = run.code == ExitCode.OK or "hint:" in run.stderr
    if run.code == ExitCode.OK:
        is_so = _is_finished(trial) and _essence(trial.scene, trial.pool) == trial.after
        return Judgement(outcome=Outcome.DONE) if is_so else _worse(run, trial, "it is not done")
    if run.code not in _AS_BEFORE:
        return _worse(run, trial, f"exit code {run.code} says nothing of the environment")
    if but_journals_times(_look(trial.scene, trial.pool)) != but_journals_times(trial.before):
        return _worse(run, trial, "it is not as it was before")
    return Judgement(outcome=Outcome.AS_BEFORE) if hinted else _worse(run, trial, "there is no hint")


def _judge_changed(run: Run, trial: Trial) -> Judgement:
    """Judge a run that reports a change: run the hint's command twice, and check the environment after each run."""
    if but_journals_times(_look(trial.scene, trial.pool)) == but_journals_times(trial.before) and _is_finished(trial):
        return _worse(run, trial, "it is as it was before")
    commands = _list_commands(run) if trial.scene.name not in BUILDS else (trial.scene.argv,)
    if not commands:
        return _worse(run, trial, "the hint names no command of ours")
    for words in (*commands, *commands):
        again = trial.disk.run(words, trial.variables, trial.area)
        if again.code != 0:
            return _worse(again, trial, f"the hint's command fails: {again.text}")
        if not _is_well(trial):
            return _worse(run, trial, f"the hint's command leads elsewhere: {again.text}")
    return Judgement(outcome=Outcome.RECOVERED)


def _list_commands(run: Run) -> Sequence[Sequence[str]]:
    """Return the command that the hint names, with --yes; empty if the hint names none."""
    hint = run.stderr.partition("hint:")[2]
    found = _COMMAND.search(hint)
    if found is None:
        return ()
    words = tuple(shlex.split(found[1]))
    return ((*words, "--yes") if "--yes" not in words else words,)


def _worse(run: Run, trial: Trial, why: str) -> Judgement:
    """Return WRONG if the environment is intact, HALF if a recovery makes it intact, otherwise LOST."""
    told = f"{why}\n{run.text}"
    if _is_well(trial):
        return Judgement(outcome=Outcome.WRONG, why=told)
    try:
        recover(JournalStore(trial.scene.prefix), force=True)
    except FastinstallError as error:
        return Judgement(outcome=Outcome.LOST, why=f"{error.message}\n{told}")
    unlike = "\n".join(_list_differences(trial))
    outcome = Outcome.HALF if _is_well(trial) else Outcome.LOST
    return Judgement(outcome=outcome, why=f"{told}\n{unlike}")


def _is_well(trial: Trial) -> bool:
    now = _look(trial.scene, trial.pool)
    return _is_finished(trial) and (
        _timeless(now) == _timeless(trial.before) or _essence(trial.scene, trial.pool) == trial.after
    )


def _is_finished(trial: Trial) -> bool:
    return not read_environment_history(trial.scene.prefix, sized=False).interruptions


def _list_differences(trial: Trial) -> Iterator[str]:
    now, essence = _timeless(_look(trial.scene, trial.pool)), _essence(trial.scene, trial.pool)
    for name, found, meant in (("before", now, _timeless(trial.before)), ("after", essence, trial.after)):
        paths = sorted(path for path in {*found, *meant} if found.get(path) != meant.get(path))
        yield f"unlike {name}: {len(paths)}: {paths[:6]}"


def _look(scene: Scene, pool: Pool) -> Picture:
    """Read the environment and `build`'s output: modes, contents, and times except those of the two directories."""
    return {
        f"{beside}{path}": (mode, content, 0 if path == "." else mtime_ns)
        for beside, directory in (("", scene.prefix), ("out/", scene.live / "out"))
        for path, (mode, mtime_ns, content) in pool.read(directory, keep=False).items()
    }


def _timeless(looks: Picture) -> Picture:
    return {path: look[:2] for path, look in looks.items()}


def _essence(scene: Scene, pool: Pool) -> Picture:
    """Return what `_look` returns, without our records and what differs between runs, but with the number of setups."""
    # "out/." begins the paths of unfinished files; on a failing disk, we may be unable to remove these files
    ours = ("share", "out/.")
    looks = {path: look for path, look in _look(scene, pool).items() if not path.startswith(ours)}
    kept = len(read_environment_history(scene.prefix, sized=False).setups)
    return {**{path: () if _is_of_the_moment(path) else look[:2] for path, look in looks.items()}, "setups": (kept,)}


def _is_of_the_moment(path: str) -> bool:
    return any(part in path for part in _OF_THE_MOMENT)
