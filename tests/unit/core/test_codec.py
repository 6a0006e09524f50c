import json
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from json_schema import json_schema
from support.values.builders import (
    changed,
    empty_facts,
    environment,
    healthy_facts,
    minimal_facts,
    receipt,
    recipe,
    stock_facts,
)
from support.values.plans import parts_of

from fastinstall.core.codec import decode, digest, document, dump, encode, open_document
from fastinstall.core.errors import DocumentError
from fastinstall.core.events import Finished, Noted, Progressed, Started
from fastinstall.core.values import immutable, tagged
from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.finding import EnvironmentReport, Finding, Remedy, Status
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode, PlanRisk, Request, Risk
from fastinstall.model.speed import SpeedRow, SpeedTable
from fastinstall.setup.plan import Plan, Skipped
from fastinstall.setup.steps import SetupStep
from fastinstall.setup.steps.build import Build
from fastinstall.setup.steps.create_environment import CreateEnvironment
from fastinstall.setup.steps.prepare import PrivateHeaders, SystemPackages
from fastinstall.setup.steps.prove import Prove, Verify
from fastinstall.setup.steps.swap import InstallGuard, Swap

ARTEFACT = Artefact(name="pillow", version="12.1.1", filename="p.whl", url="https://example.org/p.whl", sha256="e" * 64)
STEPS: tuple[SetupStep, ...] = (
    CreateEnvironment(prefix=Path("/srv/a b"), python=Path("/usr/bin/python3"), reason="asked for"),
    SystemPackages(manager="apt", packages=("gcc",), reason="missing: compiler"),
    PrivateHeaders(packages=("libtiff-dev",), libraries=("tiff",), python="", artefacts=(), reason="missing: headers"),
    Build(
        recipe="pillow-simd",
        source=ARTEFACT,
        base_wheel=None,
        distribution="pillow",
        version="12.1.1+simd.v3",
        targets=(LevelTarget(level="x86-64-v3", cflags=("-O3",), ldflags=()),),
        link=LinkMode.BUNDLE,
        libraries=("jpeg",),
        jobs=2,
        reason="the newest",
    ),
    Prove(reference=ARTEFACT, timed=False, reason="before it is touched"),
    Swap(removes=(), entries=("PIL",), installs="pillow-12.1.1+simd.v3.dist-info", reason="replaces"),
    InstallGuard(reason="to notice"),
    Verify(checks=("swapped",), reason="an error undoes it"),
)


def _plan() -> Plan:
    return Plan(
        environment=environment(),
        facts_digest="0" * 64,
        request=Request(jobs=2, wheelhouse=PurePosixPath("/srv/wheels"), allow=(Risk.DOWNGRADE,)),
        **parts_of(*STEPS),
        skipped=(Skipped(step="system-packages", reason="they are there"),),
        risks=(PlanRisk(risk=Risk.DOWNGRADE, summary="older", items=("CVE",), allowed=True),),
        warnings=("ünïcode",),
        summary="pillow",
    )


def _report() -> EnvironmentReport:
    remedy = Remedy(text="put it back", command="fastinstall doctor --fix", risk=Risk.DOWNGRADE)
    finding = Finding(check="swapped", status=Status.ERROR, message="swapped", evidence=("a", "b"), remedy=remedy)
    return EnvironmentReport(environment=environment(), status=Status.ERROR, findings=(finding,))


def _receipt() -> Receipt:
    speed = SpeedTable(
        baseline="a",
        candidate="b",
        cpu="c",
        measured_at="2026-11-21T10:00:00+00:00",
        geomean=2.0,
        rows=(SpeedRow(operation="resize", before_ms=2.0, after_ms=1.0),),
    )
    return changed(receipt(), {"speed": encode(speed)})


VALUES: list[tuple[str, Any]] = [
    ("plan", _plan()),
    ("receipt", _receipt()),
    ("receipt", receipt()),
    ("facts", healthy_facts()),
    ("facts", stock_facts()),
    ("facts", empty_facts()),
    ("facts", minimal_facts()),
    ("doctor", _report()),
    ("recipe", recipe()),
]


