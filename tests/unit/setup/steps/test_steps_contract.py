"""The contract of every step."""

import importlib
import pkgutil
import typing
from dataclasses import fields
from inspect import isabstract
from typing import Any

import pytest

import fastinstall.setup.steps
from fastinstall.model.artefact import Artefact
from fastinstall.model.conda import CondaChange
from fastinstall.setup.plan import Plan
from fastinstall.setup.steps import SetupStep

MODULES = [f"fastinstall.setup.steps.{each.name}" for each in pkgutil.iter_modules(fastinstall.setup.steps.__path__)]


def _find_steps(module: str) -> list[type[Any]]:
    found = vars(importlib.import_module(module)).values()
    return [
        each for each in found if isinstance(each, type) and issubclass(each, SetupStep) and each.__module__ == module
    ]


STEPS = [step for module in MODULES for step in _find_steps(module) if not isabstract(step)]


def test_every_step_has_its_place_in_a_plan() -> None:
    places = str(typing.get_type_hints(Plan))
    assert [step for step in STEPS if f"{step.__module__}.{step.__name__}" not in places] == []


@pytest.mark.parametrize("step", STEPS)
def test_what_a_step_names_is_what_it_says_it_fetches(step: type[Any]) -> None:
    hints = str(typing.get_type_hints(step))
    assert (f"{Artefact.__module__}.Artefact" in hints) == (step.list_artefacts is not SetupStep.list_artefacts)
    assert (f"{CondaChange.__module__}.CondaChange" in hints) == (
        step.list_conda_packages is not SetupStep.list_conda_packages
    )


@pytest.mark.parametrize("step", STEPS)
def test_every_step_gives_its_reason_and_it_must_be_given(step: type[Any]) -> None:
    reason = next(each for each in fields(step) if each.name == "reason")
    with pytest.raises(TypeError, match="needs its field"):
        step(**{each.name: "" for each in fields(step) if each is not reason})
