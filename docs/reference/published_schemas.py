"""List the JSON Schemas that are published in docs/reference/schemas/, and derive them from the dataclasses.

`write_reference.py` writes the files.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from json_schema import json_schema

from fastinstall.bench.report import BenchReport
from fastinstall.cli.commands.completion import Completion
from fastinstall.core.codec import dump
from fastinstall.fleet.fleet import Fleet
from fastinstall.fleet.reports import Collected
from fastinstall.guard.status import Guards
from fastinstall.lockcheck.verdict import LockReport
from fastinstall.model.advisories import AdvisoryList
from fastinstall.model.facts import Facts
from fastinstall.model.finding import EnvironmentReport, Survey
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.results import Acceptance, BuildReport, CacheSurvey, Done, Effect, ToolWheels
from fastinstall.model.speed import SpeedTable
from fastinstall.pins.pin_project import ProjectChange
from fastinstall.proof.cases import Proof
from fastinstall.setup.plan import Plan
from fastinstall.verbs.history import Transactions

SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "recipe": partial(json_schema, Recipe),
    "advisories": partial(json_schema, AdvisoryList),
    "facts": partial(json_schema, Facts, name="facts"),
    "plan": partial(json_schema, Plan, name="plan"),
    "doctor": partial(json_schema, EnvironmentReport, name="doctor", effect=Effect),
    "doctor-all": partial(json_schema, Survey, name="doctor-all"),
    "fleet": partial(json_schema, Fleet, name="fleet"),
    "collected": partial(json_schema, Collected, name="collected"),
    "receipt": partial(json_schema, Receipt, name="receipt", effect=Effect),
    "bench": partial(json_schema, BenchReport, name="bench"),
    "speed": partial(json_schema, SpeedTable, name="speed"),
    "guard": partial(json_schema, Guards, name="guard", effect=Effect),
    "pin": partial(json_schema, ProjectChange, name="pin"),
    "locks": partial(json_schema, LockReport, name="locks"),
    "build": partial(json_schema, BuildReport, name="build"),
    "tool": partial(json_schema, ToolWheels, name="tool"),
    "proof": partial(json_schema, Proof, name="proof"),
    "cache": partial(json_schema, CacheSurvey, name="cache", effect=Effect),
    "rollback": partial(json_schema, Done, name="rollback", effect=Effect),
    "forgotten": partial(json_schema, Done, name="forgotten", effect=Effect),
    "accepted": partial(json_schema, Acceptance, name="accepted", effect=Effect),
    "transactions": partial(json_schema, Transactions, name="transactions"),
    "completion": partial(json_schema, Completion, name="completion"),
}


def schema_files() -> dict[str, str]:
    """Return the content of every published schema, by file name."""
    return {f"{name}.json": dump(make()) for name, make in SCHEMAS.items()}
