"""Another decoder and another store are one file each: nothing else has to name them."""

import ast
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bench.adapters import adapter_named

from fastinstall.bench import _stores, adapters, catalogue
from fastinstall.bench._stores import preparing
from fastinstall.bench.candidates import Materials, make_candidate_runs
from fastinstall.bench.effort import sort_by_promise
from fastinstall.bench.materials import list_known_candidates
from fastinstall.bench.printed_code import render_code
from fastinstall.bench.report import ImagePipeline
from fastinstall.model.machine import LoaderLimits

DECODER = '''"""Acme's decoder."""

from . import pillow

NAME = "acme-raw"
TITLE = "Acme, by Pillow"
MODULES = ("PIL", "acme")
BRINGS = ("acme>=2", "pillow")
SDISTS = ("acme",)
FORMATS = ("JPEG",)
ALIASED = False
SCALES = 2
PRIORITY = 5
CODE = "acme.decode(data)"
LOADER = "def load(path):\\n    return path, SHORTER, CROP, FILTER\\n"
stages = pillow.stages
'''
STORE = '''"""Your images in a shelf.

    python prepare.py IMAGES OUT
"""

from .preparing import Source

NAME = "shelf"
TITLE = "a shelf"
CAVEAT = "it has one door"
MODULES = ("shelf",)
BRINGS = ("shelf",)
IN_FILES = False
SETTINGS = ("shorter",)
PRIORITY = 45


def make(images, out, wanted):
    yield from ()


class Reader:
    """What was put in."""
'''


@pytest.fixture(autouse=True)
def beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Directories that are searched as those of the package are."""
    for package, name, text in ((adapters, "acme_raw", DECODER), (_stores, "shelf", STORE)):
        directory = tmp_path / name
        directory.mkdir()
        (directory / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(directory)])
    shutil.copy(Path(str(preparing.__file__)), tmp_path / "shelf")
    forget()
    yield
    monkeypatch.undo()
    forget()


def forget() -> None:
    """Have adapters and stores read again."""
    for module in (catalogue, catalogue):
        for each in vars(module).values():
            getattr(each, "cache_clear", bool)()
    for name in ("adapters.acme_raw", "_stores.shelf"):
        sys.modules.pop(f"fastinstall.bench.{name}", None)


def test_they_are_listed_with_what_they_need() -> None:
    known = {each.name: each for each in list_known_candidates()}
    assert known["acme-raw"].requirements == ("acme>=2", "pillow")
    assert known["shelf"].title == "a shelf"


def test_they_are_compared_when_their_turn_comes() -> None:
    there = make_candidate_runs(Materials(machine=LoaderLimits(cpu="a CPU", cores=2), variables={}))
    found = [each.name for each in sort_by_promise(there, 3.0)]
    assert found[0] == "acme-raw"
    assert found.index("pillow-draft") < found.index("shelf")
    assert found.index("shelf") < found.index("resized")
    assert sort_by_promise(there, 1.0)[-1].scales


def test_they_are_printed_as_code() -> None:
    loader, script = render_code("acme-raw", ImagePipeline()), render_code("shelf", ImagePipeline(shorter=300))
    assert "'acme>=2' pillow numpy" in loader
    assert "PRIORITY" not in script
    values = {
        ast.unparse(node.targets[0]): node.value for node in ast.parse(script).body if isinstance(node, ast.Assign)
    }
    assert ast.literal_eval(values["WANTED"]) == {"kind": "shelf", "shorter": 300}


def test_results_of_a_decoder_go_to_those_who_compare_decoders() -> None:
    assert adapter_named("acme-raw").sdists == ("acme",)
