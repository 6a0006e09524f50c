"""How large a store may become, the names in it, the scripts' texts."""

import ast
import importlib
import mmap
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from fastinstall.bench._stores import lmdb, webdataset
from fastinstall.bench.catalogue import all_kinds, kind_named
from fastinstall.bench.loading import Job, NotLoadedError
from fastinstall.bench.printed_code import render_code
from fastinstall.bench.report import ImagePipeline
from fastinstall.bench.temporary_store import temporary_store
from fastinstall.core.events import Event, Noted


@pytest.mark.parametrize(("pages", "used"), [(4096, 4096), (16384, 16384), (65536, 32768)])
def test_an_lmdb_has_room_for_the_pages_of_its_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: int, used: int
) -> None:
    image = tmp_path / "image.jpg"
    image.write_bytes(bytes(1000))
    with monkeypatch.context() as patch:
        patch.setattr(mmap, "PAGESIZE", pages)
        room = importlib.reload(lmdb).room_for([("image.jpg", str(image))], str(tmp_path))
    importlib.reload(lmdb)
    assert room == 2 * (1000 + 2 * used) + (64 << 20)


@pytest.mark.parametrize(("free", "granted"), [(300_000_000, "30.0 MB"), (1 << 50, "1.1 GB")])
def test_a_store_takes_at_most_a_gibibyte_and_a_tenth_of_what_is_free(
    free: int, granted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Event] = []
    job = Job(python=Path(sys.executable), images=(Path("image.jpg"),))
    monkeypatch.setattr(shutil, "disk_usage", lambda _directory: SimpleNamespace(free=free))
    with (
        pytest.raises(NotLoadedError, match="FileNotFoundError"),
        temporary_store(kind_named("webdataset"), job, tmp_path, heard.append),
    ):
        pytest.fail("there is no such image")
    (told,) = heard
    assert isinstance(told, Noted)
    assert f"at most {granted} in {tmp_path}, " in told.message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [each.name for each in all_kinds()])
def test_a_script_stands_by_itself_and_holds_the_pipeline(name: str) -> None:
    kind, text = kind_named(name), render_code(name, ImagePipeline(shorter=300, crop=280, filter="lanczos"))
    tree = ast.parse(text)
    imported = {each.module for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
    assert not any(isinstance(each, ast.ImportFrom) and each.level for each in ast.walk(tree))
    assert not any("fastinstall" in str(each) for each in imported)
    assigned = next(
        each for each in tree.body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "WANTED"
    )
    settings = {"shorter": 300, "crop": 280, "filter": "lanczos"}
    assert ast.literal_eval(assigned.value) == {"kind": name, **{each: settings[each] for each in kind.settings}}
    names = [each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    assert len(names) == len(set(names)), "one would hide the other"
    assert {"main", "make", "Reader"} <= set(names)
    assert "noqa" not in text
    assert "python prepare.py IMAGES OUT" in (ast.get_docstring(tree) or "")


def test_no_two_images_have_one_key_in_an_archive() -> None:
    names = ("a.b.jpg", "a_b.jpg", "a_b.png", "c/a_b.png", "a_b_2.jpg")
    found = webdataset.members([(name, name) for name in names])
    keys = [name.rpartition(".")[0] for name in found.values()]
    assert len(set(keys)) == len(names)
    assert not any("." in key for key in keys)
    assert found["c/a_b.png"] == "c/a_b.png"
