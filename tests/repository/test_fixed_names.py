"""Names that documents, scripts and other programs know, and that no class, module or function here decides.

Renaming or moving code leaves every one of them as it is. A test that fails here after a rename says what became
visible outside: give the class its tag (`immutable.tagged`), or its name in schemas (`immutable.published_as`).
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
from fastinstall.bench.catalogue import all_adapters, all_kinds
from fastinstall.core.codec import digest, encode
from fastinstall.core.directories import hooks_directory
from fastinstall.core.errors import ExitCode, FastinstallError
from fastinstall.core.events import Event, Noted
from fastinstall.core.values import tag_of
from fastinstall.doctor.registry import check_names, load_check
from fastinstall.journal.entries import _ENTRIES, Entry
from fastinstall.journal.snapshot import EVENTS
from fastinstall.steps.kinds import Step
from fastinstall.steps.verify import Verify

PACKAGE = Path(str(fastinstall.__file__)).parent
PYPROJECT = PACKAGE.parent / "pyproject.toml"

STEPS = """
    build change-conda-packages conda-toolchain create-environment install-guard make-conda-packages pin pin-for-pip
    private-headers prove swap system-packages verify
"""
EVENTS_TOLD = "finished foretold noted progressed started"
JOURNAL = "adding begun committed committing engaged engaging moved moving spread spreading undoing yielding"
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
    _fastinstall_guard/__init__.py _fastinstall_guard/telling.py _fastinstall_guard/tree.py conda/fastinstall.fish
    conda/fastinstall.sh fastinstall_guard.pth fastinstall_guard.start
"""
LOCATED = """
    _decoders.py _gpu_nvml.py _inside.py _loading.py _matrix.py _operations.py _photos.py _pool_main.py
    _rattler_worker.py _runner.py _storage.py _survey.py _worker.py
"""
BESIDE = {
    "_loading.py": """
        _batches.py _cache.py _loader.py _storage.py _timing.py _values.py adapters
    """,
    "_pool_main.py": "_batches.py _cache.py _loading.py _pool_own.py _pool_processes.py _pool_torch.py",
    "_storage.py": "_stores",
    "_worker.py": "operations",
}
"""What scripts load from their own directory, by name."""

SCHEMA_DIGESTS = {
    "advisories": "745ea24d114331de800c19c235387c9634b659eb06bb2dec0ea0c8476189764a",
    "bench": "4fa37bafd9eb72b49bd8600b8110c125d7ff212b589a26da6c029319ead470a8",
    "build": "1667e9328de8e0e039d7ded54f5615791a43435cf7bdb37b0b735fa8b2054e0e",
    "collected": "e3dec1ef3bf572c570e6182999c3bab0fe386d31ea02635a327f7598df69d204",
    "cache": "bb1cb1a1c91ae3c40a2494433d2f6520c1736a3e4375e2bba6917a6b206a7bf0",
    "completion": "697f7e23c8fb541d01ae020d515f20d0e068922ed74ecb3e44d937927453b992",
    "doctor-all": "bdf117486dada97bf79d8f3ffbfa1c66d7865119ddc64bf98024659e33322bf1",
    "doctor": "24781f4e8ea6c325c5cf985e7c3b4c0ece8185c749ffad18bd1b25cb081bc91c",
    "facts": "76da808a20310916e1dab6b34058deae8243d669a4f8320c46819ec272767195",
    "fleet": "c6b22cb7b2a83d9dcadff6d661d2cbce58c5878f438d8408eb8c41d2db4c5c7a",
    "guard": "6f995ccd14ae28e69aa7c185ac37ae1419f877126c664c7a0fa3a89b3b654669",
    "locks": "95964dc601e4e5a512dad1ada1aff31f63b468f1d9db54f09e0072a46cc64f44",
    "pin": "b01714da50d38762979fa9fec76651efc8f152bcfcde7397958501d75d644f3e",
    "plan": "a6268105fa5d8ffd8c968aafb4fa47f3093440c71b136bd5118a598892cc1806",
    "proof": "65fa78d9412da14cfb8790f2706b3ff95e695038b9eff8e5819e9a30fbb80397",
    "receipt": "6163688ba96cb4d9de3f1e033856e025ab222031fc2cc1fe438df4352a4d013a",
    "recipe": "e89e6488f6e81198a4bbc693f34a95b7e11b60e448434546af3aa47e4dd6183e",
    "set": "785554cc28d7f81c9cccd888007a34cb56916fceb7e12988b5269a4c4fed1086",
    "speed": "176944890a2fc317095c611d9e494928f19c6815d7f7b5c84607586d13eaa5e6",
    "transactions": "deb8b126a0e8b2a6c98a5fd99417f07ffea9aa3fed0eb3e97e1dee8e9b9ab81a",
}
"""sha256 of each published schema without its descriptions, which are sentences for people and may be worded anew."""


@pytest.mark.parametrize(
    ("union", "tags"),
    [(Step, STEPS), (Event, EVENTS_TOLD)],
    ids=["steps", "events"],
)
def test_members_of_unions_bear_these_tags(union: object, tags: str) -> None:
    assert sorted(map(tag_of, typing.get_args(union))) == tags.split()


def test_a_tag_stands_first_in_what_is_written() -> None:
    assert next(iter(encode(Noted(message="m")).items())) == ("kind", "noted")
    assert next(iter(encode(Verify(checks=(), reason="r")).items())) == ("kind", "verify")


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
    assert sorted(check_names()) == sorted(CHECKS.split())
    assert [load_check(name).NAME for name in check_names()] == list(check_names())
    assert sorted(adapter.name for adapter in all_adapters()) == ADAPTERS.split()
    assert sorted(kind.name for kind in all_kinds()) == STORES.split()
    files = (*(adapter.file for adapter in all_adapters()), *(kind.file for kind in all_kinds()))
    assert all(file.is_file() for file in files)


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
    """Every module that a run may import; not the scripts that others run, nor the plugin, which needs conda."""
    found = pkgutil.walk_packages(fastinstall.__path__, "fastinstall.")
    names = (each.name for each in found if not each.name.rpartition(".")[2].startswith("_"))
    return tuple(importlib.import_module(name) for name in names if name != "fastinstall.conda_plugin")


def _located() -> Iterator[Path]:
    """The scripts that modules name by a constant."""
    for module in _modules():
        for value in vars(module).values():
            if isinstance(value, Path) and value.suffix == ".py" and value.is_relative_to(PACKAGE):
                yield value


def _names_in(file: Path) -> Iterator[str]:
    """The modules of ours that are imported by a string; of one with gaps, the package that its beginning names."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            parts = (str(each.value) for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant))
            yield from (part.rstrip(".") for part in parts if part.startswith("fastinstall."))
