"""The JSON Schemas that are published in docs/reference/schemas/, from the dataclasses themselves.

Nothing is written here; `docs/reference/write_reference.py` does that.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from fastinstall.model.advisory import AdvisoryList
from fastinstall.model.answers import Answers
from fastinstall.model.bench import BenchReport
from fastinstall.model.built import BuildReport
from fastinstall.model.codec import dump, json_schema
from fastinstall.model.collected import Collected
from fastinstall.model.completion import Completion
from fastinstall.model.durations import Durations
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Report, Survey
from fastinstall.model.fleet import Fleet
from fastinstall.model.guards import Guards
from fastinstall.model.history import Transactions
from fastinstall.model.locks import LockReport
from fastinstall.model.merge import MergeReport
from fastinstall.model.plan import Plan
from fastinstall.model.proof import Proof
from fastinstall.model.receipt import Receipt, SpeedTable
from fastinstall.model.recipe import Recipe

SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "recipe": partial(json_schema, Recipe),
    "advisories": partial(json_schema, AdvisoryList),
    "facts": partial(json_schema, Facts, name="facts"),
    "plan": partial(json_schema, Plan, name="plan"),
    "doctor": partial(json_schema, Report, name="doctor"),
    "doctor-all": partial(json_schema, Survey, name="doctor-all"),
    "fleet": partial(json_schema, Fleet, name="fleet"),
    "collected": partial(json_schema, Collected, name="collected"),
    "receipt": partial(json_schema, Receipt, name="receipt"),
    "bench": partial(json_schema, BenchReport, name="bench"),
    "speed": partial(json_schema, SpeedTable, name="speed"),
    "durations": partial(json_schema, Durations, name="durations"),
    "answers": partial(json_schema, Answers, name="answers"),
    "guard": partial(json_schema, Guards, name="guard"),
    "locks": partial(json_schema, LockReport, name="locks"),
    "build": partial(json_schema, BuildReport, name="build"),
    "merge": partial(json_schema, MergeReport, name="merge"),
    "proof": partial(json_schema, Proof, name="proof"),
    "transactions": partial(json_schema, Transactions, name="transactions"),
    "completion": partial(json_schema, Completion, name="completion"),
}


def schema_files() -> dict[str, str]:
    """File name to content of every published schema."""
    return {f"{name}.json": dump(make()) for name, make in SCHEMAS.items()}
