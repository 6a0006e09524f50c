"""Names that documents, scripts and other programs use stay the same.

Renaming a function or moving code must not change them. A test that fails after a renaming shows what became visible
outside: names of fields, tags (`values.tagged`), or classes in "$defs" of the schemas.
"""

import ast
import hashlib
import importlib
import importlib.util
import json
import pkgutil
import tomllib
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from published_schemas import SCHEMAS

import fastinstall
from fastinstall.bench.catalogue import all_ways
from fastinstall.bench.report import CandidateKind
from fastinstall.core.codec import digest, encode
from fastinstall.core.directories import hooks_directory
from fastinstall.core.errors import ExitCode, FastinstallError
from fastinstall.core.events import Event, Noted
from fastinstall.core.values import tag_of
from fastinstall.doctor.registry import CHECKS as REGISTERED
from fastinstall.journal.entries import _ENTRIES, Entry
from fastinstall.journal.events import EVENTS
from fastinstall.setup.steps.pin import Pin, PinForPip
from fastinstall.setup.steps.prepare import CondaToolchain, PrivateHeaders, SystemPackages

PACKAGE = Path(str(fastinstall.__file__)).parent
PYPROJECT = PACKAGE.parent / "pyproject.toml"

PREPARING = "conda-toolchain private-headers system-packages"
PINNING = "pin pin-for-pip"
EVENTS_TOLD = "finished noted progressed started"
JOURNAL = """
    adding begun committed committing conceding external-change-begun external-change-ended moved moved-tree moving
    moving-tree undoing
"""
ERRORS = """
    Archive Command Damaged Document Failed Fastinstall Foreign LaterDocument Refused Undetermined Unproven Usage
"""
EXIT_CODES = {
    "OK": 0,
    "BUG": 1,
    "USAGE": 2,
    "FINDINGS": 3,
    "UNDETERMINED": 4,
    "REFUSED": 5,
    "FAILED_UNCHANGED": 6,
    "FAILED_CHANGED": 7,
    "INTERRUPTED": 130,
}
CHECKS = """
    environment conda-records cpu-level pillow-importable pillow-owner pillow-files simd-active build-flags
    isa-compatible jpeg-library jpeg-duplicates libraries-resolve features operations swapped interrupted
    way-back guards advisories cuda data-loading
"""
ADAPTERS = """
    dali dali-gpu opencv-area opencv-linear opencv-reduced pillow
    pillow-draft pillow-no-copy pillow-reducing-gap pyvips simplejpeg simplejpeg-scaled torchvision-batched
    torchvision-io
"""
STORES = "bmp lmdb resized webdataset"
HOOKS = """
    _fastinstall_guard/__init__.py _fastinstall_guard/process_tree.py _fastinstall_guard/warning.py
    _fastinstall_start.py
    conda/fastinstall.fish conda/fastinstall.sh fastinstall_guard.pth fastinstall_guard.start
"""
LOCATED = """
    _decoders.py _gpu_nvml.py _inside.py _loading.py _matrix.py _operations.py _rattler_worker.py _runner.py _worker.py
"""
BESIDE = {
    "_loading.py": "_photos.py _pool.py _storage.py _stores _survey.py _timing.py _values.py adapters",
    "_worker.py": "operations",
}
"""Modules that scripts load from their own directory, by script."""

SCHEMA_DIGESTS = {
    "advisories": "bd91eb023647a5ff7be6b7a29a8a5ccee4a0936574afdeafde38e57f2750672d",
    "bench": "9f15cf6e7e52fa4ceeb862718c3c547a6821e692a1120e2376c3f130a0e09ca8",
    "build": "1667e9328de8e0e039d7ded54f5615791a43435cf7bdb37b0b735fa8b2054e0e",
    "collected": "8c5eba1d959153ace97c8b554e0af766f96055afdc481bfb035023d915aaa205",
    "cache": "ac4e70e02fcd7d990959f16044a617a0f05599885a9c73f0e8da62851eec5d64",
    "completion": "697f7e23c8fb541d01ae020d515f20d0e068922ed74ecb3e44d937927453b992",
    "doctor-all": "8f26678c4d3c121a4a46d386814b45d9f066779d9f5faec9a6dbcbf4eb577d7a",
    "doctor": "aa05bfa84060e7217ff140ffac5be3c0a0ca3e59ef656dbe92c89df777dfaabd",
    "facts": "cba1758e89e9030e034bc866e4cc9594ee9170ae36fbdb52fd46ab6a3ac20c4a",
    "fleet": "2fed64d14402105d651ba951208ea0e83672e857ca3847ef16f9768784fee9d1",
    "guard": "c42c27f0ecc71fb38356b972d5a8bfa0258fd5f1761e0e1dc619c0ee61980afd",
    "locks": "a8b4c1f624b99a520605bdf09a1653438ac814c373729d7418e61aed4a53e2e8",
    "pin": "b01714da50d38762979fa9fec76651efc8f152bcfcde7397958501d75d644f3e",
    "plan": "f701cc45a8d53d894342d9fa195cdc724caf68228e496b5f75ee646186851072",
    "proof": "65fa78d9412da14cfb8790f2706b3ff95e695038b9eff8e5819e9a30fbb80397",
    "receipt": "7c3f9e0471a486e65539b19cffeccda6341adc04f48cf41c606a2b0d1ca86e39",
    "recipe": "fc46c7a4664084118d7d3693cb63d3f989b4ac00b6b70db3fbdd8693a72874f0",
    "speed": "176944890a2fc317095c611d9e494928f19c6815d7f7b5c84607586d13eaa5e6",
    "rollback": "a5c4f640a3b16a7363254599e16612df6317f951484c98e9231b0e10795edc35",
    "forgotten": "cb23a5dc5f0062508f4b5e257d5835368b355ecbcf6d5108f2c9e65800125b04",
    "accepted": "0f4e5d7ccc2d1cc630448adaae7ad797dcd7175858dc97fa369e2bff358b3717",
    "tool": "bdc4dcea8cf0c192eb604cf17aee872f8b1327f552454e57425a3a8ceba52586",
    "transactions": "deb8b126a0e8b2a6c98a5fd99417f07ffea9aa3fed0eb3e97e1dee8e9b9ab81a",
}
"""sha256 of each published schema without its descriptions, which may be reworded."""


