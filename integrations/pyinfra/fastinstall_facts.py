"""Facts for pyinfra: what `fastinstall` sees on a host, and what it would do there. Both only look."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyinfra.api import FactBase

if TYPE_CHECKING:
    from collections.abc import Iterable

_NO_ANSWER = {"schema": "fastinstall.error/1", "message": "fastinstall gave no answer", "hint": None}


class _Document(FactBase):
    """The one JSON document of a verb."""

    verb = ""

    def command(self, words: str, tool: str = "fastinstall") -> str:
        """The verb, whose failure is read from its document.

        Args:
            words: its flags, quoted.
            tool: the words that run fastinstall on the host.
        """
        return f"{tool} {self.verb} --json {words} || true"

    def process(self, output: Iterable[str]) -> dict[str, Any]:
        """Read it; a failure is the document `fastinstall.error/1`."""
        text = "\n".join(output)
        document: dict[str, Any] = json.loads(text) if text.strip() else dict(_NO_ANSWER)
        return document


class FastinstallFacts(_Document):
    """`host.get_fact(FastinstallFacts, words="--prefix /opt/images")`: the document `fastinstall.facts/1`."""

    verb = "inspect"


class FastinstallPlan(_Document):
    """What setup would do with the same words: the document `fastinstall.plan/1`; no steps: nothing is to be done."""

    verb = "plan"
