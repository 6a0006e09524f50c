"""The contract of all adapters and stores, checked in their source; which candidates are selected, in which order."""

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.bench.adapters import ADAPTERS, STORES

from fastinstall.bench import _stores, adapters
from fastinstall.bench.catalogue import (
    Way,
    all_ways,
    huge_pages_variables,
    missing,
    plan_candidates,
    require_known,
    select_candidates,
    sort_by_promise,
    unsuited,
)
from fastinstall.bench.printed_code import render_code
from fastinstall.bench.report import Candidate, CandidateOutcome, ImagePipeline
from fastinstall.core.errors import UsageError
from fastinstall.model.machine import LoaderLimits

FORMATS = {"JPEG", "PNG", "WEBP", "BMP", "TIFF", "PPM", "GIF", "JPEG2000", "AVIF"}
OLDEST = (3, 8)
FILES = sorted(file for way in (ADAPTERS[0], STORES[0]) for file in way.file.parent.glob("*.py"))
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

each_adapter = pytest.mark.parametrize("way", ADAPTERS, ids=lambda way: way.name)


def imported(nodes: object) -> set[str]:
    """Return the top-level packages that statements import, without relative imports."""
    found: set[str] = set()
    for each in nodes:  # type: ignore[attr-defined]  # an iterable of nodes
        if isinstance(each, ast.Import):
            found.update(name.name.partition(".")[0] for name in each.names)
        elif isinstance(each, ast.ImportFrom) and not each.level:
            found.add(str(each.module).partition(".")[0])
    return found


@pytest.mark.parametrize("way", [*ADAPTERS, *STORES], ids=lambda way: way.name)
def test_a_file_describes_itself(way: Way) -> None:
    assert way.title
    assert set(way.formats) <= FORMATS
    ast.parse(way.code)
    assert set(way.sdists) <= {re.split(r"[^A-Za-z0-9.-]", each)[0].lower() for each in way.brings}
    is_large = any(each.startswith(("torch", "nvidia-", "tensorflow", "jax")) for each in way.brings)
    assert way.by_hand or not is_large, "what takes gigabytes is not fetched"
    assert bool(way.caveat) is (way in STORES)


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
    assert len({each.loader for each in ADAPTERS}) == len(ADAPTERS)
    assert {each.name for each in ADAPTERS if each.aliased} == {"opencv-linear"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_file_runs_on_old_pythons_without_packages(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=OLDEST)
    assert imported(tree.body) <= sys.stdlib_module_names


@pytest.fixture
def beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add one more file to the package of adapters, and one to the package of stores."""
    for package, name, text in ((adapters, "acme_raw", DECODER), (_stores, "shelf", STORE)):
        directory = tmp_path / name
        directory.mkdir()
        (directory / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(directory)])
    shutil.copy(Path(str(_stores.__path__[0])) / "_preparing.py", tmp_path / "shelf")
    all_ways.cache_clear()
    yield
    all_ways.cache_clear()
    for name in ("adapters.acme_raw", "_stores.shelf"):
        sys.modules.pop(f"fastinstall.bench.{name}", None)


@pytest.mark.usefixtures("beside_ours")
def test_another_way_is_one_file() -> None:
    decoder, store = all_ways()["acme-raw"], all_ways()["shelf"]
    assert {"acme-raw", "shelf"} <= set(all_ways())
    assert (decoder.brings, decoder.sdists, store.title) == (("acme>=2", "pillow"), ("acme",), "a shelf")
    assert "'acme>=2' pillow numpy" in render_code("acme-raw", ImagePipeline())
    assert 'WANTED = {"kind": "shelf", "shorter": 300}' in render_code("shelf", ImagePipeline(shorter=300))


MACHINE = LoaderLimits(cpu="a CPU", cores=2, huge_pages="madvise", libc_version="2.36")


def planned(machine: LoaderLimits = MACHINE, *, own: bool = False) -> dict[str, Candidate]:
    return {each.name: each for each in plan_candidates(machine, {}, is_own_loader=own)}


def test_all_but_the_baseline_are_selected() -> None:
    candidates = tuple(planned().values())
    assert {each.name for each in candidates} == set(all_ways())
    assert {each.name for each in select_candidates(candidates, ())} == set(all_ways()) - {"pillow"}
    assert {way.kind for way in all_ways().values()} == {each.kind for each in candidates}


def test_what_changes_nothing_is_selected_by_name_only() -> None:
    candidates = planned(replace(MACHINE, huge_pages="never"))
    installed = unsuited(candidates["fastinstall"], "it is installed already")
    absent = missing(candidates["lmdb"], "lmdb is not installed")
    pages = candidates["huge-pages"]
    assert select_candidates((installed, absent, pages), ()) == (absent,)
    assert select_candidates((installed, absent, pages), ("fastinstall", "huge-pages")) == (installed, pages)
    assert {each.outcome for each in (installed, pages, candidates["pillow"])} == {CandidateOutcome.UNSUITED}
    assert (absent.outcome, absent.reason) == (CandidateOutcome.MISSING, "lmdb is not installed")


def test_an_own_loader_loads_with_other_builds_and_files() -> None:
    found = planned(own=True)
    assert found["pillow"].adapter == "pillow"
    own = ("fastinstall", "huge-pages", "resized")
    assert {found[name].adapter for name in own} == {"own loader"}


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'pilow'") as caught:
        require_known(("pilow",))
    assert "pillow-draft" in str(caught.value.hint)


def test_huge_pages_add_to_other_tunables() -> None:
    found = huge_pages_variables(MACHINE, {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2"})
    assert found == {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2:glibc.malloc.hugetlb=1"}


@pytest.mark.parametrize(
    ("machine", "tunables"),
    [
        (MACHINE, "glibc.malloc.hugetlb=1"),
        (replace(MACHINE, huge_pages="never"), ""),
        (replace(MACHINE, libc_version="2.31"), ""),
        (replace(MACHINE, libc_version=""), ""),
    ],
)
def test_huge_pages_need_a_kernel_and_glibc(machine: LoaderLimits, tunables: str) -> None:
    assert huge_pages_variables(machine, {"GLIBC_TUNABLES": tunables}) == {}


def test_the_most_promising_come_first() -> None:
    candidates = select_candidates(tuple(planned().values()), ())
    large, small = ([each.name for each in sort_by_promise(candidates, scale)] for scale in (4.0, 1.0))
    assert large[:3] == ["pillow-draft", "fastinstall", "official-wheel"]
    assert large[-1] == "bmp"
    assert small[0] == "fastinstall"
    assert small.index("pillow-draft") > small.index("bmp")
