"""What doctor says of an environment, and what of that is an alarm."""

from collections.abc import Mapping
from typing import Any

from support.sandbox import Sandbox

from fastinstall.model.finding import Status

APART = ("advisories",)
"""Checks that speak of the version of Pillow, whatever was done to it."""

Finding = dict[str, Any]


def examined(
    sandbox: Sandbox, *arguments: object, variables: Mapping[str, str | None] | None = None
) -> tuple[Finding, ...]:
    """All findings of a doctor that is run as a person runs it; `arguments` name the target."""
    report = sandbox.cli("doctor", "--json", *map(str, arguments), env=variables)
    assert report.stdout, report.stderr
    return tuple(report.document["findings"])


def alarms(findings: tuple[Finding, ...]) -> dict[str, list[str]]:
    """The messages of warnings, errors, and of whatever could not be told, by check."""
    grave = [found for found in findings if Status(found["status"]).gravity > 1 and found["check"] not in APART]
    return {found["check"]: messages(findings, found["check"], found["status"]) for found in grave}


def messages(findings: tuple[Finding, ...], check: str, status: str) -> list[str]:
    """What a check says at this gravity."""
    return [found["message"] for found in findings if (found["check"], found["status"]) == (check, status)]
