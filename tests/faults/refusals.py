"""Prints a table of runs with a failing call: `python -m faults.refusals [--half N] [--seconds N] [SCENE...]`.

Each call fails with each error in two ways: only once, or permanently. With --half 1 or 2, each combination of call and
error is tried in one of these ways only; both halves together cover everything. With --seconds, runs are tried in a
fixed random order, in which each kind of call soon meets each error, until the time per scene is over. With --jobs,
that many scenes are tried at once. Needs tests/ on PYTHONPATH, and FASTINSTALL_TEST_CACHE.

Prints Markdown, with a row per scene and error. Exits with 1 if anything was lost, incomplete or wrongly reported.
"""

import argparse
import errno
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product, takewhile
from operator import itemgetter
from pathlib import Path

from faults.refusing import ERRORS, Disk, Kind, Refusal
from faults.scenes import Materials, materials
from faults.told import GOOD, Outcome, Trial, trial_of

VERBS = (
    *("published", "ours", "apply", "fix", "rollback", "forget", "recover-setup", "recover-rollback"),
    *("guard-install", "guard-remove", "guard-pin", "guard-accept", "build", "build-conda"),
)
STAGE = "/stage/"
"""The staging directory, where hundreds of similar calls unpack wheels."""


def refusals_of(calls: Mapping[Kind, int], *, every: int) -> Iterator[Refusal]:
    """Yield every n-th combination of a call, an error and a way to fail (once or permanently), evenly spread."""
    # odd: each call has eight combinations of error and way, and an even step would skip some of them for all calls
    every |= 1
    for kind, count in calls.items():
        each = product(range(count), ERRORS, (False, True))
        for place, (number, error, lasting) in enumerate(each):
            if place % every == kind % every:
                yield Refusal(kind=kind, number=number, error=error, lasting=lasting)


def halve(refusals: Iterable[Refusal], half: int) -> Iterator[Refusal]:
    """Yield each call with each error in one way only, once or permanently; the other half has the other way."""
    for refusal in refusals:
        if refusal.lasting == bool((refusal.number + ERRORS.index(refusal.error) + half - 1) % 2):
            yield refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The results of a scene's runs.

    Attributes:
        possible: number of possible runs, by error: two for each call, because a call fails once or permanently.
        reached: number of runs that reached the call to fail, by error.
        outcomes: number of runs, by error and outcome.
    """

    possible: Counter[int] = field(default_factory=Counter)
    reached: Counter[int] = field(default_factory=Counter)
    outcomes: Counter[tuple[int, Outcome]] = field(default_factory=Counter)


def count_outcomes(name: str, given: Materials, asked: argparse.Namespace) -> Found:
    """Try a scene's command with failing calls, count the outcomes, and write bad outcomes to stderr.

    Args:
        name: name of the scene.
        given: the wheels and interpreters that environments are made from.
        asked: the parsed arguments of this program.
    """
    with tempfile.TemporaryDirectory(prefix="fastinstall-refusals-", dir="/dev/shm") as space:
        for place in ("disk", "scene"):
            Path(space, place).mkdir()
        with (
            Disk(Path(space, "disk")) as disk,
            trial_of(name, Path(space, "scene"), disk, given, without=asked.without) as trial,
        ):
            return _count(trial, asked)


def _count(trial: Trial, asked: argparse.Namespace) -> Found:
    found = Found(possible=Counter(refusal.error for refusal in refusals_of(trial.calls, every=1)))
    refusals = [*refusals_of(trial.calls, every=1)]
    if asked.half:
        refusals = [*halve(refusals, asked.half)]
    end = time.monotonic() + asked.seconds
    ordered = refusals if asked.seconds == float("inf") else _mix(refusals)
    for refusal in takewhile(lambda _: time.monotonic() < end, ordered):
        run, judgement = trial.try_once(refusal)
        found.outcomes[refusal.error, judgement.outcome] += 1
        found.reached[refusal.error] += bool(run.reached)
        if judgement.outcome not in GOOD:
            sys.stderr.write(f"{trial.scene.name}: {refusal}: {judgement.outcome}: {judgement.why}\n\n")
            sys.stderr.flush()
    return found


def _mix(refusals: Iterable[Refusal]) -> Sequence[Refusal]:
    """Shuffle, but let every combination of kind of call, error and way to fail come once before one comes again."""
    mixed = list(refusals)
    random.Random(31).shuffle(mixed)  # noqa: S311 (no secret)
    had: Counter[tuple[Kind, int, bool]] = Counter()
    turns = []
    for refusal in mixed:
        way = (refusal.kind, refusal.error, refusal.lasting)
        turns.append((had[way], refusal))
        had[way] += 1
    return [refusal for _, refusal in sorted(turns, key=itemgetter(0))]


def main(words: Sequence[str]) -> int:
    """Print the table, and return 1 if any outcome is bad."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", type=int, choices=(1, 2), help="each call with each error in one way only")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without", default="", help="a part of paths whose calls pass")
    parser.add_argument("scenes", nargs="*", default=VERBS)
    asked = parser.parse_args(words)
    given = materials(Path(os.environ["FASTINSTALL_TEST_CACHE"]))
    heads = ("verb", "error", "possible", "runs", "refused", *(outcome.value for outcome in Outcome))
    _write(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    work = partial(count_outcomes, given=given, asked=asked)
    wrong = 0
    with ThreadPoolExecutor(asked.jobs) as pool:
        for name, found in zip(asked.scenes, pool.map(work, asked.scenes), strict=True):
            _write_rows(name, found)
            wrong += sum(count for (_, outcome), count in found.outcomes.items() if outcome not in GOOD)
    return 1 if wrong else 0


def _write_rows(name: str, found: Found) -> None:
    for error in ERRORS:
        counts = [found.outcomes[error, outcome] for outcome in Outcome]
        cells = (name, errno.errorcode[error], found.possible[error], sum(counts), found.reached[error], *counts)
        _write(f"| {' | '.join(map(str, cells))} |")


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
