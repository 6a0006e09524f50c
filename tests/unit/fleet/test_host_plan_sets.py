"""A set of wheels: which wheels it has, which Pythons build them, and what its directory and report contain."""

from dataclasses import replace
from pathlib import Path, PurePath

import pytest
from support.environments.interpreters import running
from support.index.wheels import write_wheel
from support.suite.golden import Golden
from support.values.sessions import a_session

from fastinstall.cli.console import Page
from fastinstall.cli.text.fleets import fleet_text
from fastinstall.core.architecture import AARCH64
from fastinstall.core.errors import DocumentError, UndeterminedError, UsageError
from fastinstall.core.files import sha256
from fastinstall.fleet.fleet import FLEET_FILE, Fleet
from fastinstall.fleet.host_plan import PYTHONS, plan_set
from fastinstall.fleet.wheels import build_set
from fastinstall.model.request import LinkMode, Request
from fastinstall.observe.session import Session
from fastinstall.wheelbuild.package_index import publish_wheel

VERSION = str(running())
ABI = f"cp{VERSION.replace('.', '')}"
TAG = "manylinux_2_27_x86_64.manylinux_2_28_x86_64"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Return the session of a user whose only Python is the one that runs the tests."""
    return a_session(tmp_path, PATH="", FASTINSTALL_CACHE_DIR=str(tmp_path / "cache"))


def test_a_set_has_a_wheel_per_python_with_every_useful_level(session: Session) -> None:
    wanted = plan_set(session, None, Request()).artefacts
    assert [each.abi for each in wanted] == [f"cp{each.replace('.', '')}" for each in PYTHONS]
    assert {each.levels for each in wanted} == {("x86-64-v2", "x86-64-v3")}
    assert {each.directory for each in wanted} == {"."}


def test_a_set_for_another_machine_has_its_levels(session: Session) -> None:
    wanted = plan_set(session, None, Request(), AARCH64.machine).artefacts
    assert {(each.architecture, each.levels) for each in wanted} == {(AARCH64.machine, ("armv8-a",))}


def test_named_levels_hold_for_all(session: Session) -> None:
    for request in (Request(level="x86-64-v3"), Request(levels=("x86-64-v3",))):
        assert {each.levels for each in plan_set(session, None, request).artefacts} == {("x86-64-v3",)}


def test_a_python_that_is_not_here_is_named_with_what_to_do(session: Session) -> None:
    missing = next(each for each in plan_set(session, None, Request()).artefacts if each.abi == "cp314t")
    assert missing.builder is None
    assert "3.14" in missing.problem
    assert "python3.14t on PATH" in missing.hint


def test_a_named_python_builds_its_wheel(session: Session) -> None:
    wanted = plan_set(session, running().executable, Request()).artefacts
    (builder,) = (each.builder for each in wanted if each.abi == ABI)
    assert builder is not None


def test_a_named_python_that_no_set_has_is_added(session: Session, tmp_path: Path) -> None:
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    text = (session.recipe_directories[0] / "pillow-fast.toml").read_text()
    (recipes / "pillow-fast.toml").write_text(text.replace('pythons = ">=3.10"', 'pythons = ">=3.99"'))
    elsewhere = replace(session, recipe_directories=(recipes, *session.recipe_directories))
    assert plan_set(elsewhere, None, Request()).artefacts == ()
    assert [each.abi for each in plan_set(elsewhere, running().executable, Request()).artefacts] == [ABI]


@pytest.mark.parametrize(
    ("asked", "flag"),
    [
        (Request(level="native"), "--level"),
        (Request(link=LinkMode.SYSTEM), "--link"),
        (Request(link=LinkMode.ENV), "--link"),
        (Request(level="x86-64-v9"), "--level"),
    ],
)
def test_what_fits_this_machine_alone_is_refused(session: Session, asked: Request, flag: str) -> None:
    with pytest.raises(UsageError) as refused:
        plan_set(session, None, asked)
    assert flag in refused.value.message
    assert refused.value.hint


def test_a_named_python_that_does_not_answer_is_refused(session: Session) -> None:
    with pytest.raises(UndeterminedError):
        plan_set(session, Path("/nowhere/python"), Request())


def _plan_two(session: Session, builder: PurePath | None = None) -> Fleet:
    """Plan two wheels: for CPython 3.14, built by `builder`, and for its free-threaded build, without a builder."""
    planned = plan_set(session, None, Request(offline=True))
    artefacts = {each.abi: replace(each, builder=None) for each in planned.artefacts}
    return replace(planned, artefacts=(replace(artefacts["cp314"], builder=builder), artefacts["cp314t"]))


def _publish(session: Session, tmp_path: Path, python: str) -> Path:
    wheel = write_wheel(tmp_path / "built", "pillow", "13.0.0+simd.v2.v3", f"cp314-{python}-{TAG}")
    publish_wheel(session, wheel, sha256(wheel), tmp_path / "set")
    return wheel


def test_an_existing_wheel_is_kept_even_without_its_python(session: Session, tmp_path: Path) -> None:
    wheel = _publish(session, tmp_path, "cp314")

    existing, missing = build_set(session, _plan_two(session), tmp_path / "set").artefacts

    assert (existing.wheel, existing.sha256, existing.problem) == (wheel.name, sha256(wheel), "")
    assert (missing.wheel, missing.builder) == (None, None)


def test_a_build_that_fails_keeps_no_other_from_being_made(session: Session, tmp_path: Path) -> None:
    wheel = _publish(session, tmp_path, "cp314t")

    built = build_set(session, _plan_two(session, PurePath("/nowhere/python")), tmp_path / "set")

    failed, existing = built.artefacts
    assert (failed.wheel, existing.wheel) == (None, wheel.name)
    assert "/nowhere/python" in failed.problem


def test_a_set_names_no_hosts_in_its_directory(session: Session, tmp_path: Path) -> None:
    _publish(session, tmp_path, "cp314")
    build_set(session, _plan_two(session), tmp_path / "set")
    assert not (tmp_path / "set" / FLEET_FILE).exists()


def test_an_unreadable_directory_is_refused_before_any_build(session: Session, tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text("nonsense\n")
    with pytest.raises(DocumentError):
        build_set(session, plan_set(session, None, Request()), tmp_path)


def test_the_text_names_each_wheel_and_what_is_missing(session: Session, tmp_path: Path, golden: Golden) -> None:
    _publish(session, tmp_path, "cp314")
    golden(fleet_text(build_set(session, _plan_two(session), tmp_path / "set"), Page(colour=False, width=None)))
