"""requirements/*.txt lock the dependencies in pyproject.toml by hash; `sh bootstrap.sh lock` corrects a difference."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = {"tool": ("isa", "conda"), "test": ("isa", "conda"), "with-tool": ()}
GROUPS = {"tool": ("backend",), "test": ("backend", "dev"), "with-tool": ()}
CURE = "run: sh bootstrap.sh lock"
PYTHONS = ("3.11.9", "3.12.9", "3.13.9", "3.14.10", "3.15.2")


def _text(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")


def _entries(name: str) -> list[str]:
    return re.findall(r"^[a-z0-9].*(?:\n .*)*", _text(name), re.MULTILINE)


def _pins(name: str) -> Iterator[Requirement]:
    return (Requirement(entry.partition("\\")[0]) for entry in _entries(name))


def _group(name: str) -> Iterator[Requirement]:
    for each in PROJECT["dependency-groups"][name]:
        yield from _group(each["include-group"]) if isinstance(each, dict) else (Requirement(each),)


def _asked_for(name: str) -> list[Requirement]:
    project = PROJECT["project"]
    extras = (each for extra in EXTRAS[name] for each in project["optional-dependencies"][extra])
    build = PROJECT["build-system"]["requires"] if "backend" in GROUPS[name] else ()
    grouped = [each for group in GROUPS[name] for each in _group(group)]
    return [*map(Requirement, [*project["dependencies"], *extras, *build]), *grouped]


def _holds(requirement: Requirement, python: str) -> bool:
    at = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    linux = {**at, "sys_platform": "linux", "platform_machine": "x86_64", "implementation_name": "cpython"}
    return requirement.marker is None or requirement.marker.evaluate(linux)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", GROUPS)
def test_project_requirements_are_locked_at_allowed_versions(name: str, python: str) -> None:
    pins = {pin.name: next(iter(pin.specifier)).version for pin in _pins(name) if _holds(pin, python)}
    asked = [each for each in _asked_for(name) if _holds(each, python)]
    wrong = [str(each) for each in asked if not each.specifier.contains(pins.get(canonicalize_name(each.name), "0"))]
    assert wrong == [], CURE


@pytest.mark.parametrize("name", GROUPS)
def test_extras_that_the_project_asks_for_are_locked_by_name(name: str) -> None:
    # For `NAME[EXTRA]`, pip 22.3 to 23.0 (bundled with Python 3.11.0 to 3.11.2) accepts hashes only from a lock of the
    # same `NAME[EXTRA]`.
    locked = {pin.name: pin.extras for pin in _pins(name)}
    assert [str(each) for each in _asked_for(name) if not each.extras <= locked[canonicalize_name(each.name)]] == []


@pytest.mark.parametrize("name", GROUPS)
def test_locked_direct_requirements_are_those_of_the_project(name: str) -> None:
    ours = (entry for entry in _entries(name) if "fastinstall (pyproject.toml" in entry)
    direct = {Requirement(entry.partition("\\")[0]).name for entry in ours}
    assert direct == {canonicalize_name(each.name) for each in _asked_for(name)}, CURE


@pytest.mark.parametrize("name", GROUPS)
def test_every_file_is_known_by_its_hash_and_no_index_is_named(name: str) -> None:
    assert [entry.splitlines()[0] for entry in _entries(name) if "--hash=sha256:" not in entry] == []
    assert [line for line in _text(name).splitlines() if "://" in line or line.startswith("-")] == []


def test_the_tests_run_with_the_versions_that_users_get() -> None:
    machines, users, tests = (
        {(pin.name, str(pin.specifier)) for pin in _pins(name)} for name in ("with-tool", "tool", "test")
    )
    assert machines <= users <= tests, CURE
