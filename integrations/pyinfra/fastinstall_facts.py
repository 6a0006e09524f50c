"""Facts for pyinfra: the facts of an environment on a host, and the plan of a setup. Getting them changes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyinfra.api import FactBase

if TYPE_CHECKING:
    from collections.abc import Iterable

_NO_ANSWER = {"schema": "fastinstall.error/1", "message": "fastinstall printed nothing", "hint": None}


class _Document(FactBase):
    """Base class of facts: each fact is the JSON document that a verb of fastinstall prints."""

    verb = ""

    def command(self, words: str, tool: str = "fastinstall") -> str:
        """Return the shell command that prints the document; it exits with 0 even if fastinstall fails.

        Args:
            words: flags of the verb, quoted for the shell.
            tool: the command that runs fastinstall on the host.
        """
        return f"{tool} {self.verb} --json {words} || true"

    def process(self, output: Iterable[str]) -> dict[str, Any]:
        """Parse the document; it has the schema `fastinstall.error/1` if the command failed."""
        text = "\n".join(output)
        document: dict[str, Any] = json.loads(text) if text.strip() else dict(_NO_ANSWER)
        return document


class FastinstallFacts(_Document):
    """The facts of an environment, `fastinstall.facts/1`.

    Example: `host.get_fact(FastinstallFacts, words="--prefix /opt/images")`.
    """

    verb = "inspect"


class FastinstallPlan(_Document):
    """The plan of a setup with the given flags, `fastinstall.plan/1`; its `verify` is null if nothing is to be done."""

    verb = "plan"
