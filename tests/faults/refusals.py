"""Every call refused, as a table: `python -m faults.refusals [--every N] [--jobs N] [SCENE...]`.

Needs tests/ and tests/integration/ on PYTHONPATH, and FASTINSTALL_TEST_CACHE. Prints Markdown; 1 where something was
lost, half done or told wrongly.
"""

import argparse
import errno
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

from faults.refusing import ERRORS, Disk, Kind, Refusal
from faults.scenes import Materials, materials
from faults.told import GOOD, Outcome, trial_of

VERBS = (
    *("published", "ours", "apply", "fix", "rollback", "forget", "recover-setup", "recover-rollback"),
    *("guard-install", "guard-remove", "guard-pin", "guard-accept", "build"),
)
STAGE = "/stage/"
"""Where wheels are unpacked, by hundreds of calls that are all alike."""


def refusals_of(calls: Mapping[Kind, int], *, every: int) -> Iterator[Refusal]:
    """Each call with each error, once and for good; or every so many-th of those, spread over all of them."""
    for kind, count in calls.items():
        each = product(range(count), ERRORS, (False, True))
        for place, (number, error, lasting) in enumerate(each):
            if place % every == kind % every:
                yield Refusal(kind=kind, number=number, error=error, lasting=lasting)


def count_outcomes(
    name: str, given: Materials, every: int, without: str
) -> tuple[Counter[tuple[int, Outcome]], list[str]]:
    """What became of a scene, by error and outcome; and what went wrong, in words."""
    found: Counter[tuple[int, Outcome]] = Counter()
    faults: list[str] = []
    with tempfile.TemporaryDirectory(prefix="fastinstall-refusals-", dir="/dev/shm") as space:
        for place in ("disk", "scene"):
            Path(space, place).mkdir()
        with Disk(Path(space, "disk")) as disk:
            trial = trial_of(name, Path(space, "scene"), disk, given, without=without)
            for refusal in refusals_of(trial.calls, every=every):
                _run, judgement = trial.try_once(refusal)
                found[refusal.error, judgement.outcome] += 1
                if judgement.outcome not in GOOD:
                    faults.append(f"{name}: {refusal}: {judgement.outcome}: {judgement.why}")
    return found, faults


def main(words: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without", default="", help="a part of paths whose calls pass")
    parser.add_argument("scenes", nargs="*", default=VERBS)
    asked = parser.parse_args(words)
    given = materials(Path(os.environ["FASTINSTALL_TEST_CACHE"]))
    heads = ("verb", "error", "runs", *(outcome.value for outcome in Outcome))
    _write(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    work = partial(count_outcomes, given=given, every=asked.every, without=asked.without)
    wrong = 0
    with ThreadPoolExecutor(asked.jobs) as pool:
        for name, (found, faults) in zip(asked.scenes, pool.map(work, asked.scenes), strict=True):
            _write_rows(name, found)
            sys.stderr.write("".join(f"{fault}\n\n" for fault in faults))
            sys.stderr.flush()
            wrong += len(faults)
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
