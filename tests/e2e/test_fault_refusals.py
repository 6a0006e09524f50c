"""Each call that changes a disk is made to fail: exit code and message are correct, and the hint's command helps."""

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.refusals import STAGE, VERBS, refusals_of
from faults.refusing import Disk
from faults.scenes import materials
from faults.told import GOOD, Trial, trial_of
from support.journal.environments import swift_directory
from support.suite import extent

_LOG = logging.getLogger(__name__)
_WAYS = 8
"""Ways to try per call: four errors, each once and permanently."""
_SOME = {
    "published": 2,
    "rollback": 8,
    "forget": 4,
    "recover-rollback": 8,
    "guard-install": 6,
    "guard-remove": 12,
    "guard-pin": 8,
    "build": 2,
    "build-conda": 2,
}
"""Number of refusals tried by default, per scene; few for scenes that install a wheel, as each try is a whole setup."""


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the directory for environments."""
    with swift_directory(tmp_path_factory.mktemp("refusals")) as directory:
        yield directory


@pytest.fixture(scope="module")
def disk(space: Path) -> Iterator[Disk]:
    """Yield the disk on which calls fail on request."""
    (space / "disk").mkdir()
    with Disk(space / "disk") as made:
        yield made


@pytest.mark.parametrize("name", VERBS if extent.every_row else _SOME)
def test_what_a_verb_says_of_a_call_that_was_refused_is_true(
    name: str, space: Path, disk: Disk, shared_cache: Path
) -> None:
    (space / name).mkdir()
    without = "" if extent.every_row else STAGE
    with trial_of(name, space / name, disk, materials(shared_cache), without=without) as trial:
        wrong = [*_list_wrong(name, trial)]
    assert not wrong, "\n\n".join(wrong)


def _list_wrong(name: str, trial: Trial) -> Iterator[str]:
    every = 1 if extent.every_row else max(1, sum(trial.calls.values()) * _WAYS // _SOME[name])
    found: Counter[str] = Counter()
    for refusal in refusals_of(trial.calls, every=every):
        run, judgement = trial.try_once(refusal)
        found[judgement.outcome] += 1
        if judgement.outcome not in GOOD:
            yield f"{refusal}: {judgement.outcome}: {judgement.why}"
        assert run.reached or judgement.outcome in GOOD, "nothing was refused, and yet it failed"
    _LOG.info("%s: %s", name, dict(found))
