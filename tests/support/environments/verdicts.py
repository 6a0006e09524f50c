"""Runs doctor on an environment, and selects its alarms."""

from collections.abc import Mapping
from typing import Any

from support.sandbox import Sandbox

from fastinstall.model.finding import Status

APART = ("advisories",)
"""Checks of Pillow's version, whose findings do not depend on how it was installed."""

Finding = dict[str, Any]


def examined(
    sandbox: Sandbox, *arguments: object, variables: Mapping[str, str | None] | None = None
) -> tuple[Finding, ...]:
    """Run `doctor` on the command line and return all its findings; `arguments` name the target."""
    report = sandbox.cli("doctor", "--json", *map(str, arguments), env=variables)
    assert report.stdout, report.stderr
    return tuple(report.document["findings"])


def alarms(findings: tuple[Finding, ...]) -> dict[str, list[str]]:
    """Return the messages of warnings, errors and undetermined checks, by check."""
    grave = [found for found in findings if Status(found["status"]).gravity > 1 and found["check"] not in APART]
    return {found["check"]: messages(findings, found["check"], found["status"]) for found in grave}


def messages(findings: tuple[Finding, ...], check: str, status: str) -> list[str]:
    """Return a check's messages with this status."""
    return [found["message"] for found in findings if (found["check"], found["status"]) == (check, status)]