@pytest.mark.parametrize(
    ("union", "tags"),
    [(SystemPackages | PrivateHeaders | CondaToolchain, PREPARING), (Pin | PinForPip, PINNING), (Event, EVENTS_TOLD)],
    ids=["preparing", "pinning", "events"],
)
def test_members_of_unions_bear_these_tags(union: object, tags: str) -> None:
    assert sorted(map(tag_of, typing.get_args(union))) == tags.split()


def test_a_tag_stands_first_in_what_is_written() -> None:
    assert next(iter(encode(Noted(message="m")).items())) == ("kind", "noted")
    assert next(iter(encode(Pin(file="f", line="l", reason="r")).items())) == ("kind", "pin")


def test_a_digest_is_made_of_tags_and_fields_alone() -> None:
    written = b'{"changed":false,"detail":false,"kind":"noted","message":"m","warning":true}'
    assert digest(Noted(message="m", warning=True)) == hashlib.sha256(written).hexdigest()


def test_a_journal_has_these_events() -> None:
    assert sorted(_ENTRIES) == sorted(EVENTS) == JOURNAL.split()
    assert set(_ENTRIES.values()) == set(typing.get_args(Entry))


@pytest.mark.parametrize("name", SCHEMAS)
def test_published_schemas_stay(name: str) -> None:
    bare = json.dumps(_undescribed(SCHEMAS[name]())).encode()
    assert hashlib.sha256(bare).hexdigest() == SCHEMA_DIGESTS[name]


def test_no_schema_is_unpublished() -> None:
    assert set(SCHEMAS) == set(SCHEMA_DIGESTS)


def test_exit_codes_stay() -> None:
    assert {code.name: code.value for code in ExitCode} == EXIT_CODES


def test_failures_bear_these_names_in_documents() -> None:
    _modules()
    errors = list(_subclasses(FastinstallError))
    assert sorted({error.tag for error in errors}) == ERRORS.split()


def test_entry_points_stay_and_lead_somewhere() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"fastinstall": "fastinstall.cli.main:main"}
    assert project["entry-points"]["conda"] == {"fastinstall": "fastinstall.conda_plugin"}
    assert callable(importlib.import_module("fastinstall.cli.main").main)
    assert importlib.util.find_spec("fastinstall.conda_plugin") is not None


def test_checks_adapters_and_stores_keep_their_names() -> None:
    assert sorted(REGISTERED) == sorted(CHECKS.split())
    ways = all_ways().values()
    assert sorted(way.name for way in ways if way.kind is CandidateKind.DECODER) == ADAPTERS.split()
    assert sorted(way.name for way in ways if way.kind is CandidateKind.STORAGE) == STORES.split()
    assert all(all_ways()[name].file.is_file() for name in (*ADAPTERS.split(), *STORES.split()))


def test_the_hooks_of_a_guard_are_these_files() -> None:
    top = hooks_directory()
    found = (path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file())
    assert sorted(name for name in found if "__pycache__" not in name) == HOOKS.split()


def test_scripts_lie_where_they_are_looked_for() -> None:
    located = set(_located())
    assert [path for path in located if not path.is_file()] == []
    assert sorted(path.name for path in located if path.name.startswith("_")) == LOCATED.split()


def test_what_scripts_load_lies_beside_them() -> None:
    places = {path.name: path.parent for path in _located()}
    missing = [places[name] / each for name, listed in BESIDE.items() for each in listed.split()]
    assert [path for path in missing if not path.exists()] == []


def test_modules_that_are_named_in_strings_are_there() -> None:
    named = {name for file in PACKAGE.rglob("*.py") for name in _names_in(file)}
    assert named
    assert [name for name in sorted(named) if importlib.util.find_spec(name) is None] == []


def _undescribed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _undescribed(item) for key, item in value.items() if not _is_description(key, item)}
    return [_undescribed(item) for item in value] if isinstance(value, list) else value


def _is_description(key: str, item: object) -> bool:
    return key == "description" and isinstance(item, str)


def _subclasses(cls: type[FastinstallError]) -> Iterator[type[FastinstallError]]:
    yield cls
    for each in cls.__subclasses__():
        yield from _subclasses(each)


@cache
def _modules() -> tuple[ModuleType, ...]:
    """Return all modules that a run may import, except scripts for other interpreters and the plugin for conda."""
    found = pkgutil.walk_packages(fastinstall.__path__, "fastinstall.")
    names = (each.name for each in found if not each.name.rpartition(".")[2].startswith("_"))
    return tuple(importlib.import_module(name) for name in names if name != "fastinstall.conda_plugin")


def _located() -> Iterator[Path]:
    """Yield each script in the package whose path is a constant of one of our modules."""
    for module in _modules():
        for value in vars(module).values():
            if isinstance(value, Path) and value.suffix == ".py" and value.is_relative_to(PACKAGE):
                yield value


def _names_in(file: Path) -> Iterator[str]:
    """Yield the names of our modules that are imported by a string; for an f-string, only its constant beginning."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            parts = (str(each.value) for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant))
            yield from (part.rstrip(".") for part in parts if part.startswith("fastinstall."))
