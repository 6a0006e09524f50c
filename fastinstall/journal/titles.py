"""The title of a transaction, from its plan, for display; what cannot be read is left out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastinstall.core import foreign
from fastinstall.core.parsing import json_data
from fastinstall.core.values import immutable
from fastinstall.journal.layout import PLAN

_SETUP = "setup"


@immutable
class Title:
    """What a transaction was.

    Attributes:
        verb: what was called ("setup", "guard install --pin"); empty if nobody wrote it down.
        stack: what that brought ("pillow 13.0.0+simd.v2.v3"); empty if it brought none.
    """

    verb: str = ""
    stack: str = ""


def title_of(directory: Path) -> Title:
    """Read the title of the transaction whose directory this is."""
    try:
        plan = json_data(foreign.read_bytes(directory / PLAN))
    except (OSError, ValueError):
        return Title()
    if not isinstance(plan, dict):
        return Title()
    return Title(verb=find_verb(plan), stack=_find_stack(plan))


def find_verb(plan: Mapping[str, object]) -> str:
    """Return what was called, as a plan says it.

    A plan of an earlier fastinstall does not say it; that of a guard bears it as its summary.
    """
    verb, summary = plan.get("verb"), plan.get("summary")
    if isinstance(verb, str) and verb:
        return verb
    return summary if isinstance(summary, str) and summary.startswith("guard ") else _SETUP


def _find_stack(plan: dict[str, Any]) -> str:
    steps = plan.get("steps")
    found = (step for step in steps if isinstance(step, dict)) if isinstance(steps, list) else ()
    build = next((step for step in found if step.get("kind") == "build"), {})
    parts = (build.get("distribution"), build.get("version"))
    return " ".join(part for part in parts if isinstance(part, str))
