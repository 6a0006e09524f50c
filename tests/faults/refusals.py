"""Every call refused, as a table: `python -m faults.refusals [--half N] [--seconds N] [--jobs N] [SCENE...]`.

Each call is refused with each error, once and for good. With --half 1 or 2 in one of these ways only, by turns: both
halves together are the whole. With --seconds each kind of call with each error is tried in turn, in a random order that
is always the same, until that time is over for a scene. Needs tests/ on PYTHONPATH, and
FASTINSTALL_TEST_CACHE. Prints Markdown, a row for each error once a scene is through; exits with 1 where something was
lost, half done or told wrongly.
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
"""Where wheels are unpacked, by hundreds of calls that are all alike."""


def refusals_of(calls: Mapping[Kind, int], *, every: int) -> Iterator[Refusal]:
    """Each call with each error, once and for good; or every so many-th of those, spread over all of them."""
    every |= 1  # eight ways a call: an even step would leave ways out
    for kind, count in calls.items():
        each = product(range(count), ERRORS, (False, True))
        for place, (number, error, lasting) in enumerate(each):
            if place % every == kind % every:
                yield Refusal(kind=kind, number=number, error=error, lasting=lasting)


def halve(refusals: Iterable[Refusal], half: int) -> Iterator[Refusal]:
    """Each call with each error in one way, once or for good by turns: 1 or 2; the other half has the other ways."""
    for refusal in refusals:
        if refusal.lasting == bool((refusal.number + ERRORS.index(refusal.error) + half - 1) % 2):
            yield refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What became of the runs of a scene.

    Attributes:
        possible: runs, by error: each call, once and for good.
        reached: runs in which that call came, by error.
        outcomes: of runs, by error and outcome.
    """

    possible: Counter[int] = field(default_factory=Counter)
    reached: Counter[int] = field(default_factory=Counter)
    outcomes: Counter[tuple[int, Outcome]] = field(default_factory=Counter)


def count_outcomes(name: str, given: Materials, asked: argparse.Namespace) -> Found:
    """What became of a scene; what went wrong is written to stderr.

    Args:
        name: of the scene.
        given: what environments are made of.
        asked: on the command line.
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
    """In an order that has every kind of call with every error, once and for good, before it has one again."""
    mixed = list(refusals)
    random.Random(31).shuffle(mixed)  # noqa: S311 (of no secret)
    had: Counter[tuple[Kind, int, bool]] = Counter()
    turns = []
    for refusal in mixed:
        way = (refusal.kind, refusal.error, refusal.lasting)
        turns.append((had[way], refusal))
        had[way] += 1
    return [refusal for _, refusal in sorted(turns, key=itemgetter(0))]


def main(words: Sequence[str]) -> int:
    """Print the table."""
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
