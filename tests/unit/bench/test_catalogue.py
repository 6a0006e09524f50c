"""The contract of all adapters and stores, read from their files: a new one is one file, which no other names."""

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bench.adapters import way_named

from fastinstall.bench import _stores, adapters, catalogue
from fastinstall.bench.catalogue import Way, all_adapters, all_stores, all_ways
from fastinstall.bench.printed_code import render_code
from fastinstall.bench.report import ImagePipeline

FORMATS = {"JPEG", "PNG", "WEBP", "BMP", "TIFF", "PPM", "GIF", "JPEG2000", "AVIF"}
OLDEST = (3, 8)
FILES = sorted(file for way in (all_adapters()[0], all_stores()[0]) for file in way.file.parent.glob("*.py"))
DECODER = '''"""Acme's decoder."""

from . import pillow

TITLE = "Acme, by Pillow"
MODULES = ("PIL", "acme")
BRINGS = ("acme>=2", "pillow")
SDISTS = ("acme",)
PRIORITY = 5
CODE = "acme.decode(data)"
LOADER = pillow.LOADER
'''
STORE = '''"""Your images in a shelf."""

from ._preparing import Source

TITLE = "a shelf"
CAVEAT = "it has one door"
MODULES = BRINGS = ("shelf",)
SETTINGS = ("shorter",)
'''

each_adapter = pytest.mark.parametrize("way", all_adapters(), ids=lambda way: way.name)


def imported(nodes: object) -> set[str]:
    """Return the top-level packages that statements import, without relative imports."""
    found: set[str] = set()
    for each in nodes:  # type: ignore[attr-defined]  # an iterable of nodes
        if isinstance(each, ast.Import):
            found.update(name.name.partition(".")[0] for name in each.names)
        elif isinstance(each, ast.ImportFrom) and not each.level:
            found.add(str(each.module).partition(".")[0])
    return found


@pytest.mark.parametrize("way", [*all_adapters(), *all_stores()], ids=lambda way: way.name)
def test_a_file_describes_itself(way: Way) -> None:
    assert way.title
    assert set(way.formats) <= FORMATS
    ast.parse(way.code)
    assert set(way.sdists) <= {re.split(r"[^A-Za-z0-9.-]", each)[0].lower() for each in way.brings}
    is_large = any(each.startswith(("torch", "nvidia-", "tensorflow", "jax")) for each in way.brings)
    assert way.by_hand or not is_large, "what takes gigabytes is not fetched"
    assert bool(way.caveat) is (way in all_stores())


@each_adapter
def test_a_loader_honours_the_pipeline(way: Way) -> None:
    tree = ast.parse(way.loader, feature_version=OLDEST)
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    assert {"SHORTER", "CROP"} <= names
    assert "FILTER" in names or way.name == "pyvips", "whose thumbnail has a filter of its own"
    assert "load" in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


@each_adapter
def test_a_loader_imports_only_what_it_names(way: Way) -> None:
    needed = {each.partition(".")[0] for each in way.modules} | {"numpy"}
    assert way.modules
    assert imported(ast.walk(ast.parse(way.loader))) - sys.stdlib_module_names <= needed


def test_loaders_differ_and_one_aliases() -> None:
    assert len({each.loader for each in all_adapters()}) == len(all_adapters())
    assert {each.name for each in all_adapters() if each.aliased} == {"opencv-linear"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_file_runs_on_old_pythons_without_packages(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=OLDEST)
    assert imported(tree.body) <= sys.stdlib_module_names


@pytest.fixture
def beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add one more file to each of the two packages."""
    for package, name, text in ((adapters, "acme_raw", DECODER), (_stores, "shelf", STORE)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        directory = tmp_path / name
        directory.mkdir()
        shutil.move(tmp_path / f"{name}.py", directory)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(directory)])
    shutil.copy(Path(str(_stores.__path__[0])) / "_preparing.py", tmp_path / "shelf")
    caches = (catalogue.all_ways, catalogue.all_adapters, catalogue.all_stores)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()
    for name in ("adapters.acme_raw", "_stores.shelf"):
        sys.modules.pop(f"fastinstall.bench.{name}", None)


@pytest.mark.usefixtures("beside_ours")
def test_another_way_is_one_file() -> None:
    decoder, store = way_named("acme-raw"), way_named("shelf")
    assert {"acme-raw", "shelf"} <= {way.name for way in all_ways()}
    assert (decoder.brings, decoder.sdists, store.title) == (("acme>=2", "pillow"), ("acme",), "a shelf")
    assert "'acme>=2' pillow numpy" in render_code("acme-raw", ImagePipeline())
    assert 'WANTED = {"kind": "shelf", "shorter": 300}' in render_code("shelf", ImagePipeline(shorter=300))
