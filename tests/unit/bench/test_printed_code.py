"""The Python code that bench prints for a candidate."""

import ast
import re

import pytest
from support.bench.adapters import ADAPTERS, STORES

from fastinstall.bench._stores import webdataset
from fastinstall.bench.catalogue import all_ways
from fastinstall.bench.printed_code import render_code
from fastinstall.bench.report import ImagePipeline
from fastinstall.core.errors import UsageError

PIPELINE = ImagePipeline(shorter=300, crop=280, filter="lanczos")


@pytest.mark.parametrize("name", [each.name for each in ADAPTERS])
def test_an_adapter_is_a_whole_module(name: str) -> None:
    code = render_code(name, PIPELINE)
    assert "fastinstall bench DIR --loader" in str(ast.get_docstring(ast.parse(code)))
    values = dict(re.findall(r"^(SHORTER|CROP|FILTER) = (\S+)", code, re.MULTILINE))
    assert values == {"SHORTER": "300", "CROP": "280", "FILTER": '"lanczos"'}


def test_its_packages_are_named_for_a_shell() -> None:
    install = "python -m pip install"
    assert f"{install} 'pyvips[binary]>=2.2.3' numpy\n" in render_code("pyvips", PIPELINE)
    assert f"{install} simplejpeg numpy pillow\n" in render_code("simplejpeg", PIPELINE)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'huge-pages'") as caught:
        render_code("huge-pages", PIPELINE)
    assert "pillow-draft" in str(caught.value.hint)


@pytest.mark.parametrize("name", [each.name for each in STORES])
def test_a_script_is_complete_and_has_the_pipeline(name: str) -> None:
    text = render_code(name, PIPELINE)
    tree = ast.parse(text)
    assert not any(isinstance(each, ast.ImportFrom) and each.level for each in ast.walk(tree))
    (wanted,) = [
        each.value for each in tree.body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "WANTED"
    ]
    settings = {each: getattr(PIPELINE, each) for each in all_ways()[name].settings}
    assert ast.literal_eval(wanted) == {"kind": name, **settings}
    names = [each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    assert len(names) == len(set(names)), "one would hide the other"
    assert {"main", "make", "Reader"} <= set(names)
    assert not re.search(r"noqa|PRIORITY|fastinstall", text)
    assert "python prepare.py IMAGES OUT" in (ast.get_docstring(tree) or "")


def test_images_in_an_archive_have_keys_of_their_own() -> None:
    names = ("a.b.jpg", "a_b.jpg", "a_b.png", "c/a_b.png", "a_b_2.jpg")
    found = webdataset.members([(name, name) for name in names])
    keys = [name.rpartition(".")[0] for name in found.values()]
    assert len(set(keys)) == len(names)
    assert not any("." in key for key in keys)
    assert found["c/a_b.png"] == "c/a_b.png"
