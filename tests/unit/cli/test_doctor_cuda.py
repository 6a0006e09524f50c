"""What `doctor --fix` leaves alone: a GPU's driver is not part of the image stack."""

import pytest
from support.values.builders import environment, healthy_facts

from fastinstall.cli.commands.doctor import _is_repairable
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status


def report(check: str, status: Status, command: str | None = None) -> EnvironmentReport:
    remedy = Remedy(text="do something", command=command)
    finding = Finding(check=check, status=status, message="something is wrong", remedy=remedy)
    return EnvironmentReport(environment=environment(), status=status, findings=(finding,))


@pytest.mark.parametrize("status", [Status.ERROR, Status.CRASHED])
def test_a_stack_error_is_repairable_and_a_gpu_error_is_not(status: Status) -> None:
    assert _is_repairable(report("pillow-files", status), healthy_facts())
    assert not _is_repairable(report("cuda", status), healthy_facts())


def test_what_offers_the_repair_itself_is_repaired() -> None:
    assert _is_repairable(report("cuda", Status.WARNING, "fastinstall doctor --fix"), healthy_facts())
    assert not _is_repairable(report("pillow-files", Status.WARNING), healthy_facts())
