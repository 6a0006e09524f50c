"""Disk errors during whole commands: exit code and message are correct, and no error is reported as a bug."""

import logging
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from faults.cases import WHOLE, Case, Cases
from faults.command import Ended, but_journals_times, command, essence
from faults.errors import Fault, breaking, spread_over
from faults.scenes import Scene, materials, picture
from support.journal.environments import swift_directory

from fastinstall.core.errors import ExitCode
from fastinstall.observe.environments import NamedTarget, find_environment
from fastinstall.observe.session import open_session
from fastinstall.setup.recovery import recover_environment

_LOG = logging.getLogger(__name__)
_EXPLAINED = frozenset({ExitCode.UNDETERMINED, ExitCode.REFUSED, ExitCode.FAILED_UNCHANGED})
_SOME = {"guard-pin": 2, "rollback": 1, "guard-remove": 3, "published": 5}
"""By default only every n-th kind of boundary is tried; n by scene."""

_ALL = ("guard-accept", "guard-install", "ours", "bare", "fix") if WHOLE else ()


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Cases]:
    """Yield the factory of cases."""
    with swift_directory(tmp_path_factory.mktemp("scenes")) as space:
        yield Cases(space, materials(shared_cache))


@pytest.mark.parametrize("name", [*_SOME, *_ALL])
def test_what_a_command_says_of_a_disk_that_refuses_is_true(name: str, cases: Cases) -> None:
    case = cases.case(name)
    stops = case.stops if WHOLE else case.stops[:: _SOME[name]]
    faults = tuple(spread_over([stop.number for stop in stops], whole=WHOLE))
    outcomes = Counter(_outcome(case, fault) for fault in faults)
    _LOG.info("%s: %d kinds of boundaries, %d of them: %s", name, len(case.stops), len(stops), dict(outcomes))
    assert outcomes.total() >= len(stops)


def _outcome(case: Case, fault: Fault) -> str:
    ended = command(case.scene, partial(breaking, fault))
    outcome = _true_outcome(ended, case)
    case.scene.renew()
    return outcome


def _true_outcome(ended: Ended, case: Case) -> str:
    where = f"{ended.reached}\n{ended.stderr}"
    assert "Traceback" not in ended.stderr, where
    if ended.code == ExitCode.OK:
        assert essence(case.scene) == case.after, where
        return "done"
    assert "hint:" in ended.stderr, where
    if ended.code in _EXPLAINED:
        assert but_journals_times(picture(case.scene.prefix)) == but_journals_times(case.before), where
        return f"exit code {ended.code}, as before"
    assert ended.code == ExitCode.FAILED_CHANGED, where
    _recover(case.scene)
    if _timeless(picture(case.scene.prefix)) == _timeless(case.before):
        return "exit code 7, and with the next command before"
    assert essence(case.scene) == case.after, where
    return "exit code 7, and with the next command after"


def _recover(scene: Scene) -> None:
    """Recover the environment, as every command does before its own work."""
    session = open_session(scene.variables)
    recover_environment(session, find_environment(session, NamedTarget(prefix=scene.prefix)))


def _timeless(looks: object) -> object:
    assert isinstance(looks, dict)
    return {path: look[:2] for path, look in looks.items()}
