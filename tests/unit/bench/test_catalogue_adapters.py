"""What all adapters promise, read from their files."""

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

from fastinstall.bench.catalogue import Adapter, all_adapters

FORMATS = {"JPEG", "PNG", "WEBP", "BMP", "TIFF", "PPM", "GIF", "JPEG2000", "AVIF"}
OLDEST = (3, 8)
DIRECTORY = all_adapters()[0].file.parent
FILES = sorted(DIRECTORY.glob("*.py"))

each_adapter = pytest.mark.parametrize("adapter", all_adapters(), ids=lambda adapter: adapter.name)


def functions(tree: ast.Module) -> set[str]:
    """What can be called by these names at the top of a module."""
    defined = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    assigned = (each.targets[0] for each in tree.body if isinstance(each, ast.Assign))
    return defined | {each.id for each in assigned if isinstance(each, ast.Name)}


def test_every_file_is_an_adapter_unless_its_name_begins_with_an_underscore() -> None:
    assert {each.file for each in all_adapters()} == {file for file in FILES if not file.name.startswith("_")}


@each_adapter
def test_an_adapter_says_what_it_is(adapter: Adapter) -> None:
    assert adapter.name == adapter.file.stem.replace("_", "-")
    assert adapter.title
    assert adapter.modules
    assert adapter.brings
    assert set(adapter.formats) <= FORMATS
    assert "\n" not in adapter.code
    ast.parse(adapter.code)


@each_adapter
def test_an_adapter_has_the_functions_of_the_protocol(adapter: Adapter) -> None:
    module = importlib.import_module(f"fastinstall.bench.adapters.{adapter.file.stem}")
    assert ("batches" in functions(ast.parse(adapter.loader))) is adapter.batched
    assert hasattr(module, "stages") is adapter.name.startswith("pillow"), "which is the baseline"


@each_adapter
def test_a_loader_is_a_module_with_load_that_honours_the_pipeline(adapter: Adapter) -> None:
    tree = ast.parse(adapter.loader, feature_version=OLDEST)
    assert "load" in functions(tree)
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    assert {"SHORTER", "CROP"} <= names
    assert "FILTER" in names or adapter.name == "pyvips", "whose thumbnail has a filter of its own"


@each_adapter
def test_a_loader_imports_what_the_adapter_needs_and_no_other_package(adapter: Adapter) -> None:
    needed = {each.partition(".")[0] for each in adapter.modules} | {"numpy"}
    assert imported(ast.walk(ast.parse(adapter.loader))) - sys.stdlib_module_names <= needed


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_imports_the_standard_library_alone_and_is_for_old_pythons(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=OLDEST)
    assert imported(tree.body) <= sys.stdlib_module_names


def imported(nodes: object) -> set[str]:
    """Packages that statements import, those of their own package aside."""
    found: set[str] = set()
    for each in nodes:  # type: ignore[attr-defined]  # an iterable of nodes
        if isinstance(each, ast.Import):
            found.update(name.name.partition(".")[0] for name in each.names)
        elif isinstance(each, ast.ImportFrom) and not each.level:
            found.add(str(each.module).partition(".")[0])
    return found


def test_those_that_alias_say_so() -> None:
    assert {each.name for each in all_adapters() if each.aliased} == {"opencv-linear"}


@each_adapter
def test_what_takes_gigabytes_is_not_brought(adapter: Adapter) -> None:
    large = any(each.startswith(("torch", "nvidia-", "tensorflow", "jax")) for each in adapter.brings)
    assert adapter.by_hand or not large


@each_adapter
def test_what_may_be_a_source_distribution_is_a_requirement(adapter: Adapter) -> None:
    names = {re.split(r"[^A-Za-z0-9.-]", each)[0].lower() for each in adapter.brings}
    assert set(adapter.sdists) <= names
