"""Facts for pyinfra: what `fastinstall` sees on a host, and what it would do there. Both change nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyinfra.api import FactBase

if TYPE_CHECKING:
    from collections.abc import Iterable

_NO_ANSWER = {"schema": "fastinstall.error/1", "message": "fastinstall printed nothing", "hint": None}


class _Document(FactBase):
    """The JSON document of a verb."""

    verb = ""

    def command(self, words: str, tool: str = "fastinstall") -> str:
        """Return the command; a failure is in its document.

        Args:
            words: its flags, quoted.
            tool: the command that runs fastinstall on the host.
        """
        return f"{tool} {self.verb} --json {words} || true"

    def process(self, output: Iterable[str]) -> dict[str, Any]:
        """Parse the document; a failure is `fastinstall.error/1`."""
        text = "\n".join(output)
        document: dict[str, Any] = json.loads(text) if text.strip() else dict(_NO_ANSWER)
        return document


class FastinstallFacts(_Document):
    """`host.get_fact(FastinstallFacts, words="--prefix /opt/images")`: the document `fastinstall.facts/1`."""

    verb = "inspect"


class FastinstallPlan(_Document):
    """What setup would do with the same flags: the document `fastinstall.plan/1`, without `verify` if nothing."""

    verb = "plan"
