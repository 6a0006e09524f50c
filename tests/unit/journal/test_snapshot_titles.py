"""A transaction's title is read from the plan of the transaction; an unreadable plan is no error."""

import json
from pathlib import Path

import pytest

from fastinstall.journal.layout import PLAN
from fastinstall.journal.snapshot import Title, title_of

BUILD = {"distribution": "pillow", "version": "13.0.0+simd.v3"}


@pytest.mark.parametrize(
    ("plan", "title"),
    [
        (
            {"verb": "doctor --fix", "prove": {}, "build": BUILD},
            Title(verb="doctor --fix", stack="pillow 13.0.0+simd.v3"),
        ),
        ({"verb": "guard install"}, Title(verb="guard install")),
        ({"verb": 3, "build": BUILD}, Title(stack="pillow 13.0.0+simd.v3")),
        ({"build": "none"}, Title()),
        ([], Title()),
    ],
)
def test_the_title_is_verb_and_stack(tmp_path: Path, plan: object, title: Title) -> None:
    (tmp_path / PLAN).write_text(json.dumps(plan))
    assert title_of(tmp_path) == title


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff"])
def test_without_a_readable_plan_there_is_none(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / PLAN).write_bytes(content)
    assert title_of(tmp_path) == Title()