@pytest.mark.parametrize(("name", "value"), VALUES, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_written_is_read_as_the_same_value(name: str, value: Any) -> None:
    written = json.loads(dump(document(name, value)))
    assert written["schema"] == f"fastinstall.{name}/1" or name == "recipe"
    assert decode(type(value), json.loads(dump(encode(value))), file="f") == value


@pytest.mark.parametrize(("name", "value"), VALUES[:-1], ids=lambda value: value if isinstance(value, str) else "")
def test_a_document_is_opened_by_its_schema(name: str, value: Any) -> None:
    assert open_document(type(value), name, json.loads(dump(document(name, value))), file="f") == value


def test_a_union_member_bears_its_tag_and_comes_back_as_itself() -> None:
    encoded = encode(_plan())
    assert [step["kind"] for step in encoded["prepare"]] == ["system-packages", "private-headers"]
    assert "kind" not in encoded["build"]
    assert decode(Plan, encode(_plan()), file="f").steps == STEPS


def test_events_bear_their_tag_too() -> None:
    events = (
        Started(stage="compile", message="m"),
        Progressed(stage="compile", done=1, total=2),
        Finished(stage="compile", message="m", seconds=1.0),
        Noted(message="m"),
    )
    assert [encode(event)["kind"] for event in events] == ["started", "progressed", "finished", "noted"]


def _broken(value: Any, path: str, replacement: Any) -> Any:
    """Return the JSON of a value with the item at a dotted path replaced, or removed if `replacement` is `...`."""
    data = encode(value)
    *parents, last = path.split(".")
    place = data
    for part in parents:
        place = place[int(part)] if part.isdecimal() else place[part]
    if replacement is ...:
        del place[last]
    else:
        place[last] = replacement
    return data


@pytest.mark.parametrize(
    ("value", "path", "replacement", "key", "problem"),
    [
        (_plan(), "environment.prefx", "/", "environment.prefx", "unknown key; known here: prefix, kind, python"),
        (_plan(), "environment.prefix", ..., "environment.prefix", "missing"),
        (_plan(), "environment.prefix", 3, "environment.prefix", "found an integer"),
        (_plan(), "environment.kind", "docker", "environment.kind", "'docker' is not one of venv, conda, system"),
        (_plan(), "prepare", "none", "prepare", "expected a list, found a string"),
        (_plan(), "prepare.1.kind", "bild", "prepare[1].kind", "expected one of conda-toolchain, private-headers"),
        (_plan(), "prepare.1.kind", ..., "prepare[1].kind", "expected one of"),
        (_plan(), "prepare.1.kind", [1, "a", []], "prepare[1].kind", "expected one of conda-toolchain"),
        (_plan(), "environment.kind", {"a": []}, "environment.kind", "{'a': []} is not one of venv, conda, system"),
        (_plan(), "build.jobs", "two", "build.jobs", "expected an integer, found a string"),
        (_plan(), "build.jobs", True, "build.jobs", "expected an integer, found true or false"),
        (_plan(), "build.source.sha256", ..., "build.source.sha256", "missing"),
        (_plan(), "guard.reason", ..., "guard.reason", "missing"),
        (_plan(), "request", None, "request", "expected a table, found nothing"),
        (_plan(), "risks.0.allowed", "yes", "risks[0].allowed", "expected true or false, found a string"),
        (healthy_facts(), "cpu.flags", ["avx2", 3], "cpu.flags[1]", "expected a string, found an integer"),
        (healthy_facts(), "runtime.features", [], "runtime.features", "expected a table, found a list"),
        (
            healthy_facts(),
            "stack.core.libraries.0.simd",
            "yes",
            "stack.core.libraries[0].simd",
            "expected true or false",
        ),
        (healthy_facts(), "active", {"VIRTUAL_ENV": 1}, "active.VIRTUAL_ENV", "found an integer"),
        (_receipt(), "speed.rows.0.before_ms", "fast", "speed.rows[0].before_ms", "expected a number, found a string"),
        (recipe(), "advisories.0.dated", "yesterday", "advisories[0].dated", "expected a date like 2026-11-21"),
        (recipe(), "libraries.jpeg.header", ..., "libraries.jpeg.header", "missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_malformed_is_named_with_its_file_and_its_key(
    value: Any, path: str, replacement: Any, key: str, problem: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        decode(type(value), _broken(value, path, replacement), file="plans/mine.json")
    assert caught.value.key == key
    assert problem in caught.value.problem
    assert caught.value.message == f"plans/mine.json: {key}: {caught.value.problem}"
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("data", [[], "text", None, 3])
def test_a_document_that_is_no_table_is_refused(data: object) -> None:
    with pytest.raises(DocumentError, match="expected a table") as caught:
        open_document(Plan, "plan", data, file="f")
    assert (caught.value.file, caught.value.key) == ("f", "")


@pytest.mark.parametrize("schema", [None, "fastinstall.plan/2", "fastinstall.receipt/1", 1])
def test_another_schema_is_refused(schema: object) -> None:
    with pytest.raises(DocumentError, match=r"f: schema: expected 'fastinstall.plan/1'"):
        open_document(Plan, "plan", {**encode(_plan()), "schema": schema}, file="f")


def test_a_field_with_a_default_may_be_left_out() -> None:
    data = _broken(_plan(), "risks", ...)
    assert decode(Plan, data, file="f").risks == ()


def test_a_whole_number_is_a_number() -> None:
    assert decode(SpeedRow, {"operation": "o", "before_ms": 2, "after_ms": 1}, file="f").before_ms == 2.0


def test_dates_are_read_from_json_and_from_toml() -> None:
    for dated in ("2026-11-21", date(2026, 11, 21)):
        found = decode(Recipe, _broken(recipe(), "advisories.0.dated", dated), file="f")
        assert found.advisories[0].dated == date(2026, 11, 21)


def test_a_digest_depends_on_the_value_and_not_on_its_key_order() -> None:
    assert digest({"a": 1, "b": (1, 2)}) == digest({"b": [1, 2], "a": 1})
    assert digest(healthy_facts()) != digest(stock_facts())
    assert len(digest(healthy_facts())) == 64


def test_a_path_that_is_no_unicode_can_be_digested() -> None:
    assert digest(PurePosixPath("/srv/\udcff")) != digest(PurePosixPath("/srv/"))


@tagged("tree")
@immutable
class _Renamed:
    height: int


@tagged("stone")
@immutable
class _Moved:
    weight: int


@immutable
class _Garden:
    things: tuple[_Renamed | _Moved, ...]


def test_a_document_has_tags_and_no_names_of_classes() -> None:
    garden = _Garden(things=(_Renamed(height=3), _Moved(weight=9)))

    assert encode(garden) == {"things": [{"kind": "tree", "height": 3}, {"kind": "stone", "weight": 9}]}
    assert decode(_Garden, encode(garden), file="f") == garden
    schema = json_schema(_Garden, name="garden")
    assert schema["$ref"] == "#/$defs/_Garden"
    assert schema["$defs"]["_Garden"]["required"] == ["schema", "things"]
    assert schema["$defs"]["_Moved"]["properties"]["kind"] == {"const": "stone"}
