import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
from published_schemas import SCHEMAS

from fastinstall.core.directories import recipes_directory


def _as_json(file: Path) -> object:
    return json.loads(json.dumps(tomllib.loads(file.read_text(encoding="utf-8")), default=str))


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_a_valid_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name]())


@pytest.mark.parametrize("file", sorted(recipes_directory().glob("*.toml")), ids=lambda file: file.stem)
def test_shipped_recipes_are_valid_by_the_recipe_schema(file: Path) -> None:
    jsonschema.validate(_as_json(file), SCHEMAS["recipe"]())


@pytest.mark.parametrize("file", sorted(recipes_directory().glob("advisories/*.toml")), ids=lambda file: file.stem)
def test_shipped_advisories_are_valid_by_the_advisories_schema(file: Path) -> None:
    jsonschema.validate(_as_json(file), SCHEMAS["advisories"]())


def test_the_recipe_schema_refuses_an_unknown_key() -> None:
    recipe = _as_json(recipes_directory() / "pillow.toml")
    assert isinstance(recipe, dict)
    with pytest.raises(jsonschema.ValidationError, match="shell"):
        jsonschema.validate({**recipe, "shell": "rm"}, SCHEMAS["recipe"]())
