"""Interruptions during whole commands: exit code 130 and no change, or the usual result if the work was done."""

import contextlib
import logging
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from faults.cases import WHOLE, Case, Cases
from faults.command import but_journals_times, command, essence
from faults.errors import calling
from faults.scenes import Scene, materials, picture
from support.journal.environments import swift_directory

from fastinstall.core.errors import ExitCode

_LOG = logging.getLogger(__name__)
_WAYS: Sequence[Sequence[signal.Signals]] = (
    (signal.SIGINT,),
    (signal.SIGTERM, signal.SIGTERM),
    (signal.SIGHUP,),
    (signal.SIGINT, signal.SIGINT),
    (signal.SIGTERM,),
)
_SOME = {"guard-pin": 4, "rollback": 3, "published": 13}
_ALL = ("guard-remove", "guard-accept", "fix", "new-env") if WHOLE else ()


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Cases]:
    """Yield the factory of cases."""
    with swift_directory(tmp_path_factory.mktemp("scenes")) as space:
        yield Cases(space, materials(shared_cache))


@pytest.mark.parametrize("name", [*_SOME, *_ALL])
def test_an_interrupted_command_tells_the_truth(name: str, cases: Cases) -> None:
    case = cases.case(name)
    stops = case.stops if WHOLE else case.stops[:: _SOME[name]]
    outcomes = Counter(
        _outcome(case, stop.number, way)
        for place, stop in enumerate(stops)
        for way in (_WAYS if WHOLE else (_WAYS[place % len(_WAYS)],))
    )
    _LOG.info("%s: %d kinds of boundaries, %d of them: %s", name, len(case.stops), len(stops), dict(outcomes))
    assert outcomes.total() >= len(stops)


def _outcome(case: Case, number: int, way: Sequence[signal.Signals]) -> str:
    ended = command(case.scene, partial(calling, number, way))
    where = f"{ended.reached}\n{ended.stderr}"
    assert "Traceback" not in ended.stderr, where
    assert _all_ended(case.scene), where
    if ended.code == ExitCode.OK:
        assert "interrupted after" in ended.stderr, where
        assert essence(case.scene) == case.after, where
        case.scene.renew()
        return "done already"
    assert ended.code == ExitCode.INTERRUPTED, where
    assert but_journals_times(picture(case.scene.prefix)) == but_journals_times(case.before), where
    case.scene.renew()
    return "as before"


def _all_ended(scene: Scene) -> bool:
    """Wait until all child programs have ended, which takes a moment after a kill; return False after 10 s."""
    deadline = time.monotonic() + 10
    while any(_children(scene)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _children(scene: Scene) -> Iterator[str]:
    """Yield the IDs of processes whose command line names the scene's directory."""
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if os.fsencode(scene.live) in words.read_bytes():
                yield words.parent.name
