"""What holds for every kind of step; what mypy cannot say of one stands here."""

import importlib
import pkgutil
import typing
from dataclasses import fields
from typing import Any

import pytest

import fastinstall.steps
from fastinstall.core.values import tag_of
from fastinstall.model.artefact import Artefact
from fastinstall.model.conda import CondaChange
from fastinstall.steps.kind import StepDefaults
from fastinstall.steps.kinds import Step

KINDS: tuple[type[Any], ...] = typing.get_args(Step)
SHARED = {"kind", "kinds"}


def test_a_file_holds_one_kind_and_is_named_like_it() -> None:
    files = {module.name for module in pkgutil.iter_modules(fastinstall.steps.__path__)} - SHARED
    assert files == {tag_of(kind).replace("-", "_") for kind in KINDS}
    for kind in KINDS:
        assert kind.__module__ == f"fastinstall.steps.{tag_of(kind).replace('-', '_')}"


def test_no_kind_lies_in_a_file_without_being_one_of_the_union() -> None:
    found = set()
    for name in {module.name for module in pkgutil.iter_modules(fastinstall.steps.__path__)} - SHARED:
        module = importlib.import_module(f"fastinstall.steps.{name}")
        found |= {each for each in vars(module).values() if isinstance(each, type) and issubclass(each, StepDefaults)}
    assert {each for each in found if each.__module__ != StepDefaults.__module__} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=tag_of)
def test_what_a_kind_names_is_what_it_says_it_fetches(kind: type[Any]) -> None:
    hints = str(typing.get_type_hints(kind))
    assert (f"{Artefact.__module__}.Artefact" in hints) == (kind.list_artefacts is not StepDefaults.list_artefacts)
    assert (f"{CondaChange.__module__}.CondaChange" in hints) == (
        kind.list_conda_packages is not StepDefaults.list_conda_packages
    )


@pytest.mark.parametrize("kind", KINDS, ids=tag_of)
def test_every_kind_gives_its_reason_and_it_must_be_given(kind: type[Any]) -> None:
    reason = next(each for each in fields(kind) if each.name == "reason")
    with pytest.raises(TypeError, match="needs its field"):
        kind(**{each.name: "" for each in fields(kind) if each is not reason})
