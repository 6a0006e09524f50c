"""The recipe that a receipt names."""

from pathlib import Path

import pytest
from support.values.builders import changed, environment, receipt
from support.values.sessions import a_session

from fastinstall.core.errors import DocumentError
from fastinstall.observe.recipes import read_recorded_recipe


def test_an_unknown_recipe_in_a_receipt_names_file_and_key(tmp_path: Path) -> None:
    session, target = a_session(tmp_path), environment()
    assert read_recorded_recipe(session, target, receipt()).name == "pillow-simd"
    with pytest.raises(DocumentError, match="'nonesuch'") as caught:
        read_recorded_recipe(session, target, changed(receipt(), {"recipe": "nonesuch"}))
    assert (str(caught.value.file).endswith("share/fastinstall/receipt.json"), caught.value.key) == (True, "recipe")
