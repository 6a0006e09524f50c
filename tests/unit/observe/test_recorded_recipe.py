"""The recipe that an environment's receipt names, and what is said of one that nobody has."""

from pathlib import Path

import pytest
from support.values.builders import changed, environment, receipt
from support.values.sessions import a_session

from fastinstall.core.errors import DocumentError
from fastinstall.observe.recipes import read_recorded_recipe


def test_an_unknown_recipe_of_a_receipt_is_told_with_file_and_key(tmp_path: Path) -> None:
    session, target = a_session(tmp_path), environment()
    assert read_recorded_recipe(session, target, receipt()).name == "pillow-simd"
    with pytest.raises(DocumentError, match=r"share/fastinstall/receipt\.json: recipe: no recipe is named 'nonesuch'"):
        read_recorded_recipe(session, target, changed(receipt(), {"recipe": "nonesuch"}))
