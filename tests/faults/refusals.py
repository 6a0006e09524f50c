"""Every call refused, as a table: `python -m faults.refusals [--seconds N] [--jobs N] [--without PART] [SCENE...]`.

With --seconds the calls come in a random order, always the same and each kind with each error in turn, until that time
is over for a scene. Needs tests/ and tests/integration/ on PYTHONPATH, and FASTINSTALL_TEST_CACHE. Prints Markdown; 1
where something was lost, half done or told wrongly.
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
from functools import partial
from itertools import product, takewhile
from operator import itemgetter
from pathlib import Path

from faults.refusing import ERRORS, Disk, Kind, Refusal
from faults.scenes import Materials, materials
from faults.told import GOOD, Outcome, trial_of

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


def count_outcomes(name: str, given: Materials, seconds: float, without: str) -> Counter[tuple[int, Outcome]]:
    """What became of a scene, by error and outcome; what went wrong is written to stderr.

    Args:
        name: of the scene.
        given: what environments are made of.
        seconds: after which no other call is tried.
        without: a part of paths whose calls pass.
    """
    found: Counter[tuple[int, Outcome]] = Counter()
    with tempfile.TemporaryDirectory(prefix="fastinstall-refusals-", dir="/dev/shm") as space:
        for place in ("disk", "scene"):
            Path(space, place).mkdir()
        with Disk(Path(space, "disk")) as disk:
            trial = trial_of(name, Path(space, "scene"), disk, given, without=without)
            refusals = _mix(refusals_of(trial.calls, every=1))
            end = time.monotonic() + seconds
            for refusal in takewhile(lambda _: time.monotonic() < end, refusals):
                _run, judgement = trial.try_once(refusal)
                found[refusal.error, judgement.outcome] += 1
                if judgement.outcome not in GOOD:
                    sys.stderr.write(f"{name}: {refusal}: {judgement.outcome}: {judgement.why}\n\n")
                    sys.stderr.flush()
            sys.stderr.write(f"{name}: {found.total()} of {len(refusals)} tried\n")
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
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without", default="", help="a part of paths whose calls pass")
    parser.add_argument("scenes", nargs="*", default=VERBS)
    asked = parser.parse_args(words)
    given = materials(Path(os.environ["FASTINSTALL_TEST_CACHE"]))
    heads = ("verb", "error", "runs", *(outcome.value for outcome in Outcome))
    _write(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    work = partial(count_outcomes, given=given, seconds=asked.seconds, without=asked.without)
    wrong = 0
    with ThreadPoolExecutor(asked.jobs) as pool:
        for name, found in zip(asked.scenes, pool.map(work, asked.scenes), strict=True):
            _write_rows(name, found)
            wrong += sum(count for (_, outcome), count in found.items() if outcome not in GOOD)
    return 1 if wrong else 0


def _write_rows(name: str, found: Counter[tuple[int, Outcome]]) -> None:
    for error in ERRORS:
        counts = [found[error, outcome] for outcome in Outcome]
        _write(f"| {' | '.join(map(str, (name, errno.errorcode[error], sum(counts), *counts)))} |")


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
