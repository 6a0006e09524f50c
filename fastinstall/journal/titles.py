"""What a transaction was, by the plan that lies beside its journal. For people: what cannot be read is left out."""

from pathlib import Path
from typing import Any

from fastinstall.journal.layout import PLAN
from fastinstall.model.immutable import immutable
from fastinstall.model.parsing import json_data
from fastinstall.system import foreign

_SETUP = "setup"


@immutable
class Title:
    """What a transaction was.

    Attributes:
        verb: what was called ("setup", "guard install --pin"); empty where nobody wrote it down.
        stack: what that brought ("pillow 13.0.0+simd.v2.v3"); empty where it brought none.
    """

    verb: str = ""
    stack: str = ""


def title_of(directory: Path) -> Title:
    """The title of the transaction whose directory this is."""
    try:
        plan = json_data(foreign.read_bytes(directory / PLAN))
    except (OSError, ValueError):
        return Title()
    if not isinstance(plan, dict):
        return Title()
    return Title(verb=_verb(plan), stack=_stack(plan))


def _verb(plan: dict[str, Any]) -> str:
    """A plan of an earlier fastinstall does not say it; that of a guard bears it as its summary."""
    verb, summary = plan.get("verb"), plan.get("summary")
    if isinstance(verb, str) and verb:
        return verb
    return summary if isinstance(summary, str) and summary.startswith("guard ") else _SETUP


def _stack(plan: dict[str, Any]) -> str:
    steps = plan.get("steps")
    found = (step for step in steps if isinstance(step, dict)) if isinstance(steps, list) else ()
    build = next((step for step in found if step.get("kind") == "build"), {})
    parts = (build.get("distribution"), build.get("version"))
    return " ".join(part for part in parts if isinstance(part, str))
